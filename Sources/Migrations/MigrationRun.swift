import Glibc
import Postgres

/// One run in one database session: lock, plan, steps.
struct MigrationRun {
    let connection: PostgresConnection
    let migrations: MigrationSet
    let toolVersion: String
    let lockWait: Duration
    let tableLockWait: Duration
    let onStep: (CompletedStep) -> Void

    /// The key of the advisory lock, which is per database. The number is arbitrary and must never change, because
    /// different versions of Concord may run at the same time.
    static let lockKey: Int64 = 0x636F_6E63_6F72_6401
    private static let lockPollMicroseconds: useconds_t = 100_000

    func run(_ target: MigrationTarget) throws -> MigrationOutcome {
        try acquireLock()
        switch MigrationPlan.make(available: migrations, applied: try SchemaState(connection).applied, target: target) {
        case .refused(let refusals):
            return .refused(refusals)
        case .plan(let plan):
            guard !plan.steps.isEmpty else { return .done([]) }
            try connection.execute(AppliedMigration.createLedger)
            var completed: [CompletedStep] = []
            for file in plan.steps {
                let step = CompletedStep(file: file.fileName, milliseconds: try run(file))
                completed.append(step)
                onStep(step)
            }
            return .done(completed)
        }
    }

    /// Polls for the lock instead of waiting in the server. A waiting statement holds a snapshot, and
    /// `CREATE INDEX CONCURRENTLY` in the session with the lock would wait for that snapshot forever.
    private func acquireLock() throws {
        let deadline = ContinuousClock.now + lockWait
        while try connection.query(Query<Bool?>("SELECT pg_try_advisory_lock(\(Self.lockKey))")).first != true {
            guard ContinuousClock.now < deadline else {
                throw MigrationFailure.busy(waited: lockWait, serverProcessID: try lockHolder())
            }
            usleep(Self.lockPollMicroseconds)
        }
    }

    private func lockHolder() throws -> Int32? {
        let holder: Query<Int32?> = """
            SELECT pid FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 1
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND (classid::bigint << 32) | objid::bigint = \(Self.lockKey)
            """
        return try connection.query(holder).first ?? nil
    }

    /// Runs one file and records it.
    /// - Returns: the duration of its SQL in milliseconds.
    private func run(_ file: MigrationFile) throws(MigrationFailure) -> Int64 {
        do throws(PostgresError) {
            try prepareSession()
            return try file.runsInTransaction ? runInTransaction(file) : runOutsideTransaction(file)
        } catch {
            throw .stepFailed(file: file.fileName, cause: error)
        }
    }

    /// Resets the session, so that a setting of one file does not affect the next.
    private func prepareSession() throws(PostgresError) {
        try connection.execute("RESET ALL")
        let milliseconds = "\(Self.milliseconds(tableLockWait))ms"
        _ = try connection.query(Query<String?>("SELECT set_config('lock_timeout', \(milliseconds), false)"))
    }

    private func runInTransaction(_ file: MigrationFile) throws(PostgresError) -> Int64 {
        try connection.transaction { tx throws(PostgresError) -> Int64 in
            let start = ContinuousClock.now
            try tx.execute(script: file.sql)
            let milliseconds = Self.milliseconds(ContinuousClock.now - start)
            // The file may have set search_path. The ledger is in the original one.
            try tx.execute("RESET ALL")
            let record =
                switch file.fileName.direction {
                case .up:
                    AppliedMigration.recordApplied(file, milliseconds: milliseconds, toolVersion: toolVersion)
                case .down:
                    AppliedMigration.forget(version: file.fileName.version)
                }
            try Self.expectOneRow(tx.execute(record))
            return milliseconds
        }
    }

    private func runOutsideTransaction(_ file: MigrationFile) throws(PostgresError) -> Int64 {
        let version = file.fileName.version
        let begin =
            switch file.fileName.direction {
            case .up: AppliedMigration.recordBegun(file, toolVersion: toolVersion)
            case .down: AppliedMigration.recordLeaving(version: version)
            }
        try Self.expectOneRow(connection.execute(begin))
        let start = ContinuousClock.now
        try connection.execute(script: file.sql)
        let milliseconds = Self.milliseconds(ContinuousClock.now - start)
        let end =
            switch file.fileName.direction {
            case .up: AppliedMigration.recordFinished(version: version, milliseconds: milliseconds)
            case .down: AppliedMigration.forget(version: version)
            }
        try Self.expectOneRow(connection.execute(end))
        return milliseconds
    }

    /// Checks the row count, because the lock excludes other migrators, but not a person with `psql`.
    private static func expectOneRow(_ affectedRows: Int) throws(PostgresError) {
        guard affectedRows == 1 else {
            throw PostgresError(.rolledBack, "the row in schema_migrations was changed by someone else meanwhile")
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
