import AccountTestSupport
import Foundation
import JSON
import Subprocess
import Testing

/// Servers behind PgBouncer in transaction mode, in the modes that its version supports.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct PgBouncerTests {
    private static let callers = 32
    private static let ignoredSettings =
        "a pooler ignores the time limits of connections: set database.session_settings: transaction"

    @Test func `two servers sign up, sign in, refresh and race`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await PgBouncer.run(before: database) { pooler in
                try await ServeProcess.launch(database: pooler.url, PgBouncer.settings) { starting in
                    try await ServeProcess.run(database: pooler.url, PgBouncer.settings) { second in
                        let servers = [try await starting.ready(), second]
                        let signUps = try await Self.race(servers) { server, number in
                            try await server.signUp("ada@example.com", password: "password number \(number)")
                        }
                        #expect(signUps.codes == ["200": 1, "EMAIL_EXISTS": Self.callers - 1])
                        let winner = try #require(signUps.firstIndex { $0.status == 200 })

                        let signIns = try await Self.race(servers) { server, _ in
                            try await server.signIn("ada@example.com", password: "password number \(winner)")
                        }
                        #expect(signIns.codes == ["200": Self.callers])
                        let tokens = try signIns.map { try $0.string("refreshToken") }

                        let refreshed = try await Self.race(servers) { server, number in
                            try await server.refresh(tokens[number])
                        }
                        #expect(refreshed.codes == ["200": Self.callers])
                        let idTokens = try refreshed.map { try $0.string("id_token") }

                        let lookUps = try await Self.race(servers) { server, number in
                            try await server.lookUp(idTokens[number])
                        }
                        #expect(lookUps.codes == ["200": Self.callers])

                        let others = try await Self.race(servers) { server, number in
                            try await server.signUp("user\(number)@example.com", password: TwoServers.password)
                        }
                        #expect(others.codes == ["200": Self.callers])

                        let deletions = try await Self.race(servers) { server, number in
                            try await server.delete(idTokens[number])
                        }
                        #expect(deletions.codes["200"] == 1)
                        #expect(deletions.allSatisfy { $0.status < 500 }, "\(deletions.codes)")
                        for server in servers { #expect(server.log.lines(of: "error") == []) }
                    }
                }
            }
            #expect(try await database.inconsistencies() == [])
            #expect(try await database.unexplainedEvents() == [])
        }
    }

    /// Older versions mix up the named statements that this needs.
    @Test(.enabled(if: PgBouncer.supportsNamedStatements))
    func `concord doctor finds the session settings that a pooler ignores, and a server warns of them`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await PgBouncer.run(before: database, ignoresOptions: true) { pooler in
                let behind = TestDatabase(configuration: database.configuration, url: pooler.url)
                let without = try await Self.sessionSettings(behind, [:])
                #expect(without == "failure")
                #expect(try await Self.sessionSettings(behind, PgBouncer.settings) == "ok")
                try await ServeProcess.run(database: pooler.url) { server in
                    let warning = await server.log.line(saying: Self.ignoredSettings)
                    let ignored = try #require(warning?["without_effect"]?.string)
                    #expect(ignored.contains("default_transaction_read_only") && ignored.contains("statement_timeout"))
                }
                try await ServeProcess.run(database: pooler.url, PgBouncer.settings) { server in
                    try await Task.sleep(for: .seconds(1))
                    #expect(!server.log.lines(of: "warning").contains { $0.contains(Self.ignoredSettings) })
                }
            }
        }
    }

    @Test func `a pooler that refuses startup options is named with the setting that helps`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await PgBouncer.run(before: database) { pooler in
                let behind = TestDatabase(configuration: database.configuration, url: pooler.url)
                let ending = try await ConcordCommand.run(["project", "show"], behind)
                #expect(ending.status != .exited(0))
                #expect(ending.error.contains("unsupported startup parameter"), "\(ending.error)")
                #expect(ending.error.contains("database.session_settings: transaction"), "\(ending.error)")
            }
        }
    }

    @Test func `commands that read and write accounts work behind a pooler`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await PgBouncer.run(before: database, poolSize: 16) { pooler in
                let behind = TestDatabase(configuration: database.configuration, url: pooler.url)
                let settings = Self.variables(PgBouncer.settings)
                for arguments in [
                    ["project", "show"], ["audit", "run", "--fail-on", "never"],
                    ["account", "export", "--format", "ndjson", "--quiet"],
                ] {
                    let ending = try await ConcordCommand.run(arguments, behind, settings)
                    #expect(ending.status == .exited(0), "\(arguments): \(ending.error)")
                }
            }
        }
    }

    private static func variables(_ settings: [String: String]) -> [Environment.Key: String] {
        Dictionary(uniqueKeysWithValues: settings.map { (Environment.Key(stringLiteral: $0.key), $0.value) })
    }

    /// The status of the check in the report of `concord doctor`.
    private static func sessionSettings(_ database: TestDatabase, _ settings: [String: String]) async throws -> String?
    {
        let ending = try await ConcordCommand.run(
            ["doctor", "--format", "json", "--migrations", Repository.root + "/migrations"],
            database,
            variables(settings)
        )
        let findings = try JSONValue(parsing: Array(ending.output.utf8)).array ?? []
        return findings.first { $0["check"] == "session-settings" }?["status"]?.string
    }

    /// Runs `body` for every caller at once, and spreads the callers over `servers`.
    private static func race(
        _ servers: [ServeProcess],
        _ body: @escaping @Sendable (ServeProcess, _ number: Int) async throws -> HTTPAnswer
    ) async throws -> [HTTPAnswer] {
        try await withThrowingTaskGroup(of: (Int, HTTPAnswer).self) { group in
            for number in 0..<callers {
                group.addTask { (number, try await body(servers[number % servers.count], number)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
