import AccountLinking
import Postgres

/// Reads what there is of some accounts by their ids, table by table.
struct PageReader {
    private let connection: PostgresConnection
    private let tenant: String
    private let now: Timestamp

    init(_ connection: PostgresConnection, tenant: String, at now: Timestamp) {
        self.connection = connection
        self.tenant = tenant
        self.now = now
    }

    /// The accounts of `users`, which are rows of `AuditedUserRow`, in the order of their ids.
    /// - Throws: `PostgresError`; what cannot be read is told in the account.
    func accounts(_ users: RawRows) throws -> [AccountSnapshot] {
        var rows = AuditedRows()
        rows.append(users, of: .users)
        let ids = users.texts(ofColumn: 0)
        for table in AuditedTable.allCases where table != .users && table != .claims {
            rows.append(try connection.rawRows(table.rows(.ids(ids), tenant: tenant, at: now)), of: table)
        }
        var assembly = try AccountAssembly(rows, tenant: tenant)
        // Claims cannot be found by their users.
        try noteOwners(of: assembly.shown(), in: &assembly)
        return assembly.accounts
    }

    /// Asks who owns what is shown, by one question for each kind.
    func noteOwners(
        of shown: [AccountAssembly.Shown],
        in assembly: inout AccountAssembly
    ) throws(PostgresError) {
        for (kind, shown) in Dictionary(grouping: shown, by: \.identifier.kind).sorted(by: { $0.key < $1.key }) {
            let values = shown.map(\.identifier.value)
            let claims = try connection.query(OwnedClaimRow.on(values, kind: kind, tenant: tenant))
            let owners = Dictionary(claims.map { ($0.value, $0.user) }) { first, _ in first }
            for (value, shown) in zip(values, shown) { assembly.note(shown, ownedBy: owners[value]) }
        }
    }

    /// The accounts that have claims on what they do not show, among some or all, with what they show and nothing else.
    ///
    /// All of them at once: there are few, unless something went badly wrong.
    /// - `countMax`: claims in one answer.
    func strayClaims(of ids: [String]?, countMax: Int) throws -> [AccountSnapshot] {
        var rows = AuditedRows()
        var owners: [String] = []
        try connection.execute(SnapshotTransaction.goByStatistics)
        var place = (user: "", kind: "", value: "")
        while true {
            let claims = try connection.rawRows(
                AuditedClaimRow.stray(tenant: tenant, of: ids, after: place, limit: Int64(countMax))
            )
            rows.append(claims, of: .claims)
            owners += claims.texts(ofColumn: 0)
            guard claims.count == countMax else { break }
            let last = (0..<3).map { claims.text(row: countMax - 1, column: $0) }
            place = (last[0], last[1], last[2])
        }
        try connection.execute(SnapshotTransaction.goByIndexes)
        guard !owners.isEmpty else { return [] }
        for table in [AuditedTable.users, .providers] {
            rows.append(try connection.rawRows(table.rows(.ids(owners), tenant: tenant, at: now)), of: table)
        }
        return try AccountAssembly(rows, tenant: tenant).accounts
    }
}
