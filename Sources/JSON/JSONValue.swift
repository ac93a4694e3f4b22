import FoundationEssentials

/// A parsed JSON document (RFC 8259).
///
/// Integers that fit 64 bits stay exact; other numbers are doubles. Of repeated names in one object the first one wins.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Why a text is not an acceptable document.
    package enum ParseFailure: Error, Sendable, Hashable {
        /// Not JSON, or not UTF-8.
        case malformed
        /// Nested deeper than the limit.
        case tooDeep
        /// A name or string holds U+0000, which PostgreSQL cannot store.
        case containsNUL
    }

    /// Parses a whole document.
    ///
    /// `depthMax`: how many arrays and objects may stand inside each other.
    package init(parsing bytes: [UInt8], depthMax: Int = 64) throws(ParseFailure) {
        // Cheaper than a decoder's error, and independent of how a decoder treats what it cannot read.
        let outline = JSONValue.outline(of: bytes)
        guard outline.depth <= depthMax else { throw .tooDeep }
        // Foundation's decoder lets it pass, the standard does not (RFC 8259 §4, §5).
        guard !outline.hasTrailingComma else { throw .malformed }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        } catch {
            throw .malformed
        }
        if bytes.contains(UInt8(ascii: "\\")) || bytes.contains(0), containsNUL { throw .containsNUL }
    }

    /// The greatest number of brackets open at once, strings left out, and whether a comma stands before a closing one.
    /// Malformed text gives some answer, never a trap.
    private static func outline(of bytes: [UInt8]) -> (depth: Int, hasTrailingComma: Bool) {
        var depth = 0
        var deepest = 0
        var isAfterComma = false
        var hasTrailingComma = false
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
            case UInt8(ascii: ","):
                isAfterComma = true
                continue
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if isAfterComma { hasTrailingComma = true }
            default: break
            }
            isAfterComma = false
        }
        return (deepest, hasTrailingComma)
    }

    private var containsNUL: Bool {
        switch self {
        case .null, .bool, .integer, .double: false
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains { $0.containsNUL }
        case .object(let members): members.contains { $0.key.utf8.contains(0) || $0.value.containsNUL }
        }
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The member of an object; `nil` when absent or when this is no object.
    package subscript(name: String) -> JSONValue? { object?[name] }

    /// The document as compact text, names in code-point order.
    package var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        // Ordered by how often each kind occurs in a request, because every wrong guess costs a thrown error.
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .array(try container.decode([JSONValue].self))
        }
    }
}
