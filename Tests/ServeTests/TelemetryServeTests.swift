import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Testing

/// The export of the real program to a collector on this machine.
@Suite struct TelemetryServeTests {
    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parentID = "00f067aa0ba902b7"

    private static func settings(_ collector: LocalServer) -> [String: String] {
        [
            "CONCORD_TELEMETRY_OTLP_ENDPOINT": collector.address("/otlp/"),
            "CONCORD_TELEMETRY_OTLP_HEADERS": "x-api-key=collector-secret,x-tenant=7",
            "CONCORD_TELEMETRY_SERVICE_NAME": "accounts",
            "CONCORD_TELEMETRY_METRICS_INTERVAL_SECONDS": "1",
        ]
    }

    private static func spans(at collector: LocalServer) throws -> [OTLPSpan] {
        try collector.requests.filter { $0.path == "/otlp/v1/traces" }.flatMap { try OTLPMessage.spans($0.body) }
    }

    @Test(.timeLimit(.minutes(20)))
    func `request, statements and password are spans of one trace, and nothing personal leaves`() async throws {
        let email = "ada@example.com"
        // No client reads a huge answer.
        let reply = LocalServer.Reply.text(String(repeating: "x", count: 8 << 20))
        let answer: LocalServer.Answer = { _, _ in reply }
        try await LocalServer.run(answer: answer) { collector in
            let log = try await TestDatabase.with { database in
                try await database.makeProject()
                return try await ServeProcess.run(database: database.url, Self.settings(collector)) { server in
                    let answer = try await server.send(
                        .POST,
                        "/v1/accounts:signUp",
                        ["email": .string(email), "password": .string(TwoServers.password)],
                        headers: [
                            "X-Request-Id": "proxy-1", "traceparent": "00-\(Self.traceID)-\(Self.parentID)-01",
                        ]
                    )
                    #expect(answer.status == 200)
                    #expect(try await server.send(.GET, "/healthz").status == 200)
                    #expect(try await server.send(.GET, "/nowhere/\(email)").status == 404)
                    let line = try #require(await server.log.line(saying: "request answered"))
                    #expect(line["trace_id"]?.string == Self.traceID)
                    while try !collector.targets.contains("/otlp/v1/metrics")
                        || !Self.spans(at: collector).contains(where: { $0.traceID == Self.traceID })
                    {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    return server.log
                }
            }
            let spans = try Self.spans(at: collector)
            let trace = spans.filter { $0.traceID == Self.traceID }
            let request = try #require(trace.first { $0.parentID == Self.parentID })
            #expect(request.name == "POST /v1/accounts:signUp" && request.kind == 2 && !request.isError)
            #expect(request.attributes["http.route"] == "/v1/accounts:signUp")
            #expect(request.attributes["http.response.status_code"] == "200")
            #expect(request.attributes["concord.request_id"] == "proxy-1")
            #expect(request.attributes["concord.decision_id"] != nil)
            let children = trace.filter { $0.parentID == request.spanID }
            #expect(children.count == trace.count - 1)
            let names = Set(children.map(\.name))
            #expect(names.isSuperset(of: ["account-write", "hash password"]))
            #expect(names.contains { $0.hasPrefix("read-") })
            let hash = try #require(children.first { $0.name == "hash password" })
            #expect(hash.attributes["concord.password.algorithm"] == "argon2")
            #expect(hash.attributes["concord.password.queue_wait_ms"].flatMap(Double.init).map { $0 >= 0 } == true)
            for statement in children where statement.name != "hash password" {
                #expect(statement.kind == 3 && statement.attributes["db.system.name"] == "postgresql")
            }
            // The health check has no span, and a path without a route has no name.
            #expect(spans.filter { $0.kind == 2 }.map(\.name).sorted() == ["GET", "POST /v1/accounts:signUp"])
            #expect(spans.allSatisfy { $0.service == "accounts" })

            for request in collector.requests {
                #expect(request.headers["content-type"] == ["application/json"])
                #expect(request.headers["x-api-key"] == ["collector-secret"] && request.headers["x-tenant"] == ["7"])
                let text = String(decoding: request.body, as: UTF8.self)
                for secret in [email, TwoServers.password, "collector-secret"] { #expect(!text.contains(secret)) }
            }
            let metrics = try collector.requests.filter { $0.path == "/otlp/v1/metrics" }
                .flatMap { try OTLPMessage.metrics($0.body) }
            let counted = metrics.last { $0.name == "concord_http_requests_total" }
            #expect(
                counted?.points.contains { $0.attributes["route"] == "POST /v1/accounts:signUp" && $0.value == 1 }
                    == true
            )
            #expect(!log.text.contains("collector-secret"))
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `no file gets the keys of TLS connections, and the log says why`() async throws {
        let identity = try TLSIdentity()
        try await LocalServer.run(https: identity) { _, _ in
            .text("{}")
        } _: { collector in
            let settings = Self.settings(collector)
            try await Folder.with { folder in
                try folder.write("authorities.pem", identity.pem)
                let (authorities, keys) = (folder.path("authorities.pem"), folder.path("keys"))
                try await TestDatabase.with { database in
                    try await database.makeProject()
                    let own = ["CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": authorities, "SSLKEYLOGFILE": keys]
                    try await ServeProcess.run(database: database.url, settings.merging(own) { $1 }) { server in
                        let warning = "SSLKEYLOGFILE is ignored: it would write the keys of TLS connections to a file"
                        #expect(await server.log.line(saying: warning)?["level"]?.string == "warning")
                        while collector.requests.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
                    }
                }
                #expect(!FileManager.default.fileExists(atPath: keys))
            }
        }
    }

    @Test(.timeLimit(.minutes(20)))
    func `a collector that refuses stops nothing, and its outage is logged once`() async throws {
        let answer: LocalServer.Answer = { _, _ in .text("no", status: .badRequest) }
        try await LocalServer.run(answer: answer) { collector in
            let log = try await TestDatabase.with { database in
                try await database.makeProject()
                return try await ServeProcess.run(database: database.url, Self.settings(collector)) { server in
                    for _ in 0..<3 { #expect(try await server.send(.GET, "/nowhere").status == 404) }
                    _ = await server.log.line(saying: "traces not exported")
                    let count = collector.requests.count
                    while collector.requests.count < count + 2 { try await Task.sleep(for: .milliseconds(20)) }
                    return server.log
                }
            }
            for signal in ["traces", "metrics"] {
                #expect(log.text.components(separatedBy: "\(signal) not exported").count <= 2)
            }
        }
    }
}
