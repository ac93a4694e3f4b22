/// Takes what a `COPY … TO STDOUT (FORMAT binary)` sends apart: a signature, rows, and an end. Each message has one row, the first of
/// them the signature before it.
struct CopyReader {
    private static let signature = Array("PGCOPY\n\u{FF}\r\n\0".unicodeScalars.map { UInt8($0.value) })
    /// Flags, and how long what follows them is.
    private static let headBytes = signature.count + 8

    private let columnCount: Int
    private var hasBegun = false
    /// Whether the end has come.
    private(set) var isOver = false

    init(columnCount: Int) {
        self.columnCount = columnCount
    }

    /// Calls `body` with the columns of the row in a message, if there is one.
    ///
    /// - Throws: `.decoding` for what no server sends; what `body` throws.
    mutating func read(_ message: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var row = message
        if !hasBegun {
            row = try Self.rest(ofFirst: message)
            hasBegun = true
            if row.isEmpty { return }
        }
        guard row.count >= 2 else { throw PostgresError(.decoding, "row of a copy is cut short") }
        let count = Int16(bigEndian: row.loadUnaligned(as: Int16.self))
        if count == -1 {
            isOver = true
            return
        }
        guard !isOver, Int(count) == columnCount else { throw PostgresError(.decoding, "row of \(count) columns") }
        try body(UnsafeRawBufferPointer(rebasing: row[2...]))
    }

    private static func rest(ofFirst message: UnsafeRawBufferPointer) throws(PostgresError) -> UnsafeRawBufferPointer {
        guard message.count >= headBytes, message.starts(with: signature) else {
            throw PostgresError(.decoding, "not a copy in binary form")
        }
        let more = UInt32(bigEndian: message.loadUnaligned(fromByteOffset: headBytes - 4, as: UInt32.self))
        guard message.count - headBytes >= Int(more) else {
            throw PostgresError(.decoding, "head of a copy is cut short")
        }
        return UnsafeRawBufferPointer(rebasing: message[(headBytes + Int(more))...])
    }
}
