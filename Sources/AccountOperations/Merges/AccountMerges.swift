package import AccountLinking
package import AccountStore
import JSON

/// A merge as clients and operators see it.
package struct Merge: Sendable, Hashable {
    /// A UUID.
    package let id: String
    package let survivor: UserID
    package let absorbed: UserID
    package let state: MergeState
    package let choices: [MergeField: MergeSide]
    package let requestedBy: MergeRequesterKind
    /// The administrator's reason.
    package let reason: String?
    package let preparedAt: Timestamp
    /// Time by which webhook receivers must agree.
    package let deadlineAt: Timestamp
    /// Time of the commit or abort.
    package let endedAt: Timestamp?
    package let abortReason: MergeAbortReason?
    package let undoUntil: Timestamp?
    package let undoneAt: Timestamp?

    init(_ record: MergeRecord) {
        id = record.id.text
        survivor = record.survivor
        absorbed = record.absorbed
        state = record.state
        choices = record.choices
        requestedBy = record.requestedBy
        reason = record.reason
        preparedAt = record.preparedAt
        deadlineAt = record.deadlineAt
        endedAt = record.endedAt
        abortReason = record.abortReason
        undoUntil = record.undoUntil
        undoneAt = record.undoneAt
    }

    /// Raised by each change of state: a merge ends once, and is undone once.
    package var version: Int64 {
        switch state {
        case .prepared: 1
        case .committed, .aborted: 2
        case .undone: 3
        }
    }
}

/// The reason why a request about a merge is refused.
package enum MergeDenial: Sendable, Hashable {
    case refused(MergeRefusal)
    /// The caller has presented a session of one account only.
    case absorbedSessionMissing
    /// The fields that need a choice.
    case undecided([MergeField])
    /// One of the accounts is in this pending merge.
    case alreadyMerging(Merge)
    /// This merge was committed before.
    case alreadyMerged(Merge)
    /// This merge absorbed one of the accounts into another.
    case mergedAway(Merge)
    case unknown
    /// The state of the merge does not allow the request.
    case closed(MergeState)
    /// The undo period is over.
    case tooLate
    /// Changes since the merge.
    case laterChanges([LaterChange])
    /// The owner cannot undo the merge.
    case ownerUndo(OwnerUndoDenial)
}

/// The reason why the owner of an account cannot undo a merge into it.
package enum OwnerUndoDenial: Sendable, Hashable {
    /// An administrator merged the accounts.
    case needsAdministrator
    case secondFactorRequired
    /// Changes since the merge. Only an administrator may leave them.
    case laterChanges([LaterChange])
}

/// The result of a merge, before it is made.
package struct MergePreview: Sendable {
    package let survivor: UserRecord
    package let absorbed: UserRecord
    package let plan: MergePlan
    /// A pending merge of one of the accounts. No other can begin until it ends.
    package let waiting: Merge?
}

/// The result of an undo, before it is made.
package struct MergeUndoPreview: Sendable {
    package let changes: [LaterChange]
    /// True if the changes do not prevent the undo.
    package let isPossible: Bool
}

/// The owner who asks for an undo.
struct MergeOwner: Sendable {
    /// The account of the session, as it is.
    let account: UserRecord
    /// The challenge that the session must meet; `nil` if its sign-in is recent.
    let challenge: ReauthenticationChallenge?
    /// True if the account has a second factor that the session has not proven.
    let lacksSecondFactor: Bool
}

/// A merge that was undone.
package struct UndoneMerge: Sendable {
    package let merge: Merge
    /// Changes since the merge, which stay.
    package let kept: [LaterChange]
}

