import Postgres

/// Rows of tables, of some accounts, in any order: what accounts are put together from.
struct PackedRows<Table: ScannedTable> {
    /// As `PackedRowWalk` reads them.
    private var bytes: [UInt8] = []
    private var shapes: [Table: RowShape] = [:]

    init() {}

    /// - `bytes`: what `append` wrote.
    init(_ bytes: [UInt8], shapes: [Table: RowShape]) {
        self.bytes = bytes
        self.shapes = shapes
    }

    /// - Throws: `.decoding`, which does not happen to what libpq answers.
    mutating func append(_ rows: RawRows, of table: Table) throws {
        shapes[table] = rows.shape
        var columns: [UInt8] = []
        for row in 0..<rows.count {
            columns.removeAll(keepingCapacity: true)
            rows.append(row: row, to: &columns)
            try columns.withUnsafeBytes { columns in
                let row = UnpackedRow(columns, tag: table.rawValue)
                bytes += try [UInt8](unsafeUninitializedCapacity: row.bytesMax) { packed, count in
                    count = try row.pack(into: UnsafeMutableRawBufferPointer(packed))
                }
            }
        }
    }

    /// Calls `body` with the rows account by account.
    ///
    /// - Throws: `.decoding` where the bytes are no such rows; what `body` throws.
    func withAccounts<Output>(_ body: (RowsByAccount<Table>) throws -> Output) throws -> Output {
        for (table, shape) in shapes { try shape.check(table.types) }
        return try bytes.withUnsafeBytes { bytes in
            try body(try RowsByAccount(bytes, tables: Set(shapes.keys)))
        }
    }
}

/// Rows, account by account in the order of their ids, and those of an account table by table.
///
/// SAFETY: as `PackedColumns`.
struct RowsByAccount<Table: ScannedTable> {
    let ids: [PackedText]
    private let bytes: UnsafeRawBufferPointer
    private let words = WordList.ofAccounts
    private let tableCount: Int
    /// Of each table whether it was read.
    private let wasRead: [Bool]
    /// Where in `bytes` the columns of each row begin, that of the user left out; those of the first account first. Of one table in the
    /// order in which they lie.
    private let offsets: [UInt32]
    /// Where in `offsets` those of the first account in the first table begin, those in the second, and so on.
    private let starts: [UInt32]

    /// - `tables`: those that were read.
    fileprivate init(_ bytes: UnsafeRawBufferPointer, tables: Set<Table>) throws(PostgresError) {
        guard bytes.count <= UInt32.max else { throw PostgresError(.decoding, "too many rows of one account") }
        self.bytes = bytes
        wasRead = Table.allCases.map { tables.contains($0) }
        let tableCount = Table.allCases.count
        self.tableCount = tableCount
        var numbers = IDNumbers()
        // Of each row which account's and table's it is, as one number; then how many there are of each.
        var rows: [(group: Int, offset: UInt32)] = []
        rows.reserveCapacity(bytes.count / Self.bytesPerRow)
        var counts: [UInt32] = []
        var walk = PackedRowWalk(bytes)
        while let row = try walk.next() {
            guard row.tag < tableCount else { throw PostgresError(.decoding, "row of an unknown table") }
            let group = numbers.number(of: row.id) * tableCount + Int(row.tag)
            while counts.count <= group { counts.append(0) }
            counts[group] += 1
            rows.append((group, UInt32(row.columnsOffset)))
        }
        while counts.count < numbers.ids.count * tableCount { counts.append(0) }
        let order = numbers.inOrder()
        var starts: [UInt32] = []
        starts.reserveCapacity(counts.count + 1)
        var next = counts
        var total: UInt32 = 0
        for account in order {
            for group in account * tableCount..<(account + 1) * tableCount {
                starts.append(total)
                next[group] = total
                total += counts[group]
            }
        }
        starts.append(total)
        var offsets = [UInt32](repeating: 0, count: rows.count)
        for row in rows {
            offsets[Int(next[row.group])] = row.offset
            next[row.group] += 1
        }
        ids = order.map { numbers.ids[$0] }
        self.offsets = offsets
        self.starts = starts
    }

