import AccountLinking
import Postgres

/// Guards that stop a write if its facts have changed. `PostgresError.saysFactsMoved` recognises them all.
extension SQL {
    /// Selected, raises 22012 (division by zero) if the statement finds no row.
    static let assertExists: SQL = "1 / count(*)"

    /// Selected, raises 22012 (division by zero) if the statement finds a row.
    static let assertNone: SQL = "1 / (1 - least(count(*), 1))"

    /// Deletes at most `rowsMax` rows that ended before `cutoff`, the oldest first. Rows that another transaction holds
    /// are left for later.
    ///
    /// - `condition`: holds for the rows that may be deleted.
    static func deleteExpired(
        _ table: SQL,
        key: SQL,
        where condition: SQL? = nil,
        by end: SQL,
        before cutoff: Timestamp,
        rowsMax: Int64
    ) -> SQL {
        let condition: SQL = condition.map { "\($0) AND " } ?? ""
        return """
            DELETE FROM \(table) WHERE (\(key)) IN (
                SELECT \(key) FROM \(table) WHERE \(condition)\(end) <= \(cutoff)
                ORDER BY \(end) LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
            )
            """
    }

    /// Raises the version of a row that holds `version` and meets `condition`. For any other row it sets NULL, which
    /// raises 23502. A deleted row changes nothing: an assertion must follow.
    static func guardVersion(_ version: Int64, and condition: SQL) -> SQL {
        "version = CASE WHEN version = \(version) AND \(condition) THEN version + 1 END"
    }
}
