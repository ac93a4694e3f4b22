import Spans
package import Tracing

/// Makes spans, and reads and writes their place in a trace as W3C Trace Context.
package struct OTLPTracer: Tracer {
    private let queue: SpanQueue
    private let sample: Double

    /// - Parameters:
    ///   - queue: receives the ended spans.
    ///   - sample: the share of the traces that begin here and are exported, from 0 to 1. A trace that another service
    ///     began is exported if that service exports it.
    package init(queue: SpanQueue, sample: Double) {
        self.queue = queue
        self.sample = sample
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> RecordedSpan {
        var context = context()
        let parent = context.trace
        let trace = parent?.trace ?? Self.newTraceID()
        let own = TraceContext(
            trace: trace,
            span: Self.newSpanID(),
            isSampled: parent?.isSampled ?? samples(trace),
            state: parent?.state
        )
        context.trace = own
        return RecordedSpan(
            SpanRecord(
                context: own,
                parent: parent?.span,
                name: operationName,
                kind: kind,
                startNanoseconds: instant().nanosecondsSinceEpoch
            ),
            context: context,
            queue: own.isSampled ? queue : nil
        )
    }

    /// The low 56 bits of a trace id are random (W3C Trace Context Level 2), so services with the same share choose the
    /// same traces.
    private func samples(_ trace: TraceContext.TraceID) -> Bool {
        sample >= 1 || Double(trace.low & 0xFF_FFFF_FFFF_FFFF) < sample * 0x1p56
    }

    private static func newTraceID() -> TraceContext.TraceID {
        var generator = SystemRandomNumberGenerator()
        while true {
            if let id = TraceContext.TraceID(high: generator.next(), low: generator.next()) { return id }
        }
    }

    private static func newSpanID() -> TraceContext.SpanID {
        var generator = SystemRandomNumberGenerator()
        while true {
            if let id = TraceContext.SpanID(bits: generator.next()) { return id }
        }
    }

    // The exporter sends what is left when the service stops.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parent = extractor.extract(key: TraceContext.parentField, from: carrier)
        let state = extractor.extract(key: TraceContext.stateField, from: carrier)
        let found = TraceContext(parents: parent.map { [$0] } ?? [], states: state.map { [$0] } ?? [])
        if let found { context.trace = found }
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.parent, forKey: TraceContext.parentField, into: &carrier)
        if let state = trace.state { injector.inject(state, forKey: TraceContext.stateField, into: &carrier) }
    }
}
