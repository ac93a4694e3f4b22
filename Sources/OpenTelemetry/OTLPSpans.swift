import JSON
import Spans
package import Tracing

/// The body of a request to `/v1/traces`: `ExportTraceServiceRequest` of opentelemetry-proto in its JSON form. Ids are
/// hexadecimal, 64-bit numbers are decimal strings, enumerations are numbers.
struct OTLPSpans {
    let resource: OTLPResource
    let spans: [SpanRecord]

    var body: [UInt8] {
        JSONWriter.object { writer in
            writer.field("resourceSpans", objects: [resource]) { writer, resource in
                resource.write(to: &writer)
                writer.field("scopeSpans", objects: [resource]) { writer, resource in
                    resource.writeScope(to: &writer)
                    writer.field("spans", objects: spans) { writer, span in Self.write(span, to: &writer) }
                }
            }
        }
    }

    private static func write(_ span: SpanRecord, to writer: inout JSONWriter) {
        writer.field("traceId", span.context.trace.text)
        writer.field("spanId", span.context.span.text)
        writer.field("traceState", span.context.state)
        writer.field("parentSpanId", span.parent?.text)
        writer.field("flags", span.context.isSampled ? Int64(1) : 0)
        writer.field("name", span.name)
        writer.field("kind", span.kind.number)
        writer.field("startTimeUnixNano", String(span.startNanoseconds))
        writer.field("endTimeUnixNano", String(span.endNanoseconds))
        writer.attributes(span.attributes)
        if !span.events.isEmpty {
            writer.field("events", objects: span.events) { writer, event in
                writer.field("timeUnixNano", String(event.nanosecondsSinceEpoch))
                writer.field("name", event.name)
                writer.attributes(event.attributes)
            }
        }
        let links = span.links.compactMap { link in link.context.trace.map { ($0, link.attributes) } }
        if !links.isEmpty {
            writer.field("links", objects: links) { writer, link in
                writer.field("traceId", link.0.trace.text)
                writer.field("spanId", link.0.span.text)
                writer.attributes(link.1)
            }
        }
        if let status = span.status {
            writer.fields(of: "status") { writer in
                writer.field("message", status.message)
                writer.field("code", status.code == .ok ? Int64(1) : 2)
            }
        }
    }
}

extension SpanKind {
    /// The number of `SpanKind` in opentelemetry-proto.
    fileprivate var number: Int64 {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}

extension JSONWriter {
    /// Writes `attributes`, sorted by name; nothing if there is none.
    fileprivate mutating func attributes(_ attributes: SpanAttributes) {
        guard !attributes.isEmpty else { return }
        let sorted = attributes.pairs.sorted { $0.0 < $1.0 }
        field("attributes", objects: sorted) { writer, attribute in
            writer.attribute(attribute.0) { $0.anyValue(attribute.1) }
        }
    }

    /// Writes the field of an `AnyValue`.
    private mutating func anyValue(_ attribute: SpanAttribute) {
        switch attribute {
        case .int32(let value): field("intValue", decimalString: Int64(value))
        case .int64(let value): field("intValue", decimalString: value)
        case .double(let value): field("doubleValue", JSONValue.double(value))
        case .bool(let value): field("boolValue", value)
        case .string(let value): field("stringValue", value)
        case .stringConvertible(let value): field("stringValue", value.description)
        case .stringArray(let values):
            fields(of: "arrayValue") { writer in
                writer.field("values", objects: values) { writer, value in writer.field("stringValue", value) }
            }
        default: field("stringValue", "\(attribute)")
        }
    }
}

extension SpanAttributes {
    /// Names and values, in any order.
    package var pairs: [(String, SpanAttribute)] {
        var pairs: [(String, SpanAttribute)] = []
        // `SpanAttributes` is no sequence.
        func add(_ name: String, _ value: SpanAttribute) { pairs.append((name, value)) }
        forEach(add)
        return pairs
    }
}
