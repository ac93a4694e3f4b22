import Glibc

/// The columns of a row, one after the other and where they lie, as `ColumnPacker` packs them: nothing is copied.
///
/// For rows by the million, of which a `RowDecoder` would make strings. Types are not looked at: `RowShape.check` does that
/// once for all rows of a statement.
///
/// SAFETY: this, and whatever it gives out, points into the bytes that it was made for. Neither may be used after those were
/// changed, or after the closure that lent them has returned.
package struct PackedColumns {
    private let end: UnsafeRawPointer?
    private var place: UnsafeRawPointer?
    private let words: WordList

    /// - `offset`: where the row begins.
    /// - `words`: those of its packer.
    package init(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ words: WordList) {
        precondition((0...bytes.count).contains(offset), "a row outside of the bytes")
        end = bytes.baseAddress.map { $0 + bytes.count }
        place = bytes.baseAddress.map { $0 + offset }
        self.words = words
    }

    /// Where in `bytes`, for which this was made, the next column begins.
    package func offset(in bytes: UnsafeRawBufferPointer) -> Int {
        guard let place, let start = bytes.baseAddress else { return 0 }
        return place - start
    }

    /// The bytes of the next column; `nil` for NULL.
    ///
    /// - Throws: `.decoding`, as all below, where the row is cut short.
    @inline(__always)
    package mutating func next() throws(PostgresError) -> UnsafeRawBufferPointer? { try column()?.bytes }

    @inline(__always)
    private mutating func column() throws(PostgresError) -> PackedText? {
        guard let end, let start = place, start < end else { throw cutShort() }
        let first = start.load(as: UInt8.self)
        guard first < ColumnPacker.firstWord else { return try columnWithoutLength(first, start, end) }
        let value = start + 1
        guard end - value >= Int(first) else { throw cutShort() }
        place = value + Int(first)
        return PackedText(value, count: UInt32(first))
    }

    private mutating func columnWithoutLength(
        _ first: UInt8,
        _ start: UnsafeRawPointer,
        _ end: UnsafeRawPointer
    ) throws(PostgresError) -> PackedText? {
        place = start + 1
        switch first {
        case ColumnPacker.isNull: return nil
        case ColumnPacker.isLong:
            guard end - start >= 5 else { throw cutShort() }
            let count = UInt32(littleEndian: (start + 1).loadUnaligned(as: UInt32.self))
            let value = start + 5
            guard end - value >= Int(count) else { throw cutShort() }
            place = value + Int(count)
            return PackedText(value, count: count)
        default:
            let word = first - ColumnPacker.firstWord
            guard word < words.count else { throw PostgresError(.decoding, "no such word in a packed row") }
            let text = words[Int(word)]
            return text.baseAddress.map { PackedText($0, count: UInt32(text.count), word: word) }
        }
    }

    private func cutShort() -> PostgresError { PostgresError(.decoding, "row is cut short") }

    package mutating func skip() throws(PostgresError) { _ = try next() }

    /// The next column, which must not be NULL.
    @inline(__always)
    package mutating func required() throws(PostgresError) -> UnsafeRawBufferPointer {
        guard let bytes = try next() else { throw PostgresError(.decoding, "column of a packed row is NULL") }
        return bytes
    }

    // MARK: The next column as a value.

    package mutating func text() throws(PostgresError) -> PackedText {
        guard let text = try column() else { throw PostgresError(.decoding, "column of a packed row is NULL") }
        return text
    }
    package mutating func optionalText() throws(PostgresError) -> PackedText? { try column() }
    package mutating func bool() throws(PostgresError) -> Bool { try Bool(decoding: required().bytes) }
    package mutating func int32() throws(PostgresError) -> Int32 { try Int32(decoding: required().bytes) }
    package mutating func optionalInt32() throws(PostgresError) -> Int32? {
        guard let bytes = try next() else { return nil }
        return try Int32(decoding: bytes.bytes)
    }
    package mutating func int64() throws(PostgresError) -> Int64 { try Int64(decoding: required().bytes) }
    package mutating func timestamp() throws(PostgresError) -> PostgresTimestamp {
        try PostgresTimestamp(decoding: required().bytes)
    }
    package mutating func optionalTimestamp() throws(PostgresError) -> PostgresTimestamp? {
        guard let bytes = try next() else { return nil }
        return try PostgresTimestamp(decoding: bytes.bytes)
    }
}

/// What packed rows of one statement have in common: the types of their columns.
package struct RowShape: Sendable, Hashable {
    let types: [UInt32]

    /// - Throws: `.decoding` unless the columns are of `types`, in this order.
    package func check(_ types: [any PostgresValue.Type]) throws(PostgresError) {
        guard types.count == self.types.count, zip(types, self.types).allSatisfy({ $0.accepts(typeOID: $1) }) else {
            throw PostgresError(.decoding, "columns of types \(self.types)")
        }
    }
}

/// A text where a packed row holds it, as UTF-8.
///
/// SAFETY: as `PackedColumns`.
package struct PackedText: Hashable, Comparable {
    // Two words of the processor together, so that it is handed on in registers.
    private let start: UnsafeRawPointer
    private let count: UInt32
    /// Its number in the list of words, where it was packed as one.
    package let word: UInt8?

    fileprivate init(_ start: UnsafeRawPointer, count: UInt32, word: UInt8? = nil) {
        self.start = start
        self.count = count
        self.word = word
    }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: Int(count)) }

    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package var first: UInt8? { bytes.first }

    /// Its first bytes.
    package func prefix(_ count: Int) -> PackedText {
        PackedText(start, count: min(self.count, UInt32(count)))
    }

    /// All but its first bytes.
    package func dropFirst(_ count: Int) -> PackedText {
        let dropped = min(self.count, UInt32(count))
        return PackedText(start + Int(dropped), count: self.count - dropped)
    }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.isEqual(to: rhs.bytes) }

    package static func == (lhs: Self, rhs: String) -> Bool {
        guard lhs.bytes.count == rhs.utf8.count else { return false }
        return rhs.utf8.withContiguousStorageIfAvailable { lhs.isEqual(to: UnsafeRawBufferPointer($0)) }
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
