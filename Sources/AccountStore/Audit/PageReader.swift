import AccountLinking
import Postgres

/// Reads what there is of the accounts of one page, table by table, and puts it together.
struct PageReader {
    private let connection: PostgresConnection
    private let turn: Turn
    private let now: Timestamp
    private let strayClaimsMax: Int
    private var accounts: [AccountSnapshot] = []
    private var places: [String: Int] = [:]

    /// - `strayClaimsMax`: claims in one answer.
    init(_ connection: PostgresConnection, _ turn: Turn, _ now: Timestamp, strayClaimsMax: Int) {
        self.connection = connection
        self.strayClaimsMax = strayClaimsMax
        self.turn = turn
        self.now = now
    }

    /// - Throws: `PostgresError`; what cannot be read is told in the account.
    consuming func page() throws(PostgresError) -> AccountSnapshots.Page {
        switch turn.part {
        case .accounts(let users, let scope):
            accounts.reserveCapacity(users.count)
            places.reserveCapacity(users.count)
            for user in users { read(user) }
            try readPasswords(scope)
            try readProviders(scope)
            try readMethods(scope)
            try readFactors(scope)
            try readSessions(scope)
            try readCodes(scope)
            try readConflicts(scope)
            try readClaims()
            if accounts.count > users.count { sort() }
            var end = turn.end
            if let last = accounts.last { end?.userID = last.id.rawValue }
            return AccountSnapshots.Page(content: .accounts(accounts), end: end)
        case .strayClaims(let ids):
            try connection.execute(AuditTransaction.goByStatistics)
            try readStrayClaims(of: ids)
            try connection.execute(AuditTransaction.goByIndexes)
            try readOwners()
            return AccountSnapshots.Page(content: .strayClaims(accounts), end: turn.end)
        }
    }

    /// Puts what hangs off nobody where it belongs; the order is the database's, which compares bytes.
    private mutating func sort() {
        accounts.sort { $0.id.rawValue.utf8.lexicographicallyPrecedes($1.id.rawValue.utf8) }
    }

    /// Changes the account with `id`, which a row named, whether or not there is one.
    private mutating func change(_ id: String, _ body: (inout AccountSnapshot) -> Void) {
        if let place = places[id] {
            body(&accounts[place])
        } else if let user = UserID(id) {
            var account = AccountSnapshot(tenant: TenantID(turn.tenant), id: user)
            body(&account)
            places[id] = accounts.count
            accounts.append(account)
        }
    }

    private mutating func read(_ row: AuditedUserRow) {
        change(row.id) { snapshot in
            var account = Account(id: snapshot.id, version: row.version, sessionEpoch: row.sessionEpoch)
            account.isDisabled = row.isDisabled
            account.hasInitialEmail = row.hasInitialEmail
            account.usesCustomTokens = row.usesCustomTokens
            if let address = snapshot.parsed(row.email, "users.email", EmailAddress.init) {
                let proof = snapshot.parsed(row.emailProof, "users.email_proof", EmailProof.init(name:))
                account.email = AccountEmail(address: address, proof: proof)
            }
            account.phoneNumber = snapshot.parsed(row.phoneNumber, "users.phone_number", PhoneNumber.init)
            snapshot.unprovenPhoneNumber = snapshot.parsed(
                row.unprovenPhoneNumber,
                "users.unproven_phone_number",
                PhoneNumber.init
            )
            snapshot.emailProvenAt = row.emailProvenAt
            snapshot.validSince = row.validSince
            snapshot.createdAt = row.createdAt
            snapshot.lastLoginAt = row.lastLoginAt
            snapshot.account = account
        }
    }

