import Postgres

/// Rows of tables, of some accounts, in any order: what accounts are put together from.
struct PackedRows<Table: ScannedTable> {
    /// Of each row its table, its length in four bytes, and the row as `RawRows` packs it.
    private var bytes: [UInt8] = []
    private var shapes: [Table: RowShape] = [:]

    init() {}

    /// - `bytes`: what `append` wrote.
    init(_ bytes: [UInt8], shapes: [Table: RowShape]) {
        self.bytes = bytes
        self.shapes = shapes
    }

    mutating func append(_ rows: RawRows, of table: Table) {
        shapes[table] = rows.shape
        for row in 0..<rows.count { rows.append(row: row, tag: table.rawValue, to: &bytes) }
    }

    /// Calls `body` with the rows account by account.
    ///
    /// - Throws: `.decoding` where the bytes are no such rows; what `body` throws.
    func withAccounts<Output>(_ body: (borrowing RowsByAccount<Table>) throws -> Output) throws -> Output {
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
    private static var headBytes: Int { 5 }

    /// Where a row's columns begin, that of the user left out, and whose it is in which table: accounts are numbered as they
    /// come, and each has a number for each table.
    private struct Row {
        var columns: PackedColumns
        var group: Int
    }

    let ids: [PackedText]
    private let tableCount: Int
    private let tables: Set<Table>
    /// Those of the first account first.
    private let rows: [PackedColumns]
    /// Where in `rows` those of the first account in the first table begin, those in the second, and so on.
    private let starts: [Int]

    /// - `tables`: those that were read.
    fileprivate init(_ bytes: UnsafeRawBufferPointer, tables: Set<Table>) throws(PostgresError) {
        self.tables = tables
        let tableCount = Table.allCases.count
        self.tableCount = tableCount
        var found: [PackedText] = []
        let read = try Self.rows(bytes, tableCount, &found)
        let order = found.indices.sorted { found[$0] < found[$1] }
        ids = order.map { found[$0] }
        var firstGroups = [Int](repeating: 0, count: found.count)
        for (place, number) in order.enumerated() { firstGroups[number] = place * tableCount }
        func group(_ row: Row) -> Int {
            let (number, table) = row.group.quotientAndRemainder(dividingBy: tableCount)
            return firstGroups[number] + table
        }
        // Each row goes behind those of the groups before its own, and those of its own that came before it.
        var starts = [Int](repeating: 0, count: found.count * tableCount + 1)
        for row in read { starts[group(row) + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        self.starts = starts
        rows = Array(unsafeUninitializedCapacity: read.count) { rows, count in
            for row in read {
                let group = group(row)
                rows.initializeElement(at: starts[group], to: row.columns)
                starts[group] += 1
            }
            count = read.count
        }
    }

    private static func rows(
        _ bytes: UnsafeRawBufferPointer,
        _ tableCount: Int,
        _ found: inout [PackedText]
    ) throws(PostgresError) -> [Row] {
        var rows: [Row] = []
        var numbers: [PackedText: Int] = [:]
        var last: (id: PackedText, number: Int)?
        var offset = 0
        while offset < bytes.count {
            guard bytes[offset] < tableCount, bytes.count - offset >= headBytes else {
                throw PostgresError(.decoding, "row of an unknown table")
            }
            var columns = PackedColumns(bytes, at: offset + headBytes)
            let id = try columns.text()
            // Rows of one account often lie together.
            var number = last?.number ?? 0
            if last?.id != id {
                if let known = numbers[id] {
                    number = known
                } else {
                    number = found.count
                    numbers[id] = number
                    found.append(id)
                }
                last = (id, number)
            }
            rows.append(Row(columns: columns, group: number * tableCount + Int(bytes[offset])))
            let count = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt32.self))
            offset += headBytes + Int(count)
        }
        return rows
    }

    /// Whether a table is one of those that were read.
    func hasRead(_ table: Table) -> Bool { tables.contains(table) }

    /// The rows of an account in a table, by their places.
    func places(_ account: Int, _ table: Table) -> Range<Int> {
        let group = account * tableCount + Int(table.rawValue)
        return starts[group]..<starts[group + 1]
    }

    /// The columns of the row at a place, that of the user left out.
    subscript(place: Int) -> PackedColumns { rows[place] }
}
