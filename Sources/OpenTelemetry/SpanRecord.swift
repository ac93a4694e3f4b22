package import Spans
import Synchronization
package import Tracing

/// A span that has ended, as it is exported.
package struct SpanRecord: Sendable {
    package var context: TraceContext
    /// `nil` for the first span of a trace.
    package var parent: TraceContext.SpanID?
    package var name: String
    package var kind: SpanKind
    package var startNanoseconds: UInt64
    package var endNanoseconds: UInt64 = 0
    package var attributes = SpanAttributes()
    package var status: SpanStatus?
    package var events: [SpanEvent] = []
    package var links: [SpanLink] = []
}

/// A span in work. Safe to use from any thread; ends once.
package final class RecordedSpan: Tracing.Span {
    private struct State {
        var record: SpanRecord
        var hasEnded = false
    }

    /// Limits what one span can hold.
    private static let eventsMax = 32

    package let context: ServiceContext
    /// `nil` if the trace is not sampled.
    private let queue: SpanQueue?
    private let state: Mutex<State>

    /// - `queue`: receives the span when it ends.
    init(_ record: SpanRecord, context: ServiceContext, queue: SpanQueue?) {
        self.context = context
        self.queue = queue
        state = Mutex(State(record: record))
    }

    package var isRecording: Bool { queue != nil && state.withLock { !$0.hasEnded } }

    package var operationName: String {
        get { state.withLock { $0.record.name } }
        set { change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.record.attributes } }
        set { change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) {
        change { $0.status = status }
    }

    package func addEvent(_ event: SpanEvent) {
        change { if $0.events.count < Self.eventsMax { $0.events.append(event) } }
    }

    package func addLink(_ link: SpanLink) {
        change { if $0.links.count < Self.eventsMax { $0.links.append(link) } }
    }

    /// Records the type of the error alone: its text may quote what a person sent.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let queue else { return }
        let now = instant().nanosecondsSinceEpoch
        let ended = state.withLock { state -> SpanRecord? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            // The clock may have been set back.
            state.record.endNanoseconds = max(now, state.record.startNanoseconds)
            return state.record
        }
        if let ended { queue.add(ended) }
    }

    private func change(_ body: (inout SpanRecord) -> Void) {
        guard queue != nil else { return }
        state.withLock { if !$0.hasEnded { body(&$0.record) } }
    }
}
