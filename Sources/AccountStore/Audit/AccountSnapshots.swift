package import AccountLinking
package import Postgres

/// Reads accounts whole, one at a time, as of one instant, without writing anything.
///
/// PostgreSQL sorts each table by user on a separate connection; `AccountMerge` combines the rows of an account. Memory
/// holds 20 accounts at any time.
package struct AccountSnapshots: Sendable {
    /// The accounts that are read.
    package enum Selection: Sendable {
        /// All accounts, and the ids of rows without an account.
        case all
        /// The accounts that signed in, were created or had an event since then.
        case changed(since: Timestamp)
        case users([UserID])
    }

    /// The rows that are read of each account.
    package enum Extent: Sendable {
        case everything
        /// No claims, which cannot be found by their user. The owners of what the account shows are looked up instead.
        case withoutClaims
        /// The rows that policy depends on: no sessions, no codes, no claims.
        case judged
    }

    /// A place in the order of all accounts: by tenant, then by id.
    package struct Place: Sendable, Hashable {
        package var tenant: TenantID
        /// Empty before the first.
        package var userID: String

        package init(tenant: TenantID, userID: String) {
            self.tenant = tenant
            self.userID = userID
        }
    }

    private let configuration: PostgresConfiguration
    /// The folder for data that does not fit into memory, in files without names.
    package let temporaryFolder: String

    /// - Parameters:
    ///   - configuration: the database.
    ///   - temporaryFolder: for data that does not fit into memory, in files without names.
    ///   - applicationName: the name under which PostgreSQL lists the connections.
    package init(
        _ configuration: PostgresConfiguration,
        temporaryFolder: String,
        applicationName: String = "concord audit"
    ) {
        var configuration = configuration
        configuration.applicationName = applicationName
        self.configuration = configuration
        self.temporaryFolder = temporaryFolder
    }

    /// About how many accounts there are, without counting them.
    /// - Throws: `PostgresError`.
    package func estimatedCount() async throws -> Int64 {
        try await SnapshotConnections.estimatedUserCount(configuration)
    }

    /// Calls `body` on a separate thread with the accounts of `selection`.
    ///
    /// - Parameters:
    ///   - selection: the accounts.
    ///   - tenant: one tenant; `nil` for all of them.
    ///   - start: the accounts up to this place are left out.
    ///   - extent: the rows that are read of each account.
    ///   - now: conflicts that expired before it are dead.
    ///   - check: called several times a second while PostgreSQL sorts; throws to stop.
    ///   - body: takes the accounts. The thread that runs it also reads them.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `check` or `body`; `PostgresError`.
    package func read<Output: Sendable>(
        _ selection: Selection,
        tenant: TenantID?,
        after start: Place? = nil,
        extent: Extent = .everything,
        at now: Timestamp,
        check: @escaping @Sendable () throws -> Void = {},
        _ body: @escaping @Sendable (SnapshotSequence) throws -> Output
    ) async throws -> Output {
        let tables = AuditTables.all(extent, at: now)
        return try await runOnNewThread {
            Result {
                let accounts = SnapshotSequence(tables, extent, check)
                defer { accounts.close() }
                try accounts.open(configuration, selection, tenant, after: start)
                return try body(accounts)
            }
        }.get()
    }
}

