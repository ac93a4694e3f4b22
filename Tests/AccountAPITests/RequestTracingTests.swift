import AccountOperations
import AccountTestSupport
import HTTPTypes
import Logging
import NIOHTTP1
import OpenTelemetry
import Spans
import Testing
import Tracing

@testable import AccountAPI
@testable import HTTPServer

/// The span of each request. The service is not ready, so that every route of an API fails with 503.
struct RequestTracingTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static func respond(
        _ recorded: RecordedSpans,
        _ log: RecordedLog,
        _ method: HTTPRequest.Method,
        _ target: String,
        _ headers: HTTPHeaders = [:],
        publicURL: String = "https://id.example.com:8443/auth"
    ) async -> ServerResponse {
        let edge = API(
            service: ServiceHandle(),
            callers: RegisteredCallers(),
            development: nil,
            jsonDepthMax: 64,
            publicURL: publicURL,
            trustedProxies: [],
            logger: log.logger,
            requests: RequestLog(.all, to: log.logger),
            spans: recorded.spans
        ).responder()
        return await edge.respond(
            to: ServerRequest(method: method, target: target, headers: headers, body: .tooLarge, peer: nil)
        )
    }

    @Test func `a span names the route and not the path, and a failure of the service is an error`() async throws {
        let (recorded, log) = (RecordedSpans(), RecordedLog())
        let answer = await Self.respond(
            recorded,
            log,
            .get,
            "/v2/projects/secret/config?key=secret",
            ["traceparent": Self.parent, "X-Request-Id": "proxy-1"]
        )
        #expect(answer.status.code == 503)
        let span = try #require(recorded.take().first)
        #expect(span.name.hasPrefix("GET /") && span.kind == .server && span.status?.code == .error)
        #expect(span.context.trace.text == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(span.parent?.text == "00f067aa0ba902b7")
        let expected: [(String, SpanAttribute)] = [
            ("http.request.method", .string("GET")), ("http.response.status_code", .int64(503)),
            ("url.scheme", .string("https")), ("server.address", .string("id.example.com")),
            ("concord.request_id", .string("proxy-1")), ("error.type", .string("503")),
        ]
        for (name, value) in expected { #expect(span.attributes.get(name) == value, "\(name)") }
        for (name, value) in span.attributes.pairs { #expect(!"\(value)".contains("secret"), "\(name)") }
        #expect(!span.name.contains("secret"))
        #expect(log.entries.last?.metadata["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736")
    }

    @Test func `a request without traceparent begins a trace, whose id is in the log`() async throws {
        let (recorded, log) = (RecordedSpans(), RecordedLog())
        _ = await Self.respond(recorded, log, .get, "/nowhere/secret")
        let span = try #require(recorded.take().first)
        #expect(span.name == "GET" && span.parent == nil && span.status == nil)
        #expect(span.attributes.get("http.route") == nil)
        #expect(log.entries.last?.metadata["trace_id"]?.description == span.context.trace.text)
    }

    @Test(arguments: [
        ("https://[2001:db8::1]:8443/auth", "2001:db8::1"), ("https://[::1]", "::1"),
        ("http://127.0.0.1:8080", "127.0.0.1"), ("https://id.example.com", "id.example.com"),
    ])
    func `a span names the host of the public URL without port and brackets`(url: String, host: String) async throws {
        let recorded = RecordedSpans()
        _ = await Self.respond(recorded, RecordedLog(), .get, "/nowhere", publicURL: url)
        let span = try #require(recorded.take().first)
        #expect(span.attributes.get("server.address") == .string(host))
    }

    @Test func `an unknown method has no name in a span`() async throws {
        let recorded = RecordedSpans()
        let method = try #require(HTTPRequest.Method("ada"))
        _ = await Self.respond(recorded, RecordedLog(), method, "/nowhere")
        let span = try #require(recorded.take().first)
        #expect(span.name == "HTTP" && span.attributes.get("http.request.method") == .string("_OTHER"))
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics", "/healthz?a=b"])
    func `a health check has no span`(_ path: String) async {
        let recorded = RecordedSpans()
        _ = await Self.respond(recorded, RecordedLog(), .get, path)
        #expect(recorded.take().isEmpty)
    }

    @Test func `a log line in a request has the id of its trace`() async {
        let recorded = RecordedSpans()
        await recorded.spans.trace("a", .server, continuing: TraceContext(parents: [Self.parent])) { _ in
            let metadata = RequestID.metadataProvider.get()
            #expect(metadata["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736")
        }
        #expect(RequestID.metadataProvider.get()["trace_id"] == nil)
    }
}
