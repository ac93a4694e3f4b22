import Glibc

/// The columns of a row that `RawRows.append` wrote, one after the other and where they lie: nothing is copied.
///
/// For rows by the million, of which a `RowDecoder` would make strings. Types are not looked at: `RowShape.check` does that
/// once for all rows of a statement.
///
/// SAFETY: this, and whatever it gives out, points into the bytes that it was made for. Neither may be used after those were
/// changed, or after the closure that lent them has returned.
package struct PackedColumns {
    private let end: UnsafeRawPointer?
    private var place: UnsafeRawPointer?

    /// - `offset`: where the row begins.
    package init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        precondition((0...bytes.count).contains(offset), "a row outside of the bytes")
        end = bytes.baseAddress.map { $0 + bytes.count }
        place = bytes.baseAddress.map { $0 + offset }
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
    package mutating func next() throws(PostgresError) -> UnsafeRawBufferPointer? {
        guard let end, let start = place, end > start else { throw cutShort() }
        let first = start.load(as: UInt8.self)
        if first == PackedLength.null {
            place = start + 1
            return nil
        }
        var value = start + 1
        var count = Int(first)
        if first == PackedLength.long {
            guard end - value >= 4 else { throw cutShort() }
            count = Int(UInt32(bigEndian: value.loadUnaligned(as: UInt32.self)))
            value += 4
        }
        guard end - value >= count else { throw cutShort() }
        place = value + count
        return UnsafeRawBufferPointer(start: value, count: count)
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

    package mutating func text() throws(PostgresError) -> PackedText { PackedText(try required()) }
    package mutating func optionalText() throws(PostgresError) -> PackedText? { try next().map { PackedText($0) } }
    package mutating func bool() throws(PostgresError) -> Bool { try Bool(decoding: required().bytes) }
    package mutating func int32() throws(PostgresError) -> Int32 { try Int32(decoding: required().bytes) }
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

/// How long a column of a packed row is: one byte before its value, or five where that cannot tell.
enum PackedLength {
    static let null: UInt8 = 0xFF
    /// Four bytes follow, the highest first.
    static let long: UInt8 = 0xFE
    static let bytesMax = 5
}

/// A text where a packed row holds it, as UTF-8.
///
/// SAFETY: as `PackedColumns`.
package struct PackedText: Hashable, Comparable {
    package let bytes: UnsafeRawBufferPointer

    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var string: String { String(decoding: bytes, as: UTF8.self) }

    package var first: UInt8? { bytes.first }

    /// Its first bytes.
    package func prefix(_ count: Int) -> PackedText {
        PackedText(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
    }

    /// All but its first bytes.
    package func dropFirst(_ count: Int) -> PackedText {
        PackedText(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count)))
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
