import JSON

/// The process that sends, as the attributes of an OTLP resource.
package struct OTLPResource: Sendable, Hashable {
    let serviceName: String
    let serviceVersion: String
    /// Distinguishes the servers of one database, and the runs of one server.
    let instanceID: String

    package init(serviceName: String, serviceVersion: String, instanceID: String) {
        self.serviceName = serviceName
        self.serviceVersion = serviceVersion
        self.instanceID = instanceID
    }

    /// Writes `resource`.
    func write(to writer: inout JSONWriter) {
        let attributes = [
            ("service.name", serviceName), ("service.version", serviceVersion), ("service.instance.id", instanceID),
            ("telemetry.sdk.name", "concord"), ("telemetry.sdk.language", "swift"),
            ("telemetry.sdk.version", serviceVersion),
        ]
        writer.fields(of: "resource") { writer in
            writer.field("attributes", objects: attributes) { writer, attribute in
                writer.attribute(attribute.0) { $0.field("stringValue", attribute.1) }
            }
        }
    }

    /// Writes `scope`.
    func writeScope(to writer: inout JSONWriter) {
        writer.fields(of: "scope") { writer in
            writer.field("name", "concord")
            writer.field("version", serviceVersion)
        }
    }
}

extension JSONWriter {
    /// Writes the fields of a `KeyValue`.
    mutating func attribute(_ key: String, _ value: (inout JSONWriter) -> Void) {
        field("key", key)
        field("value", object: value)
    }

    mutating func fields(of name: String, _ body: (inout JSONWriter) -> Void) {
        field(name, object: body)
    }
}
