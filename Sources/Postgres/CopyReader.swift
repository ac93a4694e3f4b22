/// The rows of a query, read one at a time by `COPY … TO STDOUT (FORMAT binary)`.
///
/// The server waits when the client does not read, so memory holds one row. After `next`, read the columns of the row in
/// the order of the query.
package final class CopyReader {
    private let connection: PostgresConnection
    private let check: () throws -> Void
    private var hasBegun = false
    private var isOver = false

    /// Sends the query.
    ///
    /// - Parameters:
    ///   - query: its values become literals (`SQL.textWithLiterals`).
    ///   - connection: must have no other use until the last row is read.
    ///   - check: called while the server has nothing to send; throws to stop.
    /// - Throws: `.misuse`, `.connectionLost`.
    package init(
        _ query: SQL,
        on connection: PostgresConnection,
        check: @escaping () throws -> Void = {}
    ) throws(PostgresError) {
        self.connection = connection
        self.check = check
        try connection.beginCopy(query)
    }

    /// Cancels the query if its rows were not read to the end.
    package func cancel() {
        if !isOver { connection.cancelCopy() }
        isOver = true
    }

    /// Makes `row` the next row. Returns `false` after the last one.
    ///
    /// - Throws: `.server`, `.connectionLost`; `.decoding` if a message is malformed; the error of `check`.
    package func next(_ row: inout CopiedRow) throws -> Bool {
        if isOver { return false }
        if !hasBegun { try connection.waitForCopy(check) }
        try readMessage(into: &row)
        if !hasBegun {
            hasBegun = true
            // The first row is in the message of the head or in the next one.
            if try !row.skipHead() { try readMessage(into: &row) }
        }
        if try row.begin() { return true }
        isOver = true
        guard try !connection.nextCopyMessage(into: &row, check) else {
            throw PostgresError(.decoding, "a row follows the end of the copy")
        }
        return false
    }

    private func readMessage(into row: inout CopiedRow) throws {
        guard try connection.nextCopyMessage(into: &row, check) else {
            throw PostgresError(.connectionLost, "the copy has no end")
        }
    }
}

/// One row of a copy. Read its columns in order. The format has no types, so query and reader must agree on them.
package struct CopiedRow {
    private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]

    /// The number of columns in 2 bytes. Then for each column its length in 4 bytes (-1 for NULL) and its bytes.
    private var bytes: [UInt8] = []
    private var place = 0
    private var columnsLeft = 0

    package init() {}

    /// Replaces the row by a message of the server, in the same buffer.
    mutating func replace(with message: some Sequence<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: message)
        place = 0
    }

    /// Skips the head of a copy: the signature, flags, and an extension with its length. Returns `true` if a row
    /// follows.
    mutating func skipHead() throws(PostgresError) -> Bool {
        guard bytes.starts(with: Self.signature) else { throw PostgresError(.decoding, "not a copy in binary format") }
        place = Self.signature.count + 4
        let extensionBytes = Int(try integer(UInt32.self))
        guard bytes.count - place >= extensionBytes else { throw Self.cutShort }
        place += extensionBytes
        return place < bytes.count
    }

    /// Begins to read the columns. Returns `false` at the end of the copy.
    mutating func begin() throws(PostgresError) -> Bool {
        columnsLeft = Int(try integer(Int16.self))
        return columnsLeft >= 0
    }

    // MARK: The next column

    // Not generic, because other targets cannot specialize a generic function.
    package mutating func next() throws(PostgresError) -> String { try required() }
    package mutating func next() throws(PostgresError) -> String? { try optional() }
    package mutating func next() throws(PostgresError) -> Bool { try required() }
    package mutating func next() throws(PostgresError) -> Int32 { try required() }
    package mutating func next() throws(PostgresError) -> Int64 { try required() }
    package mutating func next() throws(PostgresError) -> PostgresTimestamp { try required() }
    package mutating func next() throws(PostgresError) -> PostgresTimestamp? { try optional() }
    /// The bytes of the next column as they were sent.
    package mutating func nextBytes() throws(PostgresError) -> ArraySlice<UInt8> {
        guard let range = try nextRange() else { throw PostgresError(.decoding, "column of a copy is NULL") }
        return bytes[range]
    }

    private mutating func required<Value: PostgresValue>() throws(PostgresError) -> Value {
        guard let value: Value = try optional() else { throw PostgresError(.decoding, "column of a copy is NULL") }
        return value
    }

    private mutating func optional<Value: PostgresValue>() throws(PostgresError) -> Value? {
        guard let range = try nextRange() else { return nil }
        return try Value(decoding: bytes.span.extracting(range).bytes)
    }

    /// The place of the next column's bytes; `nil` for NULL.
    private mutating func nextRange() throws(PostgresError) -> Range<Int>? {
        guard columnsLeft > 0 else { throw PostgresError(.decoding, "row of a copy has no more columns") }
        columnsLeft -= 1
        let count = Int(try integer(Int32.self))
        if count < 0 { return nil }
        guard bytes.count - place >= count else { throw Self.cutShort }
        defer { place += count }
        return place..<place + count
    }

    private mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type
    ) throws(PostgresError) -> Integer {
        let integer = try bytes.span.bytes.integer(type, at: place)
        place += MemoryLayout<Integer>.size
        return integer
    }

    private static var cutShort: PostgresError { PostgresError(.decoding, "row of a copy is cut short") }
}
