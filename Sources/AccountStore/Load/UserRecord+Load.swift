package import AccountLinking
package import Postgres

extension AccountStore {
    /// The account with `id`; `nil` if there is none. One round trip; two if it changed since it was last read.
    package func user(_ id: UserID, tenant: TenantID) async throws(PostgresError) -> UserRecord? {
        guard let known = userCache.user(id, tenant: tenant) else { return try await loadUser(id, tenant: tenant) }
        let unwritten = activity.unwritten()
        let versions = try await client.read(UserVersionRow.lookup(id, tenant: tenant))
        return try await user(known, asOf: versions.first, unwritten)
    }

    /// The account that was `known`, in its state at `version`; `nil` if it no longer exists.
    private func user(
        _ known: CachedUser,
        asOf version: UserVersionRow?,
        _ unwritten: UnwrittenTimes
    ) async throws(PostgresError) -> UserRecord? {
        guard let version else { return nil }
        guard let user = version.updating(known) else {
            return try await loadUser(known.record.id, tenant: known.record.tenant)
        }
        return unwritten.overlay(user)
    }

    private func loadUser(_ id: UserID, tenant: TenantID) async throws(PostgresError) -> UserRecord? {
        let unwritten = activity.unwritten()
        return remembered(try await client.read(UserRow.lookup(id, tenant: tenant)), unwritten)
    }

    /// The user that was just read in full. Caches it.
    private func remembered(_ rows: [UserRow], _ unwritten: UnwrittenTimes) -> UserRecord? {
        guard let user = rows.known else { return nil }
        userCache.remember(user)
        return unwritten.overlay(user.record)
    }

    /// The account with a claim on `identifier`, including a reservation of an address; `nil` if there is none. One
    /// round trip in either case.
    package func owner(of identifier: Identifier, tenant: TenantID) async throws(PostgresError) -> UserID? {
        try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first?.holder
    }

    /// The accounts with `ids`, in no particular order. Skips unknown ids. One round trip.
    package func users(_ ids: [UserID], tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        guard !ids.isEmpty else { return [] }
        let unwritten = activity.unwritten()
        return try await client.read(Self.query(ids, tenant: tenant)).records.map(unwritten.overlay)
    }

