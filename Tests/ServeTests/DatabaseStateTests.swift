import AccountTestSupport
import NIOHTTP1
import Subprocess
import Testing

/// Which databases `concord serve` works on.
@Suite struct DatabaseStateTests {
    @Test func `a server works on a newer schema and logs it`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { older in
                try await database.execute(
                    """
                    INSERT INTO schema_migrations (version, name, checksum, applied_at, duration_ms, tool_version)
                    VALUES (9999, 'later', repeat('0', 64), now(), 1, 'test')
                    """
                )
                #expect(try await older.send(.GET, "/readyz", key: nil).status == 200)
                _ = try await older.signUp("ada@example.com", password: TwoServers.password).success()
                let started = try await ServeProcess.run(database: database.url) { another in
                    _ = try await another.signIn("ada@example.com", password: TwoServers.password).success()
                    return another.log
                }
                #expect(started.text.contains("the schema is at 9999, newer than the "))
                #expect(!older.log.text.contains("the schema is at"))
            }
        }
    }

    @Test func `a server does not work on an older schema`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { newer in
                try await database.execute(
                    "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)"
                )
                #expect(try await newer.send(.GET, "/readyz", key: nil).status == 503)
            }
            try await ServeProcess.launch(database: database.url, endsWith: .exited(78)) { starting in
                await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                #expect(starting.log.text.contains("run `concord migrate up`"))
            }
        }
    }

    @Test(.onCitus)
    func `a server does not work with a table that is not distributed, until it is`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                try await database.execute("SELECT undistribute_table('kept_answers')")
                let refused = try await server.send(.GET, "/readyz", key: nil)
                #expect(refused.status == 503)
                let distributed = try await ConcordCommand.run(["migrate", "distribute"], database)
                #expect(distributed.status == .exited(0), "\(distributed.error)")
                #expect(try await server.send(.GET, "/readyz", key: nil).status == 200)
            }
            try await database.execute("SELECT undistribute_table('kept_answers')")
            try await ServeProcess.launch(database: database.url, endsWith: .exited(78)) { starting in
                await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                #expect(starting.log.text.contains("run `concord migrate distribute`"))
            }
            let up = try await ConcordCommand.run(["migrate", "up"], database)
            #expect(up.output.contains("run `concord migrate distribute`"))
        }
    }

    /// A URL of several servers, of which only one accepts writes.
    @Test func `the connection can require the writable server`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let url = database.url + (database.url.contains("?") ? "&" : "?") + "target_session_attrs=read-write"
            try await ServeProcess.run(database: url) { server in
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
            }
        }
    }
}
