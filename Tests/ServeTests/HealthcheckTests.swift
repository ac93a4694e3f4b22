import AccountTestSupport
import Glibc
import Subprocess
import Testing

/// `concord healthcheck`, asked of the real program.
struct HealthcheckTests {
    @Test func `a ready server is ready at its URL and by its configuration`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                let byURL = try await ConcordCommand.run(["healthcheck", "--url", server.url], database)
                #expect(byURL.status == .exited(0) && byURL.output == "ready\n" && byURL.error == "", "\(byURL)")
                let port = try #require(server.url.split(separator: ":").last)
                let byPort = try await ConcordCommand.run(
                    ["healthcheck"],
                    database,
                    ["CONCORD_LISTEN_PORT": String(port)]
                )
                #expect(byPort.status == .exited(0) && byPort.output == "ready\n", "\(byPort)")
            }
        }
    }

    @Test func `the admin socket answers if the port is not known`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let settings = ["CONCORD_LISTEN_ADMIN_SOCKET": folder.path("a.sock")]
                try await ServeProcess.run(database: database.url, settings) { _ in
                    let ending = try await ConcordCommand.run(
                        ["healthcheck"],
                        database,
                        ["CONCORD_LISTEN_PORT": "0", "CONCORD_LISTEN_ADMIN_SOCKET": folder.path("a.sock")]
                    )
                    #expect(ending.status == .exited(0) && ending.output == "ready\n", "\(ending)")
                }
            }
        }
    }

    @Test func `on loopback, any certificate is accepted`() async throws {
        let identity = try TLSIdentity()
        try await Folder.with { folder in
            try folder.write("a.pem", identity.pem)
            try folder.write("a.key", identity.keyPEM)
            let settings = [
                "CONCORD_LISTEN_TLS_CERTIFICATE": folder.path("a.pem"), "CONCORD_LISTEN_TLS_KEY": folder.path("a.key"),
            ]
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await ServeProcess.run(database: database.url, settings) { server in
                    let port = try #require(server.url.split(separator: ":").last)
                    let ending = try await ConcordCommand.run(
                        ["healthcheck", "--url", "https://127.0.0.1:\(port)"],
                        database
                    )
                    #expect(ending.status == .exited(0) && ending.output == "ready\n", "\(ending)")
                }
            }
        }
    }

    @Test func `proxies that the environment names are not used`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                // No process listens there.
                let proxy = "http://127.0.0.1:1"
                let ending = try await ConcordCommand.run(
                    ["healthcheck", "--url", server.url],
                    database,
                    ["http_proxy": proxy, "HTTP_PROXY": proxy, "all_proxy": proxy, "ALL_PROXY": proxy]
                )
                #expect(ending.status == .exited(0) && ending.output == "ready\n", "\(ending)")
            }
        }
    }

    @Test func `a server whose schema is gone is not ready, and the reason is one line`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                try await database.execute(
                    "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)"
                )
                let ending = try await ConcordCommand.run(["healthcheck", "--url", server.url], database)
                #expect(ending.status == .exited(1) && ending.output == "", "\(ending)")
                #expect(ending.error.hasPrefix("concord: \(server.url): not ready: the schema is at "), "\(ending)")
                #expect(ending.error.split(separator: "\n").count == 1)
            }
        }
    }

    @Test func `without a server, the command names the address and the reason`() async throws {
        try await TestDatabase.with { database in
            let port = try freePort()
            let ending = try await ConcordCommand.run(["healthcheck"], database, ["CONCORD_LISTEN_PORT": "\(port)"])
            #expect(ending.status == .exited(1))
            #expect(
                ending.error
                    == "concord: cannot ask 127.0.0.1:\(port): connection refused. Is `concord serve` running there?\n"
            )
            let unknown = try await ConcordCommand.run(["healthcheck"], database, ["CONCORD_LISTEN_PORT": "0"])
            #expect(unknown.status == .exited(78) && unknown.error.contains("--url"), "\(unknown)")
            let mistyped = try await ConcordCommand.run(["healthcheck", "--url", "localhost:8080"], database)
            #expect(mistyped.status == .exited(64), "\(mistyped)")
        }
    }

    @Test func `a server that hangs is given up after 2 seconds`() async throws {
        try await TestDatabase.with { database in
            // The kernel accepts the connection, and no program reads from it.
            let listener = try SilentListener()
            defer { listener.close() }
            let start = ContinuousClock.now
            let ending = try await ConcordCommand.run(
                ["healthcheck", "--url", "http://127.0.0.1:\(listener.port)"],
                database
            )
            #expect(ending.status == .exited(1) && ending.error.contains("2 s"), "\(ending)")
            #expect(start.duration(to: .now) < .seconds(30))
        }
    }
}

/// A listening socket whose connections are never accepted.
struct SilentListener {
    let port: Int
    private let descriptor: Int32

    private struct NoSocket: Error {}

    init() throws {
        port = try freePort()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = descriptor
        let isBound = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0
            }
        }
        guard descriptor >= 0, isBound, listen(descriptor, 8) == 0 else { throw NoSocket() }
    }

    func close() { _ = Glibc.close(descriptor) }
}
