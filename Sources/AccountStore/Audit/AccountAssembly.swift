import AccountLinking
import Postgres

/// Puts accounts together from the rows of their tables: first those of `users`, then the others in any order.
///
/// What cannot be read is told in the account; what names an account that is not there makes one of which nothing else is
/// known.
struct AccountAssembly {
    private let tenant: TenantID
    private(set) var accounts: [AccountSnapshot] = []
    private var places: [String: Int] = [:]
    /// Rows of one account often lie together.
    private var last: (id: String, place: Int)?
    /// What each account owns.
    private var claims: [[AccountSnapshot.StrayClaim]] = []

    /// - `count`: about how many accounts there will be.
    init(tenant: String, count: Int) {
        self.tenant = TenantID(tenant)
        accounts.reserveCapacity(count)
        claims.reserveCapacity(count)
        places.reserveCapacity(count)
    }

    /// Changes the account with `id`, which a row named, whether or not there is one.
    private mutating func change(_ id: String, _ body: (inout AccountSnapshot) -> Void) {
        if let place = place(of: id) { body(&accounts[place]) }
    }

    private mutating func place(of id: String) -> Int? {
        if let last, last.id == id { return last.place }
        guard let place = places[id] ?? added(id) else { return nil }
        last = (id, place)
        return place
    }

    private mutating func added(_ id: String) -> Int? {
        guard let user = UserID(id) else { return nil }
        places[id] = accounts.count
        accounts.append(AccountSnapshot(tenant: tenant, id: user))
        claims.append([])
        return accounts.count - 1
    }

