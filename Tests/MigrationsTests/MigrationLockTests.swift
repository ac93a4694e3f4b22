import AccountTestSupport
import FoundationEssentials
import Postgres
import Testing

@testable import Migrations

/// Up files, written before the rules, that block requests for longer than the rules allow. The number is the time in
/// milliseconds that requests waited with a million accounts (docs/guides/operations.md). No file joins them.
private let blockingMilliseconds = [
    "0008_service_accounts": 3_805, "0009_upkeep": 4_188, "0010_conflict_life": 5_356, "0011_explanations": 5_362,
    "0013_conflict_metrics": 43_208, "0018_proven_conflicts": 1_820, "0019_sealed_requests": 0,
    "0021_outbox_delivery": 1_953, "0024_second_factors": 901, "0025_mailboxes_and_phones": 1_222, "0028_merges": 925,
    "0030_webhooks_by_endpoint": 400, "0035_conflicts_by_time": 1_798, "0037_validated_checks": 164,
    "0038_reservations_of_codes": 0, "0042_password_sources": 1_278, "0043_method_changes": 984,
]

/// The down files of those migrations, and of three others, that do the same: a narrower check reads its table.
private let blockingDownFiles: Set<String> = [
    "0010_conflict_life", "0021_outbox_delivery", "0024_second_factors", "0025_mailboxes_and_phones", "0028_merges",
    "0030_webhooks_by_endpoint", "0034_discarded_messages", "0036_reserved_addresses", "0038_reservations_of_codes",
    "0042_password_sources", "0043_method_changes", "0055_lookup_codes",
]

private let blockingFiles: Set<String> = Set(
    blockingMilliseconds.keys.map { $0 + ".up.sql" } + blockingDownFiles.map { $0 + ".down.sql" }
)

/// Files that the rules do not understand. A person has checked them; `MigrationLocks` cannot.
private let reviewedFiles: Set<String> = [
    // Two instants with an exclusive lock, each in its own transaction; between them it reads the events beside writers.
    "0046_event_months.up.sql",
    // Copies the events of the newest months while it blocks the table: the guide says so.
    "0046_event_months.down.sql",
]

/// Returns `statement` as the second migration after one that creates the tables `t` and `p`, and `d` and `e`,
/// which have a default partition.
private func second(_ statement: String) -> MigrationSet {
    migrationSet([
        "0001_t.up.sql": """
        CREATE TABLE t (a integer, b text); CREATE INDEX t_a ON t (a);
        CREATE TABLE p (a integer) PARTITION BY RANGE (a);
        CREATE TABLE d (a integer) PARTITION BY RANGE (a); CREATE TABLE d_rest PARTITION OF d DEFAULT;
        CREATE TABLE e (a integer) PARTITION BY RANGE (a); CREATE TABLE e_rest (a integer);
        ALTER TABLE e ATTACH PARTITION e_rest DEFAULT;
        CREATE TABLE api_keys (a integer);
        """,
        "0001_t.down.sql": "DROP TABLE t, p, d, e, api_keys", "0002_s.up.sql": statement, "0002_s.down.sql": "SELECT 1",
    ])
}

/// Statements that `MigrationRules` and `MigrationLocks` refuse.
private let refused = [
    "CREATE INDEX i ON t (a)", "CREATE UNIQUE INDEX IF NOT EXISTS i ON public.t (a)",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)", "ALTER TABLE t ADD CHECK (a > 0)",
    "ALTER TABLE t ADD d integer CHECK (d > 0)",
    "ALTER TABLE t ADD COLUMN c uuid NOT NULL DEFAULT gen_random_uuid()", "ALTER TABLE t ADD COLUMN c bigserial",
    "ALTER TABLE t ADD COLUMN c integer, ADD PRIMARY KEY (a)",
    "ALTER TABLE t ADD COLUMN c integer GENERATED ALWAYS AS (a + 1) STORED",
    "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
    "ALTER TABLE t ALTER a TYPE bigint", "ALTER TABLE t SET UNLOGGED", "UPDATE t SET a = 1", "DELETE FROM t",
    "ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (1) TO (2)",
    "CREATE TABLE n (a integer); ALTER TABLE d ATTACH PARTITION n FOR VALUES FROM (1) TO (2)",
    "CREATE TABLE n PARTITION OF d FOR VALUES FROM (1) TO (2)",
    "CREATE TABLE IF NOT EXISTS n PARTITION OF public.e FOR VALUES FROM (1) TO (2)",
    "INSERT INTO t VALUES (1)", "TRUNCATE t", "CLUSTER t USING t_a", "REINDEX TABLE t",
]

