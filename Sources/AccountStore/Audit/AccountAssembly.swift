import AccountLinking
import Postgres

/// Puts accounts together from the rows of their tables.
///
/// What cannot be read is told in the account; what names an account that is not there makes one of which nothing else is
/// known.
struct AccountAssembly {
    /// What an account shows.
    struct Shown {
        var place: Int
        var identifier: Identifier
    }

    /// In the order of their ids; what belongs to one in an order that does not depend on how it was read.
    private(set) var accounts: [AccountSnapshot] = []
    /// What accounts show without having it among their claims, where those were read.
    private(set) var unclaimed: [Shown] = []

    private let tenant: TenantID
    // What few texts stand for.
    private var emailProofs = RecentValues(EmailProof.init(name:))
    private var providers = RecentValues(ProviderID.init(_:))
    private var issuers = RecentValues<String> { $0 }
    private var methods = RecentValues(SignInMethod.init(name:))
    private var proofs = RecentValues(UserRecord.Proof.init(rawValue:))
    private var signInProviders = RecentValues<String> { $0 }
    private var codeKinds = RecentValues(EmailCodeRecord.Kind.init(rawValue:))
    private var conflictKinds = RecentValues(ConflictKind.init(rawValue:))

    /// - Parameters:
    ///   - rows: everything that was read of the accounts.
    ///   - tenant: whose.
    /// - Throws: `.decoding` where a row is not what was asked for.
    init(_ rows: AuditedRows, tenant: String) throws {
        self.tenant = TenantID(tenant)
        try rows.withAccounts { rows in
            accounts.reserveCapacity(rows.ids.count)
            for place in rows.ids.indices { try add(place, rows) }
        }
    }

    private mutating func add(_ place: Int, _ rows: borrowing RowsByAccount) throws(PostgresError) {
        // What stands under an id that no account can have is nobody's.
        guard let id = UserID(rows.ids[place].string) else { return }
        var snapshot = AccountSnapshot(tenant: tenant, id: id)
        try rows.forEach(place, .users) { row throws(PostgresError) in
            read(try AuditedUserRow(&row), into: &snapshot)
        }
        try rows.forEach(place, .passwords) { row throws(PostgresError) in
            read(try AuditedPasswordRow(&row), into: &snapshot)
        }
        snapshot.linkedProviders.reserveCapacity(rows.count(place, .providers))
        try rows.forEach(place, .providers) { row throws(PostgresError) in
            read(try AuditedProviderRow(&row), into: &snapshot)
        }
        snapshot.methodProofs.reserveCapacity(rows.count(place, .methods))
        try rows.forEach(place, .methods) { row throws(PostgresError) in
            read(try AuditedMethodRow(&row), into: &snapshot)
        }
        try rows.forEach(place, .factors) { row throws(PostgresError) in
            read(try AuditedFactorRow(&row), into: &snapshot)
        }
        try rows.forEach(place, .sessions) { row throws(PostgresError) in
            read(try AuditedSessionRow(&row), into: &snapshot)
        }
        try rows.forEach(place, .codes) { row throws(PostgresError) in
            read(try AuditedCodeRow(&row), into: &snapshot)
        }
        try rows.forEach(place, .conflicts) { row throws(PostgresError) in
            read(try AuditedConflictRow(&row), into: &snapshot)
        }
        let subjects = snapshot.subjects
        snapshot.account?.linkedProviders = subjects
        snapshot.sort()
        if rows.hasRead(.claims) {
            var claims: [AuditedClaimRow] = []
            claims.reserveCapacity(rows.count(place, .claims))
            try rows.forEach(place, .claims) { row throws(PostgresError) in claims.append(try AuditedClaimRow(&row)) }
            if !snapshot.owns(exactly: claims) { compare(claims, &snapshot) }
        }
        accounts.append(snapshot)
    }

    private mutating func read(_ row: AuditedUserRow, into snapshot: inout AccountSnapshot) {
        var account = Account(id: snapshot.id, version: row.version, sessionEpoch: row.sessionEpoch)
        account.isDisabled = row.isDisabled
        account.hasInitialEmail = row.hasInitialEmail
        account.usesCustomTokens = row.usesCustomTokens
        if let address = snapshot.noting("users.email", row.email, { EmailAddress($0.string) }) {
            let proof = snapshot.noting("users.email_proof", row.emailProof) { emailProofs.value(of: $0) }
            account.email = AccountEmail(address: address, proof: proof)
        }
        account.phoneNumber = snapshot.noting("users.phone_number", row.phoneNumber) { PhoneNumber($0.string) }
        snapshot.unprovenPhoneNumber = snapshot.noting("users.unproven_phone_number", row.unprovenPhoneNumber) {
            PhoneNumber($0.string)
        }
        snapshot.emailProvenAt = row.emailProvenAt
        snapshot.validSince = row.validSince
        snapshot.createdAt = row.createdAt
        snapshot.lastLoginAt = row.lastLoginAt
        snapshot.account = account
    }

