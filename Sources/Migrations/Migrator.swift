package import Postgres

/// Runs migrations against one database.
///
/// - One migrator runs at a time. It holds an advisory lock of its session from planning to the last step. A crash ends
///   the session and releases the lock. The session must be dedicated: connect to the server, not through a pooler in
///   transaction mode.
/// - Each migration and its ledger row are one transaction. After a crash between two migrations, the next `up`
///   continues. A crash within one rolls it back. The start of a migration outside a transaction is recorded before it
///   runs (`MigrationPlan.make`).
/// - If files and ledger differ, no migration runs. There is no way to force one.
package struct Migrator: Sendable {
    private let configuration: PostgresConfiguration
    private let migrations: MigrationSet
    private let toolVersion: String
    private let lockWait: Duration
    private let tableLockWait: Duration
    private let concurrentLockWait: Duration

    /// - Parameters:
    ///   - configuration: the database. Timeouts of statements do not apply to migrations.
    ///   - migrations: all migrations, from `MigrationDirectory.read`.
    ///   - toolVersion: the version of Concord for the ledger.
    ///   - lockWait: maximum wait for another migrator, and for tables that are in use, for each migration.
    ///   - tableLockWait: maximum wait of one statement for a table. It is short, because all other statements on the
    ///     table queue behind it. A migration that times out is rolled back, and runs again after a pause. It exceeds
    ///     `deadlock_timeout` of PostgreSQL, after which an autovacuum of the table makes way.
    ///   - concurrentLockWait: the same for a statement that blocks no request while it waits, such as
    ///     `CREATE INDEX CONCURRENTLY`. Such a statement waits until all transactions before it have ended.
    package init(
        configuration: PostgresConfiguration,
        migrations: MigrationSet,
        toolVersion: String,
        lockWait: Duration = .seconds(60),
        tableLockWait: Duration = .seconds(2),
        concurrentLockWait: Duration = .seconds(600)
    ) {
        var configuration = configuration
        configuration.applicationName = "concord migrate"
        self.configuration = configuration
        self.migrations = migrations
        self.toolVersion = toolVersion
        self.lockWait = lockWait
        self.tableLockWait = tableLockWait
        self.concurrentLockWait = concurrentLockWait
    }

    /// The applied state of the schema. Takes no lock and changes nothing.
    /// - Throws: `PostgresError`.
    package func state() async throws -> SchemaState {
        try await SchemaState.load(configuration)
    }

    /// The plan that `run` would execute now. Takes no lock and changes nothing.
    /// - Throws: `PostgresError`.
    package func plan(_ target: MigrationTarget) async throws -> MigrationVerdict {
        let migrations = migrations
        return try await PostgresConnection.withConnection(configuration) { connection in
            try MigrationRun.plan(target, of: migrations, on: connection)
        }
    }

    /// Returns the differences between files and ledger, and the defects of the files.
    /// - Throws: `PostgresError`.
    package func verify() async throws -> [MigrationRefusal] {
        migrations.defects
            + MigrationPlan.disagreements(available: migrations, applied: try await state().applied)
    }

    /// Returns the state of each migration, also of one that only the ledger contains, and the invalid indexes.
    /// - Throws: `PostgresError`.
    package func status() async throws -> MigrationStatus {
        let migrations = migrations
        return try await PostgresConnection.withConnection(configuration) { connection in
            MigrationStatus(
                available: migrations,
                applied: try SchemaState(connection).applied,
                invalidIndexes: try connection.query(InvalidIndex.all)
            )
        }
    }

    /// Returns the places of `tables` on Citus; `nil` on plain PostgreSQL.
    /// - Throws: `PostgresError`.
    package func distribution(of tables: [DistributionTable]) async throws -> DistributionState? {
        try await DistributionState.load(configuration, of: tables)
    }

    /// Runs the migrations to `target`, one after the other.
    ///
    /// Two runs at once are safe: the second waits for the first, and then makes its plan.
    /// - Parameters:
    ///   - target: the target version.
    ///   - onStep: called after the commit of each step, on another thread.
    ///   - onWait: called before each further attempt to get a table, on another thread.
    /// - Returns: the finished steps, or the reasons why none was started.
    /// - Throws: `MigrationFailure`; `PostgresError` if the database is unreachable. Steps reported by `onStep` stay.
    package func run(
        _ target: MigrationTarget,
        onStep: @escaping @Sendable (CompletedStep) -> Void = { _ in },
        onWait: @escaping @Sendable (MigrationPlace) -> Void = { _ in }
    ) async throws -> MigrationOutcome {
        try await PostgresConnection.withConnection(configuration) { connection in
            try MigrationRun(
                connection: connection,
                migrations: migrations,
                toolVersion: toolVersion,
                lockWait: lockWait,
                tableLockWait: tableLockWait,
                concurrentLockWait: concurrentLockWait,
                onStep: onStep,
                onWait: onWait
            ).run(target)
        }
    }
}

/// One migration that was run, in either direction.
package struct CompletedStep: Sendable, Hashable {
    package let file: MigrationFileName
    package let milliseconds: Int64
}

/// The result of `Migrator.run`.
package enum MigrationOutcome: Sendable, Equatable {
    /// The steps in order; empty if the database already had the target version.
    case done([CompletedStep])
    case refused([MigrationRefusal])
}

/// The reason why a run ended before its target. Committed steps stay.
package enum MigrationFailure: Error, Sendable {
    /// The database refused a file. It was rolled back, unless it ran outside a transaction.
    case stepFailed(MigrationPlace, cause: PostgresError)
    /// Other transactions held a table at the last attempt, `waited` after the file began. The process has the oldest of
    /// them.
    case tableInUse(MigrationPlace, waited: Duration, serverProcessID: Int32?)
    /// Another migrator held the lock for the whole wait.
    case busy(waited: Duration, serverProcessID: Int32?)
}

/// The statement of a migration file that was running.
package struct MigrationPlace: Sendable, Hashable, CustomStringConvertible {
    package let file: MigrationFileName
    /// The first line of the statement; `nil` between the statements.
    package let line: Int?

    package init(file: MigrationFileName, line: Int?) {
        self.file = file
        self.line = line
    }

    package var description: String { "\(file)" + (line.map { ":\($0)" } ?? "") }
}

extension MigrationFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .stepFailed(let place, let cause):
            "\(place): \(cause)"
        case .tableInUse(let place, let waited, let serverProcessID):
            "\(place): a table was still in use after \(waited.components.seconds) s"
                + (serverProcessID.map { "; PostgreSQL process \($0) has the oldest transaction" } ?? "")
                + ". Wait for its end or end it (pg_terminate_backend), then run the command again"
        case .busy(let waited, let serverProcessID):
            "another migration is running"
                + (serverProcessID.map { " (PostgreSQL process \($0))" } ?? "")
                + "; gave up after \(waited.components.seconds) s, try again when it has ended"
        }
    }
}
