package import Postgres

/// A statement that shows whether the database accepts writes.
enum WriteProbeRow {
    /// Refused as any other write is where there can be none; otherwise nothing happens, and nothing is written or
    /// locked for long.
    static let deleteNothing: SQL = "DELETE FROM kept_answers WHERE false"
}

extension AccountStore {
    /// Writes nothing, in a transaction such as those that write.
    ///
    /// - Throws: what a write throws; `PostgresError.refusesWrites` on a standby, for one.
    package func probeWrites() async throws(PostgresError) {
        try await client.write(WriteBatch("write-probe", [WriteProbeRow.deleteNothing]))
    }
}
