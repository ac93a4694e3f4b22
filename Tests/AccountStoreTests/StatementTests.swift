import AccountLinking
import AccountTestSupport
import Foundation
import JSON
import Testing

@testable import AccountStore
@testable import Postgres

private let golden = GoldenFiles()

/// A named statement.
private struct Statement {
    let name: String
    let sql: SQL
    /// True if requests wait for the statement. The golden file then has its plan.
    var isHot = true
}

private let tenant = TenantID.project
private let fixed = userID("user-7")

private let statements = [
    statementsOfDecisions, statementsOfJournal, statementsOfPurges, statementsOfAudits, statementsOfExports,
    statementsOfSealing,
].flatMap(\.self)

extension [Statement] {
    /// The statements, each followed by its form for Citus if it has one.
    fileprivate var withFormsForCitus: [Statement] {
        flatMap { statement in
            [statement]
                + (statement.sql.onCitus.map {
                    [Statement(name: "\(statement.name) on Citus", sql: $0, isHot: statement.isHot)]
                } ?? [])
        }
    }

    /// The statements as they are sent to Citus.
    fileprivate var asSentToCitus: [Statement] {
        map { Statement(name: $0.name, sql: $0.sql.onCitus ?? $0.sql, isHot: $0.isHot) }
    }
}

private let statementsOfAudits: [Statement] =
    AuditTables.all(.everything, at: origin).map { table in
        Statement(name: "AuditTables.\(table.name)", sql: table.rows(AccountScope(tenant: tenant)), isHot: false)
    }
    + [
        AccountScope(tenant: tenant, selection: .users([fixed]), after: "user-6"),
        AccountScope(tenant: tenant, selection: .changed(since: origin)),
        AccountScope(tenant: tenant, after: "user-6", last: "user-8"),
    ].enumerated().map { number, scope in
        Statement(
            name: "AuditTables.users of scope \(number + 1)",
            sql: AuditTables.all(.judged, at: origin)[0].rows(scope),
            isHot: false
        )
    }

private let statementsOfExports = ExportTables.all(tenant: tenant, withHashes: true).map { table in
    Statement(name: "ExportTables.\(table.name)", sql: table.rows(AccountScope(tenant: tenant)), isHot: false)
}

/// Statements of a command. They differ only in the names of the column and of its key.
private let statementsOfSealing = [SealedColumn.pendingCredential, .journaledSecretBefore].flatMap { column in
    let place = column.key.map { _ in "0" }
    let value = ResealedValue(key: place, old: [1], new: [2])
    return [
        (
            "SealedValueRow.page",
            SealedValueRow.page(column, after: place, rowsMax: 10, unlessPrefixed: [1, 1, 49]).sql
        ),
        ("SealedValueRow.replace", SealedValueRow.replace(column, [value])),
        ("SealedCountRow.byPrefix", SealedCountRow.byPrefix(column).sql),
    ].map { Statement(name: $0.0, sql: $0.1, isHot: false) }
}

