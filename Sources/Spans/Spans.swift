package import Tracing

/// The spans of a part of the service, or none. Without a tracer, and in a trace that is not sampled, `child` checks
/// two optionals and makes nothing: no name, no attribute, no span.
package struct Spans: Sendable {
    package static let off = Spans(nil)

    private let tracer: (any Tracer)?

    package init(_ tracer: (any Tracer)?) {
        self.tracer = tracer
    }

    package var areOn: Bool { tracer != nil }

    /// True inside of a sampled trace: `child` makes a span.
    package var areRecorded: Bool { tracer != nil && ServiceContext.current?.trace?.isSampled == true }

    /// Begins a span below the current one. The caller ends it.
    /// - Returns: `nil` outside of a sampled trace.
    package func child(_ name: @autoclosure () -> String, _ kind: SpanKind) -> (any Tracing.Span)? {
        guard let tracer, let context = ServiceContext.current, context.trace?.isSampled == true else { return nil }
        return tracer.startSpan(name(), context: context, ofKind: kind)
    }

    /// Begins a trace, or continues the one that a request carries, and makes its span the current one of `work`. Ends
    /// the span after `work`, as failed if it throws.
    package func trace<Output>(
        _ name: @autoclosure () -> String,
        _ kind: SpanKind,
        continuing parent: @autoclosure () -> TraceContext? = nil,
        _ work: ((any Tracing.Span)?) async throws -> Output
    ) async rethrows -> Output {
        guard let tracer else { return try await work(nil) }
        var context = ServiceContext.topLevel
        context.trace = parent()
        let span = tracer.startSpan(name(), context: context, ofKind: kind)
        defer { span.end() }
        do {
            return try await ServiceContext.withValue(span.context) { try await work(span) }
        } catch {
            span.fail("\(type(of: error))")
            throw error
        }
    }
}

extension Tracing.Span {
    /// Marks the span as failed. `type` is a name from the code, never a text that may quote a value.
    package func fail(_ type: String) {
        attributes["error.type"] = type
        setStatus(SpanStatus(code: .error))
    }
}
