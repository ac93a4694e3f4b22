import AccountLinking
import Postgres

/// Guards that stop a write if its facts have changed. `PostgresError.saysFactsMoved` recognises them all.
extension SQL {
    /// Selected, raises 22012 (division by zero) if the statement finds no row.
    static let assertExists: SQL = "1 / count(*)"

    /// Selected, raises 22012 (division by zero) if the statement finds a row.
    static let assertNone: SQL = "1 / (1 - least(count(*), 1))"

    /// Deletes at most `rowsMax` rows that ended before `cutoff`, the oldest first. Needs `findingRowsByKey`.
    ///
    /// - `key`: the columns of the primary key.
    /// - `condition`: holds for the rows that may be deleted.
    static func deleteExpired(
        _ table: SQL,
        key: SQL,
        where condition: SQL? = nil,
        by end: SQL,
        before cutoff: Timestamp,
        rowsMax: Int64
    ) -> SQL {
        let isExpired = hasEnded(by: end, before: cutoff, where: condition)
        return "DELETE FROM \(table) WHERE \(first(rowsMax, of: table, key: key, where: isExpired, by: end))"
    }

    /// True for a row that ended before `cutoff` and meets `condition`.
    static func hasEnded(by end: SQL, before cutoff: Timestamp, where condition: SQL?) -> SQL {
        let hasEnded: SQL = "\(end) <= \(cutoff)"
        guard let condition else { return hasEnded }
        return "\(condition) AND \(hasEnded)"
    }

    /// True for the first `rowsMax` rows of `table` by `order` that meet `condition`.
    ///
    /// `IS TRUE` keeps the outer condition from the index of the inner one: if few rows are expected to meet it, the plan
    /// would read them all once for each row.
    /// Nothing locks the rows before they are changed, so that Citus accepts the statement. The condition is repeated
    /// outside: PostgreSQL checks it again if another transaction changed the row in between. So a renewed row stays,
    /// and of several purgers that race one changes each row. They change rows in the order of their keys, so they do
    /// not deadlock.
    static func first(_ rowsMax: Int64, of table: SQL, key: SQL, where condition: SQL, by order: SQL) -> SQL {
        """
        (\(key)) IN (
            SELECT \(key) FROM \(table) WHERE \(condition) ORDER BY \(order) LIMIT \(rowsMax)
        ) AND (\(condition)) IS TRUE
        """
    }

    /// Precedes `first` in a transaction. A generic plan does not know `rowsMax`: it expects a tenth of the table, and
    /// scans all of it to join a few rows.
    static let findingRowsByKey: SQL = """
        SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
            set_config('enable_hashagg', 'off', true)
        """

    /// Raises the version of a row that holds `version` and meets `condition`. For any other row it sets NULL, which
    /// raises 23502. A deleted row changes nothing: an assertion must follow.
    static func guardVersion(_ version: Int64, and condition: SQL) -> SQL {
        "version = CASE WHEN version = \(version) AND \(condition) THEN version + 1 END"
    }
}
