import AccountLinking
import Postgres

/// The tables that audits read. To add a fact for a rule, change this and `AccountSnapshot`.
///
/// Columns are read as stored text, because an unreadable value is a finding and not an error.
enum AuditTables {
    typealias Table = AccountTable<AccountSnapshot>

    static func all(_ extent: AccountSnapshots.Extent, at now: Timestamp) -> [Table] {
        // `users` is first: the rows of other tables complete its account.
        let judged = [users, passwords, providers, methods, factors, conflicts(at: now)]
        switch extent {
        case .judged: return judged
        case .withoutClaims: return judged + [sessions, codes]
        case .everything: return judged + [sessions, codes, claims]
        }
    }

    private static let users = Table(
        "users",
        """
        version, session_epoch, disabled, initial_email IS NOT NULL, uses_custom_tokens, email, email_proof,
            email_proven_at, phone_number, unproven_phone_number, valid_since, created_at, last_login_at
        """
    ) { row, snapshot throws(PostgresError) in
        var account = Account(id: snapshot.id, version: try row.next(), sessionEpoch: try row.next())
        account.isDisabled = try row.next()
        account.hasInitialEmail = try row.next()
        account.usesCustomTokens = try row.next()
        let address = snapshot.reading("users.email", try row.next(), EmailAddress.init)
        let proof = snapshot.reading("users.email_proof", try row.next(), EmailProof.init(name:))
        account.email = address.map { AccountEmail(address: $0, proof: proof) }
        snapshot.emailProvenAt = try row.next()
        account.phoneNumber = snapshot.reading("users.phone_number", try row.next(), PhoneNumber.init)
        snapshot.unprovenPhoneNumber = snapshot.reading("users.unproven_phone_number", try row.next(), PhoneNumber.init)
        snapshot.validSince = try row.next()
        snapshot.createdAt = try row.next()
        snapshot.lastLoginAt = try row.next()
        snapshot.account = account
    }

    private static let passwords = Table(
        "password_credentials",
        "updated_at, left(hash, 48)"
    ) { row, snapshot throws(PostgresError) in
        snapshot.passwordUpdatedAt = try row.next()
        snapshot.passwordScheme = try row.next()
        snapshot.account?.hasPassword = true
    }

    private static let providers = Table(
        "linked_providers",
        "provider_id, subject, issuer, email, linked_at"
    ) { row, snapshot throws(PostgresError) in
        let provider = snapshot.reading("linked_providers.provider_id", try row.next(), ProviderID.init)
        let subject: String = try row.next()
        let issuer: String? = try row.next()
        let email: String? = try row.next()
        let identity = provider.flatMap { provider in
            snapshot.reading("linked_providers.subject", subject) { ProviderIdentity(provider: provider, subject: $0) }
        }
        guard let identity else { return }
        snapshot.linkedProviders.appendToFew(
            AccountSnapshot.LinkedProvider(
                identity: identity,
                issuer: issuer,
                email: email.flatMap(snapshot.address),
                linkedAt: try row.next()
            )
        )
    }

    private static let methods = Table(
        "sign_in_methods",
        "method, proof, proven_at"
    ) { row, snapshot throws(PostgresError) in
        let method = snapshot.reading("sign_in_methods.method", try row.next(), SignInMethod.init(name:))
        let text: String = try row.next()
        guard let method,
            let proof = snapshot.reading("sign_in_methods.proof", text, UserRecord.Proof.init(rawValue:))
        else { return }
        // Most accounts have a few.
        if snapshot.methodProofs.isEmpty { snapshot.methodProofs.reserveCapacity(4) }
        snapshot.methodProofs[method] = UserRecord.MethodProof(proof: proof, provenAt: try row.next())
        if method == .emailLink { snapshot.account?.hasEmailLink = true }
    }

    private static let factors = Table("second_factors", "number") { row, snapshot throws(PostgresError) in
        snapshot.account?.hasSecondFactor = true
        let number = snapshot.reading("second_factors.number", try row.next(), PhoneNumber.init)
        if let number { snapshot.secondFactorNumbers.append(number) }
    }

    private static let sessions = Table(
        "sessions",
        "session_epoch, sign_in_provider, auth_time"
    ) { row, snapshot throws(PostgresError) in
        let epoch: Int64 = try row.next()
        let signInProvider: String = try row.next()
        let lastAuthTime: Timestamp = try row.next()
        let same = snapshot.sessions.firstIndex { $0.epoch == epoch && $0.signInProvider == signInProvider }
        guard let same else {
            snapshot.sessions.append(
                .init(epoch: epoch, signInProvider: signInProvider, count: 1, lastAuthTime: lastAuthTime)
            )
            return
        }
        snapshot.sessions[same].count += 1
        snapshot.sessions[same].lastAuthTime = max(snapshot.sessions[same].lastAuthTime, lastAuthTime)
    }

