import Glibc
import Postgres
import Synchronization
import Testing

@testable import Migrations

private func migrator(
    _ database: EmptyDatabase,
    _ set: MigrationSet,
    lockWait: Duration = .seconds(60),
    tableLockWait: Duration = .seconds(2),
    concurrentLockWait: Duration = .seconds(600)
) -> Migrator {
    Migrator(
        configuration: database.configuration,
        migrations: set,
        toolVersion: "1.2.3",
        lockWait: lockWait,
        tableLockWait: tableLockWait,
        concurrentLockWait: concurrentLockWait
    )
}

/// Returns the files that a run applied, or the texts of its refusals.
private func outcome(_ outcome: MigrationOutcome) -> [String] {
    switch outcome {
    case .done(let steps): steps.map(\.file.description)
    case .refused(let refusals): refusals.map { "refused: \($0)" }
    }
}

/// Returns the names of the tables in `public`, without the ledger.
private func tableNames(_ database: EmptyDatabase) async throws -> [String] {
    let query: Query<String?> = """
        SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
        ORDER BY 1
        """
    return try await database.rows(query).compactMap(\.self)
}

/// Waits until `condition` holds, and fails after 10 minutes, so that the run does not hang.
private func eventually(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(600)
    while !(try await condition()) {
        try #require(ContinuousClock.now < deadline, "the condition did not hold within 10 minutes")
        try await Task.sleep(for: .milliseconds(20))
    }
}

private final class Notes: Sendable {
    let texts = Mutex<[String]>([])
}

@Suite struct MigratorTests {
    @Test func `migrations run up, down and up again`() async throws {
        try await EmptyDatabase.with { database async throws in
            let three = migrator(database, tables(3))
            #expect(try await three.state() == SchemaState(applied: []))
            #expect(outcome(try await three.run(.up(to: 2))) == ["0001_t1.up.sql", "0002_t2.up.sql"])
            #expect(try await tableNames(database) == ["t1", "t2"])
            #expect(outcome(try await three.run(.latest)) == ["0003_t3.up.sql"])
            #expect(outcome(try await three.run(.latest)) == [])
            #expect(try await three.state().version == 3)
            #expect(outcome(try await three.run(.down(to: 1))) == ["0003_t3.down.sql", "0002_t2.down.sql"])
            #expect(try await tableNames(database) == ["t1"])
            #expect(outcome(try await three.run(.down(to: 0))) == ["0001_t1.down.sql"])
            #expect(try await three.state() == SchemaState(applied: []))
            #expect(outcome(try await three.run(.latest)).count == 3)
        }
    }

