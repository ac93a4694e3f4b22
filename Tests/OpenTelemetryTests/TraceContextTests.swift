import Spans
import Testing
import Tracing

@testable import OpenTelemetry

struct TraceContextTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private struct Fields: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    @Test func `a valid traceparent is read and written unchanged`() throws {
        let context = try #require(TraceContext(parents: [Self.parent], states: ["a=1", "b=2"]))
        #expect(context.trace.text == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(context.span.text == "00f067aa0ba902b7")
        #expect(context.isSampled && context.state == "a=1,b=2")
        #expect(context.parent == Self.parent)
        #expect(TraceContext(parents: [Self.parent.replacing("-01", with: "-00")])?.isSampled == false)
        #expect(TraceContext(parents: ["cc" + Self.parent.dropFirst(2) + "-more"])?.isSampled == true)
    }

    @Test(arguments: [
        "", "00", parent + "-more", parent.uppercased(), "ff" + parent.dropFirst(2),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    ])
    func `a malformed traceparent begins a new trace`(_ text: String) {
        #expect(TraceContext(parents: [text]) == nil)
        #expect(TraceContext(parents: [Self.parent, Self.parent]) == nil)
    }

    @Test func `a tracestate that is too long or not printable is dropped`() {
        #expect(TraceContext(parents: [Self.parent], states: ["a=" + String(repeating: "b", count: 511)])?.state == nil)
        #expect(TraceContext(parents: [Self.parent], states: ["a=\u{7}"])?.state == nil)
        #expect(TraceContext(parents: [Self.parent], states: [])?.state == nil)
    }

    @Test func `the instrument extracts a parent and injects the span`() throws {
        let tracer = OTLPTracer(queue: SpanQueue(), sample: 0)
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": Self.parent, "tracestate": "a=1"], into: &context, using: Fields())
        let span = tracer.startSpan("call", context: context, ofKind: .client)
        var sent: [String: String] = [:]
        tracer.inject(span.context, into: &sent, using: Fields())
        let own = try #require(span.context.trace)
        #expect(own.trace.text == "4bf92f3577b34da6a3ce929d0e0e4736" && own.span.text != "00f067aa0ba902b7")
        #expect(sent == ["traceparent": own.parent, "tracestate": "a=1"])
        var nothing: [String: String] = [:]
        tracer.inject(.topLevel, into: &nothing, using: Fields())
        #expect(nothing.isEmpty)
    }

    // MARK: Sampling

    private static func isRecorded(parent: String?, sample: Double) async -> Bool {
        let spans = Spans(OTLPTracer(queue: SpanQueue(), sample: sample))
        return await spans.trace("a", .server, continuing: parent.flatMap { TraceContext(parents: [$0]) }) { span in
            let child = spans.child("b", .internal)
            #expect((child != nil) == (span?.isRecording == true))
            child?.end()
            return span?.isRecording == true
        }
    }

    @Test func `a trace follows its parent's flag at every share`() async {
        let unsampled = Self.parent.replacing("-01", with: "-00")
        for sample in [0, 0.5, 1] {
            #expect(await Self.isRecorded(parent: Self.parent, sample: sample))
            #expect(await !Self.isRecorded(parent: unsampled, sample: sample))
        }
        #expect(await Self.isRecorded(parent: nil, sample: 1))
        #expect(await !Self.isRecorded(parent: nil, sample: 0))
    }

    @Test func `about the configured share of new traces is exported`() {
        let tracer = OTLPTracer(queue: SpanQueue(), sample: 0.25)
        let count = (0..<4000).count { _ in tracer.startSpan("a", context: .topLevel, ofKind: .server).isRecording }
        // Five standard deviations around 1,000.
        #expect((863...1137).contains(count))
    }

    @Test func `without a tracer or outside of a trace there is no span and no name is made`() async {
        func name() -> String {
            Issue.record("a name was made")
            return ""
        }
        #expect(Spans.off.child(name(), .internal) == nil)
        #expect(Spans(OTLPTracer(queue: SpanQueue(), sample: 1)).child(name(), .internal) == nil)
        let isNil = await Spans.off.trace(name(), .server) { $0 == nil && ServiceContext.current == nil }
        #expect(isNil)
    }
}
