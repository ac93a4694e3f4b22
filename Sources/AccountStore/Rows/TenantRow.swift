import AccountLinking
import Postgres

/// The tenants that have users or claims.
enum TenantRow {
    static func exists(_ tenant: TenantID) -> Query<Bool> {
        Query(
            """
            SELECT EXISTS (SELECT 1 FROM users WHERE tenant_id = \(tenant))
                OR EXISTS (SELECT 1 FROM identifiers WHERE tenant_id = \(tenant))
            """
        )
    }

    /// The first tenant that has users, or claims, after a tenant; `nil` if there is none. Both by index.
    ///
    /// - `last`: the tenant before; `nil` to begin.
    static func next(after last: TenantID?) -> [Query<String?>] {
        let condition: SQL = last.map { "tenant_id > \($0)" } ?? "tenant_id >= ''"
        return [
            last.map(nextWithUsers) ?? firstWithUsers,
            Query("SELECT min(tenant_id) FROM identifiers WHERE \(condition)"),
        ]
    }

    /// The first tenant that has users.
    static let firstWithUsers: Query<String?> = "SELECT min(tenant_id) FROM \(table: "users") WHERE tenant_id >= ''"

    /// The first tenant after another one that has users.
    static func nextWithUsers(after tenant: TenantID) -> Query<String?> {
        "SELECT min(tenant_id) FROM \(table: "users") WHERE tenant_id > \(tenant)"
    }
}