private let statementsOfDecisions: [Statement] = {
    let user = UserRecord.blank("user-7")
    let provider = UserRecord.LinkedProvider(
        identity: identity(.google, "subject"),
        issuer: nil,
        email: nil,
        displayName: nil,
        photoURL: nil,
        screenName: nil,
        linkedAt: origin,
        updatedAt: origin
    )
    let event = AccountEvent(
        id: PostgresUUID(high: 1, low: 2),
        occurredAt: origin,
        kind: .signedIn,
        rule: .signInByPassword,
        decisions: [
            DecisionRecord(SignInWithCustomTokenQuestion(existing: nil, isMergedAway: false), under: LinkPolicy())
        ]
    )
    let mailbox = address("user7@example.com")
    let email = Identifier.email(mailbox)
    let reserved = ReservedAddress(address: mailbox, holder: fixed, until: later, reservation: nil)
    let key = SigningKeyRecord(
        id: "key",
        purpose: .idToken,
        generation: 1,
        algorithm: "ES256",
        sealedPrivateKey: [1],
        certificate: [2],
        createdAt: origin,
        signsFrom: origin
    )
    let use = PostgresUUID(high: 3, low: 4)
    let device = Device(
        id: [9],
        slot: 1,
        sessionEpoch: 1,
        name: "Phone/1.0",
        createdAt: origin,
        lastUsedAt: origin,
        expiresAt: later
    )
    let code = EmailCodeRecord(
        tenant: tenant,
        hash: [1],
        kind: .passwordReset,
        user: fixed,
        email: address("user7@example.com"),
        createdAt: origin,
        expiresAt: origin
    )
    let message = OutboxMessage(
        tenant: tenant,
        id: PostgresUUID(high: 5, low: 6),
        kind: .mail,
        sealedPayload: [6],
        createdAt: origin,
        expiresAt: origin
    )
    let claimed = ClaimedMessage(
        tenant: tenant,
        id: message.id,
        sealedPayload: [6],
        createdAt: origin,
        expiresAt: later,
        attempts: 1,
        leasedUntil: later,
        isWithheld: false
    )
    let conflict = ConflictRecord(
        tenant: tenant,
        user: fixed,
        id: Array(repeating: 1, count: 16),
        kind: .accountExistsWithDifferentCredential,
        provider: .google,
        identityDigest: Array(repeating: 2, count: 32),
        tokenDigests: [Array(repeating: 3, count: 32)],
        sealedCredential: [4],
        accountMethod: .password,
        openedAt: origin,
        expiresAt: later
    )
    var wayBack = ConflictReturnRecord(
        of: conflict,
        continueURL: "https://app.example.com/back",
        state: "state",
        codeChallenge: Array(repeating: 5, count: 32)
    )
    wayBack.session = Array(repeating: 6, count: 16)
    wayBack.codeHash = [7]
    var signInReturn = SignInReturnRecord(
        of: user.session(),
        continueURL: "https://app.example.com/back",
        codeChallenge: Array(repeating: 5, count: 32),
        codeHash: [7],
        codeEndsAt: later
    )
    signInReturn.session = Array(repeating: 6, count: 16)
    let verification = PhoneVerificationRecord(
        tenant: tenant,
        id: [1],
        sessionDigests: [Array(repeating: 8, count: 32)],
        purpose: .signIn,
        number: number("+16505553434"),
        sealedCode: [9],
        createdAt: origin,
        expiresAt: origin
    )
    let challenge = FactorChallenge(
        tenant: tenant,
        user: fixed,
        id: [1],
        purpose: .signIn,
        sessionEpoch: 7,
        sealedContent: [12],
        createdAt: origin,
        expiresAt: later
    )
    let factor = SecondFactor(
        id: factorID("factor"),
        method: .phone(number("+16505553434")),
        displayName: "mine",
        enrolledAt: origin
    )
    let perNumber = CountedLimit(
        MessageLimit(.recipient, windowSeconds: 3600, countMax: 5),
        digest: Array(repeating: 10, count: 32)
    )
    let shortCode = ShortCodeRecord(
        tenant: tenant,
        kind: .passwordReset,
        mailbox: mailbox,
        linkHash: [1],
        sealedCode: [2],
        expiresAt: later
    )
    let pendingSignUp = PendingSignUpRecord(
        tenant: tenant,
        digest: Array(repeating: 1, count: 32),
        email: mailbox,
        linkHash: Array(repeating: 2, count: 32),
        sealedCode: [3],
        sealedCredential: [4],
        createdAt: origin,
        expiresAt: later
    )
    let flow = ProviderFlowRecord(
        tenant: tenant,
        stateDigest: Array(repeating: 1, count: 32),
        sessionDigest: Array(repeating: 2, count: 32),
        provider: .google,
        sealedFlow: [3],
        expiresAt: later
    )
    let appliedStep = AppliedStep(
        number: 7,
        tenant: tenant,
        user: fixed,
        rule: "stale-number",
        version: 2,
        suspendedMethod: .phone,
        canUndo: true,
        isUndone: false,
        mail: nil
    )
    var everything = ConflictFilter()
    everything.state = .expired
    everything.provider = .google
    everything.kind = .accountExistsWithDifferentCredential
    everything.openedSince = origin
    everything.openedBefore = later
    var ofUser = ConflictFilter()
    ofUser.user = fixed
    ofUser.state = .open
    let answerKey = StoredResponseKey(tenant: tenant, user: fixed, digest: Array(repeating: 1, count: 32))
    let linked = WebhookEvent.about(.provider(.google), .methodLinked)
    let news = WebhookEvent.about(conflict, .conflictOpened)
    let webhook = WebhookMessageRecord(
        position: 1,
        endpoint: use,
        tenant: tenant,
        user: fixed,
        id: use,
        kind: .methodLinked,
        occurredAt: origin,
        conflict: nil,
        method: .password,
        methodChanges: nil,
        merge: nil,
        rule: "L4",
        attempts: 1,
        lastStatus: nil
    )
    let merge = MergeRecord(
        tenant: tenant,
        id: use,
        survivor: user,
        absorbed: .blank("user-8"),
        choices: [.email: .survivor],
        requestedBy: .administrator,
        reason: "why",
        preparedAt: origin,
        deadlineAt: later
    )
    let moved = MovedFactor(from: userID("user-8"), sealedSecret: [15])
    let config = ProviderConfigRecord(provider: .google, isEnabled: true)
    let serviceAccount = ServiceAccountRecord(
        keyID: "key",
        email: "backend@demo-test.example.com",
        publicKey: [8],
        createdAt: origin
    )
    guard let hashKeyID = HashKeyID("00112233445566ff") else { preconditionFailure("not an id") }
    let hashKey = HashKeyRecord(slot: 1, id: hashKeyID, sealedKey: [14], createdAt: origin)
    let project = ProjectRecord(projectID: "demo-test", projectNumber: 1, settings: .object([:]))
    return [
        Statement(name: "ClockRow.current", sql: ClockRow.current.sql, isHot: false),
        Statement(name: "MergeRow.abort", sql: MergeRow.abort(merge, .timedOut, at: origin)),
        Statement(name: "MergeRow.assertAlone", sql: MergeRow.assertAlone(merge)),
        Statement(name: "MergeRow.assertNoTombstone", sql: MergeRow.assertNoTombstone(of: [fixed], tenant: tenant)),
        Statement(name: "MergeRow.commit", sql: MergeRow.commit(merge, at: origin, undoUntil: later)),
        Statement(name: "MergeRow.current", sql: MergeRow.current(fixed, tenant: tenant).sql),
        Statement(name: "MergeRow.deleteAll", sql: MergeRow.deleteAll(tenant: tenant), isHot: false),
        Statement(name: "MergeRow.insert", sql: MergeRow.insert(merge)),
        Statement(name: "MergeRow.live", sql: MergeRow.live([fixed], tenant: tenant).sql),
        Statement(name: "MergeRow.of", sql: MergeRow.of(fixed, tenant: tenant, rowsMax: 100).sql),
        Statement(name: "MergeRow.tombstones", sql: MergeRow.tombstones(among: [fixed], tenant: tenant).sql),
        Statement(name: "MergeRow.undo", sql: MergeRow.undo(merge, at: origin)),
        Statement(name: "MergeRow.waiting", sql: MergeRow.waiting(rowsMax: 64).sql, isHot: false),
        Statement(name: "MergeRow.withID", sql: MergeRow.withID(use, tenant: tenant).sql),
        Statement(
            name: "SecondFactorRow.move",
            sql: SecondFactorRow.move(factor, moved, slot: 2, to: fixed, tenant: tenant)[0]
        ),
        Statement(name: "UserRow.hold", sql: UserRow.hold("user-7", tenant: tenant)),
        Statement(name: "WebhookMessageRow.answers", sql: WebhookMessageRow.answers(to: use).sql, isHot: false),
        Statement(
            name: "WebhookMessageRow.insertMergeEvent",
            sql: WebhookMessageRow.insertMergeEvent(.mergePrepared, of: merge, id: use, by: event),
            isHot: false
        ),
        Statement(
            name: "AccountEventRow.deleteOld",
            sql: AccountEventRow.deleteOld(before: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(
            name: "AccountEventRow.deleteOldOutsideMonths",
            sql: AccountEventRow.deleteOldOutsideMonths(before: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(name: "AccountEventRow.insert", sql: AccountEventRow.insert(event, of: fixed, tenant: tenant)),
        Statement(
            name: "AccountEventRow.withID",
            sql: AccountEventRow.withID(event.id, of: fixed, tenant: tenant).sql
        ),
        Statement(
            name: "OwnedClaimRow.on",
            sql: OwnedClaimRow.on([OwnedClaimRow.Key(.email(address("user7@example.com")))], tenant: tenant).sql
        ),
        Statement(
            name: "OwnedClaimRow.onShards",
            sql: OwnedClaimRow.onShards([OwnedClaimRow.Key(.email(address("user7@example.com")))], tenant: tenant).sql,
            isHot: false
        ),
        Statement(
            name: "AuditPlanRow.begin",
            sql: AuditPlanRow.begin(use, madeAt: origin, steps: 7, at: origin, retainedUntil: later),
            isHot: false
        ),
        Statement(
            name: "AuditPlanRow.deleteOld",
            sql: AuditPlanRow.deleteOld(before: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(name: "AuditPlanRow.finish", sql: AuditPlanRow.finish(use, skipped: 1, at: origin), isHot: false),
        Statement(name: "AuditPlanRow.newest", sql: AuditPlanRow.newest(10).sql, isHot: false),
        Statement(name: "AuditPlanRow.withID", sql: AuditPlanRow.withID(use).sql, isHot: false),
        Statement(
            name: "AuditStepRow.applied",
            sql: AuditStepRow.applied(use, before: 7, countMax: 10).sql,
            isHot: false
        ),
        Statement(
            name: "AuditStepRow.insert",
            sql: AuditStepRow.insert(use, appliedStep, at: origin, retainedUntil: later),
            isHot: false
        ),
        Statement(
            name: "AuditStepRow.last",
            sql: AuditStepRow.last(of: use, users: [fixed], tenant: tenant).sql,
            isHot: false
        ),
        Statement(name: "AuditStepRow.markUndone", sql: AuditStepRow.markUndone(use, 7, at: origin), isHot: false),
        Statement(name: "AuditStepRow.of", sql: AuditStepRow.of(use, numbers: [7, 8]).sql, isHot: false),
        Statement(name: "RepairRow.assertNoUser", sql: RepairRow.assertNoUser(fixed, tenant: tenant), isHot: false),
        Statement(
            name: "RepairRow.deleteCodes",
            sql: RepairRow.deleteCodes(of: .verifyEmail, expiredBefore: origin, user: fixed, tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "RepairRow.deleteConflicts",
            sql: RepairRow.deleteConflicts(expiredBefore: origin, user: fixed, tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "RepairRow.deleteOrphans",
            sql: RepairRow.deleteOrphans(in: .sessions, of: fixed, tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "RepairRow.deleteUnusedCodes",
            sql: RepairRow.deleteUnusedCodes(of: .verifyEmail, madeBefore: origin, user: fixed, tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "RepairRow.release",
            sql: RepairRow.release(kind: "email", key: "user7@example.com", of: fixed, tenant: tenant),
            isHot: false
        ),
        Statement(name: "APIKeyRow.all", sql: APIKeyRow.all.sql, isHot: false),
        Statement(
            name: "ConflictRow.assertLive",
            sql: ConflictRow.assertLive(conflict.id, of: fixed, tenant: tenant)
        ),
        Statement(
            name: "ConflictRow.assertVersion",
            sql: ConflictRow.assertVersion(2, of: conflict.id, of: fixed, tenant: tenant)
        ),
        Statement(name: "ConflictRow.countEnded", sql: ConflictRow.countEnded(at: origin, rowsMax: 10), isHot: false),
        Statement(
            name: "ConflictRow.live",
            sql: ConflictRow.live(carrying: conflict.tokenDigests, of: fixed, tenant: tenant).sql
        ),
        Statement(
            name: "ConflictRow.page",
            sql: ConflictRow.page(
                everything,
                after: ConflictCursor(of: conflict),
                tenant: tenant,
                at: later,
                rowsMax: 51
            )
            .sql,
            isHot: false
        ),
        Statement(
            name: "ConflictRow.page",
            sql: ConflictRow.page(ofUser, after: nil, tenant: tenant, at: later, rowsMax: 51).sql
        ),
        Statement(name: "ConflictRow.openOrJoin", sql: ConflictRow.openOrJoin(conflict)),
        Statement(name: "ConflictRow.proven", sql: ConflictRow.proven(of: fixed, tenant: tenant, at: origin).sql),
        Statement(
            name: "ConflictRow.supersedeLive",
            sql: ConflictRow.supersedeLive(of: fixed, tenant: tenant, at: origin)
        ),
        Statement(name: "ConflictRow.update", sql: ConflictRow.update(conflict, at: origin)),
        Statement(name: "ConflictRow.withID", sql: ConflictRow.withID(conflict.id, of: fixed, tenant: tenant).sql),
        Statement(
            name: "StoredSessionCode.assertCode",
            sql: StoredSessionCode(wayBack).assertCode([7])
        ),
        Statement(
            name: "StoredSessionCode.assertUsed",
            sql: StoredSessionCode(wayBack).assertUsed(giving: [8])
        ),
        Statement(name: "StoredSessionCode.countAttempt", sql: StoredSessionCode(wayBack).countAttempt()),
        Statement(name: "ConflictReturnRow.issue", sql: ConflictReturnRow.issue([7], until: later, for: wayBack)),
        Statement(name: "ConflictReturnRow.of", sql: ConflictReturnRow.of(conflict).sql),
        Statement(name: "ConflictReturnRow.put", sql: ConflictReturnRow.put(wayBack)),
        Statement(name: "ConflictReturnRow.resolve", sql: ConflictReturnRow.resolve(conflict, by: [8])),
        Statement(name: "StoredSessionCode.use", sql: StoredSessionCode(wayBack).use(giving: [8], at: origin)),
        Statement(
            name: "ConflictReturnRow.withCode",
            sql: ConflictReturnRow.withCode([7], tenant: tenant).sql
        ),
        Statement(name: "StoredSessionCode.assertCode", sql: StoredSessionCode(signInReturn).assertCode([7])),
        Statement(
            name: "StoredSessionCode.assertUsed",
            sql: StoredSessionCode(signInReturn).assertUsed(giving: [8])
        ),
        Statement(name: "StoredSessionCode.countAttempt", sql: StoredSessionCode(signInReturn).countAttempt()),
        Statement(name: "SignInReturnRow.issue", sql: SignInReturnRow.issue(signInReturn)),
        Statement(
            name: "SignInReturnRow.of",
            sql: SignInReturnRow.of(signInReturn.session, of: fixed, tenant: tenant).sql
        ),
        Statement(name: "StoredSessionCode.use", sql: StoredSessionCode(signInReturn).use(giving: [8], at: origin)),
        Statement(name: "OneTimeSecret.assertUsed", sql: OneTimeSecret.of(challenge).assertUsed(by: use)),
        Statement(name: "OneTimeSecret.countAttempt", sql: OneTimeSecret.of(challenge).countAttempt()),
        Statement(name: "DeviceRow.assertThere", sql: DeviceRow.assertThere(device, of: fixed, tenant: tenant)),
        Statement(name: "DeviceRow.delete", sql: DeviceRow.delete(device, of: fixed, tenant: tenant), isHot: false),
        Statement(
            name: "DeviceRow.deleteUnlessRenewed",
            sql: DeviceRow.deleteUnlessRenewed(device, of: fixed, tenant: tenant)
        ),
        Statement(name: "DeviceRow.hold", sql: DeviceRow.hold(device, of: fixed, tenant: tenant), isHot: false),
        Statement(name: "DeviceRow.insert", sql: DeviceRow.insert(device, of: fixed, tenant: tenant)),
        Statement(
            name: "DeviceRow.insertRevocation",
            sql: DeviceRow.insertRevocation(of: device, of: fixed, tenant: tenant, at: origin),
            isHot: false
        ),
        Statement(name: "DeviceRow.lookup", sql: DeviceRow.lookup(device.id, of: fixed, tenant: tenant).sql),
        Statement(name: "DeviceRow.of", sql: DeviceRow.of(fixed, tenant: tenant).sql),
        Statement(name: "DeviceRow.renew", sql: DeviceRow.renew(device, of: fixed, tenant: tenant)),
        Statement(
            name: "DutyRow.claim",
            sql: DutyRow.claim("purge", for: "01", until: later, at: origin),
            isHot: false
        ),
        Statement(
            name: "DutyRow.heldByOther",
            sql: DutyRow.heldByOther("purge", than: "01", at: origin).sql,
            isHot: false
        ),
        Statement(name: "DutyRow.release", sql: DutyRow.release("purge", of: "01"), isHot: false),
        Statement(name: "FactorChallengeRow.insert", sql: FactorChallengeRow.insert(challenge)),
        Statement(name: "OneTimeSecret.use", sql: OneTimeSecret.of(challenge).use(by: use, at: "\(origin)")),
        Statement(
            name: "FactorChallengeRow.withID",
            sql: FactorChallengeRow.withID([1], of: fixed, tenant: tenant).sql
        ),
        Statement(name: "HashKeyRow.all", sql: HashKeyRow.all.sql, isHot: false),
        Statement(name: "HashKeyRow.insert", sql: HashKeyRow.insert(hashKey), isHot: false),
        Statement(name: "HashKeyRow.withID", sql: HashKeyRow.withID(hashKey.id).sql, isHot: false),
        Statement(
            name: "IdentifierRow.anyFederated",
            sql: IdentifierRow.anyFederated(of: .google, tenant: tenant).sql,
            isHot: false
        ),
        Statement(
            name: "IdentifierRow.federated",
            sql: IdentifierRow.federated(after: .beginning(of: .google), countMax: 10, tenant: tenant).sql
        ),
        Statement(name: "IdentifierRow.claim", sql: IdentifierRow.claim(email, for: fixed, tenant: tenant)),
        Statement(name: "IdentifierRow.clear", sql: IdentifierRow.clear(reserved, tenant: tenant)),
        Statement(
            name: "IdentifierRow.clearAny",
            sql: IdentifierRow.clearAny(mailbox.canonical, of: fixed, tenant: tenant)
        ),
        Statement(name: "IdentifierRow.owner", sql: IdentifierRow.owner(of: email, tenant: tenant).sql),
        Statement(
            name: "IdentifierRow.reserve",
            sql: IdentifierRow.reserve(mailbox, for: fixed, until: later, at: origin, tenant: tenant)
        ),
        Statement(
            name: "IdentifierRow.owners",
            sql: IdentifierRow.owners(
                kind: "email",
                values: ["user7@example.com", "user8@example.com"],
                tenant: tenant
            )
            .sql
        ),
        Statement(
            name: "IdentifierRow.releaseOrphans",
            sql: IdentifierRow.releaseOrphans(tenant: tenant),
            isHot: false
        ),
        Statement(name: "IdentifierRow.release", sql: IdentifierRow.release(email, of: fixed, tenant: tenant)),
        Statement(name: "StoredResponseRow.deleteAll", sql: StoredResponseRow.deleteAll(tenant: tenant), isHot: false),
        Statement(
            name: "StoredResponseRow.deleteAnswers",
            sql: StoredResponseRow.deleteAnswers(to: fixed, tenant: tenant)
        ),
        Statement(name: "StoredResponseRow.deleteOver", sql: StoredResponseRow.deleteOver(answerKey, at: origin)),
        Statement(
            name: "StoredResponseRow.insert",
            sql: StoredResponseRow.insert([3], for: answerKey, until: later)
        ),
        Statement(name: "StoredResponseRow.withKey", sql: StoredResponseRow.withKey(answerKey, at: origin).sql),
        Statement(name: "WriteProbeRow.deleteNothing", sql: WriteProbeRow.deleteNothing, isHot: false),
        Statement(name: "LinkedProviderRow.delete", sql: LinkedProviderRow.delete(.google, of: fixed, tenant: tenant)),
        Statement(
            name: "LinkedProviderRow.issuers",
            sql: LinkedProviderRow.issuers(of: .google, tenant: tenant).sql,
            isHot: false
        ),
        Statement(name: "LinkedProviderRow.put", sql: LinkedProviderRow.put(provider, for: fixed, tenant: tenant)),
        Statement(
            name: "CodeMethodRow.insert",
            sql: CodeMethodRow.insert(MethodSnapshot(.phone, wasThere: false), of: code, user: fixed)
        ),
        Statement(
            name: "CodeMethodRow.insertPassword",
            sql: CodeMethodRow.insert(MethodSnapshot(.password, wasThere: true), of: code, user: fixed)
        ),
        Statement(
            name: "CodeMethodRow.live",
            sql: CodeMethodRow.live(of: fixed, sentTo: mailbox, tenant: tenant, until: later, at: origin).sql
        ),
        Statement(
            name: "CodeMethodRow.settle",
            sql: CodeMethodRow.settle([.password], of: fixed, sentTo: nil, tenant: tenant)
        ),
        Statement(
            name: "CodeMethodRow.settle",
            sql: CodeMethodRow.settle([.password], of: fixed, sentTo: mailbox, tenant: tenant)
        ),
        Statement(
            name: "CodeMethodRow.settleAll",
            sql: CodeMethodRow.settleAll(of: [fixed], tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "CodeMethodRow.since",
            sql: CodeMethodRow.since(code, of: fixed, withHash: true, at: origin).sql
        ),
        Statement(
            name: "CodeMethodRow.since",
            sql: CodeMethodRow.since(code, of: fixed, withHash: false, at: origin).sql,
            isHot: false
        ),
        Statement(
            name: "CodeMethodRow.voidElsewhere",
            sql: CodeMethodRow.voidElsewhere(of: fixed, than: mailbox, tenant: tenant, at: origin),
            isHot: false
        ),
        Statement(name: "CodeMethodRow.voidLater", sql: CodeMethodRow.voidLater(than: code, of: fixed, at: origin)),
        Statement(name: "OneTimeSecret.assertUsed", sql: OneTimeSecret.of(code).assertUsed(by: use)),
        Statement(
            name: "EmailCodeRow.canTakeBack",
            sql: EmailCodeRow.canTakeBack(of: fixed, tenant: tenant, at: origin).sql
        ),
        Statement(name: "OneTimeSecret.countAttempt", sql: OneTimeSecret.of(code).countAttempt()),
        Statement(name: "EmailCodeRow.copy", sql: EmailCodeRow.copy(code, to: [3])),
        Statement(name: "EmailCodeRow.delete", sql: EmailCodeRow.delete(code)),
        Statement(name: "EmailCodeRow.deleteAll", sql: EmailCodeRow.deleteAll(of: fixed, tenant: tenant)),
        Statement(
            name: "EmailCodeRow.deleteOrphans",
            sql: EmailCodeRow.deleteOrphans(tenant: tenant),
            isHot: false
        ),
        Statement(name: "EmailCodeRow.hold", sql: EmailCodeRow.hold(code, at: origin)),
        Statement(name: "EmailCodeRow.insert", sql: EmailCodeRow.insert(code)),
        Statement(
            name: "EmailCodeRow.recoveries",
            sql: EmailCodeRow.recoveries(of: fixed, tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "EmailCodeRow.recoverable",
            sql: EmailCodeRow.recoverable(of: [fixed], tenant: tenant).sql
        ),
        Statement(
            name: "EmailCodeRow.recovery",
            sql: EmailCodeRow.recovery(of: fixed, to: mailbox, tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "EmailCodeRow.usable",
            sql: EmailCodeRow.usable(among: [[1], [2]], tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "OneTimeSecret.use",
            sql: OneTimeSecret.of(code).use(by: use, at: "greatest(created_at, \(origin))")
        ),
        Statement(name: "EmailCodeRow.user", sql: EmailCodeRow.user(of: [1], tenant: tenant).sql),
        Statement(
            name: "EmailCodeRow.voidAddressChanges",
            sql: EmailCodeRow.voidAddressChanges(of: fixed, tenant: tenant, at: origin)
        ),
        Statement(
            name: "EmailCodeRow.voidAll",
            sql: EmailCodeRow.voidAll(of: fixed, tenant: tenant, at: origin)
        ),
        Statement(
            name: "EmailCodeRow.voidAllButProvenRecovery",
            sql: EmailCodeRow.voidAllButProvenRecovery(of: fixed, tenant: tenant, at: origin)
        ),
        Statement(
            name: "EmailCodeRow.voidAllButRecovery",
            sql: EmailCodeRow.voidAllButRecovery(of: fixed, tenant: tenant, at: origin)
        ),
        Statement(
            name: "EmailCodeRow.voidElsewhere",
            sql: EmailCodeRow.voidElsewhere(of: fixed, than: mailbox, tenant: tenant, at: origin)
        ),
        Statement(name: "EmailCodeRow.withHash", sql: EmailCodeRow.withHash([1], tenant: tenant).sql),
        Statement(
            name: "MessageCountRow.assertNoneReached",
            sql: MessageCountRow.assertNoneReached([perNumber], tenant: tenant, at: origin)
        ),
        Statement(
            name: "MessageCountRow.count",
            sql: MessageCountRow.count(perNumber, tenant: tenant, at: origin)
        ),
        Statement(
            name: "MessageCountRow.reached",
            sql: MessageCountRow.reached([perNumber], tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "OutboxRow.claim",
            sql: OutboxRow.claim(.mail, at: origin, until: later, countMax: 16),
            isHot: false
        ),
        Statement(
            name: "OutboxRow.countDiscardable",
            sql: OutboxRow.countDiscardable(.pending(nil, writtenUntil: later), at: origin).sql,
            isHot: false
        ),
        Statement(
            name: "OutboxRow.discard",
            sql: OutboxRow.discard(.named([message.id]), at: origin, countMax: 10),
            isHot: false
        ),
        Statement(
            name: "OutboxRow.discard",
            sql: OutboxRow.discard(.pending(.mail, writtenUntil: later), at: origin, countMax: 10),
            isHot: false
        ),
        Statement(
            name: "OutboxRow.discardable",
            sql: OutboxRow.discardable(.pending(.mail, writtenUntil: later), at: origin, countMax: 10).sql,
            isHot: false
        ),
        Statement(name: "OutboxRow.state", sql: OutboxRow.state(of: message.id, tenant: tenant).sql, isHot: false),
        Statement(
            name: "OutboxRow.discard",
            sql: OutboxRow.discard(message.id, tenant: tenant, because: .undone, at: origin),
            isHot: false
        ),
        Statement(name: "OutboxRow.entries", sql: OutboxRow.entries(.failed, countMax: 10).sql, isHot: false),
        Statement(name: "OutboxRow.entry", sql: OutboxRow.entry(message.id).sql, isHot: false),
        Statement(name: "OutboxRow.discard", sql: OutboxRow.discard(claimed), isHot: false),
        Statement(name: "OutboxRow.drop", sql: OutboxRow.drop(claimed), isHot: false),
        Statement(
            name: "OutboxRow.giveUp",
            sql: OutboxRow.giveUp(claimed, reason: "550 5.1.1", keepsContent: true),
            isHot: false
        ),
        Statement(name: "OutboxRow.insert", sql: OutboxRow.insert(message)),
        Statement(name: "OutboxRow.markSent", sql: OutboxRow.markSent(claimed), isHot: false),
        Statement(
            name: "OutboxRow.newest",
            sql: OutboxRow.newest(.mail, countMax: 10, tenant: tenant).sql,
            isHot: false
        ),
        Statement(
            name: "OutboxRow.postpone",
            sql: OutboxRow.postpone(claimed, until: later, reason: "timeout"),
            isHot: false
        ),
        Statement(
            name: "OutboxRow.release",
            sql: OutboxRow.release(
                tenants: [""],
                ids: [message.id],
                leasedUntil: [later.stored],
                until: later,
                reason: "unreachable"
            ),
            isHot: false
        ),
        Statement(name: "OutboxRow.retry", sql: OutboxRow.retry(nil, at: origin, countMax: 10), isHot: false),
        Statement(name: "OutboxRow.waiting", sql: OutboxRow.waiting(.mail, countMax: 10).sql, isHot: false),
        Statement(
            name: "PasswordAttemptRow.assertUnlocked",
            sql: PasswordAttemptRow.assertUnlocked(
                [.passwordFrom(network: "network", of: mailbox), .password(of: mailbox)],
                tenant: tenant,
                at: origin
            )
        ),
        Statement(
            name: "PasswordAttemptRow.clear",
            sql: PasswordAttemptRow.clear(.password(of: mailbox), tenant: tenant)
        ),
        Statement(
            name: "PasswordAttemptRow.clearSources",
            sql: PasswordAttemptRow.clearSources(of: mailbox, tenant: tenant)
        ),
        Statement(
            name: "PasswordAttemptRow.count",
            sql: PasswordAttemptRow.count(.password(of: mailbox), tenant: tenant, at: origin)
        ),
        Statement(
            name: "PasswordAttemptRow.countUnlocked",
            sql: PasswordAttemptRow.countUnlocked(
                .passwordFrom(network: "network", of: mailbox),
                tenant: tenant,
                at: origin
            )
        ),
        Statement(
            name: "PasswordAttemptRow.deleteAllSources",
            sql: PasswordAttemptRow.deleteAllSources(tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "PasswordAttemptRow.forgetOldNetworks",
            sql: PasswordAttemptRow.forgetOldNetworks(of: mailbox, tenant: tenant)
        ),
        Statement(
            name: "PasswordAttemptRow.of",
            sql: PasswordAttemptRow.of(.totpCode(of: fixed), tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "PasswordAttemptRow.remember",
            sql: PasswordAttemptRow.remember(
                "network",
                of: mailbox,
                FailedAttemptCounts.KnownNetwork(epoch: 1, until: later),
                tenant: tenant,
                at: origin
            )
        ),
        Statement(
            name: "FailedAttemptsRow.of",
            sql: FailedAttemptsRow.of(mailbox, by: AttemptSource(network: "network"), tenant: tenant, at: origin).sql
        ),
        Statement(name: "PasswordCredentialRow.delete", sql: PasswordCredentialRow.delete(of: fixed, tenant: tenant)),
        Statement(name: "PasswordCredentialRow.of", sql: PasswordCredentialRow.of(fixed, tenant: tenant).sql),
        Statement(
            name: "PasswordCredentialRow.put",
            sql: PasswordCredentialRow.put("hash", for: fixed, tenant: tenant, at: origin)
        ),
        Statement(
            name: "PasswordCredentialRow.replace",
            sql: PasswordCredentialRow.replace("old", by: "new", of: fixed, tenant: tenant)
        ),
        Statement(name: "PasswordHashRow.withIDs", sql: PasswordHashRow.withIDs([fixed], tenant: tenant).sql),
        Statement(name: "OneTimeSecret.assertUsed", sql: OneTimeSecret.of(verification).assertUsed(by: use)),
        Statement(name: "OneTimeSecret.countAttempt", sql: OneTimeSecret.of(verification).countAttempt()),
        Statement(
            name: "PhoneVerificationRow.current",
            sql: PhoneVerificationRow.current(.signIn, of: verification.number, tenant: tenant).sql
        ),
        Statement(
            name: "PhoneVerificationRow.insert",
            sql: PhoneVerificationRow.insert(verification, isCurrent: true)
        ),
        Statement(
            name: "PhoneVerificationRow.join",
            sql: PhoneVerificationRow.join([1], tenant: tenant, sessionDigest: [2])
        ),
        Statement(name: "PhoneVerificationRow.retire", sql: PhoneVerificationRow.retire([1], tenant: tenant)),
        Statement(
            name: "PhoneVerificationRow.usable",
            sql: PhoneVerificationRow.usable(among: [[1], [2]], tenant: tenant, at: origin).sql,
            isHot: false
        ),
        Statement(name: "OneTimeSecret.use", sql: OneTimeSecret.of(verification).use(by: use, at: "\(origin)")),
        Statement(name: "PhoneVerificationRow.user", sql: PhoneVerificationRow.user(of: [1], tenant: tenant).sql),
        Statement(name: "PhoneVerificationRow.withID", sql: PhoneVerificationRow.withID([1], tenant: tenant).sql),
        Statement(name: "ProjectConfigRow.insertIfAbsent", sql: ProjectConfigRow.insertIfAbsent(project), isHot: false),
        Statement(
            name: "ProjectConfigRow.keepFirstVersion",
            sql: ProjectConfigRow.keepFirstVersion(Attribution(author: "owner")),
            isHot: false
        ),
        Statement(
            name: "ProjectConfigRow.keepVersion",
            sql: ProjectConfigRow.keepVersion(
                project,
                Attribution(author: "owner", reason: "why"),
                providerChanges: [:],
                at: origin
            ),
            isHot: false
        ),
        Statement(name: "ProjectConfigRow.locked", sql: ProjectConfigRow.locked.sql, isHot: false),
        Statement(name: "ProjectConfigRow.only", sql: ProjectConfigRow.only.sql, isHot: false),
        Statement(
            name: "ProjectConfigRow.update",
            sql: ProjectConfigRow.update(project, at: origin),
            isHot: false
        ),
        Statement(
            name: "ProjectConfigVersionRow.numbered",
            sql: ProjectConfigVersionRow.numbered(1).sql,
            isHot: false
        ),
        Statement(name: "ProjectImageRow.isStored", sql: ProjectImageRow.isStored("00").sql, isHot: false),
        Statement(
            name: "ProjectImageRow.keep",
            sql: ProjectImageRow.keep(
                ProjectImage(
                    digest: "00",
                    contentType: "image/png",
                    width: 16,
                    height: 16,
                    content: [1],
                    storedAt: origin
                )
            ),
            isHot: false
        ),
        Statement(name: "ProjectImageRow.named", sql: ProjectImageRow.named("00").sql, isHot: false),
        Statement(name: "ProjectImageRow.prune", sql: ProjectImageRow.prune(inUse: ["00"]), isHot: false),
        Statement(
            name: "ProjectVersionRow.newest",
            sql: ProjectVersionRow.newest(after: 1, countMax: 10).sql,
            isHot: false
        ),
        Statement(name: "ProofMailRow.all", sql: ProofMailRow.all(of: fixed, tenant: tenant).sql),
        Statement(
            name: "ProofMailRow.deleteOver",
            sql: ProofMailRow.deleteOver(1, of: fixed, tenant: tenant, at: origin)
        ),
        Statement(name: "ProofMailRow.insert", sql: ProofMailRow.insert(1, of: fixed, tenant: tenant, until: later)),
        Statement(name: "ProviderConfigRow.all", sql: ProviderConfigRow.all(tenant: tenant).sql, isHot: false),
        Statement(
            name: "ProviderConfigRow.allLocked",
            sql: ProviderConfigRow.allLocked(tenant: tenant).sql,
            isHot: false
        ),
        Statement(
            name: "ProviderConfigRow.delete",
            sql: ProviderConfigRow.delete(.google, tenant: tenant),
            isHot: false
        ),
        Statement(
            name: "ProviderConfigRow.insert",
            sql: ProviderConfigRow.insert(config, tenant: tenant, at: origin),
            isHot: false
        ),
        Statement(
            name: "ProviderConfigRow.locked",
            sql: ProviderConfigRow.locked(.google, tenant: tenant).sql,
            isHot: false
        ),
        Statement(
            name: "ProviderConfigRow.update",
            sql: ProviderConfigRow.update(config, tenant: tenant, at: origin),
            isHot: false
        ),
        Statement(
            name: "QuarantinedMethodRow.delete",
            sql: QuarantinedMethodRow.delete([.password], of: fixed, tenant: tenant)
        ),
        Statement(
            name: "QuarantinedMethodRow.insert",
            sql: QuarantinedMethodRow.insert(.provider(.google), of: user, by: event, until: later)
        ),
        Statement(
            name: "QuarantinedMethodRow.insertPassword",
            sql: QuarantinedMethodRow.insertPassword(of: user, by: event, until: later)
        ),
        Statement(name: "OneTimeSecret.assertUsable", sql: OneTimeSecret.of(pendingSignUp).assertUsable()),
        Statement(name: "OneTimeSecret.assertUsed", sql: OneTimeSecret.of(pendingSignUp).assertUsed(by: use)),
        Statement(name: "OneTimeSecret.countAttempt", sql: OneTimeSecret.codeOf(pendingSignUp).countAttempt()),
        Statement(
            name: "OneTimeSecret.use",
            sql: OneTimeSecret.of(pendingSignUp).use(by: use, at: "greatest(created_at, \(origin))")
        ),
        Statement(name: "PendingSignUpRow.insert", sql: PendingSignUpRow.insert(pendingSignUp)),
        Statement(
            name: "PendingSignUpRow.withDigest",
            sql: PendingSignUpRow.withDigest(pendingSignUp.digest, tenant: tenant).sql
        ),
        Statement(name: "ProviderFlowRow.insert", sql: ProviderFlowRow.insert(flow)),
        Statement(
            name: "ProviderFlowRow.take",
            sql: ProviderFlowRow.take(flow.stateDigest, session: flow.sessionDigest, tenant: tenant, at: origin)
        ),
        Statement(
            name: "QuarantinedMethodRow.lookup",
            sql: QuarantinedMethodRow.lookup(fixed, tenant: tenant).sql
        ),
        Statement(name: "QuarantinedMethodRow.of", sql: QuarantinedMethodRow.of(fixed, tenant: tenant, at: origin).sql),
        Statement(
            name: "QuarantinedMethodRow.password",
            sql: QuarantinedMethodRow.password(of: fixed, tenant: tenant, at: origin).sql
        ),
        Statement(
            name: "SecondFactorRow.accept",
            sql: SecondFactorRow.accept(7, of: factor.id, of: fixed, tenant: tenant, by: use)
        ),
        Statement(
            name: "SecondFactorRow.assertAccepted",
            sql: SecondFactorRow.assertAccepted(7, of: factor.id, of: fixed, tenant: tenant, by: use)
        ),
        Statement(name: "SecondFactorRow.delete", sql: SecondFactorRow.delete(factor.id, of: fixed, tenant: tenant)),
        Statement(
            name: "SecondFactorRow.insert",
            sql: SecondFactorRow.insert(
                factor,
                slot: 1,
                secret: NewTOTPSecret(sealed: [13], acceptedStep: 7),
                for: fixed,
                tenant: tenant
            )
        ),
        Statement(
            name: "SecondFactorRow.isEnrolled",
            sql: SecondFactorRow.isEnrolled(number("+16505553434"), tenant: tenant).sql
        ),
        Statement(
            name: "SecondFactorRow.secret",
            sql: SecondFactorRow.secret(of: factor.id, of: fixed, tenant: tenant).sql
        ),
        Statement(
            name: "SecondFactorRow.update",
            sql: SecondFactorRow.update(factor, slot: 1, of: fixed, tenant: tenant)
        ),
        Statement(name: "ServiceAccountRow.all", sql: ServiceAccountRow.all.sql, isHot: false),
        Statement(name: "ServiceAccountRow.delete", sql: ServiceAccountRow.delete("key"), isHot: false),
        Statement(name: "ServiceAccountRow.insert", sql: ServiceAccountRow.insert(serviceAccount), isHot: false),
        Statement(
            name: "ServiceAccountRow.newest",
            sql: ServiceAccountRow.newest(email: "backend@demo.iam.gserviceaccount.com").sql,
            isHot: false
        ),
        Statement(name: "ServiceAccountRow.withKeyID", sql: ServiceAccountRow.withKeyID("key").sql, isHot: false),
        Statement(name: "SessionRow.dateUndated", sql: SessionRow.dateUndated(rowsMax: 10), isHot: false),
        Statement(
            name: "SessionRow.deleteUnused",
            sql: SessionRow.deleteUnused(since: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(name: "SessionRow.moveUsed", sql: SessionRow.moveUsed(since: origin, rowsMax: 10), isHot: false),
        Statement(
            name: "SessionRow.countUnused",
            sql: SessionRow.countUnused(since: origin, usedAfter: origin, begunAfter: nil, tenant: nil).sql,
            isHot: false
        ),
        Statement(name: "SessionRow.delete", sql: SessionRow.delete([1], of: fixed, tenant: tenant)),
        Statement(
            name: "SessionRow.deleteEnded",
            sql: SessionRow.deleteEnded(of: fixed, tenant: tenant, epoch: 1)
        ),
        Statement(name: "SessionRow.deleteOthers", sql: SessionRow.deleteOthers(than: [1], of: fixed, tenant: tenant)),
        Statement(
            name: "ListedSessionRow.of",
            sql: ListedSessionRow.of(fixed, tenant: tenant, epoch: 1, after: [1], rowsMax: 10).sql,
            isHot: false
        ),
        Statement(
            name: "SessionRow.newestSignIn",
            sql: SessionRow.newestSignIn(of: fixed, tenant: tenant).sql
        ),
        Statement(name: "SessionRow.insert", sql: SessionRow.insert(user.session())),
        Statement(
            name: "SessionRow.touch",
            sql: SessionRow.touch(tenants: [""], users: ["u"], sessions: [[1]], usedAt: [origin.stored])
        ),
        Statement(
            name: "SessionRow.lookup",
            sql: SessionRow.lookup(user.session().id, of: fixed, tenant: tenant).sql
        ),
        Statement(name: "ShortCodeRow.add", sql: ShortCodeRow.add(shortCode, at: origin)),
        Statement(
            name: "ShortCodeRow.countFailedAttempt",
            sql: ShortCodeRow.countFailedAttempt(shortCode, until: later, at: origin)
        ),
        Statement(
            name: "ShortCodeRow.current",
            sql: ShortCodeRow.current(.passwordReset, of: mailbox, tenant: tenant).sql
        ),
        Statement(name: "ShortCodeRow.hold", sql: ShortCodeRow.hold(shortCode, at: origin)),
        Statement(name: "ShortCodeRow.replace", sql: ShortCodeRow.replace(shortCode)),
        Statement(
            name: "SignInRefusalRow.add",
            sql: SignInRefusalRow.add(
                tenants: [""],
                users: ["u"],
                days: [19_675],
                reasons: ["S4"],
                counts: [3],
                firstAt: [origin.stored],
                lastAt: [origin.stored]
            )
        ),
        Statement(
            name: "SignInRefusalRow.deleteOld",
            sql: SignInRefusalRow.deleteOld(before: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(
            name: "SignInRefusalRow.of",
            sql: SignInRefusalRow.of(fixed, tenant: tenant, rowsMax: 100).sql,
            isHot: false
        ),
        Statement(
            name: "SignInMethodRow.delete",
            sql: SignInMethodRow.delete(.password, of: fixed, tenant: tenant)
        ),
        Statement(
            name: "SignInMethodRow.put",
            sql: SignInMethodRow.put(
                .password,
                UserRecord.MethodProof(proof: .signUp, provenAt: origin),
                for: fixed,
                tenant: tenant
            )
        ),
        Statement(name: "SigningKeyRow.all", sql: SigningKeyRow.all.sql, isHot: false),
        Statement(name: "SigningKeyRow.insertIfAbsent", sql: SigningKeyRow.insertIfAbsent(key), isHot: false),
        Statement(
            name: "SigningKeyRow.retire",
            sql: SigningKeyRow.retire(.idToken, generation: 1, publishedUntil: origin),
            isHot: false
        ),
        Statement(name: "TenantRow.exists", sql: TenantRow.exists(tenant).sql, isHot: false),
        Statement(name: "TenantRow.firstWithUsers", sql: TenantRow.firstWithUsers.sql, isHot: false),
        Statement(name: "TenantRow.nextWithUsers", sql: TenantRow.nextWithUsers(after: tenant).sql, isHot: false),
        Statement(name: "TenantRow.next", sql: TenantRow.next(after: nil)[0].sql, isHot: false),
        Statement(name: "TenantRow.next", sql: TenantRow.next(after: tenant)[1].sql, isHot: false),
        Statement(name: "UserIDRow.cuts", sql: UserIDRow.cuts(AccountScope(tenant: tenant)), isHot: false),
        Statement(
            name: "UserIDRow.linkedWithEmail",
            sql: UserIDRow.linkedWithEmail(address("user7@example.com"), tenant: tenant).sql
        ),
        Statement(name: "UserIDRow.version", sql: UserIDRow.version(of: fixed, tenant: tenant).sql, isHot: false),
        Statement(
            name: "UserIDRow.withInitialEmails",
            sql: UserIDRow.withInitialEmails(["User7@example.com"], tenant: tenant).sql
        ),
        Statement(name: "UserRow.address", sql: UserRow.address(of: fixed, tenant: tenant).sql),
        Statement(name: "UserRow.after", sql: UserRow.after(fixed, limit: 21, tenant: tenant).sql),
        Statement(name: "UserRow.assertVersion", sql: UserRow.assertVersion(1, of: fixed, tenant: tenant)),
        Statement(name: "UserRow.count", sql: UserRow.count(upTo: 101, tenant: tenant).sql),
        Statement(name: "UserRow.deleteAll", sql: UserRow.deleteAll(tenant: tenant, at: origin), isHot: false),
        Statement(name: "UserRow.delete", sql: UserRow.delete(fixed, tenant: tenant)),
        Statement(
            name: "AccountEventRow.insertMany",
            sql: AccountEventRow.insertMany([(event, fixed)], tenant: tenant)
        ),
        Statement(
            name: "ConflictRow.supersedeAllLive",
            sql: ConflictRow.supersedeAllLive(of: [fixed], tenant: tenant, at: origin)
        ),
        Statement(name: "IdentifierRow.claimMany", sql: IdentifierRow.claimMany([(email, fixed)], tenant: tenant)),
        Statement(
            name: "IdentifierRow.owned",
            sql: IdentifierRow.owned(kind: "email", values: ["a"], tenant: tenant).sql
        ),
        Statement(name: "IdentifierRow.releaseMany", sql: IdentifierRow.releaseMany([(email, fixed)], tenant: tenant)),
        Statement(name: "LinkedProviderRow.deleteAll", sql: LinkedProviderRow.deleteAll(of: [fixed], tenant: tenant)),
        Statement(
            name: "LinkedProviderRow.insertMany",
            sql: LinkedProviderRow.insertMany([(fixed, provider)], tenant: tenant)
        ),
        Statement(
            name: "PasswordCredentialRow.deleteAll",
            sql: PasswordCredentialRow.deleteAll(of: [fixed], tenant: tenant)
        ),
        Statement(
            name: "PasswordCredentialRow.putMany",
            sql: PasswordCredentialRow.putMany([(fixed, "hash", origin)], tenant: tenant)
        ),
        Statement(
            name: "QuarantinedMethodRow.deleteAll",
            sql: QuarantinedMethodRow.deleteAll(of: [fixed], tenant: tenant)
        ),
        Statement(name: "SecondFactorRow.deleteAll", sql: SecondFactorRow.deleteAll(of: [fixed], tenant: tenant)),
        Statement(
            name: "SecondFactorRow.insertNumbers",
            sql: SecondFactorRow.insertNumbers([(fixed, 1, factor)], tenant: tenant)
        ),
        Statement(name: "SessionRow.deleteAll", sql: SessionRow.deleteAll(of: [fixed], tenant: tenant)),
        Statement(name: "SignInMethodRow.deleteAll", sql: SignInMethodRow.deleteAll(of: [fixed], tenant: tenant)),
        Statement(
            name: "SignInMethodRow.insertMany",
            sql: SignInMethodRow.insertMany(
                [(fixed, .password, UserRecord.MethodProof(proof: .imported, provenAt: origin))],
                tenant: tenant
            )
        ),
        Statement(name: "UserRow.assertRaised", sql: UserRow.assertRaised(user)),
        Statement(name: "UserRow.assertUnchanged", sql: UserRow.assertUnchanged(user)),
        Statement(name: "UserRow.assertAllRaised", sql: UserRow.assertAllRaised([user], tenant: tenant)),
        Statement(name: "UserRow.insertMany", sql: UserRow.insertMany([user], tenant: tenant)),
        Statement(name: "UserRow.updateMany", sql: UserRow.updateMany([user], epochs: [1000], tenant: tenant)),
        Statement(name: "UserRow.insert", sql: UserRow.insert(user)),
        Statement(name: "UserRow.withManyIDs", sql: UserRow.withManyIDs([fixed], tenant: tenant).sql),
        Statement(
            name: "UserRow.idPage",
            sql: UserRow.idPage(
                by: UserOrder(key: .createdAt, isDescending: true),
                limit: 20,
                offset: 40,
                tenant: tenant
            )
            .sql
        ),
        Statement(
            name: "UserRow.idPage",
            sql: UserRow.idPage(
                by: UserOrder(key: .displayName, isDescending: true),
                limit: 20,
                offset: 40,
                tenant: tenant
            )
            .sql,
            isHot: false
        ),
        Statement(
            name: "StoredEventRow.of",
            sql: StoredEventRow.of(fixed, tenant: tenant, before: nil, rowsMax: 50).sql
        ),
        Statement(name: "StoredEventRow.withID", sql: StoredEventRow.withID(event.id).sql, isHot: false),
        Statement(
            name: "StoredEventRow.countWithoutFacts",
            sql: StoredEventRow.countWithoutFacts(after: event.id, since: origin, tenant: nil).sql,
            isHot: false
        ),
        Statement(
            name: "StoredEventRow.withQuestions",
            sql: StoredEventRow.withQuestions(after: event.id, tenant: nil, limit: 500).sql,
            isHot: false
        ),
        Statement(
            name: "UsedIDTokenRow.insert",
            sql: UsedIDTokenRow.insert(
                IDTokenUse(digest: Array(repeating: 9, count: 32), expiresAt: later, isFirst: false),
                of: fixed,
                tenant: tenant
            )
        ),
        Statement(
            name: "UsedIDTokenRow.insert",
            sql: UsedIDTokenRow.insert(
                IDTokenUse(digest: Array(repeating: 10, count: 32), expiresAt: later, isFirst: true),
                of: fixed,
                tenant: tenant
            )
        ),
        Statement(
            name: "UsedIDTokenRow.isUsed",
            sql: UsedIDTokenRow.isUsed(Array(repeating: 9, count: 32), of: fixed, tenant: tenant).sql
        ),
        Statement(name: "UserRow.setLastLogin", sql: UserRow.setLastLogin(origin, of: fixed, tenant: tenant)),
        Statement(name: "UserRow.lock", sql: UserRow.lock(user)),
        Statement(
            name: "UserRow.touch",
            sql: UserRow.touch(
                tenants: ["", ""],
                ids: ["user-7", "user-8"],
                epochs: [1000, 1001],
                signedInAt: [nil, origin.stored],
                refreshedAt: [origin.stored, origin.stored]
            )
        ),
        Statement(name: "UserRow.update", sql: UserRow.update(user, epoch: 1000)),
        Statement(name: "UserRow.lookup", sql: UserRow.lookup(fixed, tenant: tenant).sql),
        Statement(name: "UserRow.withID", sql: UserRow.withID(fixed, tenant: tenant).sql),
        Statement(name: "UserVersionRow.lookup", sql: UserVersionRow.lookup(fixed, tenant: tenant).sql),
        Statement(name: "UserRow.withIDs", sql: UserRow.withIDs([fixed, userID("user-8")], tenant: tenant).sql),
        Statement(name: "WebhookEndpointRow.all", sql: WebhookEndpointRow.all.sql, isHot: false),
        Statement(name: "WebhookEndpointRow.delete", sql: WebhookEndpointRow.delete(use, version: 1), isHot: false),
        Statement(
            name: "WebhookEndpointRow.disable",
            sql: WebhookEndpointRow.disable(use, .failing, failingBefore: origin, at: origin),
            isHot: false
        ),
        Statement(name: "WebhookEndpointRow.enable", sql: WebhookEndpointRow.enable(use, version: 1), isHot: false),
        Statement(name: "WebhookEndpointRow.enabledCount", sql: WebhookEndpointRow.enabledCount.sql, isHot: false),
        Statement(
            name: "WebhookEndpointRow.insert",
            sql: WebhookEndpointRow.insert(use, url: "https://a.example.com", sealedSecret: [9], at: origin),
            isHot: false
        ),
        Statement(
            name: "WebhookEndpointRow.noteFailure",
            sql: WebhookEndpointRow.noteFailure(of: use, at: origin),
            isHot: false
        ),
        Statement(name: "WebhookEndpointRow.noteSuccess", sql: WebhookEndpointRow.noteSuccess(of: use), isHot: false),
        Statement(
            name: "WebhookEndpointRow.replaceSecret",
            sql: WebhookEndpointRow.replaceSecret(of: use, version: nil, by: [9], until: later),
            isHot: false
        ),
        Statement(
            name: "WebhookEndpointRow.secrets",
            sql: WebhookEndpointRow.secrets(of: use, at: origin).sql,
            isHot: false
        ),
        Statement(name: "WebhookEndpointRow.withID", sql: WebhookEndpointRow.withID(use).sql, isHot: false),
        Statement(
            name: "WebhookMessageRow.claim",
            sql: WebhookMessageRow.claim(
                at: origin,
                until: later,
                places: WebhookSlots(max: 4, failingMax: 1, taken: [use: 2])
            ),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.deleteEnded",
            sql: WebhookMessageRow.deleteEnded(before: origin, rowsMax: 10),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.failed",
            sql: WebhookMessageRow.failed(of: use, countMax: 100).sql,
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.finish",
            sql: WebhookMessageRow.finish(webhook, .delivered, status: 200, at: origin),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.insert",
            sql: WebhookMessageRow.insert(
                .about(conflict, .conflictProven),
                id: use,
                rule: .providerLinked,
                of: fixed,
                tenant: tenant,
                at: origin
            ),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.insert",
            sql: WebhookMessageRow.insert(
                linked,
                id: use,
                rule: .providerLinked,
                of: fixed,
                tenant: tenant,
                at: origin
            ),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.insert",
            sql: WebhookMessageRow.insert(
                news,
                id: use,
                rule: .untrustedEmailConflict,
                of: fixed,
                tenant: tenant,
                at: origin
            ),
            isHot: false
        ),
        Statement(
            name: "WebhookMessageRow.waitingCount",
            sql: WebhookMessageRow.waitingCount(countMax: 10).sql,
            isHot: false
        ),
    ]
}()

private let statementsOfPurges: [Statement] = AccountStore.Purgeable.allCases.flatMap { kind in
    [
        Statement(name: "Purgeable.\(kind)", sql: kind.deletion(endedBefore: origin, rowsMax: 10), isHot: false),
        Statement(name: "Purgeable.\(kind).oldest", sql: kind.oldest(endedBefore: origin).sql, isHot: false),
    ]
}
.filter { purge in !(statementsOfDecisions + statementsOfJournal).contains { $0.sql.text == purge.sql.text } }

/// Statements of administrators' changes. No request waits for them, but they too concern one account.
private let statementsOfJournal: [Statement] = {
    let step = JournalStep(tenant: tenant, change: PostgresUUID(high: 3, low: 4), number: 0)
    let claim = JournalEntry.Claim(kind: "email", value: "user7@example.com")
    let entry = JournalEntry(step: step, users: ["user-7"], claims: [claim], retainedUntil: later)
    let clash = JournalClash(table: "users", user: "user-7", subject: "display_name")
    let image = JSONText(#"{"user_id": "user-7", "version": 7}"#)
    func row(_ table: String, _ key: String = "user-7") -> AccountJournalRow {
        AccountJournalRow(table: table, key: key, before: image, after: image, user: "user-7")
    }
    let (user, owned) = (row("users"), row("identifiers", "email\u{1F}user7@example.com"))
    let rows = [user] + JournaledTable.withUser.map { row($0.name.text) }
    let single: [(String, SQL)] = [
        ("assertClashes", AccountJournalRow.assertClashes([clash], rows, of: "user-7", tenant: tenant)),
        ("assertImages", AccountJournalRow.assertImages(rows, of: step) ?? ""),
        ("assertOwner", AccountJournalRow.assertOwner(of: claim, owned, tenant: tenant)),
        ("clashes", AccountJournalRow.clashes(rows, of: "user-7", tenant: tenant).sql),
        ("delete", AccountJournalRow.delete(step)),
        ("deleteEndedSessions", AccountJournalRow.deleteEndedSessions(of: "user-7", tenant: tenant)),
        ("deleteUnchanged", AccountJournalRow.deleteUnchanged(entry)),
        ("deleteUser", AccountJournalRow.deleteUser("user-7", tenant: tenant)),
        ("hold", AccountJournalRow.hold(step, count: 7)),
        ("insertUser", AccountJournalRow.insertUser(user, at: origin)),
        ("of", AccountJournalRow.of(step).sql),
        ("owner", AccountJournalRow.owner(of: claim, owned, tenant: tenant).sql),
        ("removeClaim", AccountJournalRow.removeClaim(claim, owned, tenant: tenant)),
        ("removeCode", AccountJournalRow.removeCode(row("one_time_codes", "00ff"), tenant: tenant)),
        ("restoreClaim", AccountJournalRow.restoreClaim(owned)),
        ("restoreUser", AccountJournalRow.restoreUser(user, tenant: tenant, endingSessions: true, at: origin)),
        ("restoredOwner", AccountJournalRow.restoredOwner(user, tenant: tenant).sql),
    ]
    let several =
        AccountJournalRow.insertAfter(entry).map { ("insertAfter", $0) }
        + AccountJournalRow.insertBefore(entry).map { ("insertBefore", $0) }
        + AccountJournalRow.removeAfter(rows, of: "user-7", tenant: tenant).map { ("removeAfter", $0) }
        + AccountJournalRow.restoreRows(rows, of: "user-7", tenant: tenant).map { ("restoreRows", $0) }
    return (single + several).map { Statement(name: "AccountJournalRow.\($0.0)", sql: $0.1, isHot: false) }
}()

struct StatementTests {
    @Test func `every statement has the text in the golden file`() throws {
        let text = statements.withFormsForCitus.map { "-- \($0.name)\n\($0.sql.text.trimmingTrailingSpace)\n" }.joined(
            separator: "\n"
        )
        try golden.expect(text, matches: "statements.txt")
    }

    /// `EarlierServerTests` prepares the statements of a release with these types (docs/internals/releasing.md).
    @Test func `every statement has the types of its parameters in the golden file`() throws {
        let lines = statements.map { statement in
            "\(statement.name) (\(statement.sql.types.map(Self.typeName).joined(separator: ", ")))\n"
        }
        try golden.expect(lines.joined(), matches: "parameters.txt")
    }

    private static func typeName(_ oid: UInt32) -> String {
        let names: [UInt32: String] = [
            16: "boolean", 17: "bytea", 20: "bigint", 21: "smallint", 23: "integer", 25: "text", 114: "json",
            700: "real", 701: "double precision", 1000: "boolean[]", 1001: "bytea[]", 1005: "smallint[]",
            1007: "integer[]", 1009: "text[]", 1016: "bigint[]", 1184: "timestamptz", 1185: "timestamptz[]",
            2950: "uuid", 2951: "uuid[]", 3802: "jsonb", 3807: "jsonb[]",
        ]
        return names[oid] ?? "unknown"
    }

    @Test func `this test lists every statement of the row files`() throws {
        let folder = Repository.root + "/Sources/AccountStore/Rows"
        var declared: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasSuffix(".swift") {
            var type = ""
            for line in try String(contentsOfFile: folder + "/" + file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: #/^(?:struct|enum|extension) (\w+)/#) { type = String(match.1) }
                let isMember = ["OneTimeSecret", "StoredSessionCode"].contains(type) && line.hasPrefix("    func ")
                if let match = line.firstMatch(of: #/^    (?:static )?(?:func|let) (\w+)/#),
                    isMember || type.hasSuffix("Row") && line.hasPrefix("    static ")
                {
                    declared.insert("\(type).\(match.1)")
                }
            }
        }
        let listed = Set(statements.map(\.name))
        #expect(declared.subtracting(listed) == [], "add these to the list")
        // Every kind of `Purgeable` is listed.
        #expect(
            listed.filter { !$0.hasPrefix("Purgeable.") && !$0.contains("Tables.") }.subtracting(declared) == [],
            "remove these from the list"
        )
    }

    @Test func `every read has the name of its table in the list of measured calls`() {
        let names = Set(AccountStore.callNames)
        // Audits and exports read by connections without metrics; transactions are measured by their own names.
        let copies = #/^(AuditTables|ExportTables|TenantRow|Owned)/#
        let partsOfTransactions = #/^AccountJournalRow|\.(assert|hold)/#
        for statement in statements where statement.sql.text.hasPrefix("SELECT") {
            guard let table = statement.sql.table else {
                let isRead = !statement.name.contains(copies) && !statement.name.contains(partsOfTransactions)
                #expect(!isRead, "\(statement.name) names no table by \\(table:)")
                continue
            }
            #expect(names.contains("read-\(table)"), "\(statement.name): read-\(table)")
        }
    }

    @Test func `every statement runs on Citus and asks one shard`() {
        var used: Set<String> = []
        for statement in statements.asSentToCitus {
            let scan = ShardScan(statement.sql.text)
            #expect(scan.faults.isEmpty, "\(statement.name): Citus refuses \(scan.faults)")
            if !scan.unrestricted.isEmpty {
                let exemption = ShardScan.exemption(of: statement.name)
                #expect(
                    exemption != nil,
                    """
                    \(statement.name) asks every shard of \(scan.unrestricted). Compare the key that \
                    Distribution.tables names with a parameter beside each of them, or add the statement to \
                    ShardScan.asksEveryShard with the reason why it may.
                    """
                )
                used.formUnion([exemption].compactMap(\.self))
            }
        }
        #expect(ShardScan.exemptions.subtracting(used) == [], "remove these from asksEveryShard")
    }

    @Test(arguments: [
        ("SELECT 1 FROM users WHERE user_id = $1", [], 0),
        ("SELECT 1 FROM users AS u WHERE u.user_id = ANY($1)", [], 0),
        ("SELECT 1 FROM users WHERE email = $1", ["users"], 0),
        ("SELECT 1 FROM users WHERE user_id > $1", ["users"], 0),
        ("SELECT 1 FROM users JOIN sessions USING (user_id)", ["users", "sessions"], 0),
        ("SELECT 1 FROM users AS u JOIN sessions AS s ON s.user_id = u.user_id WHERE u.user_id = $1", [], 0),
        ("SELECT 1 FROM password_attempts WHERE address_digest = sha256($1)", [], 0),
        (
            "SELECT 1 FROM password_attempts WHERE address_digest = sha256(convert_to($1, 'UTF8'))",
            ["password_attempts"], 0
        ),
        ("SELECT 1 FROM webhook_endpoints", [], 0),
        ("DELETE FROM sessions WHERE tenant_id = $1", ["sessions"], 0),
        ("INSERT INTO sessions (tenant_id, user_id) VALUES ($1, $2)", [], 0),
        ("INSERT INTO sessions (tenant_id, user_id) SELECT new.* FROM unnest($1, $2) AS new", ["sessions"], 0),
        ("UPDATE sessions SET user_id = $1 WHERE user_id = $2", [], 1),
        ("SELECT EXISTS (SELECT FROM users WHERE user_id = $1)", [], 1),
        ("SELECT 1 FROM users WHERE tenant_id = $1 FOR UPDATE", ["users"], 1),
        ("UPDATE outbox SET attempts = 1 WHERE created_at < clock_timestamp()", [], 1),
        (
            "SELECT 1 FROM users LEFT JOIN LATERAL (SELECT 1 FROM sessions AS own WHERE own.user_id = users.user_id "
                + "OFFSET 0) AS s ON true WHERE users.user_id = $1", ["own"], 0
        ),
        ("SELECT 1 FROM identifiers AS i JOIN users AS u ON u.user_id = i.user_id WHERE i.value = $1", ["u"], 1),
        (
            "INSERT INTO message_counts AS c (tenant_id, count_digest) VALUES ($1, $2) ON CONFLICT (tenant_id) "
                + "DO UPDATE SET messages = ($3)[c.messages]", [], 1
        ),
    ])
    func `the scan finds tables without a key and what Citus refuses`(
        text: String,
        unrestricted: [String],
        faultCount: Int
    ) {
        let scan = ShardScan(text)
        #expect(scan.unrestricted == unrestricted)
        #expect(scan.faults.count == faultCount, "\(scan.faults)")
    }

    @Test func `every statement about accounts names its shard`() {
        for statement in statements.withFormsForCitus where statement.isHot {
            #expect(statement.sql.text.contains("tenant_id"), "\(statement.name)")
        }
    }
}

@Suite(.store, .notOnCitus("the plan of a statement on Citus shows shards"))
struct PlanTests {
    @Test func `statements that requests wait for use indexes`() async throws {
        let database = try StoreScene.shared.database
        try await PostgresConnection.withConnection(database.configuration) { connection in
            try connection.execute(script: Self.thousandUsers)
        }
        var text = ""
        for statement in statements where statement.isHot {
            let plan = try await database.rows(Query<String?>("EXPLAIN (COSTS OFF) \(statement.sql.onPostgres)"))
                .compactMap { $0 }
            #expect(!plan.contains { $0.contains("Seq Scan") }, "\(statement.name)")
            text += "-- \(statement.name)\n" + plan.map { "\($0)\n" }.joined() + "\n"
        }
        try golden.expect(text, matches: "plans.txt")
    }

    @Test func `a plan made for an empty table does not scan the table`() async throws {
        // A separate, empty database. Statistics of empty tables make the worst plans.
        try await StoreScene.with { scene in
            try await scene.database.execute("VACUUM ANALYZE")
            for statement in statements.filter(\.isHot) + statementsOfJournal {
                let plan = try await scene.client.read(
                    Query<String?>("EXPLAIN (COSTS OFF) \(statement.sql.onPostgres)")
                )
                .compactMap { $0 }
                #expect(!plan.contains { $0.contains("Seq Scan") }, "\(statement.name): \(plan)")
            }
        }
    }

    @Test func `the purge finds old events through an index, however many there are`() async throws {
        let database = try StoreScene.shared.database
        try await database.execute(
            """
            INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                SELECT 'old-' || n, (id || lpad(n::text, 12, '0'))::uuid, now(), 'user-created', 'P11'
                FROM generate_series(1, 5000) AS n, unnest(ARRAY[\(Self.pastID), \(Self.outsideID)]) AS id;
            ANALYZE account_events
            """
        )
        try await PostgresConnection.withConnection(database.configuration) { connection in
            try connection.execute(script: "SET enable_seqscan = off; BEGIN; \(SQL.findingRowsByKey.text)")
            for (statement, index) in [
                (AccountEventRow.deleteOld(before: origin, rowsMax: 10), "account_events_past_by_id"),
                (
                    AccountEventRow.deleteOldOutsideMonths(before: origin, rowsMax: 10),
                    "account_events_default_event_id_idx"
                ),
            ] {
                let plan = try connection.query(Query<String?>("EXPLAIN (COSTS OFF) \(statement)")).compactMap { $0 }
                #expect(plan.contains { $0.contains("Index Scan using \(index)") }, "\(plan)")
                #expect(!plan.contains { $0.contains("Seq Scan") }, "\(plan)")
            }
        }
    }

    /// The plans are generic: they do not know how few rows are deleted. Without `SQL.findingRowsByKey` each batch would
    /// read the whole table.
    @Test func `every purge finds the rows that ended by index and key, however many others there are`() async throws {
        let purges =
            AccountStore.Purgeable.allCases.map { ($0.rawValue, $0.deletion(endedBefore: origin, rowsMax: 10)) } + [
                ("countEnded", ConflictRow.countEnded(at: origin, rowsMax: 10)),
                ("moveUsed", SessionRow.moveUsed(since: origin, rowsMax: 10)),
                ("dateUndated", SessionRow.dateUndated(rowsMax: 10)),
            ]
        try await StoreScene.with { scene in
            try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                try connection.execute(script: Self.thousandUsers)
                try connection.execute(
                    script: """
                        UPDATE sessions SET used_day = 20000;
                        ANALYZE;
                        SET plan_cache_mode = force_generic_plan;
                        SET enable_seqscan = off;
                        CREATE TEMPORARY TABLE plans (purge text, line text);
                        """
                )
                for (name, purge) in purges {
                    let count = purge.text.matches(of: #/\$(\d+)/#).compactMap { Int($0.output.1) }.max() ?? 0
                    let values = Array(repeating: "NULL", count: count).joined(separator: ", ")
                    try connection.execute(
                        script: """
                            BEGIN;
                            \(SQL.findingRowsByKey.text);
                            PREPARE \(name) AS \(purge.text);
                            DO $$ DECLARE line text; BEGIN
                                FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE \(name)(\(values))' LOOP
                                    INSERT INTO plans VALUES ('\(name)', line);
                                END LOOP;
                            END $$;
                            COMMIT;
                            """
                    )
                }
                #expect(
                    try connection.query("SELECT DISTINCT purge FROM plans" as Query<String?>).count == purges.count
                )
                // Tables of a few rows have no index by end.
                let scans = try connection.query(
                    """
                    SELECT purge || ': ' || line FROM plans
                    WHERE line ~ '(Hash|Merge).*Join' OR line ~ 'Seq Scan on (?!webhook_endpoints|signing_keys)'
                    """ as Query<String?>
                )
                #expect(scans.compactMap { $0 } == [])
            }
        }
    }

    /// The beginning of an event's id, as a literal: before the first month, and after every month.
    private static let (pastID, outsideID) = ("'00000000-0000-7000-8000-'", "'ffffffff-0000-7000-8000-'")

    private static let thousandUsers = """
        INSERT INTO users (user_id, session_epoch, email, valid_since, created_at)
            SELECT 'user-' || n, n, 'user' || n || '@example.com', now(), now() FROM generate_series(1, 1000) AS n;
        INSERT INTO identifiers (kind, value, user_id)
            SELECT 'email', 'user' || n || '@example.com', 'user-' || n FROM generate_series(1, 1000) AS n;
        INSERT INTO password_credentials (user_id, hash, updated_at)
            SELECT 'user-' || n, 'hash', now() FROM generate_series(1, 1000) AS n;
        INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
            SELECT 'user-' || n, 'google.com', n::text, now(), now() FROM generate_series(1, 1000) AS n;
        INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
            SELECT 'user-' || n, method, 'sign-up', now()
            FROM generate_series(1, 1000) AS n, unnest(ARRAY['password', 'google.com']) AS method;
        INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
            SELECT 'user-' || n, decode(md5(n::text), 'hex'), sha256(n::text::bytea), n, now(), 'password'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
            SELECT 'user-' || n, (id || lpad(n::text, 12, '0'))::uuid, now(), 'user-created', 'P11'
            FROM generate_series(1, 1000) AS n, unnest(ARRAY[\(pastID), \(outsideID)]) AS id;
        INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                sealed_credential, opened_at, expires_at)
            SELECT 'user-' || n, decode(md5(n::text), 'hex'), 'open', 'credential-already-in-use', 'google.com',
                sha256(n::text::bytea), ARRAY[sha256(n::text::bytea)], 'x', now(), now() + interval '1 hour'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO conflict_returns (user_id, conflict_id, continue_url, code_challenge, session_id, code_hash,
                code_ends_at)
            SELECT 'user-' || n, decode(md5(n::text), 'hex'), 'https://app.example.com/back', sha256('1'),
                decode(md5(n::text), 'hex'), sha256(n::text::bytea), now() FROM generate_series(1, 1000) AS n;
        INSERT INTO sign_in_returns (user_id, session_id, continue_url, code_challenge, code_hash, code_ends_at)
            SELECT 'user-' || n, decode(md5(n::text), 'hex'), 'https://app.example.com/back', sha256('1'),
                sha256(n::text::bytea), now() FROM generate_series(1, 1000) AS n;
        INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at)
            SELECT sha256(n::text::bytea), 'PASSWORD_RESET', 'user-' || n, 'user' || n || '@example.com',
                'user' || n || '@example.com', now(), now() + interval '1 hour' FROM generate_series(1, 1000) AS n;
        INSERT INTO code_methods (code_hash, method, was_there)
            SELECT sha256(n::text::bytea), 'password', false FROM generate_series(1, 1000) AS n;
        INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
            SELECT sha256(convert_to('user' || n || '@example.com', 'UTF8')), 1, now(), now() + interval '1 day'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO password_sources (address_digest, source_digest, failures, locked_until, forgotten_at)
            SELECT sha256(convert_to('user' || n || '@example.com', 'UTF8')), sha256(convert_to('network' || n, 'UTF8')), 1,
                now(), now() + interval '1 day' FROM generate_series(1, 1000) AS n;
        INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
            SELECT 'user-' || n, sha256(n::text::bytea), 'x', now() + interval '1 day'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO quarantined_methods (user_id, method, subject, event_id, rule, quarantined_at, expires_at)
            SELECT 'user-' || n, 'google.com', 'subject-' || n, gen_random_uuid(), 'I9', now(), now() + interval '1 day'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO merges (merge_id, survivor_id, absorbed_id, state, choices, asked_by, survivor_version, absorbed_version,
                prepared_at, deadline_at, ended_at, undo_until)
            SELECT gen_random_uuid(), 'user-' || n, 'gone-' || n, 'committed', '{}', 'owners', 1, 1, now(), now(), now(), now()
            FROM generate_series(1, 1000) AS n;
        INSERT INTO used_id_tokens (user_id, token_digest, expires_at)
            SELECT 'user-' || n, sha256(n::text::bytea), now() + interval '1 hour' FROM generate_series(1, 1000) AS n;
        INSERT INTO devices (user_id, device_id, slot, session_epoch, created_at, last_used_at, expires_at)
            SELECT 'user-' || n, sha256((n || ' ' || slot)::bytea), slot, n, now(), now(), now() + interval '90 days'
            FROM generate_series(1, 1000) AS n, generate_series(1, 20) AS slot;
        INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
            SELECT sha256(n::text::bytea), sha256(n::text::bytea), 'google.com', 'x', now() + interval '1 hour'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO pending_sign_ups (sign_up_digest, email, link_hash, sealed_code, created_at, expires_at)
            SELECT sha256(n::text::bytea), 'user' || n || '@example.com', sha256(n::text::bytea), 'x', now(),
                now() + interval '1 hour' FROM generate_series(1, 1000) AS n;
        INSERT INTO phone_verifications (verification_id, session_digests, purpose, number, sealed_code, is_current,
                created_at, expires_at)
            SELECT decode(md5(n::text), 'hex'), ARRAY[sha256(n::text::bytea)], 'sign-in', '+1650555' || (1000 + n), 'x',
                true, now(), now() + interval '10 minutes' FROM generate_series(1, 1000) AS n;
        INSERT INTO short_codes (kind, email_key, code_hash, sealed_code, expires_at)
            SELECT 'PASSWORD_RESET', 'user' || n || '@example.com', sha256(n::text::bytea), 'x', now() + interval '1 hour'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO message_counts (count_digest, messages, ends_at)
            SELECT sha256(n::text::bytea), 1, now() + interval '1 hour' FROM generate_series(1, 1000) AS n;
        INSERT INTO second_factors (user_id, enrollment_id, slot, number, enrolled_at)
            SELECT 'user-' || n, 'factor', 1, '+1650555' || (1000 + n), now() FROM generate_series(1, 1000) AS n;
        INSERT INTO factor_challenges (user_id, challenge_id, purpose, session_epoch, sealed_content, created_at,
                expires_at)
            SELECT 'user-' || n, decode(md5(n::text), 'hex'), 'sign-in', n, 'x', now(), now() + interval '15 minutes'
            FROM generate_series(1, 1000) AS n;
        INSERT INTO proof_mails (user_id, place, free_at)
            SELECT 'user-' || n, place, now() + interval '1 hour'
            FROM generate_series(1, 1000) AS n, generate_series(1, 10) AS place;
        ANALYZE;
        """
}

extension String {
    fileprivate var trimmingTrailingSpace: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
            .joined(separator: "\n")
    }
}
