package import Postgres

/// Distributes the tables of a migrated database over the workers of a Citus cluster.
///
/// - Each table moves in a separate transaction, with its rows. An interrupted run is continued by the next one: what is
///   done is read from Citus' catalogue.
/// - A run holds the lock of migrations (`Migrator`).
/// - Other sessions can work meanwhile, but a write to a table waits while the table moves.
package struct Distributor: Sendable {
    private let configuration: PostgresConfiguration
    private let migrations: MigrationSet
    private let tables: [DistributionTable]
    private let shards: Int
    private let lockWait: Duration
    private let tableLockWait: Duration

    /// The oldest version of Citus with tables in one shard.
    package static let citusVersionMin = 12

    /// - Parameters:
    ///   - configuration: the database on the coordinator. Timeouts of statements do not apply.
    ///   - migrations: all migrations. The schema must be at their newest version.
    ///   - tables: all tables with a place, in the order to move them.
    ///   - shards: the shards of each table that is distributed by a key.
    ///   - lockWait: maximum wait for a migrator, and for each table that is in use.
    ///   - tableLockWait: maximum wait of one statement for a table (`Migrator`).
    package init(
        configuration: PostgresConfiguration,
        migrations: MigrationSet,
        tables: [DistributionTable],
        shards: Int,
        lockWait: Duration = .seconds(60),
        tableLockWait: Duration = .seconds(2)
    ) {
        var configuration = configuration
        configuration.applicationName = "concord migrate"
        self.configuration = configuration
        self.migrations = migrations
        self.tables = tables
        self.shards = shards
        self.lockWait = lockWait
        self.tableLockWait = tableLockWait
    }

    /// Returns what `run` would do now. Takes no lock and changes nothing.
    /// - Throws: `PostgresError`.
    package func plan() async throws -> DistributionVerdict {
        try await PostgresConnection.withConnection(configuration) { try plan($0) }
    }

    /// Moves every table that has no place yet, one after the other.
    /// - Parameter onStep: called after each table has moved, on another thread.
    /// - Returns: the moved tables, or the reasons why none was moved.
    /// - Throws: `DistributionFailure`; `MigrationFailure.busy`; `PostgresError` if the database is unreachable. Tables
    ///   reported by `onStep` stay moved.
    package func run(
        onStep: @escaping @Sendable (CompletedMove) -> Void = { _ in }
    ) async throws -> DistributionOutcome {
        try await PostgresConnection.withConnection(configuration) { connection in
            try MigrationRun.acquireLock(on: connection, wait: lockWait)
            switch try plan(connection) {
            case .refused(let refusals): return .refused(refusals)
            case .plan(let plan): return .done(try move(plan, connection, onStep), workers: plan.workers)
            }
        }
    }

    private func plan(_ connection: PostgresConnection) throws -> DistributionVerdict {
        guard let citus = try connection.query(CitusFacts.extensionVersion).first else {
            return .refused([.noExtension])
        }
        guard let major = citus.split(separator: ".").first.flatMap({ Int($0) }), major >= Self.citusVersionMin else {
            return .refused([.oldExtension(version: citus)])
        }
        guard let facts = try connection.query(CitusFacts.current).first else { return .refused([.noWorkers]) }
        var refusals: [DistributionRefusal] = []
        if !facts.isCoordinator { refusals.append(.notCoordinator) }
        if facts.isCoordinator, facts.workers == 0 { refusals.append(.noWorkers) }
        let readiness = try SchemaState(connection).readiness(required: migrations.latestVersion)
        if readiness != .ready { refusals.append(.schema(readiness)) }
        let state = DistributionState(of: tables, found: try connection.query(PlacedTable.all))
        refusals += state.misplaced.map { .misplaced($0) }
        guard refusals.isEmpty else { return .refused(refusals) }
        return .plan(DistributionPlan(tables: state.pending, shards: shards, workers: Int(facts.workers)))
    }

    private func move(
        _ plan: DistributionPlan,
        _ connection: PostgresConnection,
        _ onStep: (CompletedMove) -> Void
    ) throws -> [CompletedMove] {
        for (name, value) in plan.settings(tableLockWait: tableLockWait) {
            _ = try connection.query(Query<String?>("SELECT set_config(\(name), \(value), false)"))
        }
        var moves: [CompletedMove] = []
        for table in plan.tables {
            let start = ContinuousClock.now
            do throws(PostgresError) {
                try TableAttempts.run(for: lockWait) { () throws(PostgresError) in
                    try connection.execute(script: table.statement)
                }
            } catch {
                throw DistributionFailure(table: table.name, cause: error)
            }
            let move = CompletedMove(table: table, milliseconds: (ContinuousClock.now - start).milliseconds)
            moves.append(move)
            onStep(move)
        }
        try removeLocalRows(connection)
        return moves
    }

    /// Frees the space of rows that were copied to the shards. Citus leaves them in the coordinator's table, out of sight.
    private func removeLocalRows(_ connection: PostgresConnection) throws {
        for table in try connection.query(CitusFacts.tablesWithLocalRows) {
            do throws(PostgresError) {
                try TableAttempts.run(for: lockWait) { () throws(PostgresError) in
                    _ = try connection.execute(
                        "SELECT pg_catalog.truncate_local_data_after_distributing_table(\(table)::regclass)"
                    )
                }
            } catch {
                throw DistributionFailure(table: table, cause: error)
            }
        }
    }
}

