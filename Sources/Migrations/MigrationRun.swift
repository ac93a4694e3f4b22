import Glibc
import Postgres

/// One run in one database session: lock, plan, steps.
struct MigrationRun {
    let connection: PostgresConnection
    let migrations: MigrationSet
    let toolVersion: String
    let lockWait: Duration
    let tableLockWait: Duration
    let concurrentLockWait: Duration
    let onStep: (CompletedStep) -> Void
    let onWait: (MigrationPlace) -> Void

    /// The key of the advisory lock, which is per database. The number is arbitrary and must never change, because
    /// different versions of Concord may run at the same time.
    static let lockKey: Int64 = 0x636F_6E63_6F72_6401
    private static let lockPollMicroseconds: useconds_t = 100_000

    func run(_ target: MigrationTarget) throws -> MigrationOutcome {
        try Self.acquireLock(on: connection, wait: lockWait)
        switch try Self.plan(target, of: migrations, on: connection) {
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

    /// Returns the plan from the state of the database.
    static func plan(
        _ target: MigrationTarget,
        of migrations: MigrationSet,
        on connection: PostgresConnection
    ) throws -> MigrationVerdict {
        let applied = try SchemaState(connection).applied
        var distributed: [String] = []
        if case .down = target, try connection.engine() == .citus {
            distributed = try connection.query(PlacedTable.all).map(\.name)
        }
        return MigrationPlan.make(available: migrations, applied: applied, target: target, distributed: distributed)
    }

    /// Polls for the lock instead of waiting in the server. A waiting statement holds a snapshot, and
    /// `CREATE INDEX CONCURRENTLY` in the session with the lock would wait for that snapshot forever.
    static func acquireLock(on connection: PostgresConnection, wait: Duration) throws {
        let deadline = ContinuousClock.now + wait
        while try connection.query(Query<Bool?>("SELECT pg_try_advisory_lock(\(lockKey))")).first != true {
            guard ContinuousClock.now < deadline else {
                throw MigrationFailure.busy(waited: wait, serverProcessID: try lockHolder(connection))
            }
            usleep(lockPollMicroseconds)
        }
    }

    private static func lockHolder(_ connection: PostgresConnection) throws -> Int32? {
        let holder: Query<Int32?> = """
            SELECT pid FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 1
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND (classid::bigint << 32) | objid::bigint = \(lockKey)
            """
        return try connection.query(holder).first ?? nil
    }

    /// Runs one file and records it. If a table is in use, tries again until `lockWait` is over.
    /// - Returns: the duration of its SQL in milliseconds.
    private func run(_ file: MigrationFile) throws -> Int64 {
        let start = ContinuousClock.now
        var line: Int?
        do throws(PostgresError) {
            // A file outside a transaction may have left an invalid index, which the next run removes.
            return try TableAttempts.run(
                for: file.runsInTransaction ? lockWait : .zero,
                attempt: { () throws(PostgresError) in
                    line = nil
                    try prepareSession()
                    return try file.runsInTransaction
                        ? runInTransaction(file, line: &line) : runOutsideTransaction(file, line: &line)
                },
                onWait: { onWait(MigrationPlace(file: file.fileName, line: line)) }
            )
        } catch {
            let place = MigrationPlace(file: file.fileName, line: line)
            guard error.meansTableInUse else { throw MigrationFailure.stepFailed(place, cause: error) }
            let waited = ContinuousClock.now - start
            throw MigrationFailure.tableInUse(place, waited: waited, serverProcessID: oldestTransaction())
        }
    }

    /// The process with the oldest transaction that holds a lock on a table of this database; `nil` if the database does
    /// not say it.
    private func oldestTransaction() -> Int32? {
        let oldest: Query<Int32?> = """
            SELECT a.pid FROM pg_stat_activity AS a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
                AND EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'relation' AND l.granted)
            ORDER BY a.xact_start LIMIT 1
            """
        return (try? connection.query(oldest))?.first ?? nil
    }

    /// Resets the session, so that a setting of one file does not affect the next.
    private func prepareSession() throws(PostgresError) {
        try connection.execute("RESET ALL")
        try setLockTimeout(tableLockWait)
    }

    private func setLockTimeout(_ wait: Duration) throws(PostgresError) {
        let milliseconds = "\(Self.milliseconds(wait))ms"
        _ = try connection.query(Query<String?>("SELECT set_config('lock_timeout', \(milliseconds), false)"))
    }

    /// `line`: receives the line of the last statement that was sent.
    private func runInTransaction(_ file: MigrationFile, line: inout Int?) throws(PostgresError) -> Int64 {
        var current: Int?
        defer { line = current }
        return try connection.transaction { tx throws(PostgresError) -> Int64 in
            let start = ContinuousClock.now
            for statement in file.statements {
                current = statement.line
                try tx.execute(script: statement.text)
            }
            current = nil
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

    private func runOutsideTransaction(_ file: MigrationFile, line: inout Int?) throws(PostgresError) -> Int64 {
        let version = file.fileName.version
        let begin =
            switch file.fileName.direction {
            case .up: AppliedMigration.recordBegun(file, toolVersion: toolVersion)
            case .down: AppliedMigration.recordLeaving(version: version)
            }
        try Self.expectOneRow(connection.execute(begin))
        let start = ContinuousClock.now
        for statement in file.statements {
            if statement.waitsInNobodysWay { try setLockTimeout(concurrentLockWait) }
            line = statement.line
            try removeRemains(of: statement)
            try connection.execute(script: statement.text)
        }
        line = nil
        let milliseconds = Self.milliseconds(ContinuousClock.now - start)
        let end =
            switch file.fileName.direction {
            case .up: AppliedMigration.recordFinished(version: version, milliseconds: milliseconds)
            case .down: AppliedMigration.forget(version: version)
            }
        try Self.expectOneRow(connection.execute(end))
        return milliseconds
    }

    /// Drops the invalid index that an interrupted run of `statement` left behind.
    private func removeRemains(of statement: SQLStatement) throws(PostgresError) {
        guard let name = statement.indexCreatedConcurrently else { return }
        for index in try connection.query(InvalidIndex.all) where index.name == name {
            try connection.execute(script: "DROP INDEX CONCURRENTLY \(name)")
        }
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
