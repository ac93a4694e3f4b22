package import AccountLinking
package import Postgres

/// A duty: work that one server does for all. Its holder renews the row; another server takes it over once it has run
/// out. A lock of the session would not survive a pooler, and belongs to no server on Citus.
enum DutyRow {
    /// The duty, unless it ran out by `now` or is of `holder`.
    static func heldByOther(_ duty: String, than holder: String, at now: Timestamp) -> Query<SingleValueRow<Timestamp>>
    {
        """
        SELECT held_until FROM \(table: "duties")
        WHERE duty = \(duty) AND holder <> \(holder) AND held_until > \(now)
        """
    }

    /// Takes or renews the duty. Changes no row if another server holds it.
    static func claim(_ duty: String, for holder: String, until end: Timestamp, at now: Timestamp) -> SQL {
        """
        INSERT INTO duties (duty, holder, held_until) VALUES (\(duty), \(holder), \(end))
        ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
        WHERE duties.holder = excluded.holder OR duties.held_until <= \(now)
        """
    }

    /// Gives the duty back, if `holder` still has it.
    static func release(_ duty: String, of holder: String) -> SQL {
        "DELETE FROM duties WHERE duty = \(duty) AND holder = \(holder)"
    }
}

extension AccountStore {
    /// Takes or renews a duty until `end`.
    /// - Returns: `false` if another server holds it. Such a call writes nothing.
    package func claimDuty(
        _ duty: String,
        for holder: String,
        until end: Timestamp,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        guard try await client.read(DutyRow.heldByOther(duty, than: holder, at: now)).isEmpty else { return false }
        let batch = WriteBatch("duty", [DutyRow.claim(duty, for: holder, until: end, at: now)])
        return try await client.write(batch).affectedRows(0) == 1
    }

    /// Gives a duty back, so that another server need not wait until it runs out.
    package func releaseDuty(_ duty: String, of holder: String) async throws(PostgresError) {
        try await client.write(WriteBatch("duty", [DutyRow.release(duty, of: holder)]))
    }
}
