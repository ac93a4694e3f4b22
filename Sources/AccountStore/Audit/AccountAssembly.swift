import AccountLinking
import Postgres

/// Puts accounts together from the rows of their tables, one after the other in the same place: they are dear to copy, and their lists
/// dear to make.
///
/// What cannot be read is told in the account; what names an account that is not there makes one of which nothing else is
/// known. What belongs to an account comes in an order that does not depend on how it was read.
struct AccountAssembly {
    /// The one that was put together last.
    private(set) var snapshot: AccountSnapshot

    /// Its claims; they point into the rows.
    private var claims: [AuditedClaimRow] = []
    // What few texts stand for.
    private var emailProofs = RecentValues(EmailProof.init(name:))
    private var providers = RecentValues(ProviderID.init(_:))
    private var issuers = RecentValues<String> { $0 }
    private var methods = RecentValues(SignInMethod.init(name:))
    private var proofs = RecentValues(UserRecord.Proof.init(rawValue:))
    private var signInProviders = RecentValues<String> { $0 }
    private var codeKinds = RecentValues(EmailCodeRecord.Kind.init(rawValue:))
    private var conflictKinds = RecentValues(ConflictKind.init(rawValue:))

    init(tenant: TenantID) {
        snapshot = AccountSnapshot(tenant: tenant, id: .nobody)
    }

    /// - Parameters:
    ///   - rows: everything that was read of the accounts.
    ///   - tenant: whose.
    /// - Returns: all accounts of the rows, in the order of their ids.
    /// - Throws: `.decoding` where a row is not what was asked for.
    static func accounts(of rows: AuditedRows, tenant: TenantID) throws -> [AccountSnapshot] {
        try rows.withAccounts { rows in
            var assembly = AccountAssembly(tenant: tenant)
            return try rows.ids.indices.compactMap { try assembly.assemble($0, of: rows) ? assembly.snapshot : nil }
        }
    }

    /// Makes `snapshot` an account of `rows`. What it shows without having it among its claims is noted as nobody's, where those
    /// were read.
    ///
    /// - Returns: whether there is one: what stands under an id that no account can have is nobody's.
    /// - Throws: `.decoding` where a row is not what was asked for.
    mutating func assemble(_ account: Int, of rows: RowsByAccount<AuditedTable>) throws(PostgresError) -> Bool {
        guard let id = UserID(rows.ids[account].string) else { return false }
        snapshot.reset(to: id)
        for row in rows.places(account, .users) { try readUser(rows[row]) }
        for row in rows.places(account, .passwords) { try readPassword(rows[row]) }
        let providers = rows.places(account, .providers)
        snapshot.linkedProviders.reserveCapacity(providers.count)
        for row in providers { try readProvider(rows[row]) }
        let methods = rows.places(account, .methods)
        snapshot.methodProofs.reserveCapacity(methods.count)
        for row in methods { try readMethod(rows[row]) }
        for row in rows.places(account, .factors) { try readFactor(rows[row]) }
        for row in rows.places(account, .sessions) { try readSession(rows[row]) }
        for row in rows.places(account, .codes) { try readCode(rows[row]) }
        for row in rows.places(account, .conflicts) { try readConflict(rows[row]) }
        snapshot.linkAccount()
        snapshot.sort()
        if rows.hasRead(.claims) {
            claims.removeAll(keepingCapacity: true)
            for row in rows.places(account, .claims) { claims.append(try AuditedClaimRow(rows[row])) }
            if !snapshot.owns(exactly: claims) { compareClaims() }
        }
        return true
    }

    private mutating func readUser(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedUserRow(columns)
        var email: AccountEmail?
        if let address = snapshot.noting("users.email", row.email, { EmailAddress($0.string) }) {
            let proof = snapshot.noting("users.email_proof", row.emailProof) { emailProofs.value(of: $0) }
            email = AccountEmail(address: address, proof: proof)
        }
        let phoneNumber = snapshot.noting("users.phone_number", row.phoneNumber) { PhoneNumber($0.string) }
        snapshot.account = Account(
            id: snapshot.id,
            version: row.version,
            sessionEpoch: row.sessionEpoch,
            isDisabled: row.flags.contains(.isDisabled),
            email: email,
            hasInitialEmail: row.flags.contains(.hasInitialEmail),
            phoneNumber: phoneNumber,
            usesCustomTokens: row.flags.contains(.usesCustomTokens)
        )
        snapshot.unprovenPhoneNumber = snapshot.noting("users.unproven_phone_number", row.unprovenPhoneNumber) {
            PhoneNumber($0.string)
        }
        snapshot.emailProvenAt = row.emailProvenAt
        snapshot.validSince = row.validSince
        snapshot.createdAt = row.createdAt
        snapshot.lastLoginAt = row.lastLoginAt
    }

    private mutating func readPassword(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedPasswordRow(columns)
        snapshot.passwordUpdatedAt = row.updatedAt
        snapshot.passwordScheme = row.otherScheme?.string ?? AuditRule.currentPasswordScheme
        snapshot.account?.hasPassword = true
    }

