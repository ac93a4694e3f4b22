/// Parses one JSON document (RFC 8259) strictly, in a single pass over its bytes. Refuses everything that the grammar
/// does not allow, and stops at the depth limit.
///
/// It must not outlive the closure that provides the bytes.
struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depthLeft: Int
    private var containsNUL = false

    init(_ bytes: UnsafeBufferPointer<UInt8>, depthMax: Int) {
        self.bytes = bytes
        self.depthLeft = depthMax
    }

    mutating func document() throws(JSONValue.ParseFailure) -> JSONValue {
        skipWhitespace()
        let value = try value()
        skipWhitespace()
        guard position == bytes.count else { throw .malformed }
        // The last check, so that a text that is not JSON is reported as malformed.
        guard !containsNUL else { throw .containsNUL }
        return value
    }

    // MARK: Bytes

    /// The next byte; 0 at the end, because no token begins with it.
    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            default: return
            }
        }
    }

    private mutating func skip(_ byte: UInt8) throws(JSONValue.ParseFailure) {
        guard current == byte else { throw .malformed }
        position += 1
    }

    private mutating func skip(word: StaticString) throws(JSONValue.ParseFailure) {
        for offset in 0..<word.utf8CodeUnitCount { try skip(word.utf8Start[offset]) }
    }

    // MARK: Values

    private mutating func value() throws(JSONValue.ParseFailure) -> JSONValue {
        switch current {
        case UInt8(ascii: "\""):
            return .string(try string())
        case UInt8(ascii: "{"):
            return try nested { (parser) throws(JSONValue.ParseFailure) in .object(try parser.members()) }
        case UInt8(ascii: "["):
            return try nested { (parser) throws(JSONValue.ParseFailure) in .array(try parser.elements()) }
        case UInt8(ascii: "t"):
            try skip(word: "true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try skip(word: "false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try skip(word: "null")
            return .null
        default:
            return try number()
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSONValue.ParseFailure) -> JSONValue
    ) throws(JSONValue.ParseFailure) -> JSONValue {
        guard depthLeft > 0 else { throw .tooDeep }
        depthLeft -= 1
        position += 1
        let value = try body(&self)
        depthLeft += 1
        return value
    }

    /// Parses the members of an object after its brace. The first of repeated names wins.
    private mutating func members() throws(JSONValue.ParseFailure) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        skipWhitespace()
        guard current != UInt8(ascii: "}") else {
            position += 1
            return members
        }
        while true {
            let name = try string()
            skipWhitespace()
            try skip(UInt8(ascii: ":"))
            skipWhitespace()
            let value = try value()
            if let first = members.updateValue(value, forKey: name) { members[name] = first }
            skipWhitespace()
            guard current == UInt8(ascii: ",") else { break }
            position += 1
            skipWhitespace()
        }
        try skip(UInt8(ascii: "}"))
        return members
    }

    /// Parses the elements of an array after its bracket.
    private mutating func elements() throws(JSONValue.ParseFailure) -> [JSONValue] {
        var elements: [JSONValue] = []
        skipWhitespace()
        guard current != UInt8(ascii: "]") else {
            position += 1
            return elements
        }
        while true {
            elements.append(try value())
            skipWhitespace()
            guard current == UInt8(ascii: ",") else { break }
            position += 1
            skipWhitespace()
        }
        try skip(UInt8(ascii: "]"))
        return elements
    }

    // MARK: Strings

    private mutating func string() throws(JSONValue.ParseFailure) -> String {
        try skip(UInt8(ascii: "\""))
        let start = position
        position = endOfPlainText(from: start)
        switch current {
        case UInt8(ascii: "\""):
            defer { position += 1 }
            return try Self.text(UnsafeBufferPointer(rebasing: bytes[start..<position]))
        case UInt8(ascii: "\\"): return try escapedString(from: start)
        default: throw .malformed
        }
    }

    /// The index of the next quotation mark, escape or control character, or the end. A loop over local variables,
    /// because tokens are long.
    private func endOfPlainText(from start: Int) -> Int {
        let bytes = bytes
        var end = start
        while end < bytes.count {
            let byte = bytes[end]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            end += 1
        }
        return end
    }

    /// Parses the rest of a string that began at `start`, from its first escape.
    private mutating func escapedString(from start: Int) throws(JSONValue.ParseFailure) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text.withUnsafeBufferPointer(Self.result).get()
            case UInt8(ascii: "\\"): try appendEscape(to: &text)
            case 0..<0x20: throw .malformed
            default: text.append(byte)
            }
        }
        throw .malformed
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONValue.ParseFailure) {
        let byte = current
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += String(try scalar()).utf8
        default: throw .malformed
        }
    }

    /// Parses the scalar of a `\u` escape, or of a surrogate pair of two escapes (RFC 8259 §7). A lone surrogate is
    /// invalid.
    private mutating func scalar() throws(JSONValue.ParseFailure) -> Unicode.Scalar {
        let unit = try hexadecimal()
        var code = unit
        if 0xD800..<0xDC00 ~= unit {
            try skip(UInt8(ascii: "\\"))
            try skip(UInt8(ascii: "u"))
            let low = try hexadecimal()
            guard 0xDC00..<0xE000 ~= low else { throw .malformed }
            code = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw .malformed }
        if scalar == "\0" { containsNUL = true }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONValue.ParseFailure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hexadecimal.value(of: current) else { throw .malformed }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONValue.ParseFailure) -> String {
        try result(bytes).get()
    }

    private static func result(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<String, JSONValue.ParseFailure> {
        String(ifUTF8: bytes).map { .success($0) } ?? .failure(.malformed)
    }

    // MARK: Numbers

    /// Parses a number: an integer if the value is one and fits in 64 bits, in any notation, otherwise the nearest
    /// double.
    private mutating func number() throws(JSONValue.ParseFailure) -> JSONValue {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        if current == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits()
        }
        var isInteger = true
        if current == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try skipDigits()
        }
        if current | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        guard let double = Double(text), double.isFinite else { throw .malformed }
        return Int64(exactly: double).map(JSONValue.integer) ?? .double(double)
    }

    private mutating func skipDigits() throws(JSONValue.ParseFailure) {
        let start = position
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = current { position += 1 }
        guard position > start else { throw .malformed }
    }
}
