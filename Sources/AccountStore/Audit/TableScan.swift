import AccountLinking
import Glibc
import Postgres
import Synchronization

/// A table that audits read.
private enum AuditedTable: UInt8, CaseIterable {
    /// First: accounts are put together beginning with their own rows.
    case users, passwords, providers, methods, factors, sessions, codes, conflicts, claims

    var name: String {
        switch self {
        case .users: "users"
        case .passwords: "password_credentials"
        case .providers: "linked_providers"
        case .methods: "sign_in_methods"
        case .factors: "second_factors"
        case .sessions: "sessions"
        case .codes: "one_time_codes"
        case .conflicts: "conflicts"
        case .claims: "identifiers"
        }
    }

    static func read(for extent: AccountSnapshots.Extent) -> [AuditedTable] {
        switch extent {
        case .everything: allCases
        case .judged: [.users, .passwords, .providers, .methods, .factors, .conflicts]
        }
    }

    /// The column of its rows that holds the user.
    var userColumn: Int {
        switch self {
        case .users, .passwords, .providers, .methods, .factors, .sessions, .codes, .conflicts: 0
        case .claims: 2
        }
    }

    /// The rows in some blocks, not yet decoded.
    func rows(
        _ scope: AuditScope,
        tenant: String,
        at now: Timestamp,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> RawRows {
        switch self {
        case .users: try connection.rawRows(AuditedUserRow.of(scope, tenant: tenant))
        case .passwords: try connection.rawRows(AuditedPasswordRow.of(scope, tenant: tenant))
        case .providers: try connection.rawRows(AuditedProviderRow.of(scope, tenant: tenant))
        case .methods: try connection.rawRows(AuditedMethodRow.of(scope, tenant: tenant))
        case .factors: try connection.rawRows(AuditedFactorRow.of(scope, tenant: tenant))
        case .sessions: try connection.rawRows(AuditedSessionsRow.of(scope, tenant: tenant))
        case .codes: try connection.rawRows(AuditedCodesRow.of(scope, tenant: tenant))
        case .conflicts: try connection.rawRows(AuditedConflictsRow.of(scope, tenant: tenant, at: now))
        case .claims: try connection.rawRows(AuditedClaimRow.of(scope, tenant: tenant))
        }
    }

    /// Adds the row that was packed at `offset`.
    func add(
        _ bytes: [UInt8],
        at offset: Int,
        _ shape: RowShape,
        to assembly: inout AccountAssembly
    ) throws(PostgresError) {
        switch self {
        case .users: assembly.add(try shape.decode(AuditedUserRow.self, from: bytes, at: offset))
        case .passwords: assembly.add(try shape.decode(AuditedPasswordRow.self, from: bytes, at: offset))
        case .providers: assembly.add(try shape.decode(AuditedProviderRow.self, from: bytes, at: offset))
        case .methods: assembly.add(try shape.decode(AuditedMethodRow.self, from: bytes, at: offset))
        case .factors: assembly.add(try shape.decode(AuditedFactorRow.self, from: bytes, at: offset))
        case .sessions: assembly.add(try shape.decode(AuditedSessionsRow.self, from: bytes, at: offset))
        case .codes: assembly.add(try shape.decode(AuditedCodesRow.self, from: bytes, at: offset))
        case .conflicts: assembly.add(try shape.decode(AuditedConflictsRow.self, from: bytes, at: offset))
        case .claims: assembly.add(try shape.decode(AuditedClaimRow.self, from: bytes, at: offset))
        }
    }
}

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
    private let readsClaims: Bool

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
        readsClaims = tables.contains(.claims)
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
            let rows = try piece.table.rows(piece.scope, tenant: tenant, at: now, connection)
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
            let range: Int? = rows.withBytes(row: row, column: table.userColumn) { user in
                !start.isEmpty && !start.lexicographicallyPrecedes(user) ? nil : ranges.index(of: user)
            }
            guard let range else { continue }
            try writer.append(to: range) { bytes in
                let head = bytes.count
                bytes.append(table.rawValue)
                for _ in 0..<4 { bytes.append(0) }
                rows.append(row: row, to: &bytes)
                let count = UInt32(bytes.count - head - 5)
                for place in 0..<4 { bytes[head + 1 + place] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(place))) }
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
        let bytes = try file.contents(of: range)
        let shapes = state.withLock(\.shapes)
        var offsets = [[Int]](repeating: [], count: AuditedTable.allCases.count)
        var offset = 0
        while offset < bytes.count {
            let count = (0..<4).reduce(0) { $0 | Int(bytes[offset + 1 + $1]) << (8 * $1) }
            offsets[Int(bytes[offset])].append(offset + 5)
            offset += 5 + count
        }
        var assembly = AccountAssembly(tenant: tenant, count: offsets[0].count)
        for table in AuditedTable.allCases {
            guard let shape = shapes[table] else { continue }
            for offset in offsets[Int(table.rawValue)] { try table.add(bytes, at: offset, shape, to: &assembly) }
        }
        guard readsClaims else { return assembly.sorted() }
        let missing = assembly.compareClaims()
        if !missing.isEmpty {
            try PageReader(connection, tenant: tenant, at: now).noteOwners(of: missing, in: &assembly)
        }
        return assembly.sorted()
    }
}