/// The tables to move.
package struct DistributionPlan: Sendable, Hashable {
    /// In the order to move them; empty if every table has its place.
    package let tables: [DistributionTable]
    package let shards: Int
    /// The nodes that take shards.
    package let workers: Int

    package init(tables: [DistributionTable], shards: Int, workers: Int) {
        self.tables = tables
        self.shards = shards
        self.workers = workers
    }

    /// The statements of the plan, for `psql`.
    package var statements: [String] {
        tables.isEmpty ? [] : ["SET citus.shard_count = \(shards);"] + tables.map { "\($0.statement);" }
    }

    fileprivate func settings(tableLockWait: Duration) -> [(name: String, value: String)] {
        [
            ("citus.shard_count", "\(shards)"),
            ("lock_timeout", "\(tableLockWait.milliseconds)ms"),
            // Notices about copied rows.
            ("client_min_messages", "warning"),
        ]
    }
}

/// The result of planning.
package enum DistributionVerdict: Sendable, Hashable {
    case plan(DistributionPlan)
    /// The reasons, at least one. No table may move.
    case refused([DistributionRefusal])
}

/// A table that has moved.
package struct CompletedMove: Sendable, Hashable {
    package let table: DistributionTable
    package let milliseconds: Int64

    package init(table: DistributionTable, milliseconds: Int64) {
        self.table = table
        self.milliseconds = milliseconds
    }
}

/// The result of `Distributor.run`.
package enum DistributionOutcome: Sendable, Hashable {
    /// The moved tables; none if every table had its place.
    case done([CompletedMove], workers: Int)
    case refused([DistributionRefusal])
}

/// The reason why no table is moved.
package enum DistributionRefusal: Sendable, Hashable {
    case noExtension
    case oldExtension(version: String)
    case notCoordinator
    case noWorkers
    case schema(SchemaReadiness)
    case misplaced(DistributionState.Misplaced)
}

extension DistributionRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noExtension:
            "the database has no extension citus; run CREATE EXTENSION citus on the coordinator and on each worker"
        case .oldExtension(let version):
            "Citus \(version) has no tables in one shard; upgrade to Citus \(Distributor.citusVersionMin) or newer"
        case .notCoordinator:
            "this server is a worker of the Citus cluster; connect to the coordinator"
        case .noWorkers:
            "the Citus cluster has no worker; add each one: SELECT citus_add_node('HOST', 5432)"
        case .schema(let readiness):
            "\(readiness)"
        case .misplaced(let misplaced):
            "table \(misplaced.table.name) is stored \(misplaced.found); it must be stored \(misplaced.table.place). "
                + "Take it back: SELECT undistribute_table('\(misplaced.table.name)')"
        }
    }
}

/// The reason why a run ended before its last table. Tables before it stay moved.
package struct DistributionFailure: Error, Sendable {
    package let table: String
    package let cause: PostgresError

    package init(table: String, cause: PostgresError) {
        self.table = table
        self.cause = cause
    }
}

extension DistributionFailure: CustomStringConvertible {
    package var description: String {
        "table \(table): \(cause); the tables before it stay moved, run the command again to continue"
    }
}

/// Facts from Citus' catalogue.
private struct CitusFacts: RowDecodable, Sendable {
    let isCoordinator: Bool
    /// Nodes that take shards, the coordinator among them if it does.
    let workers: Int64

    init(row: inout RowDecoder) throws(PostgresError) {
        isCoordinator = try row.next()
        workers = try row.next()
    }

    static let extensionVersion: Query<String> = """
        SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'
        """

    static let current: Query<Self> = """
        SELECT groupid = 0, (
            SELECT count(*) FROM pg_catalog.pg_dist_node
            WHERE noderole = 'primary' AND isactive AND shouldhaveshards
        ) FROM pg_catalog.pg_dist_local_group
        """

    static let tablesWithLocalRows: Query<String> = """
        SELECT c.relname::text FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
            AND (p.partmethod = 'h' OR p.repmodel = 't' OR p.colocationid <> 0)
            AND pg_catalog.pg_relation_size(c.oid) > 0
        ORDER BY c.relname
        """
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
