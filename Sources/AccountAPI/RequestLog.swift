import HTTPServer
import HTTPTypes
package import Logging
import NIOHTTP1
import Spans
import Tracing

/// The log of requests: one line for each answer, without any value that a person sent, except the request id.
package struct RequestLog: Sendable {
    /// The answers that have a line.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        case all
        /// Answers with a status of 500 and above.
        case errors
        case off
    }

    /// One answered request.
    package struct Entry: Sendable {
        /// A known method, or `other`.
        package let method: String
        /// The declared path of the route, such as `/v1/projects/{project}/accounts`, or `unmatched`.
        package let route: String
        package let status: Int
        package let milliseconds: Double
        package let requestID: String
        package let decisionID: String?
        package let traceID: String?

        /// The level of its line: `warning` for 500 and above.
        package var level: Logger.Level { status >= 500 ? .warning : .info }

        /// The fields of its line, sorted by name.
        package var fields: [(key: String, value: Logger.Metadata.Value)] {
            var fields: [(key: String, value: Logger.Metadata.Value)] = []
            fields.reserveCapacity(7)
            if let decisionID { fields.append(("decision_id", .string(decisionID))) }
            fields.append(("duration_ms", .stringConvertible(milliseconds)))
            fields.append(("method", .string(method)))
            fields.append(("request_id", .string(requestID)))
            fields.append(("route", .string(route)))
            fields.append(("status", .stringConvertible(status)))
            if let traceID { fields.append(("trace_id", .string(traceID))) }
            return fields
        }
    }

    /// The message of each line.
    package static let message: Logger.Message = "request answered"
    static let unmatched = "unmatched"
    static let preflight = "preflight"

    private let scope: Scope
    private let sample: Double
    private let write: @Sendable (Entry) -> Void

    /// Logs no request.
    package static let off = RequestLog(.off) { _ in }

    /// - Parameters:
    ///   - scope: the answers that are logged.
    ///   - sample: the share of requests that are logged, from 0 to 1. Answers with 500 and above are always logged.
    ///   - level: the lowest level that is logged. It can exclude all answers.
    ///   - write: writes a line.
    package init(
        _ scope: Scope,
        sample: Double = 1,
        level: Logger.Level = .info,
        write: @escaping @Sendable (Entry) -> Void
    ) {
        // A level that excludes lines saves their values, too.
        self.scope =
            switch level {
            case .trace, .debug, .info: scope
            case .notice, .warning: scope == .all ? .errors : scope
            case .error, .critical: .off
            }
        self.sample = sample
        self.write = write
    }

    /// Logs at `info`, and answers with 500 and above at `warning`.
    package init(_ scope: Scope, sample: Double = 1, to logger: Logger) {
        self.init(scope, sample: sample, level: logger.logLevel) { entry in
            let metadata = Logger.Metadata(uniqueKeysWithValues: entry.fields.map { ($0.key, $0.value) })
            logger.log(level: entry.level, Self.message, metadata: metadata)
        }
    }

    /// `isQuiet`: true if only a failure of the route is logged. `traceID`: the trace of the request's span; `nil` if
    /// tracing is off.
    func record(
        _ request: ServerRequest,
        _ response: ServerResponse,
        method: HTTPRequest.Method,
        route: String,
        isQuiet: Bool,
        traceID: String? = nil,
        since start: ContinuousClock.Instant
    ) {
        let status = response.status.code
        guard records(status: status, isQuiet: isQuiet, request.id) else { return }
        let (seconds, attoseconds) = start.duration(to: .now).components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        write(
            Entry(
                method: Self.knownName(of: method) ?? "other",
                route: route,
                status: status,
                milliseconds: Double(microseconds) / 1000,
                requestID: request.id.text,
                decisionID: response.headers.first(name: "Concord-Decision"),
                traceID: traceID ?? Self.traceID(request.headers[TraceContext.parentField])
            )
        )
    }

    private func records(status: Int, isQuiet: Bool, _ id: RequestID) -> Bool {
        switch scope {
        case .off: false
        case .errors: status >= 500
        case .all: status >= 500 || !isQuiet && isSampled(id)
        }
    }

    /// Returns true if the request is part of the sample. The hash of each process has another seed, so a client cannot
    /// choose an id that is left out.
    func isSampled(_ id: RequestID) -> Bool {
        if sample >= 1 { return true }
        let hash = UInt64(UInt(bitPattern: id.text.hashValue))
        return Double(hash >> 11) < sample * 0x1p53
    }

    /// Any token is a method, so an unknown one may be a name or a number of a person.
    private static let methods: Set<HTTPRequest.Method> = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    /// The method's name; `nil` for an unknown one.
    static func knownName(of method: HTTPRequest.Method) -> String? {
        methods.contains(method) ? method.rawValue : nil
    }

    /// The trace id of a valid `traceparent` (W3C Trace Context §3.2); `nil` for any other.
    static func traceID(_ values: [String]) -> String? {
        TraceContext(parents: values)?.trace.text
    }
}

extension RequestID {
    /// Adds the ids of the current request and trace to the metadata of a log line.
    package static let metadataProvider = Logger.MetadataProvider {
        var metadata: Logger.Metadata = current.map { ["request_id": .string($0.text)] } ?? [:]
        if let trace = ServiceContext.current?.trace { metadata["trace_id"] = .string(trace.trace.text) }
        return metadata
    }
}