    mutating func add(_ row: AuditedUserRow) {
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

    mutating func add(_ row: AuditedPasswordRow) {
        change(row.user) { snapshot in
            snapshot.passwordUpdatedAt = row.updatedAt
            snapshot.passwordScheme = row.scheme
            snapshot.account?.hasPassword = true
        }
    }

    mutating func add(_ row: AuditedProviderRow) {
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

    mutating func add(_ row: AuditedMethodRow) {
        change(row.user) { snapshot in
            guard let method = snapshot.parsed(row.method, "sign_in_methods.method", SignInMethod.init(name:)),
                let proof = snapshot.parsed(row.proof, "sign_in_methods.proof", UserRecord.Proof.init(rawValue:))
            else { return }
            snapshot.methodProofs[method] = UserRecord.MethodProof(proof: proof, provenAt: row.provenAt)
            if method == .emailLink { snapshot.account?.hasEmailLink = true }
        }
    }

    mutating func add(_ row: AuditedFactorRow) {
        change(row.user) { snapshot in
            snapshot.account?.hasSecondFactor = true
            if let number = snapshot.parsed(row.number, "second_factors.number", PhoneNumber.init) {
                snapshot.secondFactorNumbers.append(number)
            }
        }
    }

    mutating func add(_ row: AuditedSessionsRow) {
        change(row.user) { snapshot in
            let alike = snapshot.sessions.firstIndex {
                $0.epoch == row.sessions.epoch && $0.signInProvider == row.sessions.signInProvider
            }
            guard let alike else { return snapshot.sessions.append(row.sessions) }
            snapshot.sessions[alike].count += row.sessions.count
            snapshot.sessions[alike].lastAuthTime = max(
                snapshot.sessions[alike].lastAuthTime,
                row.sessions.lastAuthTime
            )
        }
    }

    mutating func add(_ row: AuditedCodesRow) {
        change(row.user) { snapshot in
            guard let kind = snapshot.parsed(row.kind, "one_time_codes.kind", EmailCodeRecord.Kind.init(rawValue:))
            else { return }
            let codes = AccountSnapshot.Codes(
                kind: kind,
                count: row.count,
                waitingSince: row.waitingSince,
                firstExpiry: row.firstExpiry
            )
            guard let alike = snapshot.codes.firstIndex(where: { $0.kind == kind }) else {
                return snapshot.codes.append(codes)
            }
            snapshot.codes[alike].count += codes.count
            snapshot.codes[alike].firstExpiry = min(snapshot.codes[alike].firstExpiry, codes.firstExpiry)
            if let since = codes.waitingSince {
                snapshot.codes[alike].waitingSince = min(snapshot.codes[alike].waitingSince ?? since, since)
            }
        }
    }

    mutating func add(_ row: AuditedConflictsRow) {
        change(row.user) { snapshot in
            guard let kind = snapshot.parsed(row.kind, "conflicts.kind", ConflictKind.init(rawValue:)),
                let provider = snapshot.parsed(row.provider, "conflicts.provider_id", ProviderID.init)
            else { return }
            let conflicts = AccountSnapshot.Conflicts(
                kind: kind,
                provider: provider,
                count: row.count,
                liveCount: row.liveCount,
                lastOpenedAt: row.lastOpenedAt,
                firstExpiry: row.firstExpiry
            )
            let alike = snapshot.conflicts.firstIndex { $0.kind == kind && $0.provider == provider }
            guard let alike else { return snapshot.conflicts.append(conflicts) }
            snapshot.conflicts[alike].count += conflicts.count
            snapshot.conflicts[alike].liveCount += conflicts.liveCount
            snapshot.conflicts[alike].lastOpenedAt = max(
                snapshot.conflicts[alike].lastOpenedAt,
                conflicts.lastOpenedAt
            )
            snapshot.conflicts[alike].firstExpiry = min(snapshot.conflicts[alike].firstExpiry, conflicts.firstExpiry)
        }
    }

    mutating func add(_ row: AuditedClaimRow) {
        guard let place = place(of: row.user) else { return }
        claims[place].append(.init(kind: row.kind, value: row.value))
    }

    /// What an account shows.
    struct Shown {
        var place: Int
        var identifier: Identifier
    }

    /// What the accounts show.
    func shown() -> [Shown] {
        accounts.indices.flatMap { place in
            (accounts[place].account?.identifiers ?? []).map { Shown(place: place, identifier: $0) }
        }
    }

    /// Notes what may be nobody's among the claims that were added, and returns what accounts show without having it
    /// among their claims.
    mutating func compareClaims() -> [Shown] {
        var missing: [Shown] = []
        for place in accounts.indices {
            var unmatched = claims[place]
            for identifier in accounts[place].account?.identifiers ?? [] {
                let (kind, value) = (identifier.kind, identifier.value)
                if let match = unmatched.firstIndex(where: { $0.value == value && $0.kind == kind }) {
                    unmatched.remove(at: match)
                } else {
                    missing.append(Shown(place: place, identifier: identifier))
                }
            }
            if !unmatched.isEmpty {
                accounts[place].strayClaims = unmatched.sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
            }
        }
        return missing
    }

    /// Notes the claims of accounts that may be nobody's.
    mutating func addStray(_ row: AuditedClaimRow) {
        change(row.user) { $0.strayClaims.append(.init(kind: row.kind, value: row.value)) }
    }

    /// Notes of what is shown who owns it, where that is not who shows it.
    mutating func note(_ shown: Shown, ownedBy owner: String?) {
        guard owner != accounts[shown.place].id.rawValue else { return }
        accounts[shown.place].unclaimed.append(
            .init(identifier: shown.identifier, owner: owner.flatMap(UserID.init))
        )
    }

    /// The accounts in the order of the database, which compares bytes; what belongs to one in an order that does not
    /// depend on how it was read.
    consuming func sorted() -> [AccountSnapshot] {
        for place in accounts.indices {
            if accounts[place].sessions.count > 1 {
                accounts[place].sessions.sort { ($0.epoch, $0.signInProvider) < ($1.epoch, $1.signInProvider) }
            }
            if accounts[place].linkedProviders.count > 1 {
                accounts[place].linkedProviders.sort { $0.identity.provider < $1.identity.provider }
            }
            if accounts[place].codes.count > 1 {
                accounts[place].codes.sort { $0.kind.rawValue < $1.kind.rawValue }
            }
            if accounts[place].conflicts.count > 1 {
                accounts[place].conflicts.sort {
                    ($0.kind.rawValue, $0.provider.rawValue) < ($1.kind.rawValue, $1.provider.rawValue)
                }
            }
            if accounts[place].secondFactorNumbers.count > 1 {
                accounts[place].secondFactorNumbers.sort { $0.rawValue < $1.rawValue }
            }
            if accounts[place].unreadable.count > 1 { accounts[place].unreadable.sort() }
        }
        accounts.sort { $0.id.rawValue.utf8.lexicographicallyPrecedes($1.id.rawValue.utf8) }
        return accounts
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