    private func read(_ row: AuditedPasswordRow, into snapshot: inout AccountSnapshot) {
        snapshot.passwordUpdatedAt = row.updatedAt
        // Most are of today's kind, and what follows is the salt.
        let current = AuditRule.currentPasswordScheme
        snapshot.passwordScheme = row.scheme.prefix(current.utf8.count) == current ? current : row.scheme.string
        snapshot.account?.hasPassword = true
    }

    private mutating func read(_ row: AuditedProviderRow, into snapshot: inout AccountSnapshot) {
        let provider = snapshot.noting("linked_providers.provider_id", row.provider) { providers.value(of: $0) }
        guard let provider else { return }
        let identity = snapshot.noting("linked_providers.subject", row.subject) {
            ProviderIdentity(provider: provider, subject: $0.string)
        }
        guard let identity else { return }
        var email: EmailAddress?
        if let text = row.email {
            let own = snapshot.account?.email?.address
            // Providers mostly name the account's own. What they say may be anything.
            email = own.map { text == $0.raw } == true ? own : EmailAddress(text.string)
        }
        snapshot.linkedProviders.append(
            AccountSnapshot.LinkedProvider(
                identity: identity,
                issuer: row.issuer.flatMap { issuers.value(of: $0) },
                email: email,
                linkedAt: row.linkedAt
            )
        )
    }

    private mutating func read(_ row: AuditedMethodRow, into snapshot: inout AccountSnapshot) {
        let method = snapshot.noting("sign_in_methods.method", row.method) { methods.value(of: $0) }
        guard let method else { return }
        let proof = snapshot.noting("sign_in_methods.proof", row.proof) { proofs.value(of: $0) }
        guard let proof else { return }
        snapshot.methodProofs[method] = UserRecord.MethodProof(proof: proof, provenAt: row.provenAt)
        if method == .emailLink { snapshot.account?.hasEmailLink = true }
    }

    private func read(_ row: AuditedFactorRow, into snapshot: inout AccountSnapshot) {
        snapshot.account?.hasSecondFactor = true
        if let number = snapshot.noting("second_factors.number", row.number, { PhoneNumber($0.string) }) {
            snapshot.secondFactorNumbers.append(number)
        }
    }

    private mutating func read(_ row: AuditedSessionRow, into snapshot: inout AccountSnapshot) {
        guard let signInProvider = signInProviders.value(of: row.signInProvider) else { return }
        let alike = snapshot.sessions.firstIndex { $0.epoch == row.epoch && $0.signInProvider == signInProvider }
        guard let alike else {
            snapshot.sessions.append(
                AccountSnapshot.Sessions(
                    epoch: row.epoch,
                    signInProvider: signInProvider,
                    count: 1,
                    lastAuthTime: row.lastAuthTime
                )
            )
            return
        }
        snapshot.sessions[alike].count += 1
        snapshot.sessions[alike].lastAuthTime = max(snapshot.sessions[alike].lastAuthTime, row.lastAuthTime)
    }

    private mutating func read(_ row: AuditedCodeRow, into snapshot: inout AccountSnapshot) {
        let kind = snapshot.noting("one_time_codes.kind", row.kind) { codeKinds.value(of: $0) }
        guard let kind else { return }
        guard let alike = snapshot.codes.firstIndex(where: { $0.kind == kind }) else {
            snapshot.codes.append(
                AccountSnapshot.Codes(
                    kind: kind,
                    count: 1,
                    waitingSince: row.waitingSince,
                    firstExpiry: row.expiresAt
                )
            )
            return
        }
        snapshot.codes[alike].count += 1
        snapshot.codes[alike].firstExpiry = min(snapshot.codes[alike].firstExpiry, row.expiresAt)
        if let since = row.waitingSince {
            snapshot.codes[alike].waitingSince = min(snapshot.codes[alike].waitingSince ?? since, since)
        }
    }

