import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// The log lines of requests, as `concord serve` writes them.
@Suite struct RequestLogTests {
    private static let message = "request answered"

    @Test func `a request, its answer and its line have one id, and a shutdown is logged`() async throws {
        let log = try await TestDatabase.with { database in
            try await database.makeProject()
            return try await ServeProcess.run(database: database.url) { server in
                let answer = try await server.send(
                    .POST,
                    "/v1/accounts:signUp",
                    ["email": "ada@example.com"],
                    key: "secret-key",
                    headers: [
                        "X-Request-Id": "proxy-1",
                        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                    ]
                )
                #expect(answer.headers["X-Request-Id"] == ["proxy-1"])
                let line = try #require(await server.log.line(saying: Self.message))
                #expect(line["level"] == "info" && line["time"]?.string?.hasSuffix("Z") == true)
                #expect(line["method"] == "POST" && line["route"] == "/v1/accounts:signUp")
                #expect(line["status"] == 400 && line["request_id"] == "proxy-1")
                #expect(line["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736")
                return server.log
            }
        }
        for secret in ["ada@", "secret-key"] { #expect(!log.text.contains(secret)) }
        #expect(await log.line(saying: "stopping: finishing requests in flight") != nil)
        #expect(await log.line(saying: "stopped") != nil)
    }

    @Test(arguments: ["off", "errors"])
    func `requests that are not asked for have no line`(_ scope: String) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url, ["CONCORD_LOG_REQUESTS": scope]) { server in
                let answer = try await server.send(.GET, "/nowhere")
                #expect(answer.status == 404)
                #expect(!server.log.text.contains(Self.message))
            }
        }
    }
}
