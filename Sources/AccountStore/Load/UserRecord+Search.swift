package import AccountLinking
package import Postgres

extension AccountStore {
    /// Every account that `search` names, each once, in the order of their ids. Two round trips.
    package func users(_ search: UserSearch, tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        try await users(try await ids(search, tenant: tenant), tenant: tenant)
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// As `users`, where some may hold what cannot be read: those are named, with the error that each gives.
    package func readableUsers(
        _ search: UserSearch,
        tenant: TenantID
    ) async throws(PostgresError) -> (records: [UserRecord], unreadable: [UserID: PostgresError]) {
        let ids = try await ids(search, tenant: tenant).sorted { $0.rawValue < $1.rawValue }
        let (records, unreadable) = try await readable(ids, tenant: tenant)
        return (records.sorted { $0.id.rawValue < $1.id.rawValue }, unreadable)
    }

    /// What `search` names, whether or not there is such an account. One round trip.
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

    /// The accounts whose id comes after `id`, in the order of their ids (of their bytes), at most `limit` of them.
    package func users(after id: UserID?, limit: Int64, tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        try await client.read(UserRow.after(id, limit: limit, tenant: tenant)).records.map(activity.overlay)
    }

    /// The hashes of the passwords of `ids`; those without a password are left out. One round trip.
    package func passwordHashes(_ ids: [UserID], tenant: TenantID) async throws(PostgresError) -> [UserID: String] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await client.read(PasswordHashRow.withIDs(ids, tenant: tenant))
        return Dictionary(rows.map { ($0.id, $0.hash) }, uniquingKeysWith: { first, _ in first })
    }

    /// One page of all accounts in an order of the caller's choice. One round trip.
    ///
    /// Costs as much as all accounts up to the end of the page: for an administrator's table, not for an export.
    package func users(
        by order: UserOrder,
        limit: Int64,
        offset: Int64,
        tenant: TenantID
    ) async throws(PostgresError) -> [UserRecord] {
        try await client.read(UserRow.page(by: order, limit: limit, offset: offset, tenant: tenant)).records
            .map(activity.overlay)
    }

    /// How many accounts there are.
    package func userCount(tenant: TenantID) async throws(PostgresError) -> Int64 {
        try await client.read(UserRow.count(tenant: tenant)).first.flatMap { $0 } ?? 0
    }

    /// The accounts with a linked identity whose row shows `email`, in the order of their ids, at most 100 of them. Such
    /// an address proves and owns nothing. One round trip.
    package func userIDs(
        linkedWithEmail email: EmailAddress,
        tenant: TenantID
    ) async throws(PostgresError) -> [UserID] {
        try await client.read(UserIDRow.linkedWithEmail(email, tenant: tenant)).map(\.value)
    }
}
