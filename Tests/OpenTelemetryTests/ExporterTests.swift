import AccountTestSupport
import Metrics
import PrometheusMetrics
import Testing
import Tracing

@testable import OpenTelemetry

@Suite(.timeLimit(.minutes(20)))
struct ExporterTests {
    private static func end(_ count: Int, in queue: SpanQueue) {
        let tracer = OTLPTracer(queue: queue, sample: 1)
        for number in 0..<count { tracer.startSpan("span \(number)", context: .topLevel, ofKind: .internal).end() }
    }

    private static func names(_ range: Range<Int>) -> [String] { range.map { "span \($0)" } }

    @Test func `spans are sent in batches, and the last ones when the service stops`() async throws {
        let (collector, queue) = (Collector(), SpanQueue(spansMax: 100, batchMax: 4))
        try await running(collector.exporter(queue, limits: Collector.patient)) {
            Self.end(4, in: queue)
            try await wait { collector.requests.count == 1 }
            Self.end(3, in: queue)
        }
        #expect(try collector.spans().map(\.name) == Self.names(0..<4) + Self.names(0..<3))
        #expect(collector.requests.count == 2)
    }

    @Test func `spans that end during an export wait for a full batch or the interval`() async throws {
        let (collector, queue) = (Collector(), SpanQueue(spansMax: 100, batchMax: 4))
        Self.end(6, in: queue)
        try await running(collector.exporter(queue, limits: Collector.patient)) {
            try await wait { collector.outcomes.count == 1 }
            #expect(queue.count == 2)
            Self.end(2, in: queue)
            try await wait { collector.outcomes.count == 2 }
        }
        #expect(try collector.spans().count == 8)
    }

    @Test func `a span waits for at most the interval`() async throws {
        let (collector, queue) = (Collector(), SpanQueue())
        try await running(collector.exporter(queue, limits: Collector.eager)) {
            Self.end(1, in: queue)
            try await wait { collector.requests.count == 1 }
        }
    }

    @Test func `spans without room are dropped and counted`() async throws {
        let (collector, queue) = (Collector(), SpanQueue(spansMax: 5, batchMax: 10))
        Self.end(8, in: queue)
        #expect(queue.droppedCount == 3 && queue.count == 5)
        try await running(collector.exporter(queue, limits: Collector.patient)) {}
        #expect(try collector.spans().map(\.name) == Self.names(0..<5))
    }

    @Test(arguments: [429, 502, 503, 504])
    func `a batch is sent again after a transient failure`(_ status: Int) async throws {
        let (collector, queue) = (Collector { $0 == 1 ? status : 200 }, SpanQueue())
        let losses = OTLPExporter.Losses()
        try await running(collector.exporter(queue, limits: Collector.eager, losses: losses)) {
            Self.end(1, in: queue)
            try await wait { collector.outcomes.count == 2 }
        }
        #expect(collector.outcomes == ["failed: the collector answered with status \(status)", "succeeded"])
        #expect(collector.requests[0].body == collector.requests[1].body && losses.unsentCount == 0)
    }

    @Test(arguments: [400, 401, 404, 413, 500])
    func `a batch that the collector refuses is counted and not sent again`(_ status: Int) async throws {
        let (collector, queue) = (Collector { _ in status }, SpanQueue())
        let losses = OTLPExporter.Losses()
        try await running(collector.exporter(queue, limits: Collector.eager, losses: losses)) {
            Self.end(3, in: queue)
            try await wait { losses.unsentCount == 3 }
        }
        #expect(!collector.outcomes.contains("succeeded"))
    }

