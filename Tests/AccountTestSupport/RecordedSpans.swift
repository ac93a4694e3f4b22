package import OpenTelemetry
package import Spans

/// Records ended spans.
package struct RecordedSpans: Sendable {
    private let queue: SpanQueue
    /// Makes the spans. Every trace that begins here is recorded.
    package let spans: Spans

    package init() {
        queue = SpanQueue(spansMax: 10_000, batchMax: 10_000)
        spans = Spans(OTLPTracer(queue: queue, sample: 1))
    }

    /// Returns the spans that ended since the last call, in order.
    package func take() -> [SpanRecord] { queue.takeBatch() }
}
