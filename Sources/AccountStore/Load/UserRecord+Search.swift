package import AccountLinking
package import Postgres

extension AccountStore {
    /// Every account that `search` names, each once, sorted by id. Two round trips; one for ids alone, three with first
    /// addresses.
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

    /// The ids that `search` names, with or without an account. At most two round trips; none for ids alone.
    private func ids(_ search: UserSearch, tenant: TenantID) async throws(PostgresError) -> [UserID] {
        var ids = Set(search.ids)
        let claims = try await client.read(Self.claims(search, tenant: tenant))
        ids.formUnion(claims.joined().compactMap(\.owner))
        if !search.initialEmails.isEmpty {
            let users = try await client.read(UserIDRow.withInitialEmails(search.initialEmails, tenant: tenant))
            ids.formUnion(users.map(\.value))
        }
        return Array(ids)
    }

    /// A query for each kind of identifier that `search` names. A single identifier is a lookup, which other callers
    /// share.
    private static func claims(_ search: UserSearch, tenant: TenantID) -> [Query<IdentifierRow>] {
        [
            search.emails.map(Identifier.email), search.phoneNumbers.map(Identifier.phone),
            search.identities.map(Identifier.federated),
        ].compactMap { identifiers in
            guard let first = identifiers.first else { return nil }
            if identifiers.count == 1 { return IdentifierRow.owner(of: first, tenant: tenant) }
            return IdentifierRow.owners(kind: first.kind, values: identifiers.map(\.value), tenant: tenant)
        }
    }

    /// The accounts after `id`, at most `limit`, in the byte order of their ids. They may be old (`Replica`).
    package func users(after id: UserID?, limit: Int64, tenant: TenantID) async throws(PostgresError) -> [UserRecord] {
        let unwritten = activity.unwritten()
        return try await readingOld { client throws(PostgresError) in
            try await client.read(UserRow.after(id, limit: limit, tenant: tenant))
        }.records.map(unwritten.overlay)
    }

    /// The password hashes of `ids`. Accounts without a password are absent. One round trip.
    package func passwordHashes(_ ids: [UserID], tenant: TenantID) async throws(PostgresError) -> [UserID: String] {
        try await Self.passwordHashes(ids, tenant: tenant, from: client)
    }

    /// Like `passwordHashes`, for a list. They may be old (`Replica`).
    package func listedPasswordHashes(
        _ ids: [UserID],
        tenant: TenantID
    ) async throws(PostgresError) -> [UserID: String] {
        try await readingOld { client throws(PostgresError) in
            try await Self.passwordHashes(ids, tenant: tenant, from: client)
        }
    }

    private static func passwordHashes(
        _ ids: [UserID],
        tenant: TenantID,
        from client: PostgresClient
    ) async throws(PostgresError) -> [UserID: String] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await client.read(PasswordHashRow.withIDs(ids, tenant: tenant))
        return Dictionary(rows.map { ($0.id, $0.hash) }, uniquingKeysWith: { first, _ in first })
    }

    /// One page of all accounts in the given order. They may be old (`Replica`). Two round trips; three for an order
    /// without an index.
    ///
    /// - `offset`: skipping costs as much as reading an index up to there, so its caller bounds it.
    /// - Returns: `nil` if the order has no index and there are more than `sortedMax` accounts.
    package func users(
        by order: UserOrder,
        limit: Int64,
        offset: Int64,
        tenant: TenantID,
        sortedMax: Int64
    ) async throws(PostgresError) -> [UserRecord]? {
        let page = UserRow.idPage(by: order, limit: limit, offset: offset, tenant: tenant)
        let unwritten = activity.unwritten()
        let found = try await readingOld { client throws(PostgresError) -> ([UserID], [UserRecord])? in
            if !order.isIndexed {
                let count = try await Self.userCount(upTo: sortedMax + 1, tenant: tenant, from: client)
                guard count <= sortedMax else { return nil }
            }
            let ids = try await client.read(page).map(\.value)
            guard !ids.isEmpty else { return ([], []) }
            return (ids, try await client.read(UserRow.withManyIDs(ids, tenant: tenant)).records)
        }
        guard let (ids, users) = found else { return nil }
        let places = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return users.sorted { places[$0.id] ?? 0 < places[$1.id] ?? 0 }.map(unwritten.overlay)
    }

    /// The number of accounts: exact up to `exactMax`. Above it, PostgreSQL's estimate if no other tenant has accounts,
    /// because the estimate is of all tenants; otherwise exact up to `sharedMax`, and never more. It may be old
    /// (`Replica`). One round trip; three or four above `exactMax`.
    package func userCount(
        exactMax: Int64,
        sharedMax: Int64,
        tenant: TenantID
    ) async throws(PostgresError) -> Int64 {
        try await readingOld { client throws(PostgresError) in
            let count = try await Self.userCount(upTo: exactMax + 1, tenant: tenant, from: client)
            guard count > exactMax else { return count }
            let others = try await client.read([TenantRow.firstWithUsers, TenantRow.nextWithUsers(after: tenant)])
                .joined().compactMap(\.self).filter { $0 != tenant.rawValue }
            guard others.isEmpty else {
                return try await Self.userCount(upTo: max(sharedMax, count), tenant: tenant, from: client)
            }
            return max(count, try await Self.userEstimate(from: client))
        }
    }

    private static func userEstimate(from client: PostgresClient) async throws(PostgresError) -> Int64 {
        var estimate = SnapshotTransaction.userEstimate
        if client.engine == .citus, try await client.read(SnapshotTransaction.isDistributed).first == true {
            estimate = SnapshotTransaction.userEstimateOfShards
        }
        return try await client.read(estimate).first.flatMap { $0 } ?? 0
    }

    private static func userCount(
        upTo countMax: Int64,
        tenant: TenantID,
        from client: PostgresClient
    ) async throws(PostgresError) -> Int64 {
        try await client.read(UserRow.count(upTo: countMax, tenant: tenant)).first.flatMap { $0 } ?? 0
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
