import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
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
    func `an idle server shows every family of the start, in Prometheus's format and at most 60,000 bytes`(
        _ development: DevelopmentRoutes?
    ) throws {
        let measurements = Measurements(development)
        let text = measurements.registry.text()
        #expect(text.utf8.count <= 60_000)
        let shown = try Exposition(text)
        let fromStart = MetricsTable.families(development).filter { $0.appearance == .atStart }
        #expect(Set(shown.families.keys) == Set(fromStart.map(\.name)))
        let build = BuildMetric.current.labels.map { ($0.name, $0.value) }
        #expect(build.map(\.0) == ["version", "commit", "schema"] && !build.contains { $0.1.isEmpty })
        #expect(shown.value("concord_build_info", Dictionary(uniqueKeysWithValues: build)) == 1)
        #expect(try #require(shown.value("process_resident_memory_bytes")) > 1_000_000)
        #expect(try #require(shown.value("process_cpu_seconds_total")) > 0)
        #expect(try #require(shown.value("process_open_fds")) > 2)
        #expect(try #require(shown.value("process_max_fds")) > 2)
        #expect(try #require(shown.value("process_start_time_seconds")) > 1_750_000_000)
    }

    @Test func `production has no development metric`() {
        func namesEmulator(_ development: DevelopmentRoutes?) -> Bool {
            MetricsTable.families(development).contains { family in
                family.labels.contains { label in label.values.contains { $0.contains("emulator") } }
            }
        }
        #expect(!namesEmulator(nil))
        #expect(namesEmulator(DevelopmentRoutes()))
    }

    @Test func `the state of a replica appears with its first comparison`() throws {
        let measurements = Measurements(nil)
        func shown() throws -> Double? {
            try Exposition(measurements.registry.text()).value("concord_replica_usable")
        }
        #expect(try shown() == nil)
        measurements.replica.compared(isUsable: true)
        #expect(try shown() == 1)
        measurements.replica.compared(isUsable: false)
        #expect(try shown() == 0)
    }

    @Test func `times of keys, purges and certificates appear once they are known`() throws {
        let measurements = Measurements(nil)
        measurements.upkeep.purged(at: Timestamp(secondsSinceEpoch: 1_800_000_000))
        measurements.upkeep.signs(.sessionCookie, since: Timestamp(secondsSinceEpoch: 1_800_000_001))
        measurements.upkeep.certificateExpires(at: 1_800_000_002)
        let shown = try Exposition(measurements.registry.text())
        #expect(shown.value("concord_purge_time_seconds") == 1_800_000_000)
        let cookies = ["purpose": "session-cookie"]
        #expect(shown.value("concord_signing_key_start_time_seconds", cookies) == 1_800_000_001)
        #expect(shown.value("concord_signing_key_start_time_seconds", ["purpose": "id-token"]) == nil)
        #expect(shown.value("concord_tls_certificate_expiry_time_seconds") == 1_800_000_002)
    }

    /// The samples whose names or label values are not declared.
    private func undeclared(in shown: Exposition) -> [Exposition.Sample] {
        let declared = Dictionary(uniqueKeysWithValues: MetricsTable.families(nil).map { ($0.name, $0) })
        return shown.families.flatMap { name, family in
            family.samples.filter { sample in
                guard let labels = declared[name]?.labels else { return true }
                let values = sample.labels.filter { $0.key != "le" }
                return values.count != labels.count
                    || !labels.allSatisfy { label in label.values.contains(values[label.name] ?? "") }
            }
        }
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
            let count = measurements.registry.seriesCount
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
            #expect(undeclared(in: after).isEmpty)
            #expect(measurements.registry.seriesCount == count)
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
            #expect(try Exposition(String(buffer: shown.body)).series == after.series)
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
