package import AccountLinking
package import Postgres

/// PostgreSQL's clock. It has no table.
enum ClockRow {
    /// The time at which the statement runs.
    static let current = Query<SingleValueRow<Timestamp>>(
        "SELECT clock.now FROM \(table: "clock_timestamp")() AS clock (now)"
    )
}

extension AccountStore {
    /// The time by PostgreSQL's clock. One round trip.
    package func clock() async throws(PostgresError) -> Timestamp {
        guard let row = try await client.read(ClockRow.current).first else { throw .unreadable("clock_timestamp") }
        return row.value
    }
}
