import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
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

    /// The value of `concord_replica_usable` at `operators`.
    private static func usable(_ operators: ServeProcess) async throws -> Double? {
        try Exposition(try await operators.send(.GET, "/metrics", key: nil).text).value("concord_replica_usable")
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

            try await standby.pause()
            try await Self.insertAccount("second", standby)
            let late = try await ConcordCommand.run(Self.export, standby.primary, settings)
            #expect(
                late.error.contains("accounts are read from the primary: the replica is"),
                "\(late.error)"
            )
            #expect(late.output.split(separator: "\n").count == 2)

            let primary = try await ConcordCommand.run(Self.export + ["--primary"], standby.primary, settings)
            #expect(primary.error == "", "\(primary.error)")
            #expect(primary.output.split(separator: "\n").count == 2)

            try await standby.stop()
            let alone = try await ConcordCommand.run(Self.export, standby.primary, settings)
            #expect(alone.status == .exited(0))
            #expect(alone.error.contains("accounts are read from the primary: cannot connect"), "\(alone.error)")
        }
    }

    @Test func `a simulation counts the sessions that end on the standby`() async throws {
        try await Self.with { standby, settings in
            try await Self.insertAccount("first", standby)
            try await standby.primary.execute(
                """
                INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                VALUES ('first', decode(repeat('01', 16), 'hex'), decode(repeat('00', 32), 'hex'), 7,
                    now() - interval '1 day', 'anonymous')
                """
            )
            let path = FileManager.default.temporaryDirectory.appending(path: "policy-\(UUID().uuidString).yaml").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try Data("concord.sessions.inactivitySeconds: 7200".utf8).write(to: URL(fileURLWithPath: path))
            let simulated = try await ConcordCommand.run(["policy", "simulate", path], standby.primary, settings)
            #expect(simulated.status == .exited(0) && simulated.error == "", "\(simulated.error)")
            #expect(simulated.output.contains("1 session of 1 account would end at once"), "\(simulated.output)")
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
            try await standby.pause()
            try await Self.insertAccount("first", standby)
            #expect(try await status(settings) == "warning")
            try await standby.stop()
            #expect(try await status(settings) == "failure")
        }
    }

    @Test func `a server serves while its standby is away, logs it once, and shows it in a metric`() async throws {
        try await Self.with { standby, _ in
            try await standby.stop()
            let port = try freePort()
            let settings = [
                "CONCORD_DATABASE_REPLICA_URL": standby.url, "CONCORD_LISTEN_ADMIN_ADDRESS": "127.0.0.1:\(port)",
            ]
            try await ServeProcess.run(database: standby.primary.url, settings) { server in
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                let line = await server.log.line(saying: "the primary answers lists: the replica cannot be used")
                #expect(line != nil)
                let operators = server.at("http://127.0.0.1:\(port)")
                #expect(try await Self.usable(operators) == 0)
                #expect(try await server.send(.GET, "/readyz", key: nil).status == 200)
            }
        }
    }

    @Test func `lists come from the standby, and lookups from the primary`() async throws {
        try await Self.with { standby, _ in
            let port = try freePort()
            let settings = [
                "CONCORD_DATABASE_REPLICA_URL": standby.url, "CONCORD_DATABASE_REPLICA_STALENESS_MAX": "1h",
                "CONCORD_LISTEN_ADMIN_ADDRESS": "127.0.0.1:\(port)",
            ]
            try await ServeProcess.run(database: standby.primary.url, settings) { server in
                let operators = server.at("http://127.0.0.1:\(port)")
                func list() async throws -> Int {
                    let path = "\(Administrator.project)/accounts:batchGet"
                    let page = try await operators.send(.GET, path, key: nil, authorization: "Bearer owner").success()
                    return page["users"]?.array?.count ?? 0
                }
                func readsFromReplica() async throws -> Double {
                    let answer = try await operators.send(.GET, "/metrics", key: nil)
                    let reads = try Exposition(answer.text).value("concord_replica_reads_total", ["server": "replica"])
                    return reads ?? 0
                }
                let ada = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                // The first lists come from the primary, because the standby was not compared yet.
                while true {
                    let count = try await list()
                    if count == 1, try await readsFromReplica() > 0 { break }
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(try await Self.usable(operators) == 1)
                try await standby.pause()
                let grace = try await server.signUp("grace@example.com", password: TwoServers.password).success()
                #expect(try await list() == 1, "the standby does not have the second account yet")
                for user in [ada, grace] {
                    let found = try await operators.send(
                        .POST,
                        "\(Administrator.project)/accounts:lookup",
                        ["localId": [.string(try user.text("localId"))]],
                        key: nil,
                        authorization: "Bearer owner"
                    ).success()
                    #expect(found["users"]?.array?.count == 1)
                }
                try await standby.execute("SELECT pg_wal_replay_resume()")
                while try await list() == 1 { try await Task.sleep(for: .milliseconds(100)) }
            }
        }
    }
}
