package import AccountLinking
package import Postgres

extension AccountStore {
    /// Every account that `search` names, each once, sorted by id. Two round trips.
    package func users(_ search: UserSearch, tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        try await users(try await ids(search, tenant: tenant), tenant: tenant)
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Like `users`, but also returns the ids of accounts that cannot be decoded, each with its error.
    package func readableUsers(
        _ search: UserSearch,
        tenant: TenantID
    ) async throws(PostgresError) -> (records: [UserRecord], unreadable: [UserID: PostgresError]) {
        let ids = try await ids(search, tenant: tenant).sorted { $0.rawValue < $1.rawValue }
        let (records, unreadable) = try await readable(ids, tenant: tenant)
        return (records.sorted { $0.id.rawValue < $1.id.rawValue }, unreadable)
    }

    /// The ids that `search` names, with or without an account. One round trip.
    private func ids(_ search: UserSearch, tenant: TenantID) async throws(PostgresError) -> [UserID] {
        let (byEmail, byPhone, byIdentity, byInitialEmail) = try await client.read(
            IdentifierRow.owners(
                kind: "email",
                values: search.emails.map { Identifier.email($0).value },
                tenant: tenant
            ),
            IdentifierRow.owners(
                kind: "phone",
                values: search.phoneNumbers.map { Identifier.phone($0).value },
                tenant: tenant
            ),
            IdentifierRow.owners(
                kind: "federated",
                values: search.identities.map { Identifier.federated($0).value },
                tenant: tenant
            ),
            UserIDRow.withInitialEmails(search.initialEmails, tenant: tenant)
        )
        return Array(
            Set(search.ids).union((byEmail + byPhone + byIdentity).compactMap(\.owner)).union(
                byInitialEmail.map(\.value)
            )
        )
    }

    /// The accounts after `id`, at most `limit`, in the byte order of their ids.
    package func users(after id: UserID?, limit: Int64, tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        try await client.read(UserRow.after(id, limit: limit, tenant: tenant)).records.map(activity.overlay)
    }

    /// The password hashes of `ids`. Accounts without a password are absent. One round trip.
    package func passwordHashes(_ ids: [UserID], tenant: TenantID) async throws(PostgresError) -> [UserID: String] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await client.read(PasswordHashRow.withIDs(ids, tenant: tenant))
        return Dictionary(rows.map { ($0.id, $0.hash) }, uniquingKeysWith: { first, _ in first })
    }

    /// One page of all accounts in the given order. One round trip.
    ///
    /// Costs as much as reading all accounts up to the end of the page: use it for an administrator's table, not for an
    /// export.
    package func users(
        by order: UserOrder,
        limit: Int64,
        offset: Int64,
        tenant: TenantID
    ) async throws(PostgresError) -> [UserRecord] {
        try await client.read(UserRow.page(by: order, limit: limit, offset: offset, tenant: tenant)).records
            .map(activity.overlay)
    }

    package func userCount(tenant: TenantID) async throws(PostgresError) -> Int64 {
        try await client.read(UserRow.count(tenant: tenant)).first.flatMap { $0 } ?? 0
    }

    /// The accounts with a linked identity that shows `email`, sorted by id, at most 100. Such an address proves and
    /// owns nothing. One round trip.
    package func userIDs(
        linkedWithEmail email: EmailAddress,
        tenant: TenantID
    ) async throws(PostgresError) -> [UserID] {
        try await client.read(UserIDRow.linkedWithEmail(email, tenant: tenant)).map(\.value)
    }
}