    @Test func `the ledger records name, checksum, version, time and duration`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = tables(1)
            _ = try await migrator(database, set).run(.latest)
            let row = try #require(try await migrator(database, set).state().applied.first)
            #expect(row.version == 1)
            #expect(row.name == "t1")
            #expect(row.checksum == set.migrations.first?.up.checksum)
            #expect(row.toolVersion == "1.2.3")
            #expect((row.durationMilliseconds ?? -1) >= 0)
            let appliedAt = try #require(row.appliedAt)
            #expect(appliedAt.hasSuffix("Z") && appliedAt.utf8.count == 20)
        }
    }

    @Test func `plan, verify and status write nothing`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = migrator(database, tables(2))
            #expect(try await set.plan(.latest) == .plan(MigrationPlan(steps: tables(2).migrations.map(\.up))))
            #expect(try await set.verify().isEmpty)
            #expect(try await set.status().entries.map(\.condition) == [.pending, .pending])
            let exists: Query<Bool?> = "SELECT to_regclass('schema_migrations') IS NOT NULL"
            #expect(try await database.rows(exists) == [false])
        }
    }

    @Test func `each step is reported after it has finished`() async throws {
        try await EmptyDatabase.with { database async throws in
            let reported = Mutex<[String]>([])
            _ = try await migrator(database, tables(3)).run(.latest) { step in
                reported.withLock { $0.append(step.file.description) }
            }
            #expect(reported.withLock(\.self) == ["0001_t1.up.sql", "0002_t2.up.sql", "0003_t3.up.sql"])
        }
    }

    @Test func `a run with a changed file is refused, and no migration runs`() async throws {
        try await EmptyDatabase.with { database async throws in
            _ = try await migrator(database, tables(2)).run(.latest)
            let changed = migrator(database, tables(3, changed: 1))
            #expect(outcome(try await changed.run(.latest))[0].hasPrefix("refused: 0001_t1.up.sql: changed"))
            #expect(outcome(try await changed.run(.down(to: 0)))[0].hasPrefix("refused: 0001_t1.up.sql: changed"))
            #expect(try await changed.verify().count == 1)
            #expect(try await tableNames(database) == ["t1", "t2"])
        }
    }

    @Test func `a failed migration is rolled back, and the earlier ones stay`() async throws {
        try await EmptyDatabase.with { database async throws in
            let broken = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a ()", "0001_a.down.sql": "DROP TABLE a",
                "0002_b.up.sql": "-- b and c\nCREATE TABLE b ();\nCREATE TABLE c (id nonsense)",
                "0002_b.down.sql": "DROP TABLE b",
            ])
            let failure = await #expect(throws: MigrationFailure.self) {
                try await migrator(database, broken).run(.latest)
            }
            #expect(failure?.description.hasPrefix("0002_b.up.sql:3: ") == true)
            #expect(failure?.description.contains("nonsense") == true)
            #expect(try await tableNames(database) == ["a"])
            #expect(try await migrator(database, broken).state().version == 1)
        }
    }

    @Test func `a migration cannot break out of its transaction`() async throws {
        try await EmptyDatabase.with { database async throws in
            // The check of the text accepts this file, so that the server refuses it.
            let sly = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a (); DO $$ BEGIN COMMIT; END $$", "0001_a.down.sql": "DROP TABLE a",
            ])
            await #expect(throws: MigrationFailure.self) { try await migrator(database, sly).run(.latest) }
            #expect(try await tableNames(database) == [])
        }
    }

    @Test func `a setting of one migration does not affect the next`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = migrationSet([
                "0001_a.up.sql": "CREATE SCHEMA other; SET search_path = other; CREATE TABLE a ()",
                "0001_a.down.sql": "DROP SCHEMA other CASCADE",
                "0002_b.up.sql": "CREATE TABLE b ()", "0002_b.down.sql": "DROP TABLE b",
            ])
            _ = try await migrator(database, set).run(.latest)
            #expect(try await tableNames(database) == ["b"])
            #expect(try await migrator(database, set).state().version == 2)
        }
    }

    /// A migration of `t1` after that of `tables(1)`.
    private let addition = migrationSet([
        "0001_t1.up.sql": "CREATE TABLE t1 (id integer);\n", "0001_t1.down.sql": "DROP TABLE t1;\n",
        "0002_b.up.sql": "CREATE TABLE b ();\nALTER TABLE t1 ADD b integer", "0002_b.down.sql": "ALTER TABLE t1 DROP b",
    ])

    @Test func `if a table stays in use, the migration gives up, and the error names the process`() async throws {
        try await EmptyDatabase.with { database async throws in
            _ = try await migrator(database, tables(1)).run(.latest)
            let lockWait = Duration.milliseconds(700)
            let impatient = migrator(database, addition, lockWait: lockWait, tableLockWait: .milliseconds(100))
            let holder = Mutex<Int32?>(nil)
            try await PostgresConnection.withConnection(database.configuration) { connection in
                let process = try connection.query(Query<Int32?>("SELECT pg_backend_pid()")).first ?? nil
                holder.withLock { $0 = process }
                try connection.execute(script: "BEGIN; LOCK TABLE t1")
            } whileOpen: {
                let failure = await #expect(throws: MigrationFailure.self) { try await impatient.run(.latest) }
                guard case .tableInUse(let place, let waited, let process) = failure else {
                    Issue.record("\(String(describing: failure))")
                    return
                }
                #expect(place.description == "0002_b.up.sql:2")
                #expect(waited >= lockWait)
                #expect(process == holder.withLock(\.self))
                let names = try await tableNames(database)
                #expect(names == ["t1"])
            }
            #expect(outcome(try await impatient.run(.latest)) == ["0002_b.up.sql"])
        }
    }

    @Test func `if a table is in use for a while, requests run between the attempts, and the migration runs after it`()
        async throws
    {
        try await EmptyDatabase.with { database async throws in
            _ = try await migrator(database, tables(1)).run(.latest)
            let waiting = migrator(database, addition, tableLockWait: .milliseconds(100))
            let waits = Notes()
            let running = try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.execute(script: "BEGIN; SELECT FROM t1")
            } whileOpen: {
                let running = Task {
                    let note = { @Sendable (place: MigrationPlace) in waits.texts.withLock { $0.append("\(place)") } }
                    return outcome(try await waiting.run(.latest, onWait: note))
                }
                // The attempts wait behind the reader, and a write waits behind an attempt, but only for 100 ms.
                for _ in 0..<20 {
                    try await database.execute("SET lock_timeout = 5000; INSERT INTO t1 VALUES (1)")
                    try await Task.sleep(for: .milliseconds(50))
                }
                #expect(try await tableNames(database) == ["t1"])
                return running
            }
            #expect(try await running.value == ["0002_b.up.sql"])
            #expect(Set(waits.texts.withLock(\.self)) == ["0002_b.up.sql:2"])
            #expect(try await tableNames(database) == ["b", "t1"])
        }
    }

    @Test func `a concurrent statement waits longer than others for transactions to end`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = migrationSet([
                "0001_t1.up.sql": "CREATE TABLE t1 (id integer);\n", "0001_t1.down.sql": "DROP TABLE t1;\n",
                "0002_i.up.sql": "-- migrate: no-transaction\nCREATE INDEX CONCURRENTLY i ON t1 (id)",
                "0002_i.down.sql": "-- migrate: no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS i",
            ])
            _ = try await migrator(database, tables(1)).run(.latest)
            let impatient = migrator(
                database,
                set,
                tableLockWait: .milliseconds(1),
                concurrentLockWait: .milliseconds(200)
            )
            try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO t1 VALUES (1)")
            } whileOpen: {
                let failure = await #expect(throws: MigrationFailure.self) { try await impatient.run(.latest) }
                guard case .tableInUse(_, let waited, _) = failure else {
                    Issue.record("\(String(describing: failure))")
                    return
                }
                #expect(waited >= .milliseconds(200))
                let status = try await impatient.status()
                #expect(status.entries.map(\.condition) == [.applied, .interrupted])
                #expect(status.invalidIndexes == [InvalidIndex(name: "i", table: "t1")])
            }
            #expect(outcome(try await impatient.run(.latest)) == ["0002_i.down.sql", "0002_i.up.sql"])
            #expect(try await impatient.status().invalidIndexes.isEmpty)
        }
    }

    @Test func `an unreachable database is an error`() async throws {
        let configuration = try PostgresConfiguration(connectionString: "host=/nonexistent dbname=concord")
        let error = await #expect(throws: PostgresError.self) {
            try await Migrator(configuration: configuration, migrations: tables(1), toolVersion: "1").run(.latest)
        }
        #expect(error?.code == .unavailable)
    }
}

