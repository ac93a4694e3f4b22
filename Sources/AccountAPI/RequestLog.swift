import HTTPServer
import HTTPTypes
package import Logging
import NIOHTTP1

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

    /// - `isQuiet`: true if only a failure of the route is logged.
    func record(
        _ request: ServerRequest,
        _ response: ServerResponse,
        method: HTTPRequest.Method,
        route: String,
        isQuiet: Bool,
        since start: ContinuousClock.Instant
    ) {
        let status = response.status.code
        guard records(status: status, isQuiet: isQuiet, request.id) else { return }
        let (seconds, attoseconds) = start.duration(to: .now).components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        write(
            Entry(
                method: Self.methods.contains(method) ? method.rawValue : "other",
                route: route,
                status: status,
                milliseconds: Double(microseconds) / 1000,
                requestID: request.id.text,
                decisionID: response.headers.first(name: "Concord-Decision"),
                traceID: Self.traceID(request.headers["traceparent"])
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

    /// The trace id of a valid `traceparent` (W3C Trace Context §3.2); `nil` for any other.
    static func traceID(_ values: [String]) -> String? {
        guard values.count == 1 else { return nil }
        let text = Array(values[0].utf8)
        guard text.count >= 55, text[2] == hyphen, text[35] == hyphen, text[52] == hyphen else { return nil }
        let (version, trace, parent, flags) = (text[0..<2], text[3..<35], text[36..<52], text[53..<55])
        guard [version, trace, parent, flags].allSatisfy({ $0.allSatisfy(isDigit) }),
            trace.contains(where: { $0 != zero }), parent.contains(where: { $0 != zero })
        else { return nil }
        // Version 00 ends here, 255 is invalid, and later versions may add parts.
        if version.allSatisfy({ $0 == UInt8(ascii: "f") }) { return nil }
        let isVersion00 = version.allSatisfy { $0 == zero }
        guard text.count == 55 || !isVersion00 && text[55] == hyphen else { return nil }
        return String(decoding: trace, as: UTF8.self)
    }

    private static let hyphen = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    /// Returns true for a hexadecimal digit in lower case.
    private static func isDigit(_ byte: UInt8) -> Bool {
        (zero...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

extension RequestID {
    /// Adds the id of the current request to the metadata of a log line.
    package static let metadataProvider = Logger.MetadataProvider {
        current.map { ["request_id": .string($0.text)] } ?? [:]
    }
}
