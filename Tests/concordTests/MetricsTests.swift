import AccountAPI
import AccountLinking
import AccountOperations
import AccountTestSupport
import FoundationEssentials
import HTTPTypes
import JSON
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import PrometheusMetrics
import Testing

@testable import HTTPServer
@testable import concord

/// The metrics, which the sender of a request cannot influence.
struct MetricsTests {
    @Test func `the documented table of metrics equals the program's table`() throws {
        try DocumentTable.expect(MetricsTable.markdown, as: "metrics", in: "docs/reference/metrics.md")
    }

    @Test(arguments: [nil, DevelopmentRoutes()])
    func `every metric has a series, in Prometheus's format`(
        _ development: DevelopmentRoutes?
    ) throws {
        let measurements = Measurements(development)
        let shown = try Exposition(measurements.registry.text())
        #expect(Set(shown.families.keys) == Set(MetricsTable.families(development).map(\.name)))
        #expect(try #require(shown.value("process_resident_memory_bytes")) > 1_000_000)
        #expect(try #require(shown.value("process_cpu_seconds_total")) > 0)
        #expect(try #require(shown.value("process_open_fds")) > 2)
        #expect(try #require(shown.value("process_max_fds")) > 2)
        #expect(try #require(shown.value("process_start_time_seconds")) > 1_750_000_000)
    }

    @Test func `production has no development metric`() {
        let text = Measurements(nil).registry.text()
        #expect(!text.contains("emulator"))
        #expect(Measurements(DevelopmentRoutes()).registry.text().contains("emulator"))
    }

    @Test func `a thousand different requests create no series and reveal no input`() async throws {
        let measurements = Measurements(nil)
        try await TestService.with(metrics: measurements.operations) { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            func responder(_ audience: API.Audience, _ callers: any CallerAuthentication) -> any Responder {
                API(
                    service: handle,
                    audience: audience,
                    callers: callers,
                    development: nil,
                    jsonDepthMax: 64,
                    trustedProxies: [],
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                    metrics: measurements.http,
                    exposition: audience == .operators ? measurements.exposition : nil
                ).responder()
            }
            let everyone = responder(.everyone, RegisteredCallers())
            let operators = responder(.operators, OperatorCallers())
            let before = try Exposition(measurements.registry.text()).series
            let methods: [HTTPRequest.Method] = [.get, .post, .patch, .delete, .put, .options, .trace]
            var answered = 0.0
            for number in 0..<1000 {
                let word = "w\(String(number, radix: 36))-\(UInt64.random(in: 0 ... .max))"
                let email = "secret-\(word)@example.com"
                let path = [
                    "/\(word)", "/v1/accounts:\(word)", "/v1/accounts:signInWithIdp", "/v1/accounts:signInWithPassword",
                    "/v2/projects/\(word)/oauthIdpConfigs/oidc.\(word)", "/concord/v1/conflict", "/v1/accounts:signUp",
                ][number % 7]
                let body: JSONValue = [
                    "email": .string(email), "password": .string("secret-\(word)"), "idToken": .string(word),
                    "postBody": .string("providerId=oidc.\(word)&id_token={\"sub\":\"\(word)\"}"),
                    "requestUri": "http://localhost", "tenantId": number.isMultiple(of: 11) ? .string(word) : "",
                ]
                let request = ServerRequest(
                    method: methods[number % methods.count],
                    target: "\(path)?key=\(number.isMultiple(of: 3) ? word : TestService.apiKey)",
                    headers: [
                        "Host": "\(word).example.com", "Origin": "https://\(word).example.com",
                        "Authorization": number.isMultiple(of: 2) ? "Bearer \(word)" : "Basic \(word)",
                    ],
                    body: .complete(ByteBuffer(string: body.text)),
                    peer: nil
                )
                for responder in [everyone, operators] {
                    _ = await responder.respond(to: request)
                    answered += 1
                }
            }
            let text = measurements.registry.text()
            let after = try Exposition(text)
            #expect(after.series == before)
            #expect(!text.contains("secret-") && !text.contains("example.com"))
            let counted = try #require(after.families[HTTPMetrics.requests]).samples.reduce(0) { $0 + $1.value }
            #expect(counted == answered, "every request is counted once")
            // The operators' listener serves the same text; the public listener does not.
            let scrape = ServerRequest(
                method: .get,
                target: "/metrics",
                headers: ["Host": "localhost"],
                body: .complete(ByteBuffer()),
                peer: nil
            )
            let shown = await operators.respond(to: scrape)
            #expect(shown.status == .ok)
            #expect(shown.headers.first(name: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            #expect(try Exposition(String(buffer: shown.body)).series == before)
            #expect(await everyone.respond(to: scrape).status.code == 404)
        }
    }

    @Test func `the metrics listener serves one path`() async throws {
        let responder = MetricsResponder(Measurements(nil).exposition)
        func status(_ method: HTTPRequest.Method, _ target: String) async -> Int {
            let request = ServerRequest(
                method: method,
                target: target,
                headers: ["Host": "10.0.0.5:9097"],
                body: .complete(ByteBuffer()),
                peer: nil
            )
            return await responder.respond(to: request).status.code
        }
        #expect(await status(.get, "/metrics") == 200)
        #expect(await status(.head, "/metrics?name[]=x") == 200)
        for target in ["/", "/metrics/", "/v1/accounts:signUp", "/healthz", "//metrics"] {
            #expect(await status(.get, target) == 404, "\(target)")
        }
        #expect(await status(.post, "/metrics") == 404)
    }
}
