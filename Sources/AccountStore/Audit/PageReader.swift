import AccountLinking
import Postgres

/// Reads what there is of some accounts by their ids, table by table.
struct PageReader {
    private let connection: PostgresConnection
    let tenant: String
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
        try rows.append(users, of: .users)
        let ids = users.texts(ofColumn: 0)
        for table in AuditedTable.allCases where table != .users && table != .claims {
            try rows.append(try connection.rawRows(table.rows(.ids(ids), tenant: tenant, at: now)), of: table)
        }
        var accounts = try AccountAssembly.accounts(of: rows, tenant: TenantID(tenant))
        // Claims cannot be found by their users.
        for place in accounts.indices {
            accounts[place].unclaimed = (accounts[place].account?.identifiers ?? []).map {
                .init(identifier: $0, owner: nil)
            }
        }
        try noteOwners(in: &accounts)
        return accounts
    }

    /// Finds out who owns what is noted as nobody's, by one question for each kind. What turns out to be the account's own is no
    /// longer noted.
    func noteOwners(in accounts: inout [AccountSnapshot]) throws(PostgresError) {
        var owners: [Identifier: UserID] = [:]
        let unclaimed = accounts.flatMap { $0.unclaimed.map(\.identifier) }
        for (kind, shown) in Dictionary(grouping: unclaimed, by: \.kind).sorted(by: { $0.key < $1.key }) {
            let values = shown.map(\.value)
            let claims = try connection.query(OwnedClaimRow.on(values, kind: kind, tenant: tenant))
            let users = Dictionary(claims.map { ($0.value, $0.user) }) { first, _ in first }
            for (identifier, value) in zip(shown, values) { owners[identifier] = users[value].flatMap(UserID.init) }
        }
        for place in accounts.indices {
            accounts[place].unclaimed = accounts[place].unclaimed.compactMap { unclaimed in
                let owner = owners[unclaimed.identifier]
                return owner == accounts[place].id ? nil : .init(identifier: unclaimed.identifier, owner: owner)
            }
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
            try rows.append(claims, of: .claims)
            owners += claims.texts(ofColumn: 0)
            guard claims.count == countMax else { break }
            let last = (0..<3).map { claims.text(row: countMax - 1, column: $0) }
            place = (last[0], last[1], last[2])
        }
        try connection.execute(SnapshotTransaction.goByIndexes)
        guard !owners.isEmpty else { return [] }
        for table in [AuditedTable.users, .providers] {
            try rows.append(try connection.rawRows(table.rows(.ids(owners), tenant: tenant, at: now)), of: table)
        }
        return try AccountAssembly.accounts(of: rows, tenant: TenantID(tenant))
    }
}