/// The accounts of a run, in the order of tenants and then of ids.
package final class SnapshotSequence {
    private let tables: [AccountTable<AccountSnapshot>]
    private let extent: AccountSnapshots.Extent
    private let check: () throws -> Void
    /// The tenants that are not read to the end.
    private var scopes: ArraySlice<AccountScope> = []
    /// `nil` after the last account, so that PostgreSQL can release the snapshot.
    private var connections: SnapshotConnections?
    /// The tables of the first of `scopes`; `nil` before its first account.
    private var merge: AccountMerge<AccountSnapshot>?
    private var batch: [AccountSnapshot] = []
    private var place = 0

    fileprivate init(
        _ tables: [AccountTable<AccountSnapshot>],
        _ extent: AccountSnapshots.Extent,
        _ check: @escaping () throws -> Void
    ) {
        self.tables = tables
        self.extent = extent
        self.check = check
    }

    /// Connects, and finds the tenants to read.
    fileprivate func open(
        _ configuration: PostgresConfiguration,
        _ selection: AccountSnapshots.Selection,
        _ tenant: TenantID?,
        after start: AccountSnapshots.Place?
    ) throws {
        let isWhole = if case .all = selection { true } else { false }
        let connections = try SnapshotConnections(configuration, tables: tables.count, wholly: isWhole)
        let tenants = try tenant.map { [$0] } ?? connections.main.query(TenantRow.all).map(\.value)
        scopes =
            tenants.filter { tenant in start.map { !tenant.precedes($0.tenant) } ?? true }.map { tenant in
                let after = start?.tenant == tenant ? start?.userID : nil
                return AccountScope(tenant: tenant, selection: selection, after: after)
            }[...]
        self.connections = connections
    }

    /// The next account; `nil` after the last one.
    ///
    /// - Throws: `PostgresError`; the error of `check`. A value that cannot be read is noted in the account.
    package func next() throws -> AccountSnapshot? {
        if place == batch.count {
            guard let next = try nextBatch() else {
                close()
                return nil
            }
            (batch, place) = (next, 0)
        }
        defer { place += 1 }
        return batch[place]
    }

    /// The next accounts of one tenant; `nil` after the last ones of all tenants.
    private func nextBatch() throws -> [AccountSnapshot]? {
        guard let connections else { return nil }
        while let scope = scopes.first {
            if merge == nil { merge = try AccountMerge(tables, scope, connections, check: check) }
            if let batch = try merge?.nextBatch(scope.tenant, extent, connections) { return batch }
            merge = nil
            scopes.removeFirst()
        }
        return nil
    }

    /// Cancels what was not read to the end, and closes the connections.
    fileprivate func close() {
        merge?.cancel()
        merge = nil
        connections = nil
    }
}

extension AccountMerge<AccountSnapshot> {
    /// The next 20 accounts, complete; `nil` after the last ones. One read for the owners of all that they show without
    /// a claim.
    fileprivate mutating func nextBatch(
        _ tenant: TenantID,
        _ extent: AccountSnapshots.Extent,
        _ connections: SnapshotConnections
    ) throws -> [AccountSnapshot]? {
        var batch: [AccountSnapshot] = []
        while batch.count < 20, let next = try nextSnapshot(tenant, extent) { batch.append(next) }
        let unclaimed = batch.flatMap { $0.unclaimed.map(\.identifier) }
        if !unclaimed.isEmpty {
            let claims = try connections.main.query(OwnedClaimRow.on(unclaimed, tenant: tenant))
            let owners = Dictionary(claims.map { ([$0.kind, $0.value], $0.user) }) { first, _ in first }
            for place in batch.indices { batch[place].noteOwners(owners) }
        }
        return batch.isEmpty ? nil : batch
    }

    /// The next account, without the owners of what it shows. Skips rows under an id that no account can have.
    private mutating func nextSnapshot(_ tenant: TenantID, _ extent: AccountSnapshots.Extent) throws -> AccountSnapshot?
    {
        let next = try next { id in UserID(id).map { AccountSnapshot(tenant: tenant, id: $0) } }
        guard var snapshot = next else { return nil }
        snapshot.finishReading()
        if extent != .judged { snapshot.matchClaims() }
        return snapshot
    }
}

extension AccountSnapshot {
    /// Notes the owners of what the account shows without a claim that was read.
    ///
    /// - `owners`: the users by kind and value of their claims.
    fileprivate mutating func noteOwners(_ owners: [[String]: String]) {
        unclaimed = unclaimed.compactMap { unclaimed in
            let owner = owners[[unclaimed.identifier.kind, unclaimed.identifier.value]].flatMap(UserID.init)
            return owner == id ? nil : Unclaimed(identifier: unclaimed.identifier, owner: owner)
        }
    }
}

extension TenantID {
    /// In the order of the database, which compares bytes.
    fileprivate func precedes(_ other: TenantID) -> Bool {
        rawValue.utf8.lexicographicallyPrecedes(other.rawValue.utf8)
    }
}

extension AccountStore {
    /// Returns true if the tenant has users or claims. One round trip.
    package func hasTenant(_ tenant: TenantID) async throws(PostgresError) -> Bool {
        try await client.read(TenantRow.exists(tenant)).first ?? false
    }

    /// The owner of each of `addresses` that has one. One round trip.
    package func owners(
        of addresses: [EmailAddress],
        tenant: TenantID
    ) async throws(PostgresError) -> [EmailAddress: UserID] {
        guard !addresses.isEmpty else { return [:] }
        let claims = try await client.read(OwnedClaimRow.on(addresses.map(Identifier.email), tenant: tenant))
        let owners = Dictionary(claims.map { ($0.value, UserID($0.user)) }) { first, _ in first }
        return addresses.reduce(into: [:]) { found, address in
            found[address] = owners[address.canonical].flatMap(\.self)
        }
    }
}