    private mutating func readPasswords(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedPasswordRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { snapshot in
                snapshot.passwordUpdatedAt = row.updatedAt
                snapshot.passwordScheme = row.scheme
                snapshot.account?.hasPassword = true
            }
        }
    }

    private mutating func readProviders(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedProviderRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { snapshot in
                guard let provider = snapshot.parsed(row.provider, "linked_providers.provider_id", ProviderID.init),
                    let identity = snapshot.parsed(
                        row.subject,
                        "linked_providers.subject",
                        { ProviderIdentity(provider: provider, subject: $0) }
                    )
                else { return }
                snapshot.linkedProviders.append(
                    AccountSnapshot.LinkedProvider(
                        identity: identity,
                        issuer: row.issuer,
                        // What a provider said may be anything.
                        email: row.email.flatMap(EmailAddress.init),
                        linkedAt: row.linkedAt
                    )
                )
                snapshot.account?.linkedProviders[provider] = identity.subject
            }
        }
    }

    private mutating func readMethods(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedMethodRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { snapshot in
                guard let method = snapshot.parsed(row.method, "sign_in_methods.method", SignInMethod.init(name:)),
                    let proof = snapshot.parsed(
                        row.proof,
                        "sign_in_methods.proof",
                        UserRecord.Proof.init(rawValue:)
                    )
                else { return }
                snapshot.methodProofs[method] = UserRecord.MethodProof(proof: proof, provenAt: row.provenAt)
                if method == .emailLink { snapshot.account?.hasEmailLink = true }
            }
        }
    }

    private mutating func readFactors(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedFactorRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { snapshot in
                snapshot.account?.hasSecondFactor = true
                if let number = snapshot.parsed(row.number, "second_factors.number", PhoneNumber.init) {
                    snapshot.secondFactorNumbers.append(number)
                }
            }
        }
    }

    private mutating func readSessions(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedSessionsRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { $0.sessions.append(row.sessions) }
        }
    }

    private mutating func readCodes(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedCodesRow.of(scope, tenant: turn.tenant)) {
            change(row.user) { snapshot in
                guard
                    let kind = snapshot.parsed(
                        row.kind,
                        "one_time_codes.kind",
                        EmailCodeRecord.Kind.init(rawValue:)
                    )
                else { return }
                snapshot.codes.append(
                    AccountSnapshot.Codes(
                        kind: kind,
                        count: row.count,
                        waitingSince: row.waitingSince,
                        firstExpiry: row.firstExpiry
                    )
                )
            }
        }
    }

    private mutating func readConflicts(_ scope: AuditScope) throws(PostgresError) {
        for row in try connection.query(AuditedConflictsRow.of(scope, tenant: turn.tenant, at: now)) {
            change(row.user) { snapshot in
                guard let kind = snapshot.parsed(row.kind, "conflicts.kind", ConflictKind.init(rawValue:)),
                    let provider = snapshot.parsed(row.provider, "conflicts.provider_id", ProviderID.init)
                else { return }
                snapshot.conflicts.append(
                    AccountSnapshot.Conflicts(
                        kind: kind,
                        provider: provider,
                        count: row.count,
                        liveCount: row.liveCount,
                        lastOpenedAt: row.lastOpenedAt,
                        firstExpiry: row.firstExpiry
                    )
                )
            }
        }
    }

    /// Compares what the accounts of the page show with who owns it, by one question for each kind.
    private mutating func readClaims() throws(PostgresError) {
        var shown: [String: [(place: Int, identifier: Identifier)]] = [:]
        for place in accounts.indices {
            for identifier in accounts[place].account?.identifiers ?? [] {
                shown[identifier.kind, default: []].append((place, identifier))
            }
        }
        for (kind, shown) in shown.sorted(by: { $0.key < $1.key }) {
            let values = shown.map(\.identifier.value)
            let claims = try connection.query(AuditedClaimRow.on(values, kind: kind, tenant: turn.tenant))
            let owners = Dictionary(claims.map { ($0.value, $0.user) }) { first, _ in first }
            for (index, (place, identifier)) in shown.enumerated() {
                let owner = owners[values[index]]
                if owner == accounts[place].id.rawValue { continue }
                accounts[place].unclaimed.append(.init(identifier: identifier, owner: owner.flatMap(UserID.init)))
            }
        }
    }

    /// All of them: there are few, unless something went badly wrong.
    private mutating func readStrayClaims(of ids: [String]?) throws(PostgresError) {
        var place = (user: "", kind: "", value: "")
        while true {
            let claims = try connection.query(
                AuditedClaimRow.stray(tenant: turn.tenant, of: ids, after: place, limit: Int64(strayClaimsMax))
            )
            for claim in claims {
                change(claim.user) { $0.strayClaims.append(.init(kind: claim.kind, value: claim.value)) }
            }
            guard let last = claims.last, claims.count == strayClaimsMax else { return }
            place = (last.user, last.kind, last.value)
        }
    }

    /// The accounts whose claims may be nobody's, as far as they show anything that can be claimed.
    private mutating func readOwners() throws(PostgresError) {
        let ids = accounts.map(\.id.rawValue)
        guard !ids.isEmpty else { return }
        for user in try connection.query(AuditedUserRow.withIDs(ids, tenant: turn.tenant)) { read(user) }
        try readProviders(.ids(ids))
    }
}

extension AccountSnapshot {
    /// A stored text as `Value`; where it is none, that is noted.
    fileprivate mutating func parsed<Value>(
        _ text: String?,
        _ column: String,
        _ parse: (String) -> Value?
    ) -> Value? {
        guard let text else { return nil }
        if let value = parse(text) { return value }
        unreadable.append(column)
        return nil
    }
}