/// Merges two accounts, and undoes it. Needs no server: the command line uses it too.
///
/// One transaction prepares a merge, another commits it. In between webhook receivers are asked, and no lock is held.
/// Any caller can advance a merge; of concurrent callers one does.
package struct AccountMerges: Sendable {
    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let settings: ProjectSettings
    private let metrics: OperationMetrics
    /// The recovery mail to the survivor's previous address, if owners replace it. Only servers set it: on the command
    /// line no owner merges.
    var recoveryMail: RecoveryMail?

    typealias RecoveryMail =
        @Sendable (EmailRecovery, _ before: UserRecord, _ after: UserRecord, Timestamp) async throws
        -> [AccountWrite.SideWrite]

    /// Maximum number of merges in an account's list.
    private static let countMax = 100
    /// Number of pending merges that one pass advances.
    private static let waitingMax = 64

    package init(
        store: AccountStore,
        sealer: Sealer,
        effects: Effects,
        settings: ProjectSettings,
        metrics: OperationMetrics = OperationMetrics()
    ) {
        self.store = store
        self.sealer = sealer
        self.effects = effects
        self.settings = settings
        self.metrics = metrics
    }

    /// Returns true for a reason of 1 to 500 printable characters.
    package static func isReason(_ text: String) -> Bool {
        (1...500).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            && text.contains { !$0.isWhitespace }
    }

    /// Returns the result of `request` without writing it.
    package func preview(_ request: MergeRequest, tenant: TenantID) async throws -> MergePreview {
        let (survivor, absorbed) = try await accounts(request.survivor, request.absorbed, tenant: tenant)
        let verdict = try await decide(request, survivor, absorbed, at: effects.now())
        guard let plan = verdict.decision.plan else { throw try await denial(verdict, request, tenant: tenant) }
        guard let survivor, let absorbed else { throw UnexpectedDecision(verdict.rule) }
        let waiting = try await store.liveMerge(of: [survivor.id, absorbed.id], tenant: tenant)
        return MergePreview(survivor: survivor, absorbed: absorbed, plan: plan, waiting: waiting.map(Merge.init))
    }

    /// Prepares a merge, and commits it at once if no webhook receiver has to agree.
    ///
    /// - `reason`: an administrator's, 1 to 500 characters.
    /// - `storedAnswer`: the answer of an earlier attempt.
    /// - `keeping`: writes in the transaction that prepares the merge.
    /// - Throws: `Contention`, or the database's error. A prepared merge continues in the background.
    package func begin(
        _ request: MergeRequest,
        reason: String?,
        tenant: TenantID,
        unless storedAnswer: () async throws -> Denial? = { nil },
        keeping: (Merge) throws -> [AccountWrite.SideWrite] = { _ in [] }
    ) async throws -> Merge {
        let now = effects.now()
        let (id, event) = (effects.newEventID(), effects.newEventID())
        let prepared = try await retrying(effects) {
            if let denial = try await storedAnswer() { throw denial }
            let (survivor, absorbed) = try await accounts(request.survivor, request.absorbed, tenant: tenant)
            let verdict = try await decide(request, survivor, absorbed, at: now)
            guard case .merge = verdict.decision, let survivor, let absorbed else {
                // The same request may have been applied meanwhile, and cause the refusal.
                if let denial = try await storedAnswer() { throw denial }
                throw try await denial(verdict, request, tenant: tenant)
            }
            if let waiting = try await store.liveMerge(of: [survivor.id, absorbed.id], tenant: tenant) {
                if let denial = try await storedAnswer() { throw denial }
                throw Denial.merge(.alreadyMerging(Merge(waiting)))
            }
            let merge = MergeRecord(
                tenant: tenant,
                id: id,
                survivor: survivor,
                absorbed: absorbed,
                choices: request.choices,
                requestedBy: request.requester == .administrator ? .administrator : .owners,
                reason: request.requester == .administrator ? reason : nil,
                preparedAt: now,
                deadlineAt: now.adding(seconds: settings.mergeAnswerSeconds)
            )
            try await store.prepareMerge(
                merge,
                event: AccountEvent(id: event, occurredAt: now, kind: .mergePrepared, rule: verdict.rule),
                sideWrites: try keeping(Merge(merge))
            ).requireApplied()
            return merge
        }
        return Merge(try await advance(prepared))
    }

    private func denial(
        _ verdict: Verdict<MergeDecision>,
        _ request: MergeRequest,
        tenant: TenantID
    ) async throws -> Denial {
        switch verdict.decision {
        case .merge: .merge(.unknown)
        case .choose(let plan): refused(.undecided(plan.undecided), by: verdict.rule)
        case .refuse(.accountNotFound): refused(try await missing(request, tenant: tenant), by: verdict.rule)
        case .refuse(let refusal): refused(.refused(refusal), by: verdict.rule)
        }
    }

    /// The denial if an account does not exist. Names the merge that absorbed it.
    private func missing(_ request: MergeRequest, tenant: TenantID) async throws -> MergeDenial {
        for user in [request.absorbed, request.survivor] {
            let merges = try await merges(of: user, tenant: tenant).merges
            guard let merge = merges.first(where: { $0.absorbed == user && $0.state == .committed }) else { continue }
            let isTheOneAsked = merge.absorbed == request.absorbed && merge.survivor == request.survivor
            return isTheOneAsked ? .alreadyMerged(merge) : .mergedAway(merge)
        }
        return .refused(.accountNotFound)
    }

    /// The merge with an id. Throws a denial if it does not exist.
    package func merge(_ id: String, tenant: TenantID) async throws -> Merge {
        Merge(try await record(id, tenant: tenant))
    }

    /// The newest merges of an account, 100 at most, and the account that it became part of, if any. One round trip.
    package func merges(of user: UserID, tenant: TenantID) async throws -> (merges: [Merge], current: UserID?) {
        let (merges, current) = try await store.merges(of: user, tenant: tenant, countMax: Self.countMax)
        return (merges.map(Merge.init), current)
    }

    /// Advances a merge as far as possible now: it is committed, aborted, or waits. Safe to call at any time.
    package func advance(_ id: String, tenant: TenantID) async throws -> Merge {
        Merge(try await advance(try await record(id, tenant: tenant)))
    }

    /// Advances every pending merge. A failure does not stop the others.
    package func advanceAll() async throws {
        var failure: (any Error)?
        for merge in try await store.waitingMerges(countMax: Self.waitingMax) {
            do {
                _ = try await advance(merge)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private func advance(_ merge: MergeRecord) async throws -> MergeRecord {
        let (survivorEvent, absorbedEvent) = (effects.newEventID(), effects.newEventID())
        let recovery = EmailRecovery(effects: effects, locale: nil)
        return try await retrying(effects) {
            guard let merge = try await store.merge(merge.id, tenant: merge.tenant) else { return merge }
            guard merge.state == .prepared else { return merge }
            let now = effects.now()
            let (survivor, absorbed) = try await accounts(merge.survivor, merge.absorbed, tenant: merge.tenant)
            let answers = try await store.answers(to: merge)
            var facts = MergeApproval(
                isVetoed: answers.isVetoed,
                waitingCount: answers.waitingCount,
                isOverdue: now >= merge.deadlineAt,
                isUnchanged: survivor?.version == merge.survivorVersion && absorbed?.version == merge.absorbedVersion
            )
            let plan = try await decide(merge.request(survivor, absorbed), survivor, absorbed, at: now).decision
            if case .merge = plan {} else { facts.isUnchanged = false }
            let verdict = decideMergeApproval(facts)
            func event(_ id: AccountEvent.ID, _ kind: AccountEvent.Kind) -> AccountEvent {
                AccountEvent(id: id, occurredAt: now, kind: kind, rule: verdict.rule, details: merge.details)
            }
            let applied: AccountStore.Applied
            switch verdict.decision {
            case .wait: return merge
            case .abort(let reason):
                applied = try await store.abortMerge(merge, reason, event: event(survivorEvent, .mergeAborted))
            case .commit:
                guard case .merge(let plan) = plan, let survivor, let absorbed else {
                    throw UnexpectedDecision(verdict.rule)
                }
                let undoUntil = now.adding(seconds: settings.mergeUndoSeconds)
                let mails = [(survivor, survivorEvent), (absorbed, absorbedEvent)].compactMap { user, event in
                    mail(to: user, about: merge, undoUntil: undoUntil).map { ($0, event) }
                }
                let recoveryMails =
                    merge.requestedBy == .owners ? try await recoveryMail?(recovery, survivor, plan.merged, now) : nil
                applied = try await store.commitMerge(
                    MergeWrite(
                        merge: merge,
                        survivor: survivor,
                        absorbed: absorbed,
                        plan: plan,
                        passwordHash: try await passwordHash(of: absorbed, plan),
                        sealedSecrets: try await sealedSecrets(of: absorbed, plan, for: survivor, at: now),
                        survivorEvent: event(survivorEvent, .accountsMerged),
                        absorbedEvent: event(absorbedEvent, .mergedAway),
                        undoUntil: undoUntil,
                        sideWrites: try mails.map { mail, event in
                            .enqueue(
                                // An event has one such mail, which has the event's id.
                                try mail.message(
                                    id: event,
                                    tenant: merge.tenant,
                                    createdAt: now,
                                    expiresAt: undoUntil,
                                    sealer: sealer
                                )
                            )
                        } + (recoveryMails ?? [])
                    )
                )
            }
            guard applied == .applied, let moved = try await store.merge(merge.id, tenant: merge.tenant) else {
                throw FactsMoved()
            }
            return moved
        }
    }

    /// The mail to an owner; `nil` if the address is not proven.
    private func mail(to user: UserRecord, about merge: MergeRecord, undoUntil: Timestamp) -> Mail? {
        guard let email = user.email, email.isVerified else { return nil }
        return Mail(
            template: .accountsMerged,
            to: email.address.raw,
            email: email.address.lowercased,
            displayName: user.profile.displayName,
            locale: settings.mailLocale(user.profile.language),
            merged: Mail.Merged(
                isByOperator: merge.requestedBy == .administrator,
                undoUntil: RFC3339.text(undoUntil)
            )
        )
    }

    /// The mail about the undo; `nil` if the address is not proven.
    private func undoMail(to owner: RestoredOwner, isByOwner: Bool) -> Mail? {
        guard let email = owner.email, email.isVerified else { return nil }
        return Mail(
            template: .mergeUndone,
            to: email.address.raw,
            email: email.address.lowercased,
            displayName: owner.displayName,
            locale: settings.mailLocale(owner.language),
            isUndoneByOwner: isByOwner
        )
    }

    /// The mails to both owners. Each has the id of its event.
    private func undoMails(
        to owners: [RestoredOwner],
        about merge: MergeRecord,
        isByOwner: Bool,
        survivorEvent: AccountEvent,
        absorbedEvent: AccountEvent
    ) throws -> [AccountWrite.SideWrite] {
        try owners.compactMap { owner in
            guard let mail = undoMail(to: owner, isByOwner: isByOwner) else { return nil }
            let event = owner.user == merge.survivor ? survivorEvent : absorbedEvent
            let message = try mail.message(
                id: event.id,
                tenant: merge.tenant,
                createdAt: event.occurredAt,
                expiresAt: event.occurredAt.adding(seconds: Lifetimes.undoNoticeSeconds),
                sealer: sealer
            )
            return .enqueue(message)
        }
    }

    private func passwordHash(of absorbed: UserRecord, _ plan: MergePlan) async throws -> String? {
        guard plan.takesAbsorbed(.password) else { return nil }
        return try await store.passwordHashes([absorbed.id], tenant: absorbed.tenant)[absorbed.id]
    }

    /// Secrets of the moved authenticator apps, sealed for the survivor.
    private func sealedSecrets(
        of absorbed: UserRecord,
        _ plan: MergePlan,
        for survivor: UserRecord,
        at now: Timestamp
    ) async throws -> [SecondFactorID: [UInt8]] {
        var sealed: [SecondFactorID: [UInt8]] = [:]
        for factor in absorbed.secondFactors where factor.kind == .totp && plan.movedFactors.contains(factor.id) {
            let tenant = absorbed.tenant
            let facts = try await store.totpFacts(of: factor.id, of: absorbed.id, tenant: tenant, at: now)
            guard let secret = facts.secret else { continue }
            let opened = try sealer.open(
                secret.sealed,
                context: factor.id.secretContext(of: absorbed.id, tenant: tenant)
            )
            sealed[factor.id] = try sealer.seal(
                opened,
                context: factor.id.secretContext(of: survivor.id, tenant: tenant)
            )
        }
        return sealed
    }

    /// Withdraws a pending merge for an operator.
    ///
    /// - `expectedVersion`: the version that the caller has read; `nil` accepts any.
    package func withdraw(
        _ id: String,
        expectedVersion: Int64? = nil,
        tenant: TenantID
    ) async throws -> Merge {
        let merge = try await record(id, tenant: tenant)
        let (now, event) = (effects.now(), effects.newEventID())
        return try await retrying(effects) {
            guard let merge = try await store.merge(merge.id, tenant: tenant) else { throw Denial.merge(.unknown) }
            guard isExpected(expectedVersion, merge) else { throw Denial.versionMismatch }
            guard merge.state == .prepared else { throw Denial.merge(.closed(merge.state)) }
            let facts = MergeApproval(isWithdrawn: true, waitingCount: 0, isOverdue: false, isUnchanged: true)
            let verdict = decideMergeApproval(facts)
            guard case .abort(let reason) = verdict.decision else { throw UnexpectedDecision(verdict.rule) }
            let record = AccountEvent(
                id: event,
                occurredAt: now,
                kind: .mergeAborted,
                rule: verdict.rule,
                details: merge.details
            )
            try await store.abortMerge(merge, reason, event: record).requireApplied()
            guard let aborted = try await store.merge(merge.id, tenant: tenant) else { throw FactsMoved() }
            return Merge(aborted)
        }
    }

    /// The changes that `undo` would find, and whether it would succeed. Writes nothing.
    package func previewUndo(
        _ id: String,
        keepsLaterChanges: Bool,
        expectedVersion: Int64? = nil,
        tenant: TenantID
    ) async throws -> MergeUndoPreview {
        let merge = try await record(id, tenant: tenant)
        guard isExpected(expectedVersion, merge) else { throw Denial.versionMismatch }
        let clashes = try await store.undoSituation(of: merge.journalStep).clashes
        let verdict = undoVerdict(merge, clashes, keepsLaterChanges: keepsLaterChanges, at: effects.now())
        if case .refuse(let refusal) = verdict.decision, refusal != .laterChanges {
            throw denial(refusal, by: verdict.rule, merge, clashes)
        }
        return MergeUndoPreview(changes: LaterChange.all(clashes), isPossible: verdict.decision == .undo)
    }

    /// Restores both accounts. If that would overwrite later changes, it lists them and does nothing.
    ///
    /// Ends all sessions of both accounts, and voids their mailed codes. Mails both owners.
    ///
    /// - `keepsLaterChanges`: leaves later changes and restores everything else. Not possible if an account would own
    ///   an identifier that it does not show, or show one that it does not own.
    /// - `expectedVersion`: the version that the caller has read; `nil` accepts any.
    package func undo(
        _ id: String,
        keepsLaterChanges: Bool,
        expectedVersion: Int64? = nil,
        tenant: TenantID
    ) async throws -> UndoneMerge {
        try await undo(
            id,
            keepsLaterChanges: keepsLaterChanges,
            expectedVersion: expectedVersion,
            tenant: tenant,
            by: { nil }
        )
    }

    /// The same for an owner (rules H11 to H14). Later changes are not left.
    ///
    /// - `owner`: reads the account of a session that is live. The undo fails if the account changes afterwards.
    func undo(
        _ id: String,
        expectedVersion: Int64?,
        tenant: TenantID,
        byOwner owner: () async throws -> MergeOwner
    ) async throws -> UndoneMerge {
        try await undo(id, keepsLaterChanges: false, expectedVersion: expectedVersion, tenant: tenant, by: owner)
    }

    private func undo(
        _ id: String,
        keepsLaterChanges: Bool,
        expectedVersion: Int64?,
        tenant: TenantID,
        by owner: () async throws -> MergeOwner?
    ) async throws -> UndoneMerge {
        let merge = try await record(id, tenant: tenant)
        let now = effects.now()
        let (survivorEvent, absorbedEvent) = (effects.newEventID(), effects.newEventID())
        return try await retrying(effects) {
            let owner = try await owner()
            guard let merge = try await store.merge(merge.id, tenant: tenant) else { throw Denial.merge(.unknown) }
            if owner == nil, !isExpected(expectedVersion, merge) { throw Denial.versionMismatch }
            let clashes = try await store.undoSituation(of: merge.journalStep).clashes
            // Another undo between the reads leaves clashes that are no later changes.
            if !clashes.isEmpty, try await store.merge(merge.id, tenant: tenant)?.state != merge.state {
                throw FactsMoved()
            }
            let rule: Rule
            if let owner {
                rule = try ruleOfUndo(merge, clashes, by: owner, expectedVersion: expectedVersion, at: now)
            } else {
                let verdict = undoVerdict(merge, clashes, keepsLaterChanges: keepsLaterChanges, at: now)
                if case .refuse(let refusal) = verdict.decision {
                    throw denial(refusal, by: verdict.rule, merge, clashes)
                }
                rule = verdict.rule
            }
            let owners = try await store.restoredOwners(of: merge.journalStep)
            guard let survivor = owners.first(where: { $0.user == merge.survivor }), let version = survivor.version,
                owner == nil || owner?.account.version == version
            else { throw FactsMoved() }
            func event(_ id: AccountEvent.ID) -> AccountEvent {
                AccountEvent(
                    id: id,
                    occurredAt: now,
                    kind: .mergeUndone,
                    rule: rule,
                    details: owner == nil ? merge.details : merge.detailsOfOwner
                )
            }
            let (ofSurvivor, ofAbsorbed) = (event(survivorEvent), event(absorbedEvent))
            let applied = try await store.undoMerge(
                merge,
                accepting: clashes,
                survivorVersion: version,
                survivorEvent: ofSurvivor,
                absorbedEvent: ofAbsorbed,
                sideWrites: try undoMails(
                    to: owners,
                    about: merge,
                    isByOwner: owner != nil,
                    survivorEvent: ofSurvivor,
                    absorbedEvent: ofAbsorbed
                ) + [
                    .voidReverts(
                        of: merge.survivor,
                        tenant: tenant,
                        sentElsewhereThanTo: survivor.email?.address,
                        at: now
                    )
                ]
            )
            guard applied == .applied, let undone = try await store.merge(merge.id, tenant: tenant) else {
                throw FactsMoved()
            }
            return UndoneMerge(merge: Merge(undone), kept: LaterChange.all(clashes))
        }
    }

    /// The rule by which the owner undoes a merge. Throws the denial if the owner cannot.
    ///
    /// The expected version counts for the account of the merge only: for others there is no merge.
    private func ruleOfUndo(
        _ merge: MergeRecord,
        _ clashes: [JournalClash],
        by owner: MergeOwner,
        expectedVersion: Int64?,
        at now: Timestamp
    ) throws -> Rule {
        let verdict = decideUndoMergeByOwner(
            MergeUndoByOwner(
                isOfSurvivor: owner.account.id == merge.survivor,
                isMergedByOwners: merge.requestedBy == .owners,
                isCommitted: merge.state == .committed,
                isInTime: merge.undoUntil.map { now < $0 } ?? false,
                hasLaterChanges: !clashes.isEmpty,
                isSessionRecent: owner.challenge == nil,
                lacksSecondFactor: owner.lacksSecondFactor
            )
        )
        if verdict.decision != .unknown, !isExpected(expectedVersion, merge) { throw Denial.versionMismatch }
        switch verdict.decision {
        case nil: return verdict.rule
        case .unknown: throw refused(.unknown, by: verdict.rule)
        case .needsAdministrator: throw refused(.ownerUndo(.needsAdministrator), by: verdict.rule)
        case .undo(.laterChanges):
            throw refused(.ownerUndo(.laterChanges(LaterChange.all(clashes))), by: verdict.rule)
        case .undo(let refusal): throw denial(refusal, by: verdict.rule, merge, clashes)
        case .secondFactorRequired: throw refused(.ownerUndo(.secondFactorRequired), by: verdict.rule)
        case .signInAgain:
            guard let challenge = owner.challenge else { throw UnexpectedDecision(verdict.rule) }
            metrics.decided(verdict.rule)
            throw Denial.reauthenticationRequired(challenge)
        }
    }

    private func isExpected(_ version: Int64?, _ merge: MergeRecord) -> Bool {
        version.map { $0 == Merge(merge).version } ?? true
    }

    private func undoVerdict(
        _ merge: MergeRecord,
        _ clashes: [JournalClash],
        keepsLaterChanges: Bool,
        at now: Timestamp
    ) -> Verdict<MergeUndoDecision> {
        decideUndoMerge(
            isCommitted: merge.state == .committed,
            isInTime: merge.undoUntil.map { now < $0 } ?? false,
            hasLaterChanges: !clashes.isEmpty,
            keepsLaterChanges: keepsLaterChanges && clashes.allSatisfy(\.canStay)
        )
    }

    private func denial(
        _ refusal: MergeUndoRefusal,
        by rule: Rule,
        _ merge: MergeRecord,
        _ clashes: [JournalClash]
    ) -> Denial {
        switch refusal {
        case .notCommitted: refused(.closed(merge.state), by: rule)
        case .tooLate: refused(.tooLate, by: rule)
        case .laterChanges: refused(.laterChanges(LaterChange.all(clashes)), by: rule)
        }
    }

    private func record(_ id: String, tenant: TenantID) async throws -> MergeRecord {
        guard let id = MergeRecord.ID(text: id), let merge = try await store.merge(id, tenant: tenant) else {
            throw Denial.merge(.unknown)
        }
        return merge
    }

    private func decide(
        _ request: MergeRequest,
        _ survivor: UserRecord?,
        _ absorbed: UserRecord?,
        at now: Timestamp
    ) async throws -> Verdict<MergeDecision> {
        var canTakeBack = false
        if request.requester != .administrator, let absorbed {
            // A code that is created later changes the account's version as well.
            canTakeBack = try await store.canTakeBack(of: absorbed.id, tenant: absorbed.tenant, at: now)
        }
        return decideMergeAccounts(
            request,
            policy: settings.policy,
            survivor: survivor,
            absorbed: absorbed,
            canTakeBack: canTakeBack,
            now: now
        )
    }

    private func accounts(
        _ survivor: UserID,
        _ absorbed: UserID,
        tenant: TenantID
    ) async throws -> (survivor: UserRecord?, absorbed: UserRecord?) {
        let users = try await store.users([survivor, absorbed], tenant: tenant)
        return (users.first { $0.id == survivor }, users.first { $0.id == absorbed })
    }

    /// Counts a rule's refusal, and returns it.
    private func refused(_ denial: MergeDenial, by rule: Rule) -> Denial {
        metrics.decided(rule)
        return denial == .refused(.sessionEnded) ? .refusal(.tokenExpired) : .merge(denial)
    }
}

extension MergeRecord {
    /// The request of the merge. Its conditions were met when it was prepared; on unchanged accounts the sessions are
    /// still live.
    fileprivate func request(_ survivor: UserRecord?, _ absorbed: UserRecord?) -> MergeRequest {
        func shown(_ user: UserRecord?) -> MergeRequester.OwnerSession {
            MergeRequester.OwnerSession(isRecent: true, hasSecondFactor: true, sessionEpoch: user?.sessionEpoch ?? 0)
        }
        return MergeRequest(
            survivor: self.survivor,
            absorbed: self.absorbed,
            choices: choices,
            requester: requestedBy == .administrator ? .administrator : .owners(shown(survivor), shown(absorbed))
        )
    }

    /// The details in events.
    fileprivate var details: JSONValue {
        .object([
            "merge": .string(id.text), "survivor": .string(survivor.rawValue), "absorbed": .string(absorbed.rawValue),
        ])
    }

    /// The details of an undo by the owner.
    fileprivate var detailsOfOwner: JSONValue {
        .object([
            "merge": .string(id.text), "survivor": .string(survivor.rawValue), "absorbed": .string(absorbed.rawValue),
            "by": .string(MergeRequesterKind.owners.rawValue),
        ])
    }
}

extension AccountOperations {
    /// Merging, with this server's settings and metrics.
    package var merges: AccountMerges {
        var merges = AccountMerges(
            store: store,
            sealer: sealer,
            effects: effects,
            settings: project.settings,
            metrics: metrics
        )
        merges.recoveryMail = { recovery, before, after, now in
            try await sideWrites(of: AccountChange(), from: before, to: after, recovery: recovery, at: now)
        }
        return merges
    }
}