    private mutating func read(_ row: AuditedConflictRow, into snapshot: inout AccountSnapshot) {
        let kind = snapshot.noting("conflicts.kind", row.kind) { conflictKinds.value(of: $0) }
        guard let kind else { return }
        let provider = snapshot.noting("conflicts.provider_id", row.provider) { providers.value(of: $0) }
        guard let provider else { return }
        let liveCount: Int64 = row.isLive ? 1 : 0
        guard let alike = snapshot.conflicts.firstIndex(where: { $0.kind == kind && $0.provider == provider }) else {
            snapshot.conflicts.append(
                AccountSnapshot.Conflicts(
                    kind: kind,
                    provider: provider,
                    count: 1,
                    liveCount: liveCount,
                    lastOpenedAt: row.openedAt,
                    firstExpiry: row.expiresAt
                )
            )
            return
        }
        snapshot.conflicts[alike].count += 1
        snapshot.conflicts[alike].liveCount += liveCount
        snapshot.conflicts[alike].lastOpenedAt = max(snapshot.conflicts[alike].lastOpenedAt, row.openedAt)
        snapshot.conflicts[alike].firstExpiry = min(snapshot.conflicts[alike].firstExpiry, row.expiresAt)
    }

    /// Notes what may be nobody's among the claims of an account, and what it shows without a claim.
    private mutating func compare(_ claims: [AuditedClaimRow], _ snapshot: inout AccountSnapshot) {
        var unmatched = claims.map { AccountSnapshot.StrayClaim(kind: $0.kind.string, value: $0.value.string) }
        for identifier in snapshot.account?.identifiers ?? [] {
            let (kind, value) = (identifier.kind, identifier.value)
            if let match = unmatched.firstIndex(where: { $0.value == value && $0.kind == kind }) {
                unmatched.remove(at: match)
            } else {
                unclaimed.append(Shown(place: accounts.count, identifier: identifier))
            }
        }
        snapshot.strayClaims = unmatched.sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
    }

    /// Everything that accounts show.
    func shown() -> [Shown] {
        accounts.indices.flatMap { place in
            (accounts[place].account?.identifiers ?? []).map { Shown(place: place, identifier: $0) }
        }
    }

    /// Notes of what is shown who owns it, where that is not who shows it.
    mutating func note(_ shown: Shown, ownedBy owner: String?) {
        guard owner != accounts[shown.place].id.rawValue else { return }
        accounts[shown.place].unclaimed.append(
            .init(identifier: shown.identifier, owner: owner.flatMap(UserID.init))
        )
    }
}

extension AccountSnapshot {
    /// A stored text as `Value`; where it is none, that is noted.
    fileprivate mutating func noting<Value>(
        _ column: String,
        _ text: PackedText?,
        _ parse: (PackedText) -> Value?
    ) -> Value? {
        guard let text else { return nil }
        if let value = parse(text) { return value }
        unreadable.append(column)
        return nil
    }

    /// The subject of each linked provider.
    fileprivate var subjects: [ProviderID: String] {
        Dictionary(linkedProviders.map { ($0.identity.provider, $0.identity.subject) }) { _, last in last }
    }

    /// Whether the account's claims are on exactly what it shows. Looked at as bytes, because nearly every account's are.
    fileprivate func owns(exactly claims: [AuditedClaimRow]) -> Bool {
        guard let account else { return claims.isEmpty }
        let shownCount =
            (account.email == nil ? 0 : 1) + (account.phoneNumber == nil ? 0 : 1) + account.linkedProviders.count
        guard claims.count == shownCount else { return false }
        if let email = account.email {
            let key = email.address.canonical
            guard claims.contains(where: { $0.kind == "email" && $0.value == key }) else { return false }
        }
        if let number = account.phoneNumber {
            guard claims.contains(where: { $0.kind == "phone" && $0.value == number.rawValue }) else { return false }
        }
        return account.linkedProviders.allSatisfy { provider, subject in
            claims.contains { $0.kind == "federated" && $0.isOn(provider, subject) }
        }
    }

    fileprivate mutating func sort() {
        if sessions.count > 1 {
            sessions.sort { ($0.epoch, $0.signInProvider) < ($1.epoch, $1.signInProvider) }
        }
        if linkedProviders.count > 1 { linkedProviders.sort { $0.identity.provider < $1.identity.provider } }
        if codes.count > 1 { codes.sort { $0.kind.rawValue < $1.kind.rawValue } }
        if conflicts.count > 1 {
            conflicts.sort { ($0.kind.rawValue, $0.provider.rawValue) < ($1.kind.rawValue, $1.provider.rawValue) }
        }
        if secondFactorNumbers.count > 1 { secondFactorNumbers.sort { $0.rawValue < $1.rawValue } }
        if unreadable.count > 1 { unreadable.sort() }
    }
}

extension AuditedClaimRow {
    /// Whether it is on a provider's identity, as `Identifier.value` writes one.
    fileprivate func isOn(_ provider: ProviderID, _ subject: String) -> Bool {
        let count = provider.rawValue.utf8.count
        return value.prefix(count) == provider.rawValue && value.dropFirst(count).first == 0x1F
            && value.dropFirst(count + 1) == subject
    }
}
