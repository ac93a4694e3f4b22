import Postgres
import Synchronization

/// A table that is read whole, whose rows name a user.
protocol ScannedTable: RawRepresentable<UInt8>, CaseIterable, Hashable, Sendable {
    var name: String { get }
    /// The types of the columns that are read of it, of which the first is the user's id.
    var types: [any PostgresValue.Type] { get }
}

/// What a tenant's tables hold, read the way it lies: every block of every table once, each row put into the range of ids
/// that its user is in. Then there are the rows of one range after the other, in the order of ids.
///
/// Several connections with one snapshot take turns at pieces of tables, and several threads at ranges (ADR 0066).
final class TableScan<Table: ScannedTable>: Sendable {
    /// Asks for the rows that lie in some blocks.
    typealias Statement = @Sendable (Table, TableScope) -> SQL

    private struct Piece {
        var table: Table
        var scope: TableScope
        var blockCount: Int64
    }

    private struct State {
        /// Those nobody has taken.
        var pieces: ArraySlice<Piece>
        /// Readers that have not put away what they read.
        var readersLeft: Int
        var reading = ScanProgress()
        var rangesTaken = 0
    }

    /// Blocks in a piece: some milliseconds of work.
    private static var blocksPerPiece: Int64 { 512 }
    /// More make chunks too small, and every range is an open one.
    private static var rangesMax: Int { 1024 }
    /// Accounts in a block of `users`, where the database has not counted them.
    private static var usersPerBlock: Double { 32 }
    /// Ids in the sample for each range: so many make ranges even enough.
    private static var samplePerRange: Int { 50 }
    /// Bytes of rows for each account that belongs into a range; ranges with more are divided.
    private static var bytesPerAccountMax: Int { 2048 }

    private let start: [UInt8]
    private let folder: String
    /// Bytes of rows that are put together at once.
    private let partBytesMax: Int
    private let statement: Statement
    private let shapes: [Table: RowShape]
    private let ranges: IDRanges
    private let file: BucketFile
    private let state: Mutex<State>

    var rangeCount: Int { ranges.count }

    /// - Parameters:
    ///   - tables: which ones, `users` first.
    ///   - tenant: whose rows are read.
    ///   - start: rows of users up to this id are left out.
    ///   - rangeSize: about how many accounts are put together at once.
    ///   - readers: how many call `read`, each once.
    ///   - folder: where the file goes.
    ///   - connection: in the snapshot.
    ///   - statement: asks for a piece of a table.
    /// - Throws: `PostgresError`, `SpillFailure`.
    init(
        _ tables: [Table],
        tenant: String,
        after start: String = "",
        rangeSize: Int,
        readers: Int,
        folder: String,
        _ connection: PostgresConnection,
        statement: @escaping Statement
    ) throws {
        self.start = Array(start.utf8)
        self.folder = folder
        partBytesMax = rangeSize * Self.bytesPerAccountMax
        self.statement = statement
        let counts = try connection.query(SnapshotTransaction.blockCounts(tables.map(\.name))).map { $0 ?? 0 }
        let unshared = Set(try connection.query(SnapshotTransaction.tablesOnly(of: tenant)).compactMap(\.self))
        var pieces: [Piece] = []
        for (table, count) in zip(tables, counts) {
            let holdsOthers = !unshared.contains(table.name)
            for first in stride(from: 0, through: count, by: Int(Self.blocksPerPiece)) {
                let end = first + Self.blocksPerPiece
                pieces.append(
                    Piece(
                        table: table,
                        scope: .blocks(first, before: end > count ? nil : end, holdsOthers: holdsOthers),
                        blockCount: min(Self.blocksPerPiece, count - first)
                    )
                )
            }
        }
        let usersEstimate = Double(try connection.query(SnapshotTransaction.userEstimate).first.flatMap(\.self) ?? 0)
        let users = usersEstimate > 0 ? usersEstimate : Double(counts[0]) * Self.usersPerBlock
        let wanted = min(Double(Self.rangesMax), (users / Double(rangeSize)).rounded(.up))
        let percent = min(100, 100 * wanted * Double(Self.samplePerRange) / max(1, users))
        let sample = try connection.rawRows(UserIDRow.sample(percent: max(0.01, percent), tenant: tenant))
        var ids = IDSample()
        for row in 0..<sample.count { sample.withBytes(row: row, column: 0) { ids.append($0) } }
        ranges = IDRanges(ids, countMax: Int(wanted))
        file = BucketFile(in: folder, buckets: ranges.count)
        // What is copied does not say of what types it is.
        shapes = try tables.reduce(into: [:]) { shapes, table in
            shapes[table] = try connection.rawRows(statement(table, .blocks(0, before: 0, holdsOthers: true))).shape
        }
        var state = State(pieces: pieces[...], readersLeft: readers)
        state.reading.blocksInAll = counts.reduce(0, +)
        self.state = Mutex(state)
    }

    /// Reads pieces until none is left. Returns when all readers have come so far.
    ///
    /// - `progress`: told how far the tables are read, never twice at once; throws to stop.
    func read(
        _ connection: PostgresConnection,
        _ gate: ReadersGate,
        progress: (ScanProgress) throws -> Void
    ) throws {
        var writer = try BucketWriter(file)
        while let piece = state.withLock({ $0.pieces.popFirst() }) {
            try connection.copyRows(statement(piece.table, piece.scope)) { columns in
                let row = UnpackedRow(columns, tag: piece.table.rawValue)
                let user = try row.id
                if !start.isEmpty, !start.lexicographicallyPrecedes(user) { return }
                try writer.append(to: ranges.index(of: user), bytesMax: row.bytesMax, row.pack)
            }
            try state.withLock { state in
                state.reading.blocks += piece.blockCount
                try progress(state.reading)
            }
        }
        try writer.finish()
        state.withLock { $0.readersLeft -= 1 }
        try gate.wait { state.withLock { $0.readersLeft == 0 } }
    }

    /// The next range that nobody has taken; `nil` when none is left. They are taken in order.
    func nextRange() -> Int? {
        state.withLock { state in
            guard state.rangesTaken < ranges.count else { return nil }
            defer { state.rangesTaken += 1 }
            return state.rangesTaken
        }
    }

    /// Calls `body` with the rows of a range in the order of ids, once all tables are read: some accounts after the other,
    /// however many there are.
    func forEachPart(ofRange range: Int, _ body: (PackedRows<Table>) throws -> Void) throws {
        try file.forEachPart(of: range, bytesMax: partBytesMax, folder: folder) { bytes in
            try body(PackedRows(bytes, shapes: shapes))
        }
    }
}
