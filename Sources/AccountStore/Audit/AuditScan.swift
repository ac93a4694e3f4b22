import AccountLinking
import Postgres

/// All accounts of a tenant for an audit, read the way their tables lie.
final class AuditScan: Sendable {
    let tenant: String
    private let now: Timestamp
    private let scan: TableScan<AuditedTable>

    var rangeCount: Int { scan.rangeCount }

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
        self.now = now
        scan = try TableScan(
            AuditedTable.read(for: extent),
            tenant: tenant,
            after: start,
            rangeSize: rangeSize,
            readers: readers,
            folder: folder,
            connection
        ) { table, scope in table.rows(scope, tenant: tenant, at: now) }
    }

    /// As `TableScan.read`.
    func read(
        _ connection: PostgresConnection,
        _ gate: ReadersGate,
        progress: (ScanProgress) throws -> Void
    ) throws {
        try scan.read(connection, gate, progress: progress)
    }

    /// As `TableScan.nextRange`.
    func nextRange() -> Int? { scan.nextRange() }

    /// Calls `body` with the accounts of a range in the order of their ids, at most `countMax` at once, and the last id of each time.
    func forEachPage(
        ofRange range: Int,
        countMax: Int,
        _ connection: PostgresConnection,
        _ body: (AccountWalk, _ end: String) throws -> Void
    ) throws {
        let reader = PageReader(connection, tenant: tenant, at: now)
        try scan.forEachPart(ofRange: range) { rows in
            try rows.withAccounts { rows in
                for start in stride(from: 0, to: rows.ids.count, by: countMax) {
                    let page = start..<min(start + countMax, rows.ids.count)
                    try body(AccountWalk(page, of: rows, reader), rows.ids[page.upperBound - 1].string)
                }
            }
        }
    }
}
