package import AccountLinking
package import Postgres

/// Reads accounts whole, one at a time, as of one instant, without writing anything.
///
/// On Citus there is no such instant: `SnapshotSequence.newerState` reads an account again that may have changed.
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
    /// True to read any database as on Citus, for tests; `nil` if the database decides.
    package var readsAsOnCitus: Bool?

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

    /// Returns true if all accounts are read as of one instant, and false on Citus.
    /// - Throws: `PostgresError`.
    package func isOfOneInstant() async throws -> Bool {
        try await PostgresConnection.withConnection(configuration) { connection in
            try !SnapshotConnections.isDistributed(connection)
        }
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
                try accounts.open(configuration, selection, tenant, after: start, readsAsOnCitus)
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
        after start: AccountSnapshots.Place?,
        _ readsAsOnCitus: Bool?
    ) throws {
        let isWhole = if case .all = selection { true } else { false }
        let connections = try SnapshotConnections(
            configuration,
            tables: tables.count,
            wholly: isWhole,
            isDistributed: readsAsOnCitus
        )
        let tenants = try tenant.map { [$0] } ?? connections.tenants()
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

    /// The account as it is now, if it may have changed while its tables were read; `nil` if it has not, and always if
    /// all accounts are read as of one instant.
    ///
    /// Every change of an account raises its version, and the version is read before the other tables. So an account
    /// that still has the version was read as of one instant. Call it only for the last account of `next`.
    package func newerState(of snapshot: AccountSnapshot) throws -> AccountSnapshot? {
        guard let connections, connections.isDistributed else { return nil }
        var newer: AccountSnapshot?
        for _ in 0..<3 {
            let read = newer ?? snapshot
            let version = try connections.main.query(UserIDRow.version(of: read.id, tenant: read.tenant)).first
            if version == read.account?.version { return newer }
            newer = try connections.snapshot(of: read, tables, claims: extent != .judged, check)
        }
        return newer
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
        var keys = batch.flatMap { $0.unclaimed.map { OwnedClaimRow.Key($0.identifier) } }
        // On Citus the claims were read long before.
        if connections.isDistributed { keys += batch.flatMap(\.orphanedIdentifiers) }
        if !keys.isEmpty {
            let owners = try connections.owners(keys, tenant: tenant)
            for place in batch.indices {
                if connections.isDistributed { batch[place].forgetClaims(unlessIn: owners) }
                batch[place].noteOwners(owners)
            }
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

extension SnapshotConnections {
    /// Reads one account again, with statements that each ask one shard.
    ///
    /// - `old`: the account as it was read. Its claims are looked up by their keys.
    /// - `claims`: true to compare what the account shows with its claims.
    fileprivate func snapshot(
        of old: AccountSnapshot,
        _ tables: [AccountTable<AccountSnapshot>],
        claims: Bool,
        _ check: @escaping () throws -> Void
    ) throws -> AccountSnapshot {
        var snapshot = AccountSnapshot(tenant: old.tenant, id: old.id)
        let scope = AccountScope(tenant: old.tenant, selection: .users([old.id]))
        for table in tables where table.hasUserIndex {
            let reader = try CopyReader(table.rows(scope), on: main, check: check)
            defer { reader.cancel() }
            var row = CopiedRow()
            while try reader.next(&row) {
                _ = try row.nextBytes()
                try table.read(&row, &snapshot)
            }
        }
        snapshot.finishReading()
        guard claims else { return snapshot }
        let shown = [snapshot, old].flatMap { $0.account?.identifiers ?? [] }.map { OwnedClaimRow.Key($0) }
        let keys = Set(shown + old.orphanedIdentifiers).map(\.self)
        let owners = try owners(keys, tenant: old.tenant)
        snapshot.orphanedIdentifiers = keys.filter { owners[$0] == old.id.rawValue }
        snapshot.matchClaims()
        snapshot.noteOwners(owners)
        return snapshot
    }
}

extension AccountSnapshot {
    /// Forgets the claims that the account no longer has.
    fileprivate mutating func forgetClaims(unlessIn owners: [OwnedClaimRow.Key: String]) {
        orphanedIdentifiers.removeAll { owners[$0] != id.rawValue }
    }

    /// Notes the owners of what the account shows without a claim that was read.
    fileprivate mutating func noteOwners(_ owners: [OwnedClaimRow.Key: String]) {
        unclaimed = unclaimed.compactMap { unclaimed in
            let owner = owners[OwnedClaimRow.Key(unclaimed.identifier)].flatMap(UserID.init)
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
        let keys = addresses.map { OwnedClaimRow.Key(.email($0)) }
        let claims = try await client.read(OwnedClaimRow.on(keys, tenant: tenant))
        let owners = Dictionary(claims.map { ($0.value, UserID($0.user)) }) { first, _ in first }
        return addresses.reduce(into: [:]) { found, address in
            found[address] = owners[address.canonical].flatMap(\.self)
        }
    }
}
