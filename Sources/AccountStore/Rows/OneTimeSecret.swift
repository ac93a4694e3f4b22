import Postgres

/// A stored secret that works once and is locked after some wrong attempts: a mailed code, a code sent to a number, a
/// challenge.
struct OneTimeSecret: Sendable {
    let table: SQL
    /// Finds the row by its key.
    let row: SQL
    /// Holds for a row that is neither used, void nor locked.
    let isUsable: SQL
    /// Sets the other columns that change when it is used; begins with a comma.
    var sets: SQL = ""

    /// Uses the secret. If another request has used it, or it is locked, nothing changes: `assertUsed` must follow.
    func use(by use: PostgresUUID, at time: SQL) -> SQL {
        """
        UPDATE \(table) SET consumed_at = \(time), consumed_by = \(use)\(sets)
        WHERE \(row) AND \(isUsable)
        """
    }

    /// Raises 22012 (division by zero) unless `use` used the secret.
    func assertUsed(by use: PostgresUUID) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM \(table)
        WHERE \(row) AND consumed_by = \(use)
        """
    }

    /// Locks the secret, or raises 22012 (division by zero) unless it can be used now.
    func assertUsable() -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (
            SELECT 1 FROM \(table) WHERE \(row) AND \(isUsable) FOR UPDATE
        ) AS held
        """
    }

    /// Counts a wrong attempt. Changes nothing if the secret is used, void or locked.
    func countAttempt() -> SQL {
        """
        UPDATE \(table) SET attempts = attempts + 1
        WHERE \(row) AND \(isUsable)
        """
    }
}

extension AccountWrite.SideWrite {
    /// Uses a secret. If another request has used it, or it is locked, the whole write is undone.
    ///
    /// - `use`: fresh for each request, the same on each of its attempts.
    static func useUp(_ secret: OneTimeSecret, by use: PostgresUUID, at time: SQL) -> Self {
        Self([secret.use(by: use, at: time), secret.assertUsed(by: use)])
    }
}
