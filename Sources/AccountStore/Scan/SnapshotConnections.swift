import AccountLinking
import Postgres

/// Connections that see the database as of one instant, and can write nothing. One thread uses them all.
///
/// On Citus they see no common instant (ADR 0107).
struct SnapshotConnections {
    /// True if the accounts are distributed over the shards of Citus.
    let isDistributed: Bool
    /// For short reads.
    let main: PostgresConnection
    /// One for each table, because a copy occupies its connection.
    let forTables: [PostgresConnection]

    /// - Parameters:
    ///   - configuration: the database. PostgreSQL lists the connections under its `applicationName`.
    ///   - tables: number of tables that are read at the same time.
    ///   - wholly: true if all of their rows are read.
    ///   - isDistributed: true to read as on Citus; `nil` if the database decides.
    /// - Throws: `PostgresError`.
    init(
        _ configuration: PostgresConfiguration,
        tables: Int,
        wholly: Bool,
        isDistributed: Bool? = nil
    ) throws(PostgresError) {
        main = try PostgresConnection(configuration)
        if let isDistributed {
            self.isDistributed = isDistributed
        } else {
            self.isDistributed = try Self.isDistributed(main)
        }
        if self.isDistributed {
            try Self.beginOnShards(main)
            forTables = try (0..<tables).map { _ throws(PostgresError) in
                let connection = try PostgresConnection(configuration)
                try Self.beginOnShards(connection)
                try connection.execute(script: SnapshotTransaction.sortTables)
                return connection
            }
            return
        }
        try main.execute(SnapshotTransaction.begin)
        try main.execute(script: SnapshotTransaction.withoutTimeouts)
        try main.execute(SnapshotTransaction.goByIndexes)
        let snapshot = try main.query(SnapshotTransaction.exportSnapshot).first.flatMap(\.self) ?? ""
        var forTables: [PostgresConnection] = []
        for _ in 0..<tables {
            let connection = try PostgresConnection(configuration)
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(script: SnapshotTransaction.withoutTimeouts)
            try connection.execute(script: try SnapshotTransaction.adopt(snapshot))
            try connection.execute(script: SnapshotTransaction.sortTables)
            if wholly { try connection.execute(script: SnapshotTransaction.readWholeTables) }
            forTables.append(connection)
        }
        self.forTables = forTables
    }

    private static func beginOnShards(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.execute(SnapshotTransaction.beginOnShards)
        try connection.execute(script: SnapshotTransaction.withoutTimeouts)
        try connection.execute(script: SnapshotTransaction.shareWorkers)
    }

    /// Returns true if the accounts are distributed over the shards of Citus.
    static func isDistributed(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard try connection.query(SnapshotTransaction.hasCitus).first == true else { return false }
        return try connection.query(SnapshotTransaction.isDistributed).first == true
    }

    /// The tenants that have users or claims, in order. Jumps from each tenant to the next by index, so the cost grows
    /// with tenants, not with rows.
    func tenants() throws(PostgresError) -> [TenantID] {
        var tenants: [TenantID] = []
        while true {
            var next: [String] = []
            for query in TenantRow.next(after: tenants.last) { next += try main.query(query).compactMap(\.self) }
            guard let first = next.min(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) else { return tenants }
            tenants.append(TenantID(first))
        }
    }

    /// Places that cut the accounts of `scope` into ranges of about 16,384; none for a part of the accounts.
    ///
    /// - `check`: called while PostgreSQL has no rows; throws to stop.
    func cuts(_ scope: AccountScope, _ check: @escaping () throws -> Void) throws -> [String] {
        guard case .all = scope.selection else { return [] }
        let reader = try CopyReader(UserIDRow.cuts(scope), on: main, check: check)
        defer { reader.cancel() }
        var (row, cuts): (CopiedRow, [String]) = (CopiedRow(), [])
        while try reader.next(&row) { cuts.append(try row.next()) }
        return cuts
    }

    /// The owners of claims, by kind and value.
    func owners(_ keys: [OwnedClaimRow.Key], tenant: TenantID) throws(PostgresError) -> [OwnedClaimRow.Key: String] {
        guard !keys.isEmpty else { return [:] }
        let query =
            isDistributed ? OwnedClaimRow.onShards(keys, tenant: tenant) : OwnedClaimRow.on(keys, tenant: tenant)
        let claims = try main.query(query)
        return Dictionary(claims.map { (OwnedClaimRow.Key(kind: $0.kind, value: $0.value), $0.user) }) { first, _ in
            first
        }
    }

    /// Calls `body` on a new thread. When it returns, the connections are closed and the snapshot is released.
    static func with<Output: Sendable>(
        _ configuration: PostgresConfiguration,
        tables: Int,
        wholly: Bool = true,
        _ body: @escaping @Sendable (SnapshotConnections) throws -> Output
    ) async throws -> Output {
        try await runOnNewThread {
            Result { try body(SnapshotConnections(configuration, tables: tables, wholly: wholly)) }
        }.get()
    }

    /// About how many accounts there are, without counting them.
    static func estimatedUserCount(_ configuration: PostgresConfiguration) async throws -> Int64 {
        try await PostgresConnection.withConnection(configuration) { connection in
            let estimate =
                try isDistributed(connection)
                ? SnapshotTransaction.userEstimateOfShards : SnapshotTransaction.userEstimate
            return max(0, try connection.query(estimate).first.flatMap(\.self) ?? 0)
        }
    }
}
