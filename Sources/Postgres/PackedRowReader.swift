import Glibc

/// Reads packed rows of one statement, column by column, and makes nothing of texts until it is asked to.
///
/// SAFETY: it, and every `PackedText` of it, point into the bytes that it was made for. Neither may be used after the
/// closure that lent those has returned.
package struct PackedRowReader {
    private let bytes: UnsafeRawBufferPointer
    private let types: [UInt32]
    private var column = 0
    private var offset = 0

    /// - `bytes`: what holds rows that `RawRows.append` wrote.
    package init(_ bytes: UnsafeRawBufferPointer, _ shape: RowShape) {
        self.bytes = bytes
        types = shape.types
    }

    /// Turns to the row that begins at `offset`.
    package mutating func begin(at offset: Int) {
        self.offset = offset
        column = 0
    }

    /// - Throws: `.decoding` unless every column of the row has been read.
    package func finish() throws(PostgresError) {
        guard column == types.count else {
            throw PostgresError(.decoding, "row has \(types.count) columns, \(column) were read")
        }
    }

    // MARK: The next column. Each throws `.decoding` where it is missing, NULL without being optional, or of another type.

    package mutating func skip() throws(PostgresError) {
        try checkColumn()
        _ = try nextValue()
    }

    package mutating func text() throws(PostgresError) -> PackedText {
        guard let text = try optionalText() else { throw null() }
        return text
    }

    package mutating func optionalText() throws(PostgresError) -> PackedText? {
        guard let place = try value(of: String.self) else { return nil }
        return PackedText(UnsafeRawBufferPointer(rebasing: bytes[place]))
    }

    package mutating func integer() throws(PostgresError) -> Int64 {
        guard let place = try value(of: Int64.self) else { throw null() }
        return try Int64(decoding: bytes.bytes.extracting(place))
    }

    package mutating func bool() throws(PostgresError) -> Bool {
        guard let place = try value(of: Bool.self) else { throw null() }
        return try Bool(decoding: bytes.bytes.extracting(place))
    }

    package mutating func timestamp() throws(PostgresError) -> PostgresTimestamp {
        guard let timestamp = try optionalTimestamp() else { throw null() }
        return timestamp
    }

    package mutating func optionalTimestamp() throws(PostgresError) -> PostgresTimestamp? {
        guard let place = try value(of: PostgresTimestamp.self) else { return nil }
        return try PostgresTimestamp(decoding: bytes.bytes.extracting(place))
    }

    /// Where the next column's value lies; `nil` for NULL.
    private mutating func value<Value: PostgresValue>(of type: Value.Type) throws(PostgresError) -> Range<Int>? {
        try checkColumn()
        guard Value.accepts(typeOID: types[column]) else {
            throw PostgresError(.decoding, "column \(column + 1) has type \(types[column]), not \(Value.typeOID)")
        }
        return try nextValue()
    }

    private func checkColumn() throws(PostgresError) {
        guard column < types.count else {
            throw PostgresError(.decoding, "row has \(types.count) columns, one more was read")
        }
    }

    private mutating func nextValue() throws(PostgresError) -> Range<Int>? {
        column += 1
        let count = Int(try bytes.bytes.integer(Int32.self, at: offset))
        offset += 4
        guard count >= 0 else { return nil }
        guard count <= bytes.count - offset else { throw PostgresError(.decoding, "row is cut short") }
        defer { offset += count }
        return offset..<offset + count
    }

    private func null() -> PostgresError { PostgresError(.decoding, "column \(column) of a packed row is NULL") }
}

/// A text where a packed row holds it, as UTF-8.
///
/// SAFETY: as `PackedRowReader`.
package struct PackedText: Hashable, Comparable {
    private let bytes: UnsafeRawBufferPointer

    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package var first: UInt8? { bytes.first }

    /// Its first bytes.
    package func prefix(_ count: Int) -> PackedText { PackedText(UnsafeRawBufferPointer(rebasing: bytes.prefix(count))) }

    /// All but its first bytes.
    package func dropFirst(_ count: Int) -> PackedText {
        PackedText(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count)))
    }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.isEqual(to: rhs.bytes) }

    package static func == (lhs: Self, rhs: String) -> Bool {
        rhs.utf8.withContiguousStorageIfAvailable { lhs.isEqual(to: UnsafeRawBufferPointer($0)) }
            ?? lhs.bytes.elementsEqual(rhs.utf8)
    }

    private func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        bytes.count == other.count && orderOfBytes(bytes, other) == 0
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(bytes: bytes)
    }

    /// In the order of bytes, which is the database's.
    package static func < (lhs: Self, rhs: Self) -> Bool {
        let order = orderOfBytes(lhs.bytes, rhs.bytes)
        return order == 0 ? lhs.bytes.count < rhs.bytes.count : order < 0
    }
}

/// How as many bytes of either as both have compare: below, at or above zero.
private func orderOfBytes(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Int32 {
    guard let left = lhs.baseAddress, let right = rhs.baseAddress else { return 0 }
    return memcmp(left, right, min(lhs.count, rhs.count))
}
