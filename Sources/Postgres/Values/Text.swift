/// `text`; also decodes `varchar`, `bpchar` and `name`.
///
/// PostgreSQL cannot store U+0000: the server refuses it with 22021.
extension String: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 25 }
    package static var arrayTypeOID: UInt32 { 1009 }

    package static func accepts(typeOID oid: UInt32) -> Bool {
        oid == 25 || oid == 1043 || oid == 1042 || oid == 19
    }

    package static func acceptsArray(typeOID oid: UInt32) -> Bool {
        oid == 1009 || oid == 1015 || oid == 1014 || oid == 1003
    }

    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(utf8: self)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        self = bytes.text()
    }
}

/// A JSON document as text, stored as `jsonb`. PostgreSQL returns it in its own spelling.
package struct JSONText: PostgresValue, PostgresArrayElement, Hashable {
    package var text: String

    package init(_ text: String) {
        self.text = text
    }

    package static var typeOID: UInt32 { 3802 }
    package static var arrayTypeOID: UInt32 { 3807 }

    /// The only version of `jsonb`'s binary format (`jsonb_recv`).
    private static var formatVersion: UInt8 { 1 }

    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(Self.formatVersion)
        buffer.append(utf8: text)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        guard bytes.byteCount >= 1, try bytes.integer(UInt8.self, at: 0) == Self.formatVersion else {
            throw PostgresError(.decoding, "unknown version of jsonb")
        }
        text = bytes.extracting(droppingFirst: 1).text()
    }
}
