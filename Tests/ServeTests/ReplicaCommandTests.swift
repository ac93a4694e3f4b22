import AccountTestSupport
import Foundation
import JSON
import Subprocess
import Testing

/// Commands and servers with `database.replica_url`, on a real standby.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct ReplicaCommandTests {
    private static func with(_ body: (Standby, [Environment.Key: String]) async throws -> Void) async throws {
        try await Standby.with { standby in
            try await standby.primary.makeProject()
            let settings: [Environment.Key: String] = [
                "CONCORD_DATABASE_REPLICA_URL": standby.url, "CONCORD_DATABASE_REPLICA_STALENESS_MAX": "5s",
            ]
            try await body(standby, settings)
        }
    }

    private static func insertAccount(_ id: String, _ standby: Standby) async throws {
        try await standby.primary.execute(
            "INSERT INTO users (user_id, session_epoch, valid_since, created_at) VALUES ('\(id)', 7, now(), now())"
        )
    }

    private static let export = ["account", "export", "--format", "ndjson", "--quiet"]

    @Test func `commands read the standby once it has caught up, and say if they read the primary`() async throws {
        try await Self.with { standby, settings in
            try await Self.insertAccount("first", standby)
            let exported = try await ConcordCommand.run(Self.export, standby.primary, settings)
            #expect(exported.status == .exited(0) && exported.error == "", "\(exported.error)")
            #expect(exported.output.split(separator: "\n").count == 1)
            let audit = try await ConcordCommand.run(
                ["audit", "run", "--summary", "--fail-on", "never"],
                standby.primary,
                settings
            )
            #expect(audit.status == .exited(0) && audit.error == "", "\(audit.error)")

            try await standby.execute("SELECT pg_wal_replay_pause()")
            try await Self.insertAccount("second", standby)
            let late = try await ConcordCommand.run(Self.export, standby.primary, settings)
            #expect(
                late.error.contains("accounts are read from the primary: the replica is 5 s behind"),
                "\(late.error)"
            )
            #expect(late.output.split(separator: "\n").count == 2)

            let primary = try await ConcordCommand.run(Self.export + ["--primary"], standby.primary, settings)
            #expect(primary.error == "", "\(primary.error)")
            #expect(primary.output.split(separator: "\n").count == 2)

            try standby.stop()
            let alone = try await ConcordCommand.run(Self.export, standby.primary, settings)
            #expect(alone.status == .exited(0))
            #expect(alone.error.contains("accounts are read from the primary: cannot connect"), "\(alone.error)")
        }
    }

    @Test func `concord doctor checks the standby`() async throws {
        try await Self.with { standby, settings in
            func status(_ settings: [Environment.Key: String]) async throws -> String? {
                let ending = try await ConcordCommand.run(
                    ["doctor", "--format", "json", "--migrations", Repository.root + "/migrations"],
                    standby.primary,
                    settings
                )
                let findings = try JSONValue(parsing: Array(ending.output.utf8)).array ?? []
                return findings.first { $0["check"] == "replica" }?["status"]?.string
            }
            #expect(try await status([:]) == nil)
            #expect(try await status(settings) == "ok")
            let primary = ["CONCORD_DATABASE_REPLICA_URL": standby.primary.url] as [Environment.Key: String]
            #expect(try await status(primary) == "failure")
            try await standby.execute("SELECT pg_wal_replay_pause()")
            try await Self.insertAccount("first", standby)
            #expect(try await status(settings) == "warning")
            try standby.stop()
            #expect(try await status(settings) == "failure")
        }
    }

    @Test func `a server serves while its standby is away, and logs it once`() async throws {
        try await Self.with { standby, _ in
            try standby.stop()
            let settings = ["CONCORD_DATABASE_REPLICA_URL": standby.url]
            try await ServeProcess.run(database: standby.primary.url, settings) { server in
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                let line = await server.log.line(saying: "the primary answers lists: the replica cannot be used")
                #expect(line != nil)
            }
        }
    }
}
