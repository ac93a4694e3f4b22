import JSON
import PrometheusMetrics

/// The body of a request to `/v1/metrics`: `ExportMetricsServiceRequest` of opentelemetry-proto in its JSON form. Names
/// and labels are those of the Prometheus endpoint. All values are totals since the start of the process.
struct OTLPMetrics {
    let resource: OTLPResource
    let snapshots: [MetricSnapshot]
    let startNanoseconds: UInt64
    let nowNanoseconds: UInt64

    /// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
    private static let cumulative: Int64 = 2

    var body: [UInt8] {
        JSONWriter.object { writer in
            writer.field("resourceMetrics", objects: [resource]) { writer, resource in
                resource.write(to: &writer)
                writer.field("scopeMetrics", objects: [resource]) { writer, resource in
                    resource.writeScope(to: &writer)
                    writer.field("metrics", objects: snapshots) { writer, metric in write(metric, to: &writer) }
                }
            }
        }
    }

    private func write(_ metric: MetricSnapshot, to writer: inout JSONWriter) {
        writer.field("name", metric.family.name)
        writer.field("description", metric.family.help)
        writer.field("unit", Self.unit(of: metric.family))
        switch metric.family.kind {
        case .counter, .observedCounter:
            writer.fields(of: "sum") { writer in
                points(of: metric, to: &writer)
                writer.field("aggregationTemporality", Self.cumulative)
                writer.field("isMonotonic", true)
            }
        case .gauge:
            writer.fields(of: "gauge") { writer in points(of: metric, to: &writer) }
        case .histogram(let bounds):
            writer.fields(of: "histogram") { writer in
                points(of: metric, bounds: bounds, to: &writer)
                writer.field("aggregationTemporality", Self.cumulative)
            }
        }
    }

    private func points(of metric: MetricSnapshot, bounds: [Double] = [], to writer: inout JSONWriter) {
        writer.field("dataPoints", objects: metric.points) { writer, point in
            let attributes = zip(metric.family.labels, point.labelValues).map { ($0.name, $1) }
            if !attributes.isEmpty {
                writer.field("attributes", objects: attributes) { writer, attribute in
                    writer.attribute(attribute.0) { $0.field("stringValue", attribute.1) }
                }
            }
            writer.field("startTimeUnixNano", String(startNanoseconds))
            writer.field("timeUnixNano", String(nowNanoseconds))
            switch point.value {
            case .count(let count): writer.field("asInt", decimalString: count)
            case .number(let number): writer.field("asDouble", Self.value(of: number))
            case .histogram(let counts, let sumSeconds):
                writer.field("count", decimalString: counts.reduce(0, +))
                writer.field("sum", Self.value(of: sumSeconds))
                writer.field("bucketCounts", counts.map(String.init))
                writer.field("explicitBounds", JSONValue.array(bounds.map(JSONValue.double)))
            }
        }
    }

    /// A number in the JSON form of protobuf, which writes those that JSON lacks as text.
    private static func value(of number: Double) -> JSONValue {
        if number.isFinite { return .double(number) }
        return .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
    }

    /// The unit in UCUM, from the last part of the name.
    private static func unit(of family: MetricFamily) -> String? {
        let name = family.name.hasSuffix("_total") ? String(family.name.dropLast(6)) : family.name
        if name.hasSuffix("_seconds") { return "s" }
        return name.hasSuffix("_bytes") ? "By" : nil
    }
}
