import Postgres

/// The transactions that see the database as of one instant, and can write nothing.
enum SnapshotTransaction {
    /// About how many accounts there are, without counting them; negative where nobody has looked yet.
    static let userEstimate: Query<Int64?> = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'users'::regclass"
    /// How many blocks the tables have, in the order of `names`.
    static func blockCounts(_ names: [String]) -> Query<Int64?> {
        """
        SELECT pg_relation_size(table_name::regclass) / current_setting('block_size')::bigint
        FROM unnest(\(names)) WITH ORDINALITY AS scanned (table_name, place) ORDER BY place
        """
    }

    /// The tables all of whose rows are a tenant's; by the first and the last entry of their indexes.
    static func tablesOnly(of tenant: String) -> Query<String?> {
        """
        SELECT held.name FROM (
            SELECT 'users', min(tenant_id), max(tenant_id) FROM users
            UNION ALL SELECT 'password_credentials', min(tenant_id), max(tenant_id) FROM password_credentials
            UNION ALL SELECT 'linked_providers', min(tenant_id), max(tenant_id) FROM linked_providers
            UNION ALL SELECT 'sign_in_methods', min(tenant_id), max(tenant_id) FROM sign_in_methods
            UNION ALL SELECT 'second_factors', min(tenant_id), max(tenant_id) FROM second_factors
            UNION ALL SELECT 'sessions', min(tenant_id), max(tenant_id) FROM sessions
            UNION ALL SELECT 'one_time_codes', min(tenant_id), max(tenant_id) FROM one_time_codes
            UNION ALL SELECT 'conflicts', min(tenant_id), max(tenant_id) FROM conflicts
            UNION ALL SELECT 'identifiers', min(tenant_id), max(tenant_id) FROM identifiers
        ) AS held (name, first, last)
        WHERE held.first = \(tenant) AND held.last = \(tenant)
        """
    }

    static let begin: SQL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    static let end: SQL = "COMMIT"
    static let exportSnapshot: Query<String?> = "SELECT pg_export_snapshot()"
    /// Whatever the statistics say of tables that were just filled (ADR 0031).
    static let goByIndexes: SQL = "SET LOCAL enable_seqscan = off"
    static let goByStatistics: SQL = "SET LOCAL enable_seqscan = on"

    /// Joins a transaction that is still open.
    /// - Throws: `.misuse` for what is no name of a snapshot.
    static func adopt(_ snapshot: String) throws(PostgresError) -> String {
        guard snapshot.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || $0 == 0x2D })
        else {
            throw PostgresError(.misuse, "not the name of a snapshot")
        }
        return "SET TRANSACTION SNAPSHOT '\(snapshot)'"
    }
}
