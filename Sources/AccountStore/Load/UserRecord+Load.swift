package import AccountLinking
package import Postgres

extension AccountStore {
    /// The account with `id`; `nil` when there is none. One round trip.
    package func user(_ id: UserID, tenant: TenantID) async throws(PostgresError) -> UserRecord? {
        let row = try await client.read(UserRow.lookup(id, tenant: tenant)).first
        return row.map { activity.overlay($0.record) }
    }

    /// Who owns `identifier`; `nil` when nobody does. One round trip either way.
    package func owner(of identifier: Identifier, tenant: TenantID) async throws(PostgresError) -> UserID? {
        try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first?.owner
    }

    /// The accounts with `ids`, in no particular order; unknown ids are skipped. One round trip.
    package func users(_ ids: [UserID], tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        guard !ids.isEmpty else { return [] }
        return try await client.read(UserRow.withIDs(ids, tenant: tenant)).map { activity.overlay($0.record) }
    }

    /// The account that owns `identifier`; `nil` when nobody does. Two round trips.
    ///
    /// Between the two the owner may give the identifier up. That is a change of the owner's version, so a decision
    /// taken on it cannot be applied.
    package func user(
        owning identifier: Identifier,
        tenant: TenantID
    ) async throws(PostgresError) -> UserRecord? {
        guard let claim = try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first
        else { return nil }
        return try await user(claim.owner, tenant: tenant)
    }

    /// The account that owns `identifier`, with the hash of its password. Two round trips.
    package func userWithPassword(
        owning identifier: Identifier,
        tenant: TenantID
    ) async throws(PostgresError) -> (user: UserRecord, passwordHash: String?)? {
        guard let claim = try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first
        else { return nil }
        let (users, passwords) = try await client.read(
            UserRow.withID(claim.owner, tenant: tenant),
            PasswordCredentialRow.of(claim.owner, tenant: tenant)
        )
        guard let user = users.first else { return nil }
        return (activity.overlay(user.record), passwords.first?.hash)
    }

    /// A session and its user. One round trip. Either is `nil` when it does not exist.
    package func session(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> (session: SessionRecord?, user: UserRecord?) {
        let (sessions, users) = try await client.read(
            SessionRow.withID(id, of: user, tenant: tenant),
            UserRow.withID(user, tenant: tenant)
        )
        return (sessions.first?.record, users.first.map { activity.overlay($0.record) })
    }
}

extension AccountStore {
    /// The owners of two identifiers; `nil` where nobody owns it. One round trip.
    package func owners(
        of first: Identifier,
        and second: Identifier?,
        tenant: TenantID
    ) async throws(PostgresError) -> (first: UserID?, second: UserID?) {
        guard let second else {
            return (try await client.read(IdentifierRow.owner(of: first, tenant: tenant)).first?.owner, nil)
        }
        let (firstOwners, secondOwners) = try await client.read(
            IdentifierRow.owner(of: first, tenant: tenant),
            IdentifierRow.owner(of: second, tenant: tenant)
        )
        return (firstOwners.first?.owner, secondOwners.first?.owner)
    }
}
