import AccountTestSupport
import Foundation
import Glibc
import HTTPClient
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Postgres
import Subprocess
import Testing

/// The listeners of `concord serve`, and its shutdown.
@Suite(.serialized) struct ListenTests {
    @Test func `TLS uses the configured certificate, and a new one as soon as it is valid`() async throws {
        let (old, new) = (try TLSIdentity(), try TLSIdentity())
        let metrics = try freePort()
        try await Folder.with { folder in
            try folder.write("a.pem", old.pem)
            try folder.write("a.key", old.keyPEM)
            let settings = [
                "CONCORD_LISTEN_TLS_CERTIFICATE": folder.path("a.pem"), "CONCORD_LISTEN_TLS_KEY": folder.path("a.key"),
                "CONCORD_LISTEN_METRICS_ADDRESS": "127.0.0.1:\(metrics)",
            ]
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await ServeProcess.run(database: database.url, settings) { server in
                    try await expectShown(old, by: server)
                    let scrape = try await server.at("http://127.0.0.1:\(metrics)").send(.GET, "/metrics", key: nil)
                    let expiry = try Exposition(scrape.text).value("concord_tls_certificate_expiry_time_seconds")
                    #expect(try #require(expiry) == Double(try old.certificate.notValidAfter))
                    // A client that speaks plain HTTP to it is no client.
                    await #expect(throws: (any Error).self) { try await server.send(.GET, "/healthz", key: nil) }

                    try folder.write("a.pem", new.pem)
                    let line = await server.log.line(
                        saying: "the new TLS certificate cannot be used, the old one stays in use"
                    )
                    #expect(line?["error"]?.string == "the key does not belong to the certificate")
                    try await expectShown(old, by: server)

                    try folder.write("a.key", new.keyPEM)
                    let expires = await server.log.line(saying: "a new TLS certificate is in use")?["expires"]?.string
                    #expect(expires?.hasSuffix("Z") == true)
                    try await expectShown(new, by: server)
                    await #expect(throws: (any Error).self) { try await expectShown(old, by: server) }
                    #expect(server.log.lines(of: "warning").count <= 2, "\(server.log.text)")
                }
            }
        }
    }

    /// Fails where the server shows another certificate.
    private func expectShown(_ identity: TLSIdentity, by server: ServeProcess) async throws {
        let port = try #require(server.url.split(separator: ":").last)
        var request = HTTPTransport.Request(
            "GET",
            "https://127.0.0.1:\(port)/healthz",
            responseBody: .ignored,
            deadline: .now + .seconds(60)
        )
        request.connection.trust = .only(Array(identity.pem.utf8))
        #expect(try await HTTPTransport.shared.response(to: request).status == 200)
    }

    @Test func `an address in use is reported, and the process ends with a configuration error`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                let port = try #require(server.url.split(separator: ":").last)
                let settings = ["CONCORD_LISTEN_PORT": String(port)]
                try await ServeProcess.launch(
                    database: database.url,
                    settings,
                    endsWith: .exited(78)
                ) { starting in
                    await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                    #expect(
                        starting.log.text.contains(
                            """
                            cannot listen at 127.0.0.1:\(port): Address already in use. Another process listens there: stop it, \
                            or choose another port: listen.port
                            """
                        ),
                        "\(starting.log.text)"
                    )
                }
            }
        }
    }

    @Test func `a missing folder of the administrators' socket is reported, with how to make it`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let settings = ["CONCORD_LISTEN_ADMIN_SOCKET": "/run/no-such-folder/admin.sock"]
            try await ServeProcess.launch(database: database.url, settings, endsWith: .exited(78)) { starting in
                await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                #expect(
                    starting.log.text.contains(
                        """
                        cannot listen at /run/no-such-folder/admin.sock: No such file or directory. Create its folder: \
                        mkdir -p /run/no-such-folder (RuntimeDirectory=no-such-folder in a systemd unit)
                        """
                    ),
                    "\(starting.log.text)"
                )
            }
        }
    }

    @Test func `a second server does not replace the administrators' socket of the first`() async throws {
        try await Folder.with { folder in
            let socket = folder.path("admin.sock")
            let settings = ["CONCORD_LISTEN_ADMIN_SOCKET": socket]
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await ServeProcess.run(database: database.url, settings) { first in
                    #expect(await first.log.line(saying: "ready")?["admin"]?.string == socket)
                    try await ServeProcess.launch(database: database.url, settings, endsWith: .exited(78)) { second in
                        await #expect(throws: (any Error).self) { _ = try await second.ready() }
                        #expect(second.log.text.contains("cannot listen at \(socket): Address already in use"))
                    }
                    #expect(try await first.status(of: "/metrics", overSocket: socket) == 200)
                }
            }
        }
    }

    @Test func `metrics are served only on the configured address, never publicly`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let port = try freePort()
            let settings = [
                "CONCORD_LISTEN_METRICS_ADDRESS": "127.0.0.1:\(port)", "CONCORD_PURGE_INTERVAL": "1s",
            ]
            try await ServeProcess.run(database: database.url, settings) { server in
                let scrape = server.at("http://127.0.0.1:\(port)")
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                #expect(try await server.signIn("ada@example.com", password: "wrong").status == 400)
                let answer = try await scrape.send(.GET, "/metrics", key: nil)
                #expect(answer.status == 200)
                let shown = try Exposition(answer.text)
                #expect(shown.value("concord_decisions_total", ["rule": "P11"]) == 1)
                #expect(shown.value("concord_decisions_total", ["rule": "S4"]) == 1)
                let signUps = ["route": "POST /v1/accounts:signUp", "status": "2xx"]
                #expect(shown.value("concord_http_requests_total", signUps) == 1)
                #expect(shown.value("concord_database_call_seconds_count", ["call": "account-write"]) == 1)
                let newAccounts = ["method": "password", "result": "new_account"]
                #expect(shown.value("concord_sign_ins_total", newAccounts) == 1)
                #expect(shown.value("concord_sign_ins_total", ["method": "password", "result": "refused"]) == 1)
                #expect(shown.value("concord_database_up") == 1)
                #expect(try #require(shown.value("concord_purge_time_seconds")) > 1_750_000_000)
                for purpose in ["id-token", "session-cookie"] {
                    let start = shown.value("concord_signing_key_start_time_seconds", ["purpose": purpose])
                    #expect(try #require(start) > 1_750_000_000)
                }
                #expect(shown.families["concord_tls_certificate_expiry_time_seconds"] == nil, "plain HTTP")
                #expect(shown.value("concord_password_hashing_wait_seconds_count") == 2)
                #expect(try #require(shown.value("concord_database_connections", ["queue": "write"])) > 0)
                #expect(!answer.text.contains("ada@example.com"))
                for path in ["/metrics", "/metrics/", "//metrics", "/v1/metrics"] {
                    #expect(try await server.send(.GET, path, key: nil).status == 404)
                }
                #expect(try await scrape.send(.GET, "/readyz", key: nil).status == 404)
            }
        }
    }

    @Test func `after a stop signal, requests in progress are answered and new ones are refused`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url, ["CONCORD_LIMITS_DRAIN_TIMEOUT": "5m"]) { server in
                // Another program holds the tables for as long as the test wants.
                let holder = Task {
                    try await database.execute(
                        "BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600); COMMIT"
                    )
                }
                // Only for this database: the server has others, for other tests.
                let isHeld: Query<Int64?> =
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
                    WHERE datname = current_database() AND mode = 'AccessExclusiveLock' AND granted
                    """
                while try await database.count(isHeld) == 0 { try await Task.sleep(for: .milliseconds(20)) }
                async let answer = server.post("/v1/accounts:signUp", [:])
                let waits: Query<Int64?> =
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
                    WHERE datname = current_database() AND NOT granted
                    """
                while try await database.count(waits) == 0 { try await Task.sleep(for: .milliseconds(20)) }
                #expect(kill(server.processID, SIGTERM) == 0)
                let letGo: [Bool?] = try await database.rows(
                    """
                    SELECT pg_cancel_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
                    WHERE datname = current_database() AND relation = 'sessions'::regclass
                        AND mode = 'AccessExclusiveLock' AND granted
                    """
                )
                #expect(letGo == [true])
                #expect(try await answer.status == 200)
                _ = await holder.result
                await #expect(throws: (any Error).self) { try await server.send(.GET, "/healthz", key: nil) }
                #expect(try await database.rowCounts()["sessions"] == 1)
            }
        }
    }
}
