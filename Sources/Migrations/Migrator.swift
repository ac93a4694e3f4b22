package import Postgres

/// Runs migrations against one database.
///
/// - One runs at a time: a session's advisory lock is held from planning to the last step. It ends with the session, so
///   a crash leaves nothing behind, and it needs a dedicated session: connect to the server, not through a pooler in
///   transaction mode.
/// - Each migration and its ledger row are one transaction. A crash between two leaves a database that the next `up`
///   continues; a crash within one leaves no trace of it. A migration outside a transaction is marked in the ledger
///   before it begins; see `MigrationPlan.make`.
/// - Nothing is ever forced: where files and ledger disagree, nothing runs.
package struct Migrator: Sendable {
    private let configuration: PostgresConfiguration
    private let migrations: MigrationSet
    private let toolVersion: String
    private let lockWait: Duration
    private let tableLockWait: Duration

    /// - Parameters:
    ///   - configuration: the database; limits of time for statements do not apply to migrations.
    ///   - migrations: all there are; `MigrationDirectory.read` finds them.
    ///   - toolVersion: recorded in the ledger beside each migration.
    ///   - lockWait: how long to wait for another migrator to finish.
    ///   - tableLockWait: how long one statement may wait for a lock. While it waits, everyone else queues behind it, so
    ///     it is short; a migration that fails for it leaves nothing and can be tried again.
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

    /// Every place where the files are not what was applied, and everything wrong with the files themselves.
    /// - Throws: `PostgresError`.
    package func verify() async throws -> [MigrationRefusal] {
        migrations.defects
            + MigrationPlan.disagreements(available: migrations, applied: try await state().applied)
    }

    /// Each migration with its state, also one that only the ledger knows.
    /// - Throws: `PostgresError`.
    package func status() async throws -> MigrationStatus {
        MigrationStatus(available: migrations, applied: try await state().applied)
    }

    /// Goes to `target`, one migration after the other.
    ///
    /// Two at once are safe: the second waits for the first and then plans anew, mostly to find nothing to do.
    /// - Parameters:
    ///   - target: where to end.
    ///   - onStep: called after each step is committed, from another thread.
    /// - Returns: the steps done, or why none was begun.
    /// - Throws: `MigrationFailure`; `PostgresError` when the database is away. The steps reported by `onStep` stay done.
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
    /// In order; empty when the database already was where it should be.
    case done([CompletedStep])
    case refused([MigrationRefusal])
}

/// Why a run ended before its target. What was committed before stays.
package enum MigrationFailure: Error, Sendable {
    /// The database refused a file; nothing of it remains, unless it ran outside a transaction.
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
