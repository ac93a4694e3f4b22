import AccountLinking
import Glibc
import Postgres
import Synchronization

/// All accounts of a tenant, read the way their tables lie: every block of every table once, each row put into the range
/// of ids that its user is in; then the accounts are put together range by range, in order.
///
/// Several connections with one snapshot take turns at pieces of tables, and then at ranges (ADR 0066).
final class TableScan: Sendable {
    private struct Piece {
        var table: AuditedTable
        var scope: AuditScope
        var blockCount: Int64
    }

    private struct State {
        /// Those nobody has taken.
        var pieces: ArraySlice<Piece>
        /// Readers that have not put away what they read.
        var readersLeft: Int
        var shapes: [AuditedTable: RowShape] = [:]
        var reading = AccountSnapshots.Reading()
        var rangesTaken = 0
    }

    /// Blocks in a piece: a few megabytes of answer.
    private static let blocksPerPiece: Int64 = 128
    /// More make chunks too small, and every range is an open one.
    private static let rangesMax = 1024
    /// Accounts in a block of `users`, where the database has not counted them.
    private static let usersPerBlock: Double = 32
    /// Ids in the sample for each range: so many make ranges even enough.
    private static let samplePerRange = 50

    let tenant: String
    private let now: Timestamp
    private let start: String
    private let ranges: IDRanges
    private let file: BucketFile
    private let state: Mutex<State>

    var rangeCount: Int { ranges.count }

    /// - Parameters:
    ///   - tenant: whose accounts.
    ///   - start: accounts up to this id are left out.
    ///   - extent: how much is read of each.
    ///   - now: what is still alive is judged by it.
    ///   - rangeSize: about how many accounts to put together at once.
    ///   - readers: how many call `read`, each once.
    ///   - folder: where the file goes.
    ///   - connection: in the snapshot.
    /// - Throws: `PostgresError`, `SpillFailure`.
    init(
        tenant: String,
        after start: String,
        extent: AccountSnapshots.Extent,
        at now: Timestamp,
        rangeSize: Int,
        readers: Int,
        folder: String,
        _ connection: PostgresConnection
    ) throws {
        self.tenant = tenant
        self.start = start
        self.now = now
        let tables = AuditedTable.read(for: extent)
        let counts = try connection.query(AuditTransaction.blockCounts(tables.map(\.name))).map { $0 ?? 0 }
        var pieces: [Piece] = []
        for (table, count) in zip(tables, counts) {
            for first in stride(from: 0, through: count, by: Int(Self.blocksPerPiece)) {
                let end = first + Self.blocksPerPiece
                pieces.append(
                    Piece(
                        table: table,
                        scope: .blocks(first, before: end > count ? nil : end),
                        blockCount: min(Self.blocksPerPiece, count - first)
                    )
                )
            }
        }
        let usersEstimate = Double(try connection.query(AuditTransaction.userEstimate).first.flatMap(\.self) ?? 0)
        let users = usersEstimate > 0 ? usersEstimate : Double(counts[0]) * Self.usersPerBlock
        let wanted = min(Double(Self.rangesMax), (users / Double(rangeSize)).rounded(.up))
        let percent = min(100, 100 * wanted * Double(Self.samplePerRange) / max(1, users))
        let sample = try connection.query(AuditedUserRow.sample(percent: max(0.01, percent), tenant: tenant))
        ranges = IDRanges(sample.compactMap(\.self), countMax: Int(wanted))
        file = try BucketFile(in: folder, buckets: ranges.count)
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
        progress: (AccountSnapshots.Reading) throws -> Void
    ) throws {
        var writer = BucketWriter(file)
        while let piece = state.withLock({ $0.pieces.popFirst() }) {
            let rows = try connection.rawRows(piece.table.rows(piece.scope, tenant: tenant, at: now))
            state.withLock { $0.shapes[piece.table] = rows.shape }
            try put(rows, of: piece.table, into: &writer)
            try state.withLock { state in
                state.reading.blocks += piece.blockCount
                try progress(state.reading)
            }
        }
        try writer.finish()
        state.withLock { $0.readersLeft -= 1 }
        try gate.wait { state.withLock { $0.readersLeft == 0 } }
    }

    private func put(_ rows: RawRows, of table: AuditedTable, into writer: inout BucketWriter) throws(SpillFailure) {
        let start = Array(start.utf8)
        for row in 0..<rows.count {
            let range: Int? = rows.withBytes(row: row, column: 0) { user in
                !start.isEmpty && !start.lexicographicallyPrecedes(user) ? nil : ranges.index(of: user)
            }
            guard let range else { continue }
            try writer.append(to: range) { bytes in
                rows.append(row: row, tag: table.rawValue, to: &bytes)
            }
        }
    }

    /// The next range that nobody has put together; `nil` when none is left.
    func nextRange() -> Int? {
        state.withLock { state in
            guard state.rangesTaken < ranges.count else { return nil }
            defer { state.rangesTaken += 1 }
            return state.rangesTaken
        }
    }

    /// The accounts of a range, in the order of their ids.
    func accounts(ofRange range: Int, _ connection: PostgresConnection) throws -> [AccountSnapshot] {
        let rows = AuditedRows(try file.contents(of: range), shapes: state.withLock(\.shapes))
        var assembly = try AccountAssembly(rows, tenant: tenant)
        if !assembly.unclaimed.isEmpty {
            try PageReader(connection, tenant: tenant, at: now).noteOwners(of: assembly.unclaimed, in: &assembly)
        }
        return assembly.accounts
    }
}
