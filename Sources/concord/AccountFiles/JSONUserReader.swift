import JSON

/// Reads the users of `{"users": [ … ]}`, or of an array alone, one by one.
final class JSONUserReader {
    private let bytes: ByteReader
    private var isInObject = false
    /// Number of users so far.
    private var count = 0
    private var isDone = false

    init(_ bytes: ByteReader) throws(AccountFileError) {
        self.bytes = bytes
        try bytes.skipByteOrderMark()
        switch try nextToken() {
        case UInt8(ascii: "["): break
        case UInt8(ascii: "{"):
            isInObject = true
            try findUsers()
        default: throw broken("holds neither an object nor an array")
        }
    }

    /// `nil` at the end of the list.
    func next() throws(AccountFileError) -> FileRow<[String: JSONValue]>? {
        guard !isDone else { return nil }
        var token = try skipSpace()
        if token == UInt8(ascii: "]"), count == 0 {
            try finish()
            return nil
        }
        if count > 0 {
            switch token {
            case UInt8(ascii: ","):
                _ = try bytes.next()
                token = try skipSpace()
            case UInt8(ascii: "]"):
                try finish()
                return nil
            default: throw broken("has no comma between two users")
            }
        }
        let line = bytes.line
        let value = try value(keeping: true)
        defer { count += 1 }
        return FileRow(line: line, index: count, content: value.map(Self.object) ?? .failure(.tooLong))
    }

    static func object(_ bytes: [UInt8]) -> Result<[String: JSONValue], RowDefect> {
        guard String(validating: bytes, as: UTF8.self) != nil else { return .failure(.notUTF8) }
        guard let value = try? JSONValue(parsing: bytes) else { return .failure(.notJSON) }
        guard let object = value.object else { return .failure(.notAnObject) }
        return .success(object)
    }

    private func broken(_ text: String) -> AccountFileError { .broken(text, line: bytes.line) }

    private func skipSpace() throws(AccountFileError) -> UInt8? {
        while let byte = try bytes.peek(), [0x20, 0x09, 0x0A, 0x0D].contains(byte) { _ = try bytes.next() }
        return try bytes.peek()
    }

    private func nextToken() throws(AccountFileError) -> UInt8 {
        guard try skipSpace() != nil, let byte = try bytes.next() else { throw broken("ends too early") }
        return byte
    }

    private func findUsers() throws(AccountFileError) {
        if try skipSpace() == UInt8(ascii: "}") { throw broken("has no list of users") }
        while true {
            guard try skipSpace() == UInt8(ascii: "\"") else { throw broken("is not valid JSON") }
            let key = try value(keeping: true) ?? []
            guard try nextToken() == UInt8(ascii: ":") else { throw broken("is not valid JSON") }
            if key == Array("\"users\"".utf8) {
                guard try nextToken() == UInt8(ascii: "[") else {
                    throw broken("has a value of users that is not a list")
                }
                return
            }
            _ = try skipSpace()
            _ = try value(keeping: false)
            switch try nextToken() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): throw broken("has no list of users")
            default: throw broken("is not valid JSON")
            }
        }
    }

    /// Reads to the end of the file. Anything but the closing brackets means that the file is incomplete or
    /// concatenated.
    private func finish() throws(AccountFileError) {
        _ = try bytes.next()
        isDone = true
        while isInObject {
            switch try nextToken() {
            case UInt8(ascii: "}"): isInObject = false
            case UInt8(ascii: ","):
                _ = try skipSpace()
                _ = try value(keeping: false)
                guard try nextToken() == UInt8(ascii: ":") else { throw broken("is not valid JSON") }
                _ = try skipSpace()
                _ = try value(keeping: false)
            default: throw broken("is not valid JSON")
            }
        }
        guard try skipSpace() == nil else { throw broken("continues after its end") }
    }

    /// Returns the bytes of the next value; `nil` if it is too long. Parses only brackets and strings.
    private func value(keeping: Bool) throws(AccountFileError) -> [UInt8]? {
        var value: [UInt8]? = keeping ? [] : nil
        var (depth, isInString, isEscaped) = (0, false, false)
        while let byte = try bytes.peek() {
            if depth == 0, !isInString, [0x2C, 0x5D, 0x7D, 0x3A, 0x20, 0x09, 0x0A, 0x0D].contains(byte) {
                return value
            }
            _ = try bytes.next()
            value?.append(byte)
            if let count = value?.count, count > RowDefect.rowBytesMax { value = nil }
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { return value }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return value }
            default: break
            }
        }
        throw broken("ends in the middle of a user")
    }
}