    private static let codes = Table(
        "one_time_codes",
        "kind, CASE WHEN consumed_at IS NULL THEN created_at END, expires_at",
        where: "user_id IS NOT NULL"
    ) { row, snapshot throws(PostgresError) in
        let kind = snapshot.reading("one_time_codes.kind", try row.next(), EmailCodeRecord.Kind.init(rawValue:))
        let waitingSince: Timestamp? = try row.next()
        let expiresAt: Timestamp = try row.next()
        guard let kind else { return }
        guard let same = snapshot.codes.firstIndex(where: { $0.kind == kind }) else {
            snapshot.codes.append(.init(kind: kind, count: 1, waitingSince: waitingSince, firstExpiry: expiresAt))
            return
        }
        snapshot.codes[same].count += 1
        snapshot.codes[same].firstExpiry = min(snapshot.codes[same].firstExpiry, expiresAt)
        if let waitingSince {
            snapshot.codes[same].waitingSince = min(snapshot.codes[same].waitingSince ?? waitingSince, waitingSince)
        }
    }

    private static func conflicts(at now: Timestamp) -> Table {
        Table(
            "conflicts",
            """
            kind, provider_id, state IN ('open', 'proven') AND expires_at > \(now), state = 'resolved', opened_at,
                expires_at
            """
        ) { row, snapshot throws(PostgresError) in
            let kind = snapshot.reading("conflicts.kind", try row.next(), ConflictKind.init(rawValue:))
            let provider = snapshot.reading("conflicts.provider_id", try row.next(), ProviderID.init)
            guard let kind, let provider else { return }
            let isLive: Bool = try row.next()
            let isResolved: Bool = try row.next()
            let openedAt: Timestamp = try row.next()
            let expiresAt: Timestamp = try row.next()
            var conflicts = AccountSnapshot.Conflicts(
                kind: kind,
                provider: provider,
                count: 1,
                liveCount: isLive ? 1 : 0,
                unresolvedCount: isResolved ? 0 : 1,
                lastOpenedAt: isResolved ? nil : openedAt,
                firstExpiry: expiresAt
            )
            let same = snapshot.conflicts.firstIndex { $0.kind == kind && $0.provider == provider }
            guard let same else { return snapshot.conflicts.append(conflicts) }
            let others = snapshot.conflicts[same]
            conflicts.count += others.count
            conflicts.liveCount += others.liveCount
            conflicts.unresolvedCount += others.unresolvedCount
            conflicts.lastOpenedAt = [conflicts.lastOpenedAt, others.lastOpenedAt].compactMap(\.self).max()
            conflicts.firstExpiry = min(conflicts.firstExpiry, others.firstExpiry)
            snapshot.conflicts[same] = conflicts
        }
    }

    /// All claims of the account, until `AccountSnapshot.matchClaims` removes those that match its identifiers. Skips
    /// addresses that are reserved for a recovery, which the account does not have.
    private static let claims = Table(
        "identifiers",
        "kind, value",
        where: "reserved_until IS NULL",
        hasUserIndex: false
    ) { row, snapshot throws(PostgresError) in
        snapshot.orphanedIdentifiers.appendToFew(.init(kind: try row.next(), value: try row.next()))
    }
}

extension AccountSnapshot {
    /// Parses a stored text. Adds the column to `unreadable` if that fails.
    fileprivate mutating func reading<Value>(_ column: String, _ text: String?, _ parse: (String) -> Value?) -> Value? {
        guard let text else { return nil }
        let value = parse(text)
        if value == nil { unreadable.append(column) }
        return value
    }

    /// Parses an address of a provider, which may report any text. Most report the account's address.
    fileprivate func address(_ text: String) -> EmailAddress? {
        if let own = account?.email?.address, own.raw == text { return own }
        return EmailAddress(text)
    }

    /// Completes the snapshot after its last row. The result does not depend on the order of the rows.
    mutating func finishReading() {
        linkedProviders.sort { $0.identity.provider < $1.identity.provider }
        linkAccount()
        secondFactorNumbers.sort { $0.rawValue < $1.rawValue }
        sessions.sort { ($0.epoch, $0.signInProvider) < ($1.epoch, $1.signInProvider) }
        codes.sort { $0.kind.rawValue < $1.kind.rawValue }
        conflicts.sort { ($0.kind.rawValue, $0.provider.rawValue) < ($1.kind.rawValue, $1.provider.rawValue) }
        unreadable.sort()
    }

    /// Compares the claims of the account with its identifiers. Leaves only claims without an identifier, and
    /// identifiers without a claim.
    mutating func matchClaims() {
        let identifiers = account?.identifiers ?? []
        let shown = identifiers.map { OrphanedIdentifier(kind: $0.kind, value: $0.value) }
        let claims = orphanedIdentifiers
        for (identifier, claim) in zip(identifiers, shown) where !claims.contains(claim) {
            unclaimed.append(Unclaimed(identifier: identifier, owner: nil))
        }
        orphanedIdentifiers = claims.filter { !shown.contains($0) }
            .sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
    }
}

extension Array {
    /// Appends to a list that has a few elements in most accounts: makes room for four at once.
    fileprivate mutating func appendToFew(_ element: Element) {
        if isEmpty { reserveCapacity(4) }
        append(element)
    }
}
