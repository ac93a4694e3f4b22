import JSON

/// A field that opentelemetry-proto requires is absent, or its value is not allowed.
package struct InvalidOTLP: Error, CustomStringConvertible {
    package let description: String
}

/// A span as a collector reads it, every required field checked.
package struct OTLPSpan: Sendable, Hashable {
    package let traceID: String
    package let spanID: String
    package let parentID: String?
    package let name: String
    package let kind: Int64
    package let start: UInt64
    package let end: UInt64
    /// The values as text.
    package let attributes: [String: String]
    package let isError: Bool
    package let service: String
}

/// A metric as a collector reads it, every required field checked.
package struct OTLPMetric: Sendable, Hashable {
    package struct Point: Sendable, Hashable {
        package let attributes: [String: String]
        /// The value, or the sum of a histogram.
        package let value: Double
        package let bucketCounts: [Int64]
    }

    package let name: String
    /// `sum`, `gauge` or `histogram`.
    package let kind: String
    package let points: [Point]
}

/// Reads requests of OTLP/HTTP in the JSON form of opentelemetry-proto.
package enum OTLPMessage {
    package static func spans(_ body: [UInt8]) throws -> [OTLPSpan] {
        let message = try JSONValue(parsing: body)
        return try elements(message, "resourceSpans").flatMap { group in
            let service = try service(of: group)
            return try elements(group, "scopeSpans").flatMap { scope in
                _ = try text(try member(scope, "scope"), "name")
                return try elements(scope, "spans").map { try span($0, service) }
            }
        }
    }

    package static func metrics(_ body: [UInt8]) throws -> [OTLPMetric] {
        let message = try JSONValue(parsing: body)
        return try elements(message, "resourceMetrics").flatMap { group in
            _ = try service(of: group)
            return try elements(group, "scopeMetrics").flatMap { scope in
                _ = try text(try member(scope, "scope"), "name")
                return try elements(scope, "metrics").map(metric)
            }
        }
    }

    private static func span(_ span: JSONValue, _ service: String) throws -> OTLPSpan {
        let (start, end) = (try time(span, "startTimeUnixNano"), try time(span, "endTimeUnixNano"))
        try check(start > 0 && start <= end, "a span ends before it starts")
        let kind = span["kind"]?.integer ?? 0
        try check((1...5).contains(kind), "kind \(kind)")
        let name = try text(span, "name")
        try check(!name.isEmpty, "a span without a name")
        let status = span["status"]?["code"]?.integer ?? 0
        try check((0...2).contains(status), "status \(status)")
        return OTLPSpan(
            traceID: try id(span, "traceId", bytes: 16),
            spanID: try id(span, "spanId", bytes: 8),
            parentID: span["parentSpanId"] == nil ? nil : try id(span, "parentSpanId", bytes: 8),
            name: name,
            kind: kind,
            start: start,
            end: end,
            attributes: try attributes(span),
            isError: status == 2,
            service: service
        )
    }

    private static func metric(_ metric: JSONValue) throws -> OTLPMetric {
        let name = try text(metric, "name")
        let kinds = ["sum", "gauge", "histogram"].filter { metric[$0] != nil }
        try check(kinds.count == 1, "\(name) has \(kinds.count) kinds")
        let data = try member(metric, kinds[0])
        if kinds[0] != "gauge" { try check(data["aggregationTemporality"] == .integer(2), "\(name) is not cumulative") }
        if kinds[0] == "sum" { try check(data["isMonotonic"] == .bool(true), "\(name) may fall") }
        let points = try elements(data, "dataPoints").map { point in
            let (start, now) = (try time(point, "startTimeUnixNano"), try time(point, "timeUnixNano"))
            try check(start > 0 && start <= now, "\(name): a point before the start")
            guard kinds[0] == "histogram" else {
                let value = (try? number(point, "asInt")).map(Double.init) ?? double(point["asDouble"])
                guard let value else { throw InvalidOTLP(description: "\(name): no value") }
                return OTLPMetric.Point(attributes: try attributes(point), value: value, bucketCounts: [])
            }
            let counts = try (point["bucketCounts"]?.array ?? []).map { value -> Int64 in
                guard let count = value.string.flatMap(Int64.init) else {
                    throw InvalidOTLP(description: "\(name): a count is not a decimal string")
                }
                return count
            }
            let bounds = (point["explicitBounds"]?.array ?? []).compactMap(double)
            try check(counts.count == bounds.count + 1, "\(name): \(counts.count) counts, \(bounds.count) bounds")
            try check(bounds == bounds.sorted(), "\(name): bounds are not sorted")
            try check(counts.reduce(0, +) == (try number(point, "count")), "\(name): counts and count differ")
            guard let sum = double(point["sum"]) else { throw InvalidOTLP(description: "\(name): no sum") }
            return OTLPMetric.Point(attributes: try attributes(point), value: sum, bucketCounts: counts)
        }
        try check(!points.isEmpty, "\(name) has no points")
        return OTLPMetric(name: name, kind: kinds[0], points: points)
    }

    /// The name of the service in the resource, whose other attributes are checked.
    private static func service(of group: JSONValue) throws -> String {
        let attributes = try attributes(try member(group, "resource"))
        for name in ["service.name", "service.version", "service.instance.id"] {
            try check(attributes[name]?.isEmpty == false, "the resource has no \(name)")
        }
        return attributes["service.name"] ?? ""
    }

    private static func attributes(_ value: JSONValue) throws -> [String: String] {
        var result: [String: String] = [:]
        for attribute in value["attributes"]?.array ?? [] {
            let key = try text(attribute, "key")
            let members = try member(attribute, "value").object ?? [:]
            try check(members.count == 1, "\(key) has \(members.count) values")
            let isNew: Bool
            switch members.first {
            case ("stringValue", .string(let value))?: isNew = result.updateValue(value, forKey: key) == nil
            case ("intValue", .string(let value))?:
                try check(Int64(value) != nil, "\(key) is not an integer")
                isNew = result.updateValue(value, forKey: key) == nil
            case ("doubleValue", let value)?:
                guard let number = double(value) else { throw InvalidOTLP(description: "\(key) is not a number") }
                isNew = result.updateValue("\(number)", forKey: key) == nil
            case ("boolValue", .bool(let value))?: isNew = result.updateValue("\(value)", forKey: key) == nil
            default: throw InvalidOTLP(description: "\(key) has no value")
            }
            try check(isNew, "\(key) occurs twice")
        }
        return result
    }

    private static func elements(_ value: JSONValue, _ name: String) throws -> [JSONValue] {
        guard let elements = value[name]?.array else { throw InvalidOTLP(description: "no array \(name)") }
        return elements
    }

    private static func member(_ value: JSONValue, _ name: String) throws -> JSONValue {
        guard let member = value[name], member.object != nil else {
            throw InvalidOTLP(description: "no object \(name)")
        }
        return member
    }

    private static func text(_ value: JSONValue, _ name: String) throws -> String {
        guard let text = value[name]?.string else { throw InvalidOTLP(description: "no text \(name)") }
        return text
    }

    /// A 64-bit number, which is a decimal string.
    private static func number(_ value: JSONValue, _ name: String) throws -> Int64 {
        guard let number = Int64(try text(value, name)) else { throw InvalidOTLP(description: "no number \(name)") }
        return number
    }

    private static func time(_ value: JSONValue, _ name: String) throws -> UInt64 {
        guard let time = UInt64(try text(value, name)) else { throw InvalidOTLP(description: "no time \(name)") }
        return time
    }

    private static func double(_ value: JSONValue?) -> Double? {
        switch value {
        case .double(let number)?: number
        case .integer(let number)?: Double(number)
        default: nil
        }
    }

    private static func id(_ value: JSONValue, _ name: String, bytes: Int) throws -> String {
        let id = try text(value, name)
        let isHexadecimal = id.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
        try check(id.utf8.count == 2 * bytes && isHexadecimal && id.contains { $0 != "0" }, "\(name) \(id)")
        return id
    }

    private static func check(_ condition: Bool, _ problem: String) throws {
        guard condition else { throw InvalidOTLP(description: problem) }
    }
}
