import FoundationEssentials

/// The export of traces and metrics to an OpenTelemetry collector.
struct TelemetryConfiguration: Sendable, Hashable {
    /// A header field that the collector asks for.
    struct Field: Sendable, Hashable {
        let name: String
        let value: String
    }

    /// Without a slash at the end.
    let endpoint: String
    let fields: [Field]
    let serviceName: String
    /// The share of the traces that begin here and are exported, from 0 to 1.
    let tracesSample: Double
    let metricsInterval: Duration
}

extension TelemetryConfiguration {
    static let entries: [ConfigurationEntry] = [
        endpointKey.entry, headersKey.entry, serviceNameKey.entry, tracesSampleKey.entry, metricsIntervalKey.entry,
    ]

    private static let endpointKey = ConfigurationKey(
        optional: "telemetry.otlp_endpoint",
        .collectorURL,
        absent: "off",
        "OpenTelemetry collector (OTLP/HTTP) that gets traces at `/v1/traces` and metrics at `/v1/metrics`"
    )
    private static let headersKey = ConfigurationKey(
        optional: "telemetry.otlp_headers",
        .headerFields,
        secrecy: .hidden,
        "Header fields of each request to the collector, such as its key"
    )
    private static let serviceNameKey = ConfigurationKey(
        "telemetry.service_name",
        .text("a name such as concord"),
        default: "concord",
        "`service.name` of all traces and metrics"
    )
    private static let tracesSampleKey = ConfigurationKey(
        "telemetry.traces_sample",
        .share,
        default: 1.0,
        "Share of traces that are exported: 0.1 exports one in ten. A request with a `traceparent` follows its flag"
    )
    private static let metricsIntervalKey = ConfigurationKey(
        "telemetry.metrics_interval_seconds",
        .wholeNumber(1...3600),
        default: 60,
        "Seconds between two exports of metrics"
    )

    /// Reads the `telemetry` keys; `nil` without an endpoint. The reader records mistakes.
    static func read(_ reader: inout ConfigurationReader) -> Self? {
        let endpoint = reader.value(endpointKey)
        let fields = reader.value(headersKey)
        let serviceName = reader.value(serviceNameKey)
        let tracesSample = reader.value(tracesSampleKey)
        let metricsIntervalSeconds = reader.value(metricsIntervalKey)
        guard let endpoint else {
            if fields != nil { reader.refuse(headersKey, "needs telemetry.otlp_endpoint beside it") }
            return nil
        }
        return Self(
            endpoint: endpoint,
            fields: fields ?? [],
            serviceName: serviceName,
            tracesSample: tracesSample,
            metricsInterval: .seconds(metricsIntervalSeconds)
        )
    }
}

extension ConfigurationForm where Value == String {
    /// The slash at the end is dropped.
    fileprivate static let collectorURL = Self(
        allowed: "an http or https URL without query, such as http://127.0.0.1:4318",
        parse: { text in
            guard text.utf8.count <= 2000, let url = URL(string: text), url.query == nil, url.fragment == nil,
                url.user == nil, let host = url.host, !host.isEmpty, url.scheme == "http" || url.scheme == "https"
            else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        },
        format: { $0 }
    )
}

extension ConfigurationForm where Value == [TelemetryConfiguration.Field] {
    /// Names as in RFC 9110 §5.1, printable values. A value cannot contain a comma.
    fileprivate static let headerFields = Self(
        allowed: "fields such as authorization=Bearer KEY,x-tenant=7",
        parse: { text in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let fields = parts.compactMap { part -> TelemetryConfiguration.Field? in
                let part = part.drop { $0 == " " }
                guard let equals = part.firstIndex(of: "=") else { return nil }
                let name = part[..<equals].lowercased()
                let value = String(part[part.index(after: equals)...])
                let isName =
                    !name.isEmpty
                    && name.utf8.allSatisfy { byte in
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_.".utf8.contains(byte)
                    }
                // The client sets these itself.
                guard isName, !["content-type", "content-length", "host"].contains(name), !value.isEmpty,
                    value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
                else { return nil }
                return TelemetryConfiguration.Field(name: name, value: value)
            }
            return fields.count == parts.count ? fields : nil
        },
        format: { fields in fields.map { "\($0.name)=\($0.value)" }.joined(separator: ",") }
    )
}
