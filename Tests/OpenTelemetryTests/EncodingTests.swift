import AccountTestSupport
import Metrics
import PrometheusMetrics
import Spans
import Testing
import Tracing

@testable import OpenTelemetry

struct EncodingTests {
    private struct Failed: Error {}

    private static func spans(_ body: (Spans) async throws -> Void) async throws -> [OTLPSpan] {
        let queue = SpanQueue()
        try await body(Spans(OTLPTracer(queue: queue, sample: 1)))
        let records = queue.takeBatch()
        return try OTLPMessage.spans(OTLPSpans(resource: Collector.resource, spans: records).body)
    }

    @Test func `a trace has every field that the protocol requires`() async throws {
        let spans = try await Self.spans { spans in
            await spans.trace("GET /a", .server) { server in
                server?.attributes["http.response.status_code"] = 200
                let child = spans.child("read-users", .client)
                child?.attributes["text"] = "a \"quoted\" text"
                child?.attributes["share"] = 0.5
                child?.attributes["flag"] = true
                child?.fail("23505")
                child?.end()
                child?.end()
            }
        }
        #expect(spans.map(\.name) == ["read-users", "GET /a"])
        let (child, server) = (spans[0], spans[1])
        #expect(child.traceID == server.traceID && child.parentID == server.spanID && server.parentID == nil)
        #expect(server.kind == 2 && child.kind == 3)
        #expect(child.isError && !server.isError)
        #expect(server.attributes == ["http.response.status_code": "200"])
        let expected = ["text": "a \"quoted\" text", "share": "0.5", "flag": "true", "error.type": "23505"]
        #expect(child.attributes == expected)
        #expect(server.start <= child.start && child.end <= server.end)
        #expect(spans.allSatisfy { $0.service == "test" })
    }

    @Test func `an error's type is recorded, and its text is not`() async throws {
        struct Personal: Error, CustomStringConvertible { let description = "ada@example.com" }
        let queue = SpanQueue()
        let span = OTLPTracer(queue: queue, sample: 1).startSpan("a", context: .topLevel, ofKind: .internal)
        span.recordError(Personal())
        span.end()
        let body = OTLPSpans(resource: Collector.resource, spans: queue.takeBatch()).body
        _ = try OTLPMessage.spans(body)
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.contains("Personal") && !text.contains("ada@"))
    }

    @Test func `a span that ended does not change, and a clock that was set back does not make it negative`()
        async throws
    {
        let queue = SpanQueue()
        let span = OTLPTracer(queue: queue, sample: 1).startSpan("a", context: .topLevel, ofKind: .internal)
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 1))
        span.operationName = "b"
        #expect(!span.isRecording)
        let read = try OTLPMessage.spans(OTLPSpans(resource: Collector.resource, spans: queue.takeBatch()).body)
        #expect(read.map(\.name) == ["a"] && read[0].start == read[0].end)
    }

    // MARK: Metrics

    private static let families = [
        MetricFamily(
            "test_requests_total",
            .counter,
            [MetricFamily.Label("route", ["/a", "/b"], "where")],
            "Requests"
        ),
        MetricFamily("test_cpu_seconds_total", .observedCounter, "Processor time"),
        MetricFamily("test_queued", .gauge, "Queued requests"),
        MetricFamily("test_wait_seconds", .histogram(bounds: [0.5, 10]), "Duration of waits"),
        MetricFamily("test_hidden", .gauge, shown: .atFirstUse, "Never set"),
    ]

    @Test func `metrics have the names, labels and values of the Prometheus endpoint`() throws {
        let registry = PrometheusRegistry(Self.families)
        Counter(label: "test_requests_total", dimensions: [("route", "/b")], factory: registry).increment(by: 3)
        registry.beforeReading { Meter(label: "test_cpu_seconds_total", factory: registry).set(1.25) }
        Meter(label: "test_queued", factory: registry).set(7)
        let timer = Timer(label: "test_wait_seconds", factory: registry)
        for nanoseconds in [250_000_000, 500_000_000, 2_000_000_000, 60_000_000_000] as [Int64] {
            timer.recordNanoseconds(nanoseconds)
        }
        let read = try OTLPMessage.metrics(
            OTLPMetrics(
                resource: Collector.resource,
                snapshots: registry.snapshots(),
                startNanoseconds: 1,
                nowNanoseconds: 2
            ).body
        )
        #expect(read.map(\.name) == Self.families.dropLast().map(\.name))
        #expect(read.map(\.kind) == ["sum", "sum", "gauge", "histogram"])
        #expect(read[0].points.map(\.attributes) == [["route": "/a"], ["route": "/b"]])
        #expect(read[0].points.map(\.value) == [0, 3])
        #expect(read[1].points.map(\.value) == [1.25] && read[2].points.map(\.value) == [7])
        #expect(read[3].points.map(\.bucketCounts) == [[2, 1, 1]] && read[3].points.map(\.value) == [62.75])
    }

    @Test(arguments: [(Double.nan, "NaN"), (.infinity, "Infinity"), (-.infinity, "-Infinity")])
    func `a value that is not finite is a text, as in the JSON form of protobuf`(value: Double, text: String) throws {
        let registry = PrometheusRegistry(Self.families)
        Meter(label: "test_queued", factory: registry).set(value)
        let body = OTLPMetrics(
            resource: Collector.resource,
            snapshots: registry.snapshots(),
            startNanoseconds: 1,
            nowNanoseconds: 2
        ).body
        #expect(String(decoding: body, as: UTF8.self).contains("\"asDouble\":\"\(text)\""))
    }
}
