import Postgres

/// Rows in the order of their users' ids and, of one user, of their tables; those of one table stay in their order.
///
/// Sorted by a number that is made of the id, byte by byte: no id is compared with many others, whoever chose them. Where several ids
/// have one number, that shows when rows are looked at, and then ids are compared (`compareIDs`).
///
/// SAFETY: as `PackedColumns`.
struct KeyedRows {
    private struct Row {
        /// Eight bytes of the id, behind what all ids begin with.
        var key: UInt64
        var offset: UInt32
        var tag: UInt8

        /// A byte to sort by, the lowest first.
        func digit(_ place: Int) -> Int {
            place == 0 ? Int(tag) : Int(truncatingIfNeeded: (key >> (8 * UInt64(place - 1))) & 0xFF)
        }

        static var digitCount: Int { 9 }
    }

    private let bytes: UnsafeRawBufferPointer
    private var rows: [Row] = []

    private var haveComparedIDs = false

    var count: Int { rows.count }

    /// - Throws: `.decoding` where the bytes are no rows.
    init(_ bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        self.bytes = bytes
        guard bytes.count <= UInt32.max else { throw PostgresError(.decoding, "too many rows of one account") }
        var prefix: UnsafeRawBufferPointer?
        var walk = PackedRowWalk(bytes)
        while let row = try walk.next() {
            rows.append(Row(key: 0, offset: UInt32(row.range.lowerBound), tag: row.tag))
            let known = prefix ?? row.id.bytes
            prefix = UnsafeRawBufferPointer(rebasing: known[..<known.commonPrefixCount(with: row.id.bytes)])
        }
        let prefixCount = prefix?.count ?? 0
        try rows.withUnsafeMutableBufferPointer { rows throws(PostgresError) in
            for place in rows.indices {
                rows[place].key = try Self.id(of: rows[place], bytes).bytes.number(after: prefixCount)
            }
        }
        sort()
    }

    @inline(__always)
    private static func id(of row: Row, _ bytes: UnsafeRawBufferPointer) throws(PostgresError) -> PackedText {
        try PackedRowWalk.row(of: bytes, at: Int(row.offset)).id
    }

    /// Whether a row of another user than the one before has its number, so that the rows of both may be mixed.
    func mayBeApart(at place: Int) -> Bool {
        place > 0 && !haveComparedIDs && rows[place].key == rows[place - 1].key
    }

    /// The row at a place in the order.
    func row(at place: Int) throws(PostgresError) -> PackedRowWalk.Row {
        try PackedRowWalk.row(of: bytes, at: Int(rows[place].offset))
    }

    /// By keys, then tags.
    private mutating func sort() {
        // How often each byte stands at each place.
        var counts = [Int](repeating: 0, count: Row.digitCount * 256)
        for row in rows {
            for place in 0..<Row.digitCount { counts[place << 8 | row.digit(place)] += 1 }
        }
        var sorted = rows
        let count = rows.count
        for place in 0..<Row.digitCount {
            let counts = counts[(place << 8)..<(place + 1) << 8]
            guard !counts.contains(count) else { continue }
            var next: [Int] = []
            next.reserveCapacity(256)
            var total = 0
            for count in counts {
                next.append(total)
                total += count
            }
            next.withUnsafeMutableBufferPointer { next in
                sorted.withUnsafeMutableBufferPointer { sorted in
                    for row in rows {
                        let digit = row.digit(place)
                        sorted[next[digit]] = row
                        next[digit] += 1
                    }
                }
            }
            swap(&rows, &sorted)
        }
    }

    /// Sorts by whole ids, where several have one number.
    mutating func compareIDs() throws(PostgresError) {
        var told: [(key: UInt64, id: PackedText, row: Row)] = []
        for row in rows { told.append((row.key, try Self.id(of: row, bytes), row)) }
        told.sort { ($0.key, $0.id, $0.row.tag, $0.row.offset) < ($1.key, $1.id, $1.row.tag, $1.row.offset) }
        rows = told.map(\.row)
        haveComparedIDs = true
    }
}

extension UnsafeRawBufferPointer {
    /// The eight bytes behind an offset, as a number; what is not there counts as zero.
    @inline(__always)
    func number(after offset: Int) -> UInt64 {
        if count - offset >= 8 {
            return UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var number: UInt64 = 0
        for place in 0..<8 {
            number = number << 8 | (offset + place < count ? UInt64(self[offset + place]) : 0)
        }
        return number
    }

    /// How many bytes both begin with.
    func commonPrefixCount(with other: UnsafeRawBufferPointer) -> Int {
        let most = Swift.min(count, other.count)
        var common = 0
        while common < most, self[common] == other[common] { common += 1 }
        return common
    }
}
