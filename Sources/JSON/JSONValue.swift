/// A parsed JSON document (RFC 8259).
///
/// Integers that fit in 64 bits are exact, other numbers are doubles. The first of repeated names in an object wins.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The reason why a text is refused as a document.
    package enum ParseFailure: Error, Sendable, Hashable {
        /// The text is not JSON or not UTF-8.
        case malformed
        /// The nesting is deeper than the limit.
        case tooDeep
        /// A name or string holds U+0000, which PostgreSQL cannot store.
        case containsNUL
    }

    /// Parses a whole document.
    ///
    /// `depthMax`: maximum nesting of arrays and objects.
    package init(parsing bytes: [UInt8], depthMax: Int = 64) throws(ParseFailure) {
        let outcome = bytes.withUnsafeBufferPointer { buffer -> Result<JSONValue, ParseFailure> in
            var parser = JSONParser(buffer, depthMax: depthMax)
            do throws(ParseFailure) {
                return .success(try parser.document())
            } catch {
                return .failure(error)
            }
        }
        self = try outcome.get()
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The member of an object; `nil` if it is absent or the value is not an object.
    package subscript(name: String) -> JSONValue? { object?[name] }

    /// The document as compact text, names in code-point order.
    package var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}
