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
