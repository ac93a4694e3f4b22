package import AccountLinking
package import AccountStore

/// One page of all accounts, with the hashes of their passwords.
package struct AccountPage: Sendable {
    package let users: [UserRecord]
    /// By account; accounts without a password are absent.
    package let passwordHashes: [UserID: String]
    /// The id after which the next page starts; `nil` if this page is not full.
    package let lastID: UserID?
}

extension AccountStore {
    /// The accounts after `id`, sorted by id. Two round trips.
    ///
    /// Reading all pages returns each account that exists throughout exactly once. A full page names a next one, which
    /// may be empty, as in Identity Toolkit.
    ///
    /// - `limit`: at least 1.
    package func accountPage(after id: UserID?, limit: Int, tenant: TenantID) async throws -> AccountPage {
        let users = try await users(after: id, limit: Int64(limit), tenant: tenant)
        let withPassword = users.filter { $0.passwordUpdatedAt != nil }.map(\.id)
        let hashes = try await listedPasswordHashes(withPassword, tenant: tenant)
        return AccountPage(
            users: users,
            passwordHashes: hashes,
            lastID: users.count == limit ? users.last?.id : nil
        )
    }
}

extension AccountOperations {
    /// The accounts that match an administrator's search, each once.
    package func lookUp(_ search: UserSearch, tenant: TenantID) async throws -> [UserRecord] {
        try await store.users(search, tenant: tenant)
    }

    /// A page of `AccountStore.accountPage` (`accounts:batchGet`).
    package func listAccounts(after id: UserID?, limit: Int, tenant: TenantID) async throws -> AccountPage {
        try await store.accountPage(after: id, limit: limit, tenant: tenant)
    }

    package func hasAccount(_ id: UserID, tenant: TenantID) async throws -> Bool {
        try await store.user(id, tenant: tenant) != nil
    }

    /// One page of all accounts in the given order (`accounts:query`).
    ///
    /// - `offset`: at most `AccountQueryLimits.offsetMax`.
    /// - Returns: `nil` if there are too many accounts for an order without an index.
    package func queryAccounts(
        by order: UserOrder,
        limit: Int64,
        offset: Int64,
        tenant: TenantID
    ) async throws -> [UserRecord]? {
        try await store.users(
            by: order,
            limit: limit,
            offset: offset,
            tenant: tenant,
            sortedMax: AccountQueryLimits.sortedMax
        )
    }

    /// The number of accounts. Above `AccountQueryLimits.countedMax` it is an estimate, or at most
    /// `AccountQueryLimits.sharedCountMax` if several tenants have accounts.
    package func countAccounts(tenant: TenantID) async throws -> Int64 {
        try await store.userCount(
            exactMax: AccountQueryLimits.countedMax,
            sharedMax: AccountQueryLimits.sharedCountMax,
            tenant: tenant
        )
    }
}

/// Limits of `accounts:query`. Up to `sharedCountMax` it answers in less than half a second.
package enum AccountQueryLimits {
    /// Number of accounts up to which they can be sorted by a field that has no index.
    package static let sortedMax: Int64 = 100_000
    /// Number of accounts that a page can skip.
    package static let offsetMax: Int64 = 1_000_000
    /// Number of accounts up to which the count is exact.
    package static let countedMax: Int64 = 500_000
    /// Most accounts that are counted in a database with accounts of several tenants, where PostgreSQL's estimate says
    /// nothing about one of them. Takes up to a second.
    package static let sharedCountMax: Int64 = 2_000_000
}
