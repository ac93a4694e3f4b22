package import Postgres

/// A statement that shows whether the database accepts writes.
enum WriteProbeRow {
    /// Deletes nothing. Fails if the database refuses writes.
    static let deleteNothing: SQL = "DELETE FROM kept_answers WHERE false"
}

extension AccountStore {
    /// Runs a write transaction that changes nothing.
    ///
    /// - Throws: the error of a write, for example `PostgresError.refusesWrites` on a standby.
    package func probeWrites() async throws(PostgresError) {
        try await client.write(WriteBatch("write-probe", [WriteProbeRow.deleteNothing]))
    }
}
