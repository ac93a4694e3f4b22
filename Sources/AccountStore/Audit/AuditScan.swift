import AccountLinking
import Postgres

/// All accounts of a tenant for an audit, read the way their tables lie.
final class AuditScan: Sendable {
    private let tenant: String
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

    /// Calls `body` with the accounts of a range in the order of their ids, at most `countMax` at once.
    func forEachPage(
        ofRange range: Int,
        countMax: Int,
        _ connection: PostgresConnection,
        _ body: ([AccountSnapshot]) throws -> Void
    ) throws {
        let reader = PageReader(connection, tenant: tenant, at: now)
        try scan.forEachPart(ofRange: range) { rows in
            try AccountAssembly.forEachPage(of: rows, tenant: tenant, countMax: countMax) { assembly in
                if !assembly.unclaimed.isEmpty {
                    try reader.noteOwners(of: assembly.unclaimed, in: &assembly)
                }
                try body(assembly.accounts)
            }
        }
    }
}
