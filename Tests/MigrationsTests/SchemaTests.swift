import AccountStore
import AccountTestSupport
import FoundationEssentials
import Testing

@testable import Migrations
@testable import Postgres

/// The shipped migrations.
private let directory = MigrationDirectory(path: repositoryRoot.appending(path: "migrations").path())

private let repositoryRoot = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

@Suite struct SchemaTests {
    @Test func `the shipped files are complete and in order`() throws {
        let set = try directory.read()
        #expect(set.defects.isEmpty, "\(set.defects)")
        #expect(!set.migrations.isEmpty)
    }

    @Test func `the program contains the shipped files`() throws {
        #expect(try directory.read() == .embedded, "EmbeddedFilesTests lists the files")
    }

    @Test func `the program requires the newest migration`() throws {
        #expect(SchemaVersion.required == (try directory.read().latestVersion), "raise SchemaVersion.required")
    }

    @Test func `schema.sql is the result of all migrations`() async throws {
        try await EmptyDatabase.with { database async throws in
            let migrator = Migrator(
                configuration: database.configuration,
                migrations: try directory.read(),
                toolVersion: "test"
            )
            _ = try await migrator.run(.latest)
            let schema = try await database.schema()
            let golden = URL(filePath: "\(directory.path)/schema.sql")
            if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" { try Data(schema.utf8).write(to: golden) }
            let expected = String(decoding: try Data(contentsOf: golden), as: UTF8.self)
            #expect(schema == expected, "differs from migrations/schema.sql; UPDATE_GOLDEN=1 rewrites it")
        }
    }

    @Test func `each migration goes up, down and up again, with rows in its tables`() async throws {
        try await EmptyDatabase.with { database async throws in
            let set = try directory.read()
            let migrator = Migrator(configuration: database.configuration, migrations: set, toolVersion: "test")
            // The first migration creates the ledger, which stays.
            try await database.execute(AppliedMigration.createLedger.text)
            var before = try await database.schema()
            for migration in set.migrations {
                _ = try await migrator.run(.up(to: migration.version))
                let after = try await database.schema()
                try await database.insertRows(of: migration)
                _ = try await migrator.run(.down(to: migration.version - 1))
                let taken = try await database.schema()
                #expect(taken == before, "\(migration.down.fileName) leaves something behind")
                _ = try await migrator.run(.up(to: migration.version))
                let again = try await database.schema()
                #expect(again == after, "\(migration.up.fileName) differs the second time")
                try await database.insertRows(of: migration)
                before = after
            }
        }
    }

    @Test func `a constraint that is added without reading the table is validated later`() async throws {
        try await EmptyDatabase.with { database async throws in
            let migrator = Migrator(
                configuration: database.configuration,
                migrations: try directory.read(),
                toolVersion: "test"
            )
            _ = try await migrator.run(.latest)
            let unchecked: Query<String?> = "SELECT conname::text FROM pg_constraint WHERE NOT convalidated ORDER BY 1"
            // The column is newer than the constraint, so no earlier row can violate it.
            #expect(try await database.rows(unchecked) == ["sessions_device_check"])
        }
    }

    @Test func `rows written after each migration exist after all migrations`() async throws {
        let golden = GoldenFiles()
        try await EmptyDatabase.with { database async throws in
            let set = try directory.read()
            let migrator = Migrator(configuration: database.configuration, migrations: set, toolVersion: "test")
            for migration in set.migrations {
                _ = try await migrator.run(.up(to: migration.version))
                try await database.insertRows(of: migration)
            }
            try golden.expect(try await content(of: database), matches: "rows.txt")
        }
    }

    @Test func `a project without a preset gets firebase, and so do its earlier versions`() async throws {
        try await EmptyDatabase.with { database async throws in
            let migrator = Migrator(
                configuration: database.configuration,
                migrations: try directory.read(),
                toolVersion: "test"
            )
            _ = try await migrator.run(.up(to: 30))
            try await database.execute(
                """
                INSERT INTO project_config (project_id, project_number, settings, version)
                VALUES ('demo-old', 7, '{"signIn": {"email": {"enabled": true}}}', 2);
                INSERT INTO project_config_versions (version, settings, changed_at)
                VALUES (1, '{}', now()), (2, '{"signIn": {"email": {"enabled": true}}}', now());
                """
            )
            _ = try await migrator.run(.latest)
            let presets: Query<String?> = """
                SELECT settings #>> '{linkPolicy,preset}' FROM project_config
                UNION ALL SELECT settings #>> '{linkPolicy,preset}' FROM project_config_versions
                """
            #expect(try await database.rows(presets) == ["firebase", "firebase", "firebase"])
            let methods: Query<Bool?> = "SELECT settings #> '{signIn,email,enabled}' = 'true' FROM project_config"
            #expect(try await database.rows(methods) == [true])
        }
    }

    @Test func `events from before the months stay where they are, and those from a clock ahead move`() async throws {
        try await EmptyDatabase.with { database async throws in
            let migrator = Migrator(
                configuration: database.configuration,
                migrations: try directory.read(),
                toolVersion: "test"
            )
            _ = try await migrator.run(.up(to: 45))
            try await database.execute(
                """
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                SELECT 'ada', (lpad(to_hex((1000 * extract(epoch FROM at))::bigint), 12, '0') || '70008000'
                    || lpad(n::text, 12, '0'))::uuid, at, 'signed-in', 'S6'
                FROM generate_series(1, 400) AS n, LATERAL (SELECT now() - n * interval '1 day' AS at) AS time
                UNION ALL SELECT 'ada', 'ffffffff-0000-7000-8000-000000000001', now(), 'signed-in', 'S6'
                """
            )
            let file: Query<String?> = "SELECT pg_relation_filenode(min(tableoid))::text FROM account_events"
            let before = try await database.rows(file)
            _ = try await migrator.run(.up(to: 46))
            let places: Query<String?> = """
                SELECT tableoid::regclass::text || ' ' || count(*) FROM account_events GROUP BY tableoid ORDER BY 1
                """
            #expect(try await database.rows(places) == ["account_events_default 1", "account_events_past 400"])
            let past: Query<String?> = "SELECT pg_relation_filenode('account_events_past')::text"
            #expect(try await database.rows(past) == before, "the table was rewritten")
            // The first partition ends between one month and two months from now.
            let end: Query<Bool?> = """
                SELECT to_timestamp(('x' || lpad(left(translate(split_part(
                        pg_get_expr(relpartbound, oid), '''', 2), '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
                    BETWEEN now() + interval '30 days' AND now() + interval '63 days'
                FROM pg_class WHERE relname = 'account_events_past'
                """
            #expect(try await database.rows(end) == [true])
            _ = try await migrator.run(.down(to: 45))
            #expect(try await database.rows(places) == ["account_events 401"])
        }
    }

    /// Returns every row of every table as JSON. Records an issue for an empty table.
    private func content(of database: EmptyDatabase) async throws -> String {
        let names: Query<String?> = """
            SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
            ORDER BY 1
            """
        var lines: [String] = []
        for name in try await database.rows(names).compactMap(\.self) {
            // The name of a table cannot be bound. These names are from the catalogue.
            let rows = Query<String?>(SQL(text: "SELECT to_jsonb(t)::text FROM \(name) t ORDER BY 1"))
            let json = try await database.rows(rows).compactMap(\.self)
            #expect(!json.isEmpty, "\(name) has no row; write one into Tests/MigrationsTests/Rows")
            lines += json.map { "\(name) \($0)" }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