private let allowed = [
    "ALTER TABLE t ADD COLUMN c text COLLATE \"C\", ADD d integer NOT NULL DEFAULT 10, ADD e jsonb DEFAULT '{}'::jsonb",
    "ALTER TABLE t ADD COLUMN c timestamptz NOT NULL DEFAULT now()", "ALTER TABLE t ADD n integer DEFAULT -1",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0 AND b IN ('x', 'y')) NOT VALID", "ALTER TABLE t DROP COLUMN b",
    "ALTER TABLE t SET (fillfactor = 80)", "ALTER TABLE t RENAME b TO c", "DROP INDEX t_a", "DROP TABLE t",
    "ALTER TABLE t ALTER a SET DEFAULT 7", "INSERT INTO api_keys VALUES (1)", "UPDATE api_keys SET a = 2",
    "CREATE TABLE n (a integer PRIMARY KEY CHECK (a > 0)); CREATE INDEX n_a ON n (a); INSERT INTO n VALUES (1)",
    "ALTER TABLE t RENAME TO old; CREATE TABLE t (a integer); CREATE INDEX t_b ON t (a)",
    "CREATE TABLE n PARTITION OF p FOR VALUES FROM (1) TO (2)",
    "CREATE TABLE n (a integer); ALTER TABLE p ATTACH PARTITION n FOR VALUES FROM (1) TO (2)",
    "CREATE TABLE n (a integer) PARTITION BY RANGE (a); CREATE TABLE n_rest PARTITION OF n DEFAULT;\n"
        + "CREATE TABLE n_1 PARTITION OF n FOR VALUES FROM (1) TO (2)",
    "CREATE INDEX p_a ON ONLY p (a)", "COMMENT ON TABLE t IS 'CREATE INDEX'",
]

@Suite struct MigrationLockTests {
    private let directory = MigrationDirectory(path: Repository.root + "/migrations")

    @Test func `no shipped migration after 0045 can block requests on a large table`() throws {
        let found = MigrationRules.violations(in: try directory.read())
        for (file, violations) in found.sorted(by: { $0.key < $1.key })
        where !blockingFiles.contains(file) && !reviewedFiles.contains(file) {
            Issue.record("\(file): \(violations.joined(separator: "; "))")
        }
        #expect(blockingFiles.subtracting(found.keys).isEmpty, "these do not block: remove them from the list")
    }

    @Test func `no shipped migration after 0045 reads, writes or rewrites a large table while it blocks requests`()
        async throws
    {
        let observed = try await observe()
        for (file, violations) in observed where !blockingFiles.contains(file) {
            Issue.record("\(file): \(violations.joined(separator: "; "))")
        }
        // The observation sees those that it must see.
        for name in ["0008_service_accounts", "0011_explanations", "0013_conflict_metrics", "0043_method_changes"] {
            #expect(observed["\(name).up.sql"] != nil)
        }
    }

    /// Returns what `MigrationLocks` finds in each up file, with a row in each table.
    private func observe() async throws -> [String: [String]] {
        try await EmptyDatabase.with { database async throws in
            let set = try directory.read()
            let migrator = Migrator(configuration: database.configuration, migrations: set, toolVersion: "test")
            var found: [String: [String]] = [:]
            for migration in set.migrations {
                let violations = try await MigrationLocks.violations(of: migration.up, in: database)
                if !violations.isEmpty { found[migration.up.fileName.description] = violations }
                _ = try await migrator.run(.up(to: migration.version))
                try await database.insertRows(of: migration)
            }
            return found
        }
    }

    @Test(arguments: refused)
    func `a statement that scans, rewrites or fills a large table is refused`(statement: String) {
        #expect(MigrationRules.violations(in: second(statement)).keys.sorted() == ["0002_s.up.sql"])
    }

    @Test(arguments: allowed)
    func `a statement whose lock is momentary is allowed`(statement: String) {
        #expect(MigrationRules.violations(in: second(statement)) == [:])
    }

    @Test func `statements outside a transaction that block no request are allowed`() {
        for statement in [
            "CREATE INDEX CONCURRENTLY i ON t (a)", "DROP INDEX CONCURRENTLY t_a",
            "ALTER TABLE t VALIDATE CONSTRAINT c", "REINDEX INDEX CONCURRENTLY t_a", "VACUUM t",
        ] {
            #expect(MigrationRules.violations(in: second("-- migrate: no-transaction\n\(statement)")) == [:])
        }
        #expect(!MigrationRules.violations(in: second("-- migrate: no-transaction\nVACUUM FULL t")).isEmpty)
    }

    @Test func `a constraint is validated by a migration without other statements`() {
        let together = "ALTER TABLE t VALIDATE CONSTRAINT c; ALTER TABLE t ADD COLUMN c integer"
        #expect(MigrationRules.violations(in: second(together)).count == 1)
        #expect(MigrationRules.violations(in: second("ALTER TABLE t VALIDATE CONSTRAINT c")) == [:])
    }

