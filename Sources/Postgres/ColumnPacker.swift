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
package struct ColumnPacker: ~Copyable {
    static let firstWord: UInt8 = 192
    static let isLong: UInt8 = 254
    static let isNull: UInt8 = 255

    private let words: WordList
    private var packed = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 8)

    package init(_ words: WordList) {
        self.words = words
    }

    deinit {
        packed.deallocate()
    }

    /// The columns of a row as `PostgresConnection.copyRows` hands them on and `RawRows.append` writes them.
    ///
    /// - `headBytes`: so many bytes are left before them, for the caller to fill in.
    /// - Returns: what is good until the next call.
    /// - Throws: `.decoding` where the row is cut short.
    package mutating func pack(
        _ row: UnsafeRawBufferPointer,
        headBytes: Int
    ) throws(PostgresError) -> UnsafeMutableRawBufferPointer {
        // A column grows by one byte at most, and has four before it.
        let bytesMax = headBytes + row.count + row.count / 4
        if bytesMax > packed.count {
            packed.deallocate()
            packed = .allocate(byteCount: bytesMax * 2, alignment: 8)
        }
        guard var source = row.baseAddress, let start = packed.baseAddress else { return packed }
        let end = source + row.count
        var target = start + headBytes
        while source < end {
            guard end - source >= 4 else { throw Self.cutShort }
            let count = Int(Int32(bigEndian: source.loadUnaligned(as: Int32.self)))
            source += 4
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
        return UnsafeMutableRawBufferPointer(start: start, count: target - start)
    }

    private static var cutShort: PostgresError { PostgresError(.decoding, "row is cut short") }
}