    /// Like `users`, with the newest conflict of `owner` that has a valid proof. One round trip.
    package func users(
        _ ids: [UserID],
        andProvenConflictOf owner: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> (users: [UserRecord], proven: ConflictRecord?) {
        let unwritten = activity.unwritten()
        let (users, conflicts) = try await client.read(
            Self.query(ids, tenant: tenant),
            ConflictRow.proven(of: owner, tenant: tenant, at: now)
        )
        return (users.records.map(unwritten.overlay), conflicts.first?.record)
    }

    /// Callers with one id share a statement.
    private static func query(_ ids: [UserID], tenant: TenantID) -> Query<UserRow> {
        ids.count == 1 ? UserRow.lookup(ids[0], tenant: tenant) : UserRow.withIDs(ids, tenant: tenant)
    }

    /// Limit of the reads of a claim and its owner if they do not belong together.
    private static let readsMax = 4

    /// The account that owns `identifier`; `nil` if there is none. Two round trips.
    ///
    /// Between the two reads the owner may give the identifier up. Its record is then newer than the claim, and a
    /// decision on both would treat it as owner of an identifier that it no longer has: both are read again. If they
    /// keep changing, the result is `nil`. A decision that then claims the identifier fails at the primary key.
    package func user(owning identifier: Identifier, tenant: TenantID) async throws(PostgresError) -> UserRecord? {
        for _ in 1...Self.readsMax {
            guard let owner = try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first?.owner,
                let user = try await user(owner, tenant: tenant)
            else { return nil }
            if user.holds(identifier) { return user }
        }
        return nil
    }

    /// The claim on an address, for a decision that may take it. Two round trips unless the address is free.
    ///
    /// - `now`: codes that ended before it reserve nothing.
    package func claim(
        on address: EmailAddress,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> AddressClaim {
        let identifier = Identifier.email(address)
        for _ in 1...Self.readsMax {
            guard let claim = try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first else {
                return .free
            }
            if let until = claim.reservedUntil {
                return .reserved(try await reserved(address, for: claim.holder, until: until, tenant: tenant, at: now))
            }
            guard let user = try await user(claim.holder, tenant: tenant) else { return .free }
            if user.holds(identifier) { return .owned(user) }
        }
        return .free
    }

    /// A reservation as it was read, checked for a live code. At most one round trip.
    func reserved(
        _ address: EmailAddress,
        for holder: UserID,
        until end: Timestamp,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> ReservedAddress {
        var reserved = ReservedAddress(address: address, holder: holder, until: end, reservation: nil)
        guard now < end else { return reserved }
        let recovery = EmailCodeRow.recovery(of: holder, to: address, tenant: tenant, at: now)
        if let wasProven = try await client.read(recovery).first.flatMap(\.self) {
            reserved.reservation = AddressReservation(address: address, account: holder, wasProven: wasProven)
        }
        return reserved
    }

    /// The account for mails to `address`, and the reservation of the address. Two round trips, three for a reserved
    /// address. The time does not reveal whether there is an account.
    package func recipient(
        of address: EmailAddress,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> MailRecipient {
        var owner: UserID?
        for _ in 1...Self.readsMax {
            let claim = try await client.read(IdentifierRow.owner(of: .email(address), tenant: tenant)).first
            // If the address has no owner, read a user that does not exist, so that the response takes as long.
            let spellings = try await client.read(UserRow.address(of: claim?.holder ?? .nobody, tenant: tenant))
            guard let claim else { return MailRecipient() }
            if let until = claim.reservedUntil {
                let reserved = try await reserved(address, for: claim.holder, until: until, tenant: tenant, at: now)
                return MailRecipient(reservation: reserved.reservation)
            }
            owner = claim.holder
            // The account may have changed its address between the two reads. No mail goes to the new one.
            let spelling = spellings.first?.flatMap { $0 }.flatMap(EmailAddress.init)
            if spelling?.canonical == address.canonical { return MailRecipient(owner: owner, spelling: spelling) }
        }
        return MailRecipient(owner: owner)
    }

    /// The facts to check a password for `address`: its owner, the owner's hash, and the counted wrong passwords that
    /// affect `source`. Two round trips, even if the address has no owner.
    package func passwordFacts(
        of address: EmailAddress,
        by source: AttemptSource,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> PasswordFacts {
        let identifier = Identifier.email(address)
        var facts = PasswordFacts()
        for _ in 1...Self.readsMax {
            let (claims, counts) = try await client.read(
                IdentifierRow.owner(of: identifier, tenant: tenant),
                FailedAttemptsRow.of(address, by: source, tenant: tenant, at: now)
            )
            facts.counts = FailedAttemptCounts(counts)
            let owner = claims.first?.owner
            // If the address has no owner, read a user that does not exist, so that the response takes as long.
            let id = owner ?? .nobody
            let unwritten = activity.unwritten()
            // Read the user first: a password newer than its user's record would open a session that has already ended.
            let (users, passwords) = try await client.read(
                UserRow.withID(id, tenant: tenant),
                PasswordCredentialRow.of(id, tenant: tenant)
            )
            guard owner != nil, let user = users.records.first else { return facts }
            guard user.holds(identifier) else { continue }
            facts.user = unwritten.overlay(user)
            facts.passwordHash = passwords.first
            return facts
        }
        return facts
    }

    /// A session and its user, each `nil` if it does not exist. One round trip; two if the user changed since it was
    /// last read, or the session does not exist.
    package func session(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> (session: SessionRecord?, user: UserRecord?) {
        let lookup = SessionRow.lookup(id, of: user, tenant: tenant)
        let unwritten = activity.unwritten()
        let session: SessionRecord?
        var record: UserRecord?
        if let known = userCache.user(user, tenant: tenant) {
            let (sessions, versions) = try await client.read(lookup, UserVersionRow.lookup(user, tenant: tenant))
            session = sessions.first?.record
            record = try await self.user(known, asOf: versions.first, unwritten)
        } else {
            let (sessions, users) = try await client.read(lookup, UserRow.lookup(user, tenant: tenant))
            session = sessions.first?.record
            record = remembered(users, unwritten)
        }
        // The session may have been read after the user: if the user was deleted with it, the session did not end
        // alone.
        if session == nil, record != nil { record = try await self.user(user, tenant: tenant) }
        return (session, record)
    }

    /// A device and its user, each `nil` if it does not exist. One round trip; two if the user changed since it was last
    /// read.
    package func device(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> (device: Device?, user: UserRecord?) {
        let lookup = DeviceRow.lookup(id, of: user, tenant: tenant)
        let unwritten = activity.unwritten()
        if let known = userCache.user(user, tenant: tenant) {
            let (devices, versions) = try await client.read(lookup, UserVersionRow.lookup(user, tenant: tenant))
            return (devices.first?.device, try await self.user(known, asOf: versions.first, unwritten))
        }
        let (devices, users) = try await client.read(lookup, UserRow.lookup(user, tenant: tenant))
        return (devices.first?.device, remembered(users, unwritten))
    }

    /// The facts, beside its record, from which the sign-in methods of an account are listed. One round trip.
    package func waysInFacts(
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> WaysInFacts {
        let (suspended, newest) = try await client.read(
            QuarantinedMethodRow.lookup(user, tenant: tenant),
            SessionRow.newestSignIn(of: user, tenant: tenant)
        )
        return WaysInFacts(suspended, newest, at: now)
    }
}

/// The facts, beside its record, from which the sign-in methods of an account are listed.
package struct WaysInFacts: Sendable {
    /// The suspended methods that have not expired, by name.
    package let suspended: [QuarantinedMethod]
    private let newestSignIn: NewestSignInRow?

    fileprivate init(_ suspended: [FoundQuarantinedMethodRow], _ newest: [NewestSignInRow], at now: Timestamp) {
        self.suspended = suspended.map(\.method).filter { now < $0.expiresAt }.sorted {
            $0.method.name < $1.method.name
        }
        newestSignIn = newest.first
    }

    /// `sign_in_provider` of the newest sign-in to the account whose session could still be live; `nil` if there is none.
    package func newestSignInProvider(of user: UserRecord) -> String? {
        newestSignIn.flatMap { $0.sessionEpoch == user.sessionEpoch ? $0.provider : nil }
    }
}

extension AccountStore {
    /// The owners of an identity and of an address, each `nil` if there is none, and a reservation of the address. One
    /// round trip; two if the address is reserved.
    package func owners(
        of identity: Identifier,
        and address: EmailAddress?,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> (identity: UserID?, address: UserID?, reserved: ReservedAddress?) {
        guard let address else {
            return (try await client.read(IdentifierRow.owner(of: identity, tenant: tenant)).first?.owner, nil, nil)
        }
        let (identities, addresses) = try await client.read(
            IdentifierRow.owner(of: identity, tenant: tenant),
            IdentifierRow.owner(of: .email(address), tenant: tenant)
        )
        var reserved: ReservedAddress?
        if let claim = addresses.first, let until = claim.reservedUntil {
            reserved = try await self.reserved(address, for: claim.holder, until: until, tenant: tenant, at: now)
        }
        return (identities.first?.owner, addresses.first?.owner, reserved)
    }
}
