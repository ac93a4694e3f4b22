/// Writes one or several compact JSON documents into bytes, in the order of the calls.
///
/// Answers do not use an encoder, because they must omit absent fields and preserve the order of names, and because an
/// encoder takes several microseconds instead of half of one.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {
        self.init(capacity: 512)
    }

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// A document that is one object.
    package static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(body)
        return writer.bytes
    }

    /// The text of a document that is one object.
    package static func text(_ body: (inout JSONWriter) -> Void) -> String {
        String(decoding: object(body), as: UTF8.self)
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Fields of an object. A field with the value `nil` is omitted.

    package mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        string(value)
    }

    package mutating func field(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        raw(value ? "true" : "false")
    }

    package mutating func field(_ name: String, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        integer(value)
    }

    /// A 64-bit integer as a decimal string, the protobuf JSON form.
    package mutating func field(_ name: String, decimalString value: Int64?) {
        guard let value else { return }
        self.name(name)
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(decimal: value)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    package mutating func field(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func field(_ name: String, _ values: [String]) {
        self.name(name)
        array(values) { writer, value in writer.string(value) }
    }

    package mutating func field(_ name: String, object body: (inout JSONWriter) -> Void) {
        self.name(name)
        object(body)
    }

    package mutating func field<Elements: Sequence>(
        _ name: String,
        array elements: Elements,
        _ body: (inout JSONWriter, Elements.Element) -> Void
    ) {
        self.name(name)
        array(elements, body)
    }

    /// An array of objects, whose fields `body` writes.
    package mutating func field<Elements: Sequence>(
        _ name: String,
        objects elements: Elements,
        _ body: (inout JSONWriter, Elements.Element) -> Void
    ) {
        field(name, array: elements) { writer, element in writer.object { body(&$0, element) } }
    }

    // MARK: Values

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        begin("{")
        body(&self)
        end("}")
    }

    package mutating func array<Elements: Sequence>(
        _ elements: Elements,
        _ body: (inout JSONWriter, Elements.Element) -> Void
    ) {
        array { writer in
            for element in elements { body(&writer, element) }
        }
    }

    /// An array of the values that `body` writes.
    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        begin("[")
        body(&self)
        end("]")
    }

    mutating func begin(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    mutating func end(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: raw("null")
        case .bool(let value): raw(value ? "true" : "false")
        case .integer(let value): integer(value)
        case .double(let value): raw(value.isFinite ? String(value) : "null")
        case .string(let value): string(value)
        case .array(let elements): array(elements) { writer, element in writer.value(element) }
        case .object(let members):
            object { writer in
                for (name, member) in members.sorted(by: { $0.key < $1.key }) { writer.field(name, member) }
            }
        }
    }

    package mutating func string(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    // MARK: Several documents

    /// Writes bytes before the first document or between two documents.
    package mutating func between(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        needsComma = false
    }

    private mutating func integer(_ value: Int64) {
        separate()
        bytes.append(decimal: value)
        needsComma = true
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// The name of a field whose value the next call writes.
    package mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quote(_ text: String) {
        var text = text
        text.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    private mutating func quote(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        if text.contains(where: Self.isEscaped) { appendEscaped(text) } else { bytes.append(contentsOf: text) }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscaped(_ text: UnsafeRawBufferPointer) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            case 0x00...0x1F, 0x7F:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(Hexadecimal.digits[Int(byte >> 4)])
                bytes.append(Hexadecimal.digits[Int(byte & 0x0F)])
            default:
                bytes.append(byte)
            }
        }
    }
}
