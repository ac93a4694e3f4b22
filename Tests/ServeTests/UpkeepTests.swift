import AccountTestSupport
import JSON
import NIOHTTP1
import Postgres
import Testing

/// The work of `concord serve` beside requests.
struct UpkeepTests {
    /// The longest time for a statement, longer than any test runs: a caller that waits for one would wait forever.
    private static let settings = ["CONCORD_DATABASE_WRITE_STATEMENT_TIMEOUT": "5m"]

    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `a server that cannot write sign-in times still reads configuration changes`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url, Self.settings) { server in
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                try await database.execute(
                    """
                    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$;
                    CREATE TRIGGER wait BEFORE UPDATE OF last_refresh_at ON users
                        FOR EACH ROW EXECUTE FUNCTION wait();
                    """
                )
                _ = try await server.signIn("ada@example.com").success()
                let sleeping: Query<Int64?> = """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'PgSleep'
                    """
                while try await database.count(sleeping) == 0 { try await Task.sleep(for: .milliseconds(20)) }

                try await database.execute(
                    """
                    UPDATE project_config SET version = version + 1,
                        settings = jsonb_set(settings, '{client}', '{"permissions": {"disabledUserSignup": true}}')
                    """
                )
                while try await server.post("/v1/accounts:signUp", [:]).code != "ADMIN_ONLY_OPERATION" {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(try await database.count(sleeping) == 1)
                try await database.execute(
                    """
                    CREATE OR REPLACE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN RETURN NEW; END $$;
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'PgSleep';
                    """
                )
            }
        }
    }

    /// Puts another clock in front of PostgreSQL's own, for every session that begins afterwards.
    private static func setBack(_ database: TestDatabase, by interval: String) async throws {
        try await database.execute(
            """
            CREATE SCHEMA IF NOT EXISTS shifted;
            CREATE OR REPLACE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
                $$ SELECT pg_catalog.clock_timestamp() - interval '\(interval)' $$;
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET search_path = shifted, pg_catalog, public', current_database());
            END $$;
            """
        )
    }

    @Test(.notOnCitus("the test replaces a function on one node"))
    func `a server whose clock is 40 days ahead of PostgreSQL's is not ready, and says why`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await Self.setBack(database, by: "40 days")
            try await ServeProcess.run(database: database.url) { server in
                let ready = try await server.send(.GET, "/readyz", key: nil)
                #expect(ready.status == 503, "\(ready.text)")
                let reported =
                    "not ready: this server's clock is 40 days ahead of PostgreSQL's: synchronise both machines"
                #expect(ready.text.hasPrefix(reported), "\(ready.text)")
                let line = await server.log.line(
                    saying: "clock differs from PostgreSQL's: expired rows are not deleted"
                )
                #expect(line?["level"] == "warning")
                #expect(line?["error"]?.string?.contains("40 days") == true)
                #expect(try await server.send(.GET, "/healthz", key: nil).status == 200)

                try await Self.setBack(database, by: "5 seconds")
                while try await server.send(.GET, "/readyz", key: nil).status != 200 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(await server.log.line(saying: "clock agrees with PostgreSQL's again") != nil)
            }
        }
    }
}
