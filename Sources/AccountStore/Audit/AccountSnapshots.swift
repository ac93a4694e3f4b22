package import AccountLinking
package import Postgres

/// Reads accounts whole, one at a time, as of one instant, without writing anything.
///
/// PostgreSQL sorts each table by user, on a connection of its own; `AccountMerge` puts the rows of an account together.
/// Memory is that of one account, however many there are.
package struct AccountSnapshots: Sendable {
    /// The accounts that are read.
    package enum Selection: Sendable {
        /// All, and the ids that rows name although there is no account.
        case all
        /// Those that signed in, were created or had an event since then.
        case changed(since: Timestamp)
        case users([UserID])
    }

    /// The rows that are read of each account.
    package enum Extent: Sendable {
        case everything
        /// No claims, which cannot be found by their user. The owners of what the account shows are looked up instead.
        case withoutClaims
        /// What policy judges: no sessions, no codes, no claims.
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

    /// Calls `body` on a thread of its own, with a reader of the accounts of `selection`.
    ///
    /// - Parameters:
    ///   - selection: the accounts.
    ///   - tenant: one tenant; `nil` for all of them.
    ///   - start: the accounts up to this place are left out.
    ///   - extent: the rows that are read of each account.
    ///   - now: conflicts that expired before it are dead.
    ///   - check: called several times a second while PostgreSQL sorts; throws to stop.
    /// - Throws: the error of `check` or `body`; `PostgresError`.
    package func read<Output: Sendable>(
        _ selection: Selection,
        tenant: TenantID?,
        after start: Place? = nil,
        extent: Extent = .everything,
        at now: Timestamp,
        check: @escaping @Sendable () throws -> Void = {},
        _ body: @escaping @Sendable (SnapshotReader) throws -> Output
    ) async throws -> Output {
        let tables = AuditTables.all(extent, at: now)
        return try await SnapshotConnections.with(configuration, tables: tables.count) { connections in
            let tenants = try tenant.map { [$0] } ?? connections.main.query(TenantRow.all).map(\.value)
            let scopes = tenants.filter { tenant in start.map { !tenant.precedes($0.tenant) } ?? true }.map { tenant in
                AccountScope(tenant: tenant, selection: selection, after: start?.tenant == tenant ? start?.userID : nil)
            }
            let reader = SnapshotReader(connections, tables, scopes[...], extent, check)
            defer { reader.cancel() }
            return try body(reader)
        }
    }
}

/// The accounts of a run, one at a time, in the order of tenants and then of ids.
package final class SnapshotReader {
    private let connections: SnapshotConnections
    private let tables: [AccountTable<AccountSnapshot>]
    private var scopes: ArraySlice<AccountScope>
    private let extent: AccountSnapshots.Extent
    private let check: () throws -> Void
    private var merge: AccountMerge<AccountSnapshot>?

    init(
        _ connections: SnapshotConnections,
        _ tables: [AccountTable<AccountSnapshot>],
        _ scopes: ArraySlice<AccountScope>,
        _ extent: AccountSnapshots.Extent,
        _ check: @escaping () throws -> Void
    ) {
        self.connections = connections
        self.tables = tables
        self.scopes = scopes
        self.extent = extent
        self.check = check
    }

    /// The next account; `nil` after the last one. Rows under an id that no account can have are skipped.
    ///
    /// - Throws: `PostgresError`; the error of `check`. A value that cannot be read is noted in the account.
    package func next() throws -> AccountSnapshot? {
        while let scope = scopes.first {
            if merge == nil { merge = try AccountMerge(tables, scope, connections, check: check) }
            let next = try merge?.next { id in UserID(id).map { AccountSnapshot(tenant: scope.tenant, id: $0) } }
            guard var snapshot = next else {
                merge = nil
                scopes.removeFirst()
                continue
            }
            snapshot.finishReading()
            if extent != .judged { snapshot.matchClaims() }
            if !snapshot.unclaimed.isEmpty { try findOwners(&snapshot) }
            return snapshot
        }
        return nil
    }

    /// Looks up the owners of what the account shows without a claim that was read.
    private func findOwners(_ snapshot: inout AccountSnapshot) throws(PostgresError) {
        let claims = try connections.main.query(
            OwnedClaimRow.on(snapshot.unclaimed.map(\.identifier), tenant: snapshot.tenant)
        )
        let id = snapshot.id
        snapshot.unclaimed = snapshot.unclaimed.compactMap { unclaimed in
            let claim = claims.first { $0.kind == unclaimed.identifier.kind && $0.value == unclaimed.identifier.value }
            let owner = claim.flatMap { UserID($0.user) }
            return owner == id ? nil : AccountSnapshot.Unclaimed(identifier: unclaimed.identifier, owner: owner)
        }
    }

    func cancel() {
        merge?.cancel()
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
