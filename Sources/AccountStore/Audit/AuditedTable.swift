import AccountLinking
import Postgres

/// A table that audits read.
enum AuditedTable: UInt8, CaseIterable {
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

    /// Asks for its rows. Whose each is stands in the first column.
    func rows(_ scope: AuditScope, tenant: String, at now: Timestamp) -> SQL {
        switch self {
        case .users: AuditedUserRow.of(scope, tenant: tenant)
        case .passwords: AuditedPasswordRow.of(scope, tenant: tenant)
        case .providers: AuditedProviderRow.of(scope, tenant: tenant)
        case .methods: AuditedMethodRow.of(scope, tenant: tenant)
        case .factors: AuditedFactorRow.of(scope, tenant: tenant)
        case .sessions: AuditedSessionRow.of(scope, tenant: tenant)
        case .codes: AuditedCodeRow.of(scope, tenant: tenant)
        case .conflicts: AuditedConflictRow.of(scope, tenant: tenant, at: now)
        case .claims: AuditedClaimRow.of(scope, tenant: tenant)
        }
    }
}

/// Rows of tables that audits read, of some accounts, in any order: what accounts are put together from.
struct AuditedRows {
    /// Of each row its table, its length in four bytes, and the row as `RawRows` packs it.
    private(set) var bytes: [UInt8] = []
    /// Of the tables that were read, by their numbers.
    private var shapes: [RowShape?] = Array(repeating: nil, count: AuditedTable.allCases.count)

    init() {}

    /// - `bytes`: what `append` wrote.
    init(_ bytes: [UInt8], shapes: [AuditedTable: RowShape]) {
        self.bytes = bytes
        for (table, shape) in shapes { self.shapes[Int(table.rawValue)] = shape }
    }

    mutating func append(_ rows: RawRows, of table: AuditedTable) {
        shapes[Int(table.rawValue)] = rows.shape
        for row in 0..<rows.count { Self.append(row, of: rows, table, to: &bytes) }
    }

    static func append(_ row: Int, of rows: RawRows, _ table: AuditedTable, to bytes: inout [UInt8]) {
        let head = bytes.count
        bytes.append(table.rawValue)
        for _ in 0..<4 { bytes.append(0) }
        rows.append(row: row, to: &bytes)
        let count = UInt32(bytes.count - head - 5)
        for place in 0..<4 { bytes[head + 1 + place] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(place))) }
    }

    /// Calls `body` with the rows account by account.
    ///
    /// - Throws: `.decoding` where the bytes are no rows; what `body` throws.
    func withAccounts<Output>(_ body: (borrowing RowsByAccount) throws -> Output) throws -> Output {
        try bytes.withUnsafeBytes { bytes in
            try body(try RowsByAccount(bytes, shapes))
        }
    }
}

/// Rows, account by account in the order of their ids, and those of an account table by table.
///
/// SAFETY: as `PackedRowReader`.
struct RowsByAccount {
    private static let tableCount = AuditedTable.allCases.count
    private static let headBytes = 5

    let ids: [PackedText]
    /// Where rows begin, those of the first account first.
    private let offsets: [Int]
    /// Where in `offsets` the rows of the first account in the first table begin, those in the second, and so on.
    private let starts: [Int]
    private let readers: [PackedRowReader?]

    fileprivate init(_ bytes: UnsafeRawBufferPointer, _ shapes: [RowShape?]) throws(PostgresError) {
        var readers = shapes.map { shape in shape.map { PackedRowReader(bytes, $0) } }
        // Which account and table each row is of: its numbers as one, accounts in the order in which they come.
        var rows: [(offset: Int, group: Int)] = []
        var found: [PackedText] = []
        var numbers: [PackedText: Int] = [:]
        var last = -1
        var offset = 0
        while offset < bytes.count {
            let table = Int(bytes[offset])
            guard table < Self.tableCount, readers[table] != nil else {
                throw PostgresError(.decoding, "row of a table that was not read")
            }
            readers[table]?.begin(at: offset + Self.headBytes)
            guard let id = try readers[table]?.text() else { break }
            // Rows of one account often lie together.
            if last < 0 || found[last] != id {
                if let number = numbers[id] {
                    last = number
                } else {
                    last = found.count
                    numbers[id] = last
                    found.append(id)
                }
            }
            rows.append((offset + Self.headBytes, last * Self.tableCount + table))
            let count = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt32.self))
            offset += Self.headBytes + Int(count)
        }
        self.readers = readers
        let order = found.indices.sorted { found[$0] < found[$1] }
        ids = order.map { found[$0] }
        var places = [Int](repeating: 0, count: found.count)
        for (place, number) in order.enumerated() { places[number] = place }
        // Each row goes behind those of the groups before its own, and of its own that came before it.
        func group(of row: (offset: Int, group: Int)) -> Int {
            let (number, table) = row.group.quotientAndRemainder(dividingBy: Self.tableCount)
            return places[number] * Self.tableCount + table
        }
        var starts = [Int](repeating: 0, count: found.count * Self.tableCount + 1)
        for row in rows { starts[group(of: row) + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        self.starts = starts
        var offsets = [Int](repeating: 0, count: rows.count)
        for row in rows {
            let group = group(of: row)
            offsets[starts[group]] = row.offset
            starts[group] += 1
        }
        self.offsets = offsets
    }

    /// Whether a table is one of those that were read.
    func hasRead(_ table: AuditedTable) -> Bool { readers[Int(table.rawValue)] != nil }

    /// How many rows an account has in a table.
    func count(_ account: Int, _ table: AuditedTable) -> Int {
        let group = account * Self.tableCount + Int(table.rawValue)
        return starts[group + 1] - starts[group]
    }

    /// Calls `body` with a reader at each row of an account in a table.
    func forEach(
        _ account: Int,
        _ table: AuditedTable,
        _ body: (inout PackedRowReader) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        let group = account * Self.tableCount + Int(table.rawValue)
        guard starts[group] < starts[group + 1], var reader = readers[Int(table.rawValue)] else { return }
        for index in starts[group]..<starts[group + 1] {
            reader.begin(at: offsets[index])
            try body(&reader)
            try reader.finish()
        }
    }
}
