import AccountTestSupport
import JSON
import Postgres
import Testing

/// What `concord serve` does beside answering requests.
struct UpkeepTests {
    /// As long as a statement may take, and longer than any test runs: whoever waits for such a one waits for ever.
    private static let settings = ["CONCORD_DATABASE_WRITE_STATEMENT_TIMEOUT": "5m"]

    @Test func `a server whose sign-in times cannot be written still takes note of what was disabled`() async throws {
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
}
