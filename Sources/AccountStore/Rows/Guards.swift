import Postgres

/// What stops a write whose facts have moved. `PostgresError.saysFactsMoved` recognises them all.
extension SQL {
    /// Selected, raises 22012 (division by zero) if the statement finds no row.
    static let assertExists: SQL = "1 / count(*)"

    /// Selected, raises 22012 (division by zero) if the statement finds a row.
    static let assertNone: SQL = "1 / (1 - least(count(*), 1))"

    /// Raises the version of a row that holds `version` and meets `condition`. For any other row it sets NULL, which raises 23502.
    /// A row that is gone changes nothing: an assertion must follow.
    static func guardVersion(_ version: Int64, and condition: SQL) -> SQL {
        "version = CASE WHEN version = \(version) AND \(condition) THEN version + 1 END"
    }
}
