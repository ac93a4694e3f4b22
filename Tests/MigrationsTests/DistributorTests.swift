import AccountTestSupport
import Postgres
import Testing

@testable import Migrations

@Suite struct DistributorTests {
    private static let users = DistributionTable(name: "users", place: "by user_id", statement: "SELECT 1")
    private static let merges = DistributionTable(name: "merges", place: "on every node", statement: "SELECT 2")

    @Test func `the state names the tables without a place, and those in another place`() {
        func state(_ found: PlacedTable...) -> DistributionState {
            DistributionState(of: [Self.users, Self.merges], found: found)
        }
        let none = state()
        #expect(none.pending == [Self.users, Self.merges] && !none.isComplete)
        #expect(
            none.problem == "table users and 1 more are not distributed on Citus; run `concord migrate distribute`"
        )
        let half = state(PlacedTable(name: "users", place: "by user_id"), PlacedTable(name: "other", place: "by id"))
        #expect(half.done == [Self.users] && half.pending == [Self.merges])
        #expect(half.problem == "table merges is not distributed on Citus; run `concord migrate distribute`")
        let wrong = state(
            PlacedTable(name: "users", place: "by tenant_id"),
            PlacedTable(name: "merges", place: "on every node")
        )
        #expect(wrong.pending == [] && !wrong.isComplete)
        #expect(wrong.problem == "table users is stored by tenant_id on Citus; it must be stored by user_id")
        let all = state(
            PlacedTable(name: "users", place: "by user_id"),
            PlacedTable(name: "merges", place: "on every node")
        )
        #expect(all.isComplete && all.problem == nil)
    }

    @Test func `PostgreSQL without the extension is refused, and has no places`() async throws {
        try await EmptyDatabase.with { database in
            let distributor = try distributor(database.configuration)
            #expect(try await distributor.plan() == .refused([.noExtension]))
            #expect(try await distributor.run() == .refused([.noExtension]))
            #expect(try await DistributionState.load(database.configuration, of: [Self.users]) == nil)
        }
    }

    @Test func `a run waits for a migration, and gives up`() async throws {
        try await EmptyDatabase.with { database in
            let distributor = try distributor(database.configuration, lockWait: .zero)
            let holder = try PostgresConnection(database.configuration)
            try holder.execute("SELECT pg_advisory_lock(\(MigrationRun.lockKey))")
            await #expect(throws: MigrationFailure.self) { try await distributor.run() }
            // A plan takes no lock.
            #expect(try await distributor.plan() == .refused([.noExtension]))
        }
    }

    /// PostgreSQL with a catalogue of Citus plays Citus.
    @Test(.notOnCitus("the test creates the catalogue of Citus"))
    func `a distributed database is not migrated down`() async throws {
        try await EmptyDatabase.with { database in
            let migrator = Migrator(configuration: database.configuration, migrations: tables(2), toolVersion: "1")
            _ = try await migrator.run(.latest)
            try await database.execute(
                """
                SET allow_system_table_mods = on;
                INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
                    VALUES (99999, 'citus', 10, 'pg_catalog'::regnamespace, false, '13.2-1');
                CREATE TABLE pg_catalog.pg_dist_partition (
                    logicalrelid regclass, partmethod "char", partkey text, repmodel "char", colocationid integer
                );
                CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text
                    LANGUAGE sql AS 'SELECT $2';
                INSERT INTO pg_catalog.pg_dist_partition VALUES ('t1', 'h', 'id', 's', 1);
                """
            )
            let refusal = MigrationRefusal.distributed(tables: ["t1"])
            #expect("\(refusal)".contains("SELECT undistribute_table('t1', cascade_via_foreign_keys => true)"))
            #expect(try await migrator.plan(.down(to: 1)) == .refused([refusal]))
            #expect(try await migrator.run(.down(to: 1)) == .refused([refusal]))
            #expect(try await migrator.run(.down(to: 2)) == .done([]), "nothing to do")
            #expect(try await migrator.run(.latest) == .done([]))
            try await database.execute("DELETE FROM pg_catalog.pg_dist_partition")
            guard case .done(let steps) = try await migrator.run(.down(to: 0)) else {
                Issue.record("refused")
                return
            }
            #expect(steps.map(\.file.description) == ["0002_t2.down.sql", "0001_t1.down.sql"])
        }
    }

    @Test func `a table that is in use is tried again until the wait is over`() {
        func attempts(failing count: Int, with state: SQLState, for wait: Duration) -> (Int, PostgresError?) {
            var attempts = 0
            var waits = 0
            do throws(PostgresError) {
                try TableAttempts.run(
                    for: wait,
                    attempt: { () throws(PostgresError) in
                        attempts += 1
                        if attempts <= count { throw PostgresError(.server(state), "refused") }
                    },
                    onWait: { waits += 1 }
                )
                #expect(waits == attempts - 1)
                return (attempts, nil)
            } catch {
                return (attempts, error)
            }
        }
        for state in [SQLState.lockNotAvailable, .deadlockDetected] {
            #expect(attempts(failing: 1, with: state, for: .seconds(60)) == (2, nil))
            let refused = attempts(failing: 9, with: state, for: .zero)
            #expect(refused.0 == 1 && refused.1?.sqlState == state)
        }
        let other = attempts(failing: 1, with: .featureNotSupported, for: .seconds(60))
        #expect(other.0 == 1 && other.1?.sqlState == .featureNotSupported)
    }

    @Test(.onCitus)
    func `an interrupted run is continued, and rows are kept`() async throws {
        try await TestDatabase.with { database in
            let distributor = try distributor(database.configuration)
            #expect(try await moved(distributor) == [])
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, valid_since, created_at)
                    SELECT 'user-' || n, 1, now(), now() FROM generate_series(1, 100) AS n;
                INSERT INTO message_counts (count_digest, messages, ends_at)
                    SELECT sha256(n::text::bytea), 1, now() FROM generate_series(1, 100) AS n
                """
            )
            try await database.execute("SELECT undistribute_table('message_counts')")
            try await database.execute("SELECT undistribute_table('outbox')")
            guard case .plan(let plan) = try await distributor.plan() else {
                Issue.record("refused")
                return
            }
            #expect(plan.tables.map(\.name) == ["message_counts", "outbox"])
            #expect(plan.statements.first == "SET citus.shard_count = 4;")
            #expect(try await moved(distributor) == ["message_counts", "outbox"])
            #expect(try await database.count("SELECT count(*) FROM message_counts") == 100)
            #expect(try await database.count("SELECT count(*) FROM users") == 100)
            #expect(try await database.count("SELECT pg_relation_size('message_counts')") == 0, "no copy is left")
            let state = try await DistributionState.load(database.configuration, of: TestDatabase.placedTables)
            #expect(state?.isComplete == true)
        }
    }

    @Test(.onCitus)
    func `an outdated schema and a table in another place are refused`() async throws {
        try await TestDatabase.with { database in
            try await database.execute("SELECT undistribute_table('kept_answers')")
            try await database.execute("SELECT create_reference_table('kept_answers')")
            try await database.execute(
                "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)"
            )
            guard case .refused(let refusals) = try await distributor(database.configuration).run() else {
                Issue.record("not refused")
                return
            }
            #expect(refusals.count == 2)
            #expect("\(refusals[0])".contains("run `concord migrate up`"))
            #expect("\(refusals[1])".contains("undistribute_table('kept_answers')"))
        }
    }

    private func distributor(
        _ configuration: PostgresConfiguration,
        lockWait: Duration = .seconds(60)
    ) throws -> Distributor {
        Distributor(
            configuration: configuration,
            migrations: try MigrationDirectory(path: Repository.root + "/migrations").read(),
            tables: TestDatabase.placedTables,
            shards: 4,
            lockWait: lockWait
        )
    }

    /// Runs `distributor` and returns the names of the tables that it moved.
    private func moved(_ distributor: Distributor) async throws -> [String] {
        switch try await distributor.run() {
        case .done(let moves, _): return moves.map(\.table.name)
        case .refused(let refusals):
            Issue.record("\(refusals)")
            return []
        }
    }
}
