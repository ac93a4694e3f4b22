package import AccountLinking
package import Postgres

/// The work of the purge that waits.
enum ExpiredRows {
    /// Expired rows of the largest tables, at most `countMax` of each.
    static func count(before cutoff: Timestamp, countMax: Int64) -> Query<Int64> {
        """
        SELECT count(*) FROM (
            (SELECT 1 FROM \(table: "conflicts") WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM one_time_codes WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM kept_answers WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM outbox WHERE expires_at < \(cutoff) LIMIT \(countMax))
        ) AS expired
        """
    }
}

extension AccountStore {
    /// The number of rows that expired before `cutoff` and still exist, up to a few times `countMax`.
    package func expiredRowCount(before cutoff: Timestamp, countMax: Int64) async throws(PostgresError) -> Int64 {
        try await client.read(ExpiredRows.count(before: cutoff, countMax: countMax)).first ?? 0
    }
}

/// The space of the sessions, by the last statistics: counting them would read the table.
package struct SessionsSize: Sendable, RowDecodable {
    package let rows: Int64
    package let bytes: Int64

    package init(row: inout RowDecoder) throws(PostgresError) {
        rows = try row.next()
        bytes = try row.next()
    }

    static let current: Query<SessionsSize> = """
        SELECT greatest(reltuples, 0)::bigint, pg_total_relation_size(oid) FROM pg_class
        WHERE oid = to_regclass('sessions')
        """
}

extension AccountStore {
    package func sessionsSize() async throws(PostgresError) -> SessionsSize? {
        try await client.read(SessionsSize.current).first
    }
}
