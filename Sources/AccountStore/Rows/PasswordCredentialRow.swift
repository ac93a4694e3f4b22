package import AccountLinking
import Postgres

/// The hash of a user's password.
struct PasswordCredentialRow {
    private let tenant: TenantID
    private let user: UserID
    private let hash: String
    private let updatedAt: Timestamp

    private static let columns = Columns<PasswordCredentialRow>(
        of: "password_credentials",
        key: [Column("tenant_id", \.tenant), Column("user_id", \.user)],
        [Column("hash", \.hash), Column("updated_at", \.updatedAt)]
    )

    static func of(_ id: UserID, tenant: TenantID) -> Query<String> {
        """
        SELECT hash FROM \(table: "password_credentials")
        WHERE tenant_id = \(tenant) AND user_id = \(id)
        """
    }

    static func put(_ hash: String, for id: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        let row = PasswordCredentialRow(tenant: tenant, user: id, hash: hash, updatedAt: now)
        return columns.insert(row, replaces: true, isShared: true)
    }

    /// Replaces the hash `old` by another hash of the same password, unless the hash has changed. The time of the
    /// password stays.
    static func replace(_ old: String, by new: String, of id: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE password_credentials SET hash = \(new)
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND hash = \(old)
        """
    }

    /// Stores the hashes of many users, like `put`.
    static func putMany(_ hashes: [(UserID, String, Timestamp)], tenant: TenantID) -> SQL {
        let rows = hashes.map { PasswordCredentialRow(tenant: tenant, user: $0, hash: $1, updatedAt: $2) }
        return "\(columns.insertMany(rows, tenant: tenant))\n\(columns.orReplace)"
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM password_credentials
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }

    static func delete(of id: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM password_credentials WHERE tenant_id = \(tenant) AND user_id = \(id)"
    }
}

extension AccountWrite.SideWrite {
    /// Stores another hash of the same password. If the password changed meanwhile, the change wins. Never stops a
    /// write.
    package static func replacePasswordHash(_ old: String, by new: String, of user: UserID, tenant: TenantID) -> Self {
        Self([PasswordCredentialRow.replace(old, by: new, of: user, tenant: tenant)])
    }
}

/// A hash with the user it belongs to.
struct PasswordHashRow: RowDecodable {
    let id: UserID
    let hash: String

    init(row: inout RowDecoder) throws(PostgresError) {
        id = try row.next()
        hash = try row.next()
    }

    static func withIDs(_ ids: [UserID], tenant: TenantID) -> Query<PasswordHashRow> {
        // Looks up each id by key, because PostgreSQL may run `= ANY` as a scan of the whole table.
        Query(
            """
            SELECT own.user_id, own.hash FROM unnest(\(ids)) AS wanted (user_id) JOIN LATERAL (
                SELECT password_credentials.user_id, password_credentials.hash FROM \(table: "password_credentials")
                WHERE tenant_id = \(tenant) AND password_credentials.user_id = wanted.user_id OFFSET 0
            ) AS own ON true
            """,
            onCitus: """
                SELECT user_id, hash FROM \(table: "password_credentials")
                WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
                """
        )
    }
}
