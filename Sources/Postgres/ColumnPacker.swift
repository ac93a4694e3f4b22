import Glibc

/// Packs the columns of rows: what stands before a value is one byte mostly, instead of four, and a word is its number.
///
/// A column is one byte, and what it calls for:
///
/// | | |
/// |---|---|
/// | 0 to 191 | so many bytes of the value follow |
/// | 192 to 251 | the value is a word (`WordList`): 0, 1 and so on |
/// | 254 | four bytes with the value's length follow, the lowest first, and the value |
/// | 255 | NULL |
package struct ColumnPacker: Sendable {
    static let firstWord: UInt8 = 192
    static let isLong: UInt8 = 254
    static let isNull: UInt8 = 255
    /// What stands before a column that is not packed yet.
    private static let lengthBytes = 4

    private let words: WordList

    package init(_ words: WordList) {
        self.words = words
    }

    /// So many bytes a row has at most once it is packed: a column grows by one byte, where it is long.
    package static func bytesMax(_ row: UnsafeRawBufferPointer) -> Int { row.count + row.count / Int(firstWord) }

    /// The first column of a row that is not packed yet, which must not be NULL.
    ///
    /// - Throws: `.decoding` where it is, or the row is cut short.
    package static func firstColumn(of row: UnsafeRawBufferPointer) throws(PostgresError) -> UnsafeRawBufferPointer {
        guard row.count >= lengthBytes else { throw cutShort }
        let count = Int(Int32(bigEndian: row.loadUnaligned(as: Int32.self)))
        guard count >= 0 else { throw PostgresError(.decoding, "first column of a row is NULL") }
        guard row.count - lengthBytes >= count else { throw cutShort }
        return UnsafeRawBufferPointer(rebasing: row[lengthBytes..<lengthBytes + count])
    }

    /// Packs the columns of a row as `PostgresConnection.copyRows` hands them on and `RawRows.append` writes them.
    ///
    /// - `packed`: where to, with room for `bytesMax`.
    /// - Returns: how many bytes of it they take.
    /// - Throws: `.decoding` where the row is cut short.
    package func pack(
        _ row: UnsafeRawBufferPointer,
        into packed: UnsafeMutableRawBufferPointer
    ) throws(PostgresError) -> Int {
        precondition(packed.count >= Self.bytesMax(row), "no room for a packed row")
        guard var source = row.baseAddress, let start = packed.baseAddress else { return 0 }
        let end = source + row.count
        var target = start
        while source < end {
            guard end - source >= Self.lengthBytes else { throw Self.cutShort }
            let count = Int(Int32(bigEndian: source.loadUnaligned(as: Int32.self)))
            source += Self.lengthBytes
            if count < 0 {
                target.storeBytes(of: Self.isNull, as: UInt8.self)
                target += 1
                continue
            }
            guard end - source >= count else { throw Self.cutShort }
            if count == 8 {
                // Numbers and times mostly: whether it is a word is not looked at.
                target.storeBytes(of: 8, as: UInt8.self)
                (target + 1).storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
                target += 9
            } else if let word = words.number(of: UnsafeRawBufferPointer(start: source, count: count)) {
                target.storeBytes(of: Self.firstWord + word, as: UInt8.self)
                target += 1
            } else {
                if count < Int(Self.firstWord) {
                    target.storeBytes(of: UInt8(count), as: UInt8.self)
                    target += 1
                } else {
                    target.storeBytes(of: Self.isLong, as: UInt8.self)
                    (target + 1).storeBytes(of: UInt32(count).littleEndian, as: UInt32.self)
                    target += 5
                }
                target.copyMemory(from: source, byteCount: count)
                target += count
            }
            source += count
        }
        return target - start
    }

    private static var cutShort: PostgresError { PostgresError(.decoding, "row is cut short") }
}