    /// About, to begin with.
    private static var bytesPerRow: Int { 64 }

    /// Whether a table is one of those that were read.
    func hasRead(_ table: Table) -> Bool { wasRead[Int(table.rawValue)] }

    /// The rows of an account in a table, by their places.
    func places(_ account: Int, _ table: Table) -> Range<Int> {
        let group = account * tableCount + Int(table.rawValue)
        return Int(starts[group])..<Int(starts[group + 1])
    }

    /// The columns of the row at a place, that of the user left out.
    subscript(place: Int) -> PackedColumns { PackedColumns(bytes, at: Int(offsets[place]), words) }
}

/// Rows one after the other: of each a tag, how long its columns are in four bytes, the lowest first, and the columns
/// (`PackedColumns`), of which the first is the user's id.
///
/// SAFETY: as `PackedColumns`.
struct PackedRowWalk {
    struct Row {
        /// Which table it is of.
        var tag: UInt8
        /// Whose it is.
        var id: PackedText
        /// All of it, with its head.
        var range: Range<Int>
        /// Where the columns behind the id begin.
        var columnsOffset: Int
    }

    fileprivate static let headBytes = 5

    private let bytes: UnsafeRawBufferPointer
    private let words = WordList.ofAccounts
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// - Throws: `.decoding` where the bytes are no such row.
    @inline(__always)
    mutating func next() throws(PostgresError) -> Row? {
        guard offset < bytes.count else { return nil }
        let row = try row(at: offset)
        offset = row.range.upperBound
        return row
    }

    @inline(__always)
    private func row(at offset: Int) throws(PostgresError) -> Row {
        guard bytes.count - offset >= Self.headBytes else { throw PostgresError(.decoding, "row is cut short") }
        let count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt32.self)))
        let start = offset + Self.headBytes
        guard bytes.count - start >= count else { throw PostgresError(.decoding, "row is cut short") }
        var columns = PackedColumns(bytes, at: start, words)
        let id = try columns.text()
        return Row(tag: bytes[offset], id: id, range: offset..<start + count, columnsOffset: columns.offset(in: bytes))
    }
}

/// A row on its way to be packed, for a `PackedRowWalk` to read.
///
/// SAFETY: as `PackedColumns`.
struct UnpackedRow {
    private static let packer = ColumnPacker(.ofAccounts)

    private let columns: UnsafeRawBufferPointer
    private let tag: UInt8

    /// - `columns`: as `ColumnPacker.pack` takes them.
    init(_ columns: UnsafeRawBufferPointer, tag: UInt8) {
        self.columns = columns
        self.tag = tag
    }

    /// Whose it is.
    ///
    /// - Throws: `.decoding` where nobody's, or the row is cut short.
    var id: UnsafeRawBufferPointer {
        get throws(PostgresError) { try ColumnPacker.firstColumn(of: columns) }
    }

    /// So many bytes it has at most once it is packed.
    var bytesMax: Int { PackedRowWalk.headBytes + ColumnPacker.bytesMax(columns) }

    /// - `packed`: where to, with room for `bytesMax`.
    /// - Returns: how many bytes of it the row takes.
    /// - Throws: `.decoding` where the row is cut short.
    func pack(into packed: UnsafeMutableRawBufferPointer) throws(PostgresError) -> Int {
        let count = try Self.packer.pack(
            columns,
            into: UnsafeMutableRawBufferPointer(rebasing: packed[PackedRowWalk.headBytes...])
        )
        packed.storeBytes(of: tag, as: UInt8.self)
        packed.storeBytes(of: UInt32(count).littleEndian, toByteOffset: 1, as: UInt32.self)
        return PackedRowWalk.headBytes + count
    }
}