@Suite struct ConcurrentMigratorTests {
    /// Two migrations, the first of which takes half a second.
    private let slow = migrationSet([
        "0001_a.up.sql": "SELECT pg_sleep(0.5); CREATE TABLE a ()", "0001_a.down.sql": "DROP TABLE a",
        "0002_b.up.sql": "CREATE TABLE b ()", "0002_b.down.sql": "DROP TABLE b",
    ])

    @Test func `if several migrators run at once, one applies the migrations and the others do nothing`() async throws {
        try await EmptyDatabase.with { database async throws in
            let outcomes = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { outcome(try await migrator(database, slow).run(.latest)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 == ["0001_a.up.sql", "0002_b.up.sql"] }.count == 1)
            #expect(outcomes.filter(\.isEmpty).count == 3)
            #expect(try await migrator(database, slow).state().version == 2)
        }
    }

    @Test func `the wait for another migrator is limited, and the error names its process`() async throws {
        try await EmptyDatabase.with { database async throws in
            try await PostgresConnection.withConnection(database.configuration) { connection in
                _ = try connection.query(Query<Bool?>("SELECT pg_try_advisory_lock(\(MigrationRun.lockKey))"))
            } whileOpen: {
                let failure = await #expect(throws: MigrationFailure.self) {
                    try await migrator(database, slow, lockWait: .milliseconds(200)).run(.latest)
                }
                #expect(failure?.description.contains("another migration is running (PostgreSQL process ") == true)
            }
            #expect(try await tableNames(database).isEmpty)
        }
    }

    @Test func `an index is built concurrently while another migrator waits`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a (id integer)", "0001_a.down.sql": "DROP TABLE a",
                "0002_i.up.sql": "-- migrate: no-transaction\nCREATE INDEX CONCURRENTLY i ON a (id)",
                "0002_i.down.sql": "-- migrate: no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS i",
            ])
            _ = try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { _ = try await migrator(database, set).run(.latest) } }
                try await group.waitForAll()
            }
            #expect(try await migrator(database, set).status().isUpToDate)
            #expect(outcome(try await migrator(database, set).run(.down(to: 1))) == ["0002_i.down.sql"])
            #expect(try await migrator(database, set).state().version == 1)
        }
    }

    @Test func `if a migrator is killed within a migration, the next one continues`() async throws {
        try await EmptyDatabase.with { database async throws in
            let hanging = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a ()", "0001_a.down.sql": "DROP TABLE a",
                "0002_b.up.sql": "CREATE TABLE b (); SELECT pg_sleep(600)", "0002_b.down.sql": "DROP TABLE b",
            ])
            try await withThrowingTaskGroup { group in
                group.addTask {
                    await #expect(throws: MigrationFailure.self) { try await migrator(database, hanging).run(.latest) }
                }
                try await kill(whatRuns: "SELECT pg_sleep(600)", in: database)
                try await group.waitForAll()
            }
            #expect(try await tableNames(database) == ["a"])
            let mended = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a ()", "0001_a.down.sql": "DROP TABLE a",
                "0002_b.up.sql": "CREATE TABLE b ()", "0002_b.down.sql": "DROP TABLE b",
            ])
            #expect(outcome(try await migrator(database, mended).run(.latest)) == ["0002_b.up.sql"])
            #expect(try await tableNames(database) == ["a", "b"])
        }
    }

    @Test func `an interrupted migration outside a transaction is undone and run again`() async throws {
        try await EmptyDatabase.with { database async throws in
            let first = ["0001_a.up.sql": "CREATE TABLE a (id integer)", "0001_a.down.sql": "DROP TABLE a"]
            let index = [
                "0002_i.up.sql": "-- migrate: no-transaction\nCREATE INDEX CONCURRENTLY i ON a (id)",
                "0002_i.down.sql": "-- migrate: no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS i",
            ]
            let set = MigrationSet(files: first.merging(index) { $1 }.map { ($0.key, Array($0.value.utf8)) })
            _ = try await migrator(database, set).run(.up(to: 1))
            // A transaction with a snapshot delays the index. The kill leaves an invalid index.
            try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO a VALUES (1)")
            } whileOpen: {
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        await #expect(throws: MigrationFailure.self) {
                            try await migrator(database, set).run(.latest)
                        }
                    }
                    try await kill(whatRuns: "%CREATE INDEX CONCURRENTLY%", in: database)
                    try await group.waitForAll()
                }
            }
            let valid: Query<Bool?> = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass"
            #expect(try await database.rows(valid) == [false])
            let state = try await migrator(database, set).state()
            #expect(state.version == 1)
            #expect(state.readiness(required: 2) == .interrupted("0002_i.up.sql"))
            #expect(try await migrator(database, set).status().entries.map(\.condition) == [.applied, .interrupted])
            #expect(outcome(try await migrator(database, set).run(.latest)) == ["0002_i.down.sql", "0002_i.up.sql"])
            #expect(try await database.rows(valid) == [true])
            #expect(try await migrator(database, set).status().isUpToDate)
        }
    }

    @Test func `an index that an interrupted migration left invalid is built again`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = migrationSet([
                "0001_a.up.sql": "CREATE TABLE a (id integer);\nCREATE UNIQUE INDEX i ON a (id)",
                "0001_a.down.sql": "DROP TABLE a",
                "0002_i.up.sql": "DROP INDEX i",
                "0002_i.down.sql": "-- migrate: no-transaction\nCREATE UNIQUE INDEX CONCURRENTLY i ON a (id)",
            ])
            _ = try await migrator(database, set).run(.latest)
            try await database.execute("INSERT INTO a VALUES (1), (1)")
            await #expect(throws: MigrationFailure.self) { try await migrator(database, set).run(.down(to: 1)) }
            #expect(try await migrator(database, set).status().invalidIndexes == [InvalidIndex(name: "i", table: "a")])
            try await database.execute("TRUNCATE a")
            #expect(outcome(try await migrator(database, set).run(.latest)) == ["0002_i.down.sql", "0002_i.up.sql"])
            #expect(try await migrator(database, set).status().isUpToDate)
        }
    }

    /// Waits for a session that runs a statement like `pattern`, and terminates it.
    private func kill(whatRuns pattern: String, in database: EmptyDatabase) async throws {
        try await eventually {
            let killed: Query<Bool?> = """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'concord migrate' AND query LIKE \(pattern)
                  AND state = 'active' AND wait_event_type IS NOT NULL
                """
            return try await !database.rows(killed).isEmpty
        }
    }
}

extension PostgresConnection {
    /// Opens a connection, runs `prepare` on it, and closes it after `body`.
    @discardableResult
    fileprivate static func withConnection<Output>(
        _ configuration: PostgresConfiguration,
        _ prepare: @escaping @Sendable (PostgresConnection) throws -> Void,
        whileOpen body: () async throws -> Output
    ) async throws -> Output {
        let (prepared, preparedContinuation) = AsyncStream.makeStream(of: Void.self)
        let isFinished = Mutex(false)
        let holding = Task {
            try await withConnection(configuration) { connection in
                defer { preparedContinuation.finish() }
                try prepare(connection)
                preparedContinuation.finish()
                while !isFinished.withLock(\.self) {
                    _ = try? connection.query(Query<Int32?>("SELECT 1"))
                    usleep(10_000)
                }
            }
        }
        for await _ in prepared {}
        do {
            let output = try await body()
            isFinished.withLock { $0 = true }
            try await holding.value
            return output
        } catch {
            isFinished.withLock { $0 = true }
            try await holding.value
            throw error
        }
    }
}