    @Test(arguments: [#""2""#, "2"])
    func `spans that the collector rejects are counted, and the batch is not sent again`(count: String) async throws {
        let body = Array(#"{"partialSuccess":{"rejectedSpans":\#(count),"errorMessage":"too old"}}"#.utf8)
        let collector = Collector(answering: { _ in OTLPExporter.Answer(status: 200, body: body) })
        let (queue, losses) = (SpanQueue(spansMax: 100, batchMax: 3), OTLPExporter.Losses())
        try await running(collector.exporter(queue, limits: Collector.patient, losses: losses)) {
            Self.end(3, in: queue)
            try await wait { losses.unsentCount == 2 }
            Self.end(1, in: queue)
        }
        #expect(losses.unsentCount == 3, "the last batch has only one span to reject")
        #expect(collector.requests.count == 2)
    }

    @Test(arguments: [
        "", "{}", "no", #"{"partialSuccess":{}}"#, #"{"partialSuccess":{"rejectedSpans":-1}}"#,
        #"{"partialSuccess":{"rejectedSpans":"9"#,
    ])
    func `an answer without rejected spans, or cut off, rejects none`(body: String) {
        #expect(OTLPExporter.Answer(status: 200, body: Array(body.utf8)).rejectedSpans == 0)
    }

    @Test func `a collector that names a time gets the batch again after it, or after the limit`() async throws {
        let collector = Collector(answering: { number in
            switch number {
            case 1: OTLPExporter.Answer(status: 429, retryAfterSeconds: 3600)
            case 2: OTLPExporter.Answer(status: 503, retryAfterSeconds: -1)
            default: OTLPExporter.Answer(status: 200)
            }
        })
        let queue = SpanQueue()
        var limits = Collector.eager
        limits.retryAfterMax = .milliseconds(300)
        Self.end(1, in: queue)
        let start = ContinuousClock.now
        try await running(collector.exporter(queue, limits: limits)) {
            try await wait { collector.outcomes.last == "succeeded" }
            #expect(ContinuousClock.now - start >= .milliseconds(300))
        }
        #expect(collector.requests.count == 3)
    }

    @Test func `attempts end, and the next batch is sent`() async throws {
        let (collector, queue) = (Collector { if $0 <= 5 { throw Collector.Refused() } else { 200 } }, SpanQueue())
        let losses = OTLPExporter.Losses()
        try await running(collector.exporter(queue, limits: Collector.eager, losses: losses)) {
            Self.end(1, in: queue)
            try await wait { losses.unsentCount == 1 }
            Self.end(1, in: queue)
            try await wait { collector.outcomes.last == "succeeded" }
        }
        let failure = "failed: the collector cannot be reached: refused"
        #expect(collector.outcomes.prefix(5).allSatisfy { $0 == failure })
    }

    @Test func `a collector that hangs times out, and its spans are sent again`() async throws {
        let collector = Collector { number in
            if number == 1 { try await Task.sleep(for: .seconds(3600)) }
            return 200
        }
        let queue = SpanQueue()
        var limits = Collector.eager
        limits.sendTimeout = .milliseconds(20)
        try await running(collector.exporter(queue, limits: limits)) {
            Self.end(1, in: queue)
            try await wait { collector.outcomes.contains("succeeded") }
        }
        #expect(collector.outcomes.first == "failed: the collector did not answer in time")
    }

    @Test func `a shutdown ends a request that hangs, and sends its spans once more`() async throws {
        let collector = Collector { number in
            if number == 1 { try await Task.sleep(for: .seconds(3600)) }
            return 200
        }
        let (queue, losses) = (SpanQueue(), OTLPExporter.Losses())
        try await running(collector.exporter(queue, limits: Collector.eager, losses: losses)) {
            Self.end(2, in: queue)
            try await wait { collector.requests.count == 1 }
        }
        #expect(try OTLPMessage.spans(collector.requests[1].body).count == 2)
        #expect(losses.unsentCount == 0)
    }

    @Test func `a shutdown does not wait for a collector that hangs longer than its limit`() async throws {
        let collector = Collector { _ in
            try await Task.sleep(for: .seconds(3600))
            return 200
        }
        let (queue, losses) = (SpanQueue(), OTLPExporter.Losses())
        var limits = Collector.patient
        limits.flushTimeout = .milliseconds(20)
        Self.end(2, in: queue)
        try await running(collector.exporter(queue, limits: limits, losses: losses)) {}
        #expect(losses.unsentCount == 2)
    }

    @Test func `metrics are sent at intervals and when the service stops`() async throws {
        let registry = PrometheusRegistry([MetricFamily("test_total", .counter, "Things")])
        let collector = Collector()
        var limits = Collector.patient
        limits.metricsInterval = .milliseconds(1)
        try await running(collector.exporter(SpanQueue(), registry, limits: limits)) {
            try await wait { collector.requests.count >= 2 }
            Counter(label: "test_total", factory: registry).increment(by: 5)
        }
        #expect(collector.requests.allSatisfy { $0.path == "/v1/metrics" })
        let last = try OTLPMessage.metrics(try #require(collector.requests.last).body)
        #expect(last.map(\.name) == ["test_total"] && last[0].points.map(\.value) == [5])
    }
}
