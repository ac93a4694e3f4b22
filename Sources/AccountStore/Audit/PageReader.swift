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

    /// The accounts of `users`, in their order.
    /// - Throws: `PostgresError`; what cannot be read is told in the account.
    func accounts(_ users: [AuditedUserRow]) throws(PostgresError) -> [AccountSnapshot] {
        var assembly = AccountAssembly(tenant: tenant, count: users.count)
        let scope = AuditScope.ids(users.map(\.id))
        for row in users { assembly.add(row) }
        for row in try connection.query(AuditedPasswordRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedProviderRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedMethodRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedFactorRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedSessionsRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedCodesRow.of(scope, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedConflictsRow.of(scope, tenant: tenant, at: now)) { assembly.add(row) }
        try noteOwners(of: assembly.shown(), in: &assembly)
        return assembly.sorted()
    }

    /// Asks who owns what is shown, by one question for each kind.
    func noteOwners(
        of shown: [AccountAssembly.Shown],
        in assembly: inout AccountAssembly
    ) throws(PostgresError) {
        for (kind, shown) in Dictionary(grouping: shown, by: \.identifier.kind).sorted(by: { $0.key < $1.key }) {
            let values = shown.map(\.identifier.value)
            let claims = try connection.query(AuditedClaimRow.on(values, kind: kind, tenant: tenant))
            let owners = Dictionary(claims.map { ($0.value, $0.user) }) { first, _ in first }
            for (value, shown) in zip(values, shown) { assembly.note(shown, ownedBy: owners[value]) }
        }
    }

    /// The claims of some accounts, or of all, that may be nobody's, with what these accounts show.
    ///
    /// All of them at once: there are few, unless something went badly wrong.
    /// - `countMax`: claims in one answer.
    func strayClaims(of ids: [String]?, countMax: Int) throws(PostgresError) -> [AccountSnapshot] {
        var assembly = AccountAssembly(tenant: tenant, count: 0)
        try connection.execute(AuditTransaction.goByStatistics)
        var place = (user: "", kind: "", value: "")
        while true {
            let claims = try connection.query(
                AuditedClaimRow.stray(tenant: tenant, of: ids, after: place, limit: Int64(countMax))
            )
            for claim in claims { assembly.addStray(claim) }
            guard let last = claims.last, claims.count == countMax else { break }
            place = (last.user, last.kind, last.value)
        }
        try connection.execute(AuditTransaction.goByIndexes)
        let owners = assembly.accounts.map(\.id.rawValue)
        guard !owners.isEmpty else { return [] }
        for row in try connection.query(AuditedUserRow.withIDs(owners, tenant: tenant)) { assembly.add(row) }
        for row in try connection.query(AuditedProviderRow.of(.ids(owners), tenant: tenant)) { assembly.add(row) }
        return assembly.sorted()
    }
}