    @Test func `SET NOT NULL follows a validated check of the column`() {
        func violations(_ statements: String...) -> [String] {
            var files = ["0001_t.up.sql": "CREATE TABLE t (a integer)", "0001_t.down.sql": "DROP TABLE t"]
            for (index, statement) in statements.enumerated() {
                files["000\(index + 2)_s.up.sql"] = statement
                files["000\(index + 2)_s.down.sql"] = "SELECT 1"
            }
            let set = MigrationSet(files: files.map { ($0.key, Array($0.value.utf8)) })
            #expect(set.defects.isEmpty)
            return MigrationRules.violations(in: set).keys.sorted()
        }
        let add = "ALTER TABLE t ADD CONSTRAINT c CHECK (a IS NOT NULL) NOT VALID"
        let validate = "ALTER TABLE t VALIDATE CONSTRAINT c"
        let set = "ALTER TABLE t ALTER COLUMN a SET NOT NULL"
        #expect(violations(add, validate, set) == [])
        #expect(violations(add, set) == ["0003_s.up.sql"])
        #expect(violations(set) == ["0002_s.up.sql"])
    }

    @Test func `PostgreSQL shows what a migration reads, writes and rewrites while it blocks requests`() async throws {
        try await EmptyDatabase.with { database async throws in
            try await database.execute("CREATE TABLE t (a integer, b text); INSERT INTO t VALUES (1, 'x')")
            func violations(_ statement: String) async throws -> [String] {
                let file = try #require(second(statement).migrations.last?.up)
                return try await MigrationLocks.violations(of: file, in: database)
            }
            #expect(try await violations("CREATE INDEX i ON t (a)") == ["line 1: reads t while it blocks t"])
            #expect(
                try await violations(
                    "CREATE TABLE n (a integer);\nLOCK t IN SHARE MODE;\nINSERT INTO n SELECT a FROM t"
                )
                    == ["line 3: reads t while it blocks t"]
            )
            #expect(try await violations("INSERT INTO t VALUES (2)") == ["line 1: writes rows of t"])
            #expect(
                try await violations("ALTER TABLE t ALTER a TYPE bigint")
                    == ["line 1: reads t while it blocks t", "line 1: rewrites t"]
            )
            #expect(try await violations("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID") == [])
            #expect(try await violations("ALTER TABLE t ADD COLUMN c integer NOT NULL DEFAULT 7") == [])
            // Each was rolled back.
            let columns: Query<Int64> =
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"
            #expect(try await database.rows(columns) == [2])
        }
    }
}

/// The folder `Statements/NNNN` has the statements of a program that needs schema NNNN, and the types of their parameters.
@Suite struct EarlierServerTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Statements")

    @Test(arguments: try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted())
    func `the statements of an earlier server run on the newest schema`(version: String) async throws {
        let target = try #require(Int(version))
        let statements = try Self.statements(of: version)
        #expect(statements.count > 300)
        try await EmptyDatabase.with { database async throws in
            let set = try MigrationDirectory(path: Repository.root + "/migrations").read()
            let migrator = Migrator(configuration: database.configuration, migrations: set, toolVersion: "test")
            _ = try await migrator.run(.up(to: target))
            #expect(try await failures(of: statements, in: database) == [])
            _ = try await migrator.run(.latest)
            #expect(try await failures(of: statements, in: database) == [])
        }
    }

    private struct Statement {
        /// The types of the parameters, such as `(text, bigint)`; empty without parameters.
        let types: String
        let text: String

        /// A NULL for each parameter.
        var arguments: String {
            types.isEmpty ? "" : "(\(types.split(separator: ",").map { _ in "NULL" }.joined(separator: ", ")))"
        }
    }

    private static func statements(of version: String) throws -> [Statement] {
        func read(_ name: String) throws -> String {
            try String(contentsOf: folder.appending(path: "\(version)/\(name)"), encoding: .utf8)
        }
        let texts = try read("statements.txt").split(separator: "-- ").map { block in
            String(block.drop { $0 != "\n" })
        }
        let types = try read("parameters.txt").split(separator: "\n").map { line in
            line.hasSuffix("()") ? "" : String(line.drop { $0 != "(" })
        }
        try #require(texts.count == types.count, "copy both files of one commit")
        return zip(types, texts).map { Statement(types: $0, text: $1) }
    }

    /// Prepares and plans each statement, and returns the refusals of the server. The plan needs the unique index of
    /// `ON CONFLICT`, too.
    private func failures(of statements: [Statement], in database: EmptyDatabase) async throws -> [String] {
        try await PostgresConnection.withConnection(database.configuration) { connection in
            try connection.execute(script: "SET plan_cache_mode = force_generic_plan")
            return try statements.enumerated().compactMap { index, statement in
                do throws(PostgresError) {
                    try connection.execute(script: "PREPARE s\(index) \(statement.types) AS \(statement.text)")
                    try connection.execute(script: "EXPLAIN EXECUTE s\(index) \(statement.arguments)")
                    return nil
                } catch {
                    guard error.sqlState != nil else { throw error }
                    return "\(error.message): \(statement.text)"
                }
            }
        }
    }
}