    private mutating func readProvider(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedProviderRow(columns)
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
        snapshot.addLinkedProvider(
            identity,
            issuer: row.issuer.flatMap { issuers.value(of: $0) },
            email: email,
            linkedAt: row.linkedAt
        )
    }

    private mutating func readMethod(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedMethodRow(columns)
        let method = snapshot.noting("sign_in_methods.method", row.method) { methods.value(of: $0) }
        guard let method else { return }
        var proof = UserRecord.Proof.providerCredential
        if let text = row.proof {
            guard let other = snapshot.noting("sign_in_methods.proof", text, { proofs.value(of: $0) }) else { return }
            proof = other
        }
        snapshot.methodProofs[method] = UserRecord.MethodProof(proof: proof, provenAt: row.provenAt)
        if method == .emailLink { snapshot.account?.hasEmailLink = true }
    }

    private mutating func readFactor(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedFactorRow(columns)
        snapshot.account?.hasSecondFactor = true
        if let number = snapshot.noting("second_factors.number", row.number, { PhoneNumber($0.string) }) {
            snapshot.secondFactorNumbers.append(number)
        }
    }

    private mutating func readSession(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedSessionRow(columns)
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

    private mutating func readCode(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedCodeRow(columns)
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

    private mutating func readConflict(_ columns: PackedColumns) throws(PostgresError) {
        let row = try AuditedConflictRow(columns)
        let kind = snapshot.noting("conflicts.kind", row.kind) { conflictKinds.value(of: $0) }
        guard let kind else { return }
        let provider = snapshot.noting("conflicts.provider_id", row.provider) { providers.value(of: $0) }
        guard let provider else { return }
        let liveCount: Int64 = row.isLive ? 1 : 0
        let unresolvedCount: Int64 = row.isResolved ? 0 : 1
        let openedAt = row.isResolved ? nil : row.openedAt
        guard let alike = snapshot.conflicts.firstIndex(where: { $0.kind == kind && $0.provider == provider }) else {
            snapshot.conflicts.append(
                AccountSnapshot.Conflicts(
                    kind: kind,
                    provider: provider,
                    count: 1,
                    liveCount: liveCount,
                    unresolvedCount: unresolvedCount,
                    lastOpenedAt: openedAt,
                    firstExpiry: row.expiresAt
                )
            )
            return
        }
        snapshot.conflicts[alike].count += 1
        snapshot.conflicts[alike].liveCount += liveCount
        snapshot.conflicts[alike].unresolvedCount += unresolvedCount
        if let openedAt {
            snapshot.conflicts[alike].lastOpenedAt = max(snapshot.conflicts[alike].lastOpenedAt ?? openedAt, openedAt)
        }
        snapshot.conflicts[alike].firstExpiry = min(snapshot.conflicts[alike].firstExpiry, row.expiresAt)
    }

    /// Notes what may be nobody's among the claims of the account, and what it shows without a claim.
    private mutating func compareClaims() {
        var unmatched = claims.map { AccountSnapshot.StrayClaim(kind: $0.kind, value: $0.value.string) }
        for identifier in snapshot.account?.identifiers ?? [] {
            let (kind, value) = (identifier.kind, identifier.value)
            if let match = unmatched.firstIndex(where: { $0.value == value && $0.kind == kind }) {
                unmatched.remove(at: match)
            } else {
                snapshot.unclaimed.append(.init(identifier: identifier, owner: nil))
            }
        }
        snapshot.strayClaims = unmatched.sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
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

    /// Whether the account's claims are on exactly what it shows. Looked at as bytes, because nearly every account's are.
    fileprivate func owns(exactly claims: [AuditedClaimRow]) -> Bool {
        guard hasAccount else { return claims.isEmpty }
        let address = account?.email?.address.canonical
        let number = account?.phoneNumber?.rawValue
        guard linkedProviders.count == account?.linkedProviders.count,
            claims.count == linkedProviders.count + (address == nil ? 0 : 1) + (number == nil ? 0 : 1)
        else { return false }
        if let address, !claims.contains(where: { $0.isOf(kind: "email") && $0.value == address }) { return false }
        if let number, !claims.contains(where: { $0.isOf(kind: "phone") && $0.value == number }) { return false }
        return linkedProviders.indices.allSatisfy { place in
            let provider = linkedProviders[place].identity.provider.rawValue
            let subject = linkedProviders[place].identity.subject
            return claims.contains { $0.isOn(provider, subject) && $0.isOf(kind: "federated") }
        }
    }

    fileprivate mutating func sort() {
        if sessions.count > 1 {
            sessions.sort { ($0.epoch, $0.signInProvider) < ($1.epoch, $1.signInProvider) }
        }
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
    fileprivate func isOn(_ provider: String, _ subject: String) -> Bool {
        let count = provider.utf8.count
        guard value.bytes.count == count + 1 + subject.utf8.count, value.bytes[count] == 0x1F else { return false }
        return value.dropFirst(count + 1) == subject && value.prefix(count) == provider
    }
}
