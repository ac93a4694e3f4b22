import AccountTestSupport
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import Postgres
import Subprocess
import Testing

/// The treatment of more clients than the connection limit allows.
@Suite(.serialized) struct ConnectionTests {
    private static let full = "connection limit reached: closing idle connections, new ones wait"
    private static let refused = "system refused a connection: closing idle connections, new ones wait"
    private static let plenty = "accepting connections without a wait again"

    @Test func `silent clients block no other client, and connections stay within the limit`() async throws {
        try await Folder.with { folder in
            let socket = folder.path("admin.sock")
            let metrics = try freePort()
            let settings = [
                "CONCORD_LIMITS_CONNECTIONS": "8", "CONCORD_LISTEN_ADMIN_SOCKET": socket,
                "CONCORD_LISTEN_METRICS_ADDRESS": "127.0.0.1:\(metrics)",
            ]
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await ServeProcess.run(database: database.url, settings) { server in
                    let silent = try await connect(60, to: server)
                    for _ in 0..<3 { #expect(try await server.send(.GET, "/healthz", key: nil).status == 200) }
                    #expect(try await server.send(.GET, "/readyz", key: nil).status == 200)
                    let shown = try await server.measured(at: metrics)
                    #expect(try #require(shown.value("concord_http_connections", ["listener": "public"])) <= 8 + 16)
                    let shortage = ["listener": "public", "reason": "limit"]
                    #expect(shown.value("concord_http_connection_shortages_total", shortage) == 1)
                    #expect(try await server.status(of: "/healthz", overSocket: socket) == 200)

                    for channel in silent { try? await channel.close() }
                    #expect(await server.log.line(saying: Self.plenty)?["listener"]?.string == "public")
                    #expect(try await server.post("/v1/accounts:signUp", [:]).status == 200)
                    let said = server.log.lines(of: "warning")
                    #expect(said.count == 1 && said[0].contains(Self.full), "\(said)")
                }
            }
        }
    }

    @Test func `while every place is in use, health checks work and other requests get 503`()
        async throws
    {
        let metrics = try freePort()
        let settings = [
            "CONCORD_LIMITS_CONNECTIONS": "4", "CONCORD_LISTEN_METRICS_ADDRESS": "127.0.0.1:\(metrics)",
        ]
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url, settings) { server in
                // Another program holds the table for as long as the test wants.
                let holder = Task {
                    try await database.execute(
                        "BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600); COMMIT"
                    )
                }
                let isHeld: Query<Int64?> =
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
                    WHERE datname = current_database() AND relation = 'sessions'::regclass
                        AND mode = 'AccessExclusiveLock' AND granted
                    """
                while try await database.count(isHeld) == 0 { try await Task.sleep(for: .milliseconds(20)) }
                async let answered = withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await server.post("/v1/accounts:signUp", [:]).status } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(await server.log.line(saying: Self.full) != nil)

                #expect(try await server.send(.GET, "/healthz", key: nil).status == 200)
                let refused = try await server.post("/v1/accounts:signUp", [:])
                #expect(refused.status == 503 && refused.headers.first(name: "Retry-After") == "1")
                #expect(refused.headers.first(name: "Connection") == "close")
                #expect(
                    try await server.measured(at: metrics).value("concord_http_connections", ["listener": "metrics"])
                        == 1
                )

                let letGo: [Bool?] = try await database.rows(
                    """
                    SELECT pg_cancel_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
                    WHERE datname = current_database() AND relation = 'sessions'::regclass
                        AND mode = 'AccessExclusiveLock' AND granted
                    """
                )
                #expect(letGo == [true])
                #expect(try await answered == [200, 200, 200, 200])
                _ = await holder.result
                #expect(await server.log.line(saying: Self.plenty) != nil)
                #expect(try await server.post("/v1/accounts:signUp", [:]).status == 200)
            }
        }
    }

    @Test func `if the process may open few files, the connection limit is lowered and logged`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url, openFilesMax: 256) { server in
                let line = await server.log.line(
                    saying: "fewer connections than limits.connections: the limit on open files is too low"
                )
                #expect(line?["connections"]?.string == "128" && line?["open_files_max"]?.string == "256")
                let silent = try await connect(300, to: server)
                #expect(try await server.send(.GET, "/healthz", key: nil).status == 200)
                #expect(try await server.post("/v1/accounts:signUp", [:]).status == 200)
                for channel in silent { try? await channel.close() }
                #expect(!server.log.text.contains(Self.refused))
            }
            try await ServeProcess.launch(database: database.url, openFilesMax: 100, endsWith: .exited(78)) {
                starting in
                await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                #expect(starting.log.text.contains("this process may open 100 files and needs at least 128"))
            }
        }
    }

    @Test func `if descriptors run out, accepting waits until some are free`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(server.processID)/fd").count
                let lowered = try await Subprocess.run(
                    .name("prlimit"),
                    arguments: ["--pid=\(server.processID)", "--nofile=\(open + 40)"],
                    output: .discarded
                )
                #expect(lowered.terminationStatus == .exited(0))
                let silent = try await connect(120, to: server)
                let line = await server.log.line(saying: Self.refused)
                #expect(line?["error"]?.string == "Too many open files")
                for _ in 0..<3 { #expect(try await server.send(.GET, "/healthz", key: nil).status == 200) }
                for channel in silent { try? await channel.close() }
                #expect(await server.log.line(saying: Self.plenty) != nil)
                #expect(try await server.send(.GET, "/healthz", key: nil).status == 200)
                #expect(server.log.lines(of: "warning").filter { $0.contains(Self.refused) }.count == 1)
            }
        }
    }

    @Test(arguments: ["Expect: 100-continue\r\nContent-Length: 4194304\r\n", "Not a header\r\n"])
    func `a refusal reaches a client that sends its whole body without waiting for the answer`(
        header: String
    )
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                let head = ByteBuffer(
                    string: "POST /v1/accounts:signUp?key=\(ServeProcess.apiKey) HTTP/1.1\r\nHost: a\r\n\(header)\r\n"
                )
                let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: 4_194_304)
                for _ in 0..<20 {
                    let channel = try await connect(to: server)
                    let answer = try await channel.executeThenClose { inbound, outbound in
                        try await outbound.write(contentsOf: [head, body])
                        return try await inbound.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
                    }
                    #expect(
                        String(buffer: answer).hasPrefix(header.hasPrefix("Expect") ? "HTTP/1.1 413 " : "HTTP/1.1 400 ")
                    )
                }
            }
        }
    }

    private func connect(to server: ServeProcess) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        try await bootstrap.connect(host: "127.0.0.1", port: port(of: server)) { channel in
            channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
        }
    }

    /// Connections that ask for nothing. The system takes them before the server does.
    private func connect(_ count: Int, to server: ServeProcess) async throws -> [any Channel] {
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(try await bootstrap.connect(host: "127.0.0.1", port: port(of: server)).get())
        }
        return channels
    }

    private var bootstrap: ClientBootstrap { ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton) }

    private func port(of server: ServeProcess) throws -> Int {
        try #require(server.url.split(separator: ":").last.flatMap { Int($0) })
    }
}

extension ServeProcess {
    fileprivate func measured(at port: Int) async throws -> Exposition {
        try Exposition(try await at("http://127.0.0.1:\(port)").send(.GET, "/metrics", key: nil).text)
    }
}
