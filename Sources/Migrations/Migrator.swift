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

    /// - Parameters:
    ///   - configuration: the database. Timeouts of statements do not apply to migrations.
    ///   - migrations: all migrations, from `MigrationDirectory.read`.
    ///   - toolVersion: the version of Concord for the ledger.
    ///   - lockWait: maximum wait for another migrator.
    ///   - tableLockWait: maximum wait of a statement for a table lock. It is short, because all other statements on
    ///     the table queue behind it. A migration that times out is rolled back and can be repeated.
    package init(
        configuration: PostgresConfiguration,
        migrations: MigrationSet,
        toolVersion: String,
        lockWait: Duration = .seconds(60),
        tableLockWait: Duration = .seconds(10)
    ) {
        var configuration = configuration
        configuration.applicationName = "concord migrate"
        self.configuration = configuration
        self.migrations = migrations
        self.toolVersion = toolVersion
        self.lockWait = lockWait
        self.tableLockWait = tableLockWait
    }

    /// The applied state of the schema. Takes no lock and changes nothing.
    /// - Throws: `PostgresError`.
    package func state() async throws -> SchemaState {
        try await SchemaState.load(configuration)
    }

    /// The plan that `run` would execute now. Takes no lock and changes nothing.
    /// - Throws: `PostgresError`.
    package func plan(_ target: MigrationTarget) async throws -> MigrationVerdict {
        MigrationPlan.make(available: migrations, applied: try await state().applied, target: target)
    }

    /// Returns the differences between files and ledger, and the defects of the files.
    /// - Throws: `PostgresError`.
    package func verify() async throws -> [MigrationRefusal] {
        migrations.defects
            + MigrationPlan.disagreements(available: migrations, applied: try await state().applied)
    }

    /// Returns the state of each migration, also of one that only the ledger contains.
    /// - Throws: `PostgresError`.
    package func status() async throws -> MigrationStatus {
        MigrationStatus(available: migrations, applied: try await state().applied)
    }

    /// Runs the migrations to `target`, one after the other.
    ///
    /// Two runs at once are safe: the second waits for the first, and then makes its plan.
    /// - Parameters:
    ///   - target: the target version.
    ///   - onStep: called after the commit of each step, on another thread.
    /// - Returns: the finished steps, or the reasons why none was started.
    /// - Throws: `MigrationFailure`; `PostgresError` if the database is unreachable. Steps reported by `onStep` stay.
    package func run(
        _ target: MigrationTarget,
        onStep: @escaping @Sendable (CompletedStep) -> Void = { _ in }
    ) async throws -> MigrationOutcome {
        try await PostgresConnection.withConnection(configuration) { connection in
            try MigrationRun(
                connection: connection,
                migrations: migrations,
                toolVersion: toolVersion,
                lockWait: lockWait,
                tableLockWait: tableLockWait,
                onStep: onStep
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
    case stepFailed(file: MigrationFileName, cause: PostgresError)
    /// Another migrator held the lock for the whole wait.
    case busy(waited: Duration, serverProcessID: Int32?)
}

extension MigrationFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .stepFailed(let file, let cause):
            "\(file): \(cause)"
        case .busy(let waited, let serverProcessID):
            "another migration is running"
                + (serverProcessID.map { " (PostgreSQL process \($0))" } ?? "")
                + "; gave up after \(waited.components.seconds) s, try again when it has ended"
        }
    }
}
