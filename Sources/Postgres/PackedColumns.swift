import Glibc

/// The columns of a row, one after the other and where they lie: nothing is copied. Each has its length before it, in four bytes, the
/// highest first, and -1 for NULL, as `PostgresConnection.copyRows` hands them on and `RawRows.append` writes them.
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
        guard let end, let start = place, end - start >= 4 else { throw cutShort() }
        let count = Int(Int32(bigEndian: start.loadUnaligned(as: Int32.self)))
        let value = start + 4
        guard count >= 0 else {
            place = value
            return nil
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
