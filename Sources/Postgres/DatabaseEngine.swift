/// The kind of server behind a connection.
package enum DatabaseEngine: UInt8, Sendable, Hashable {
    case postgres = 1
    /// The coordinator of a Citus cluster: the database has the extension `citus`, and its tables may be distributed.
    case citus
}

// Citus, as Concord uses it.
//
// Each connection asks for its engine once, after it is open, because a connection string, a pooler and an `ALTER ROLE`
// do not say it. On Citus
//
// - PostgreSQL chooses between plans for any values and plans for the values at hand. Citus knows the shard of a value
//   only when it has the value, and refuses most statements under `force_generic_plan`;
// - statements of several callers are not sent as one (`MergedStatements.swift`): each caller's statement asks one shard,
//   and a statement for all of them asks many.
//
// If an administrator adds the extension under a running client, statements begin to fail with 0A000. The connections on
// which that happens are replaced, and the new ones find Citus.

extension DatabaseEngine {
    /// Asks for the engine. The value is NULL on PostgreSQL.
    private static let question = """
        CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus')
        """

    /// Asks for the engine and, on Citus, lets PostgreSQL choose the kind of plan.
    static let greeting = SQL(
        text: "SELECT \(question) THEN pg_catalog.set_config('plan_cache_mode', 'auto', false) END"
    )

    /// The engine of the database.
    package static let query = Query<DatabaseEngineRow>(SQL(text: "SELECT \(question) THEN 'citus' END"))

    init(greeted answer: ResultSet) throws(PostgresError) {
        guard answer.rowCount == 1, answer.columnCount == 1 else {
            throw PostgresError(.decoding, "the server did not name its engine")
        }
        self = try answer.value(row: 0, column: 0, as: String.self) == nil ? .postgres : .citus
    }
}

/// The answer to `DatabaseEngine.query`.
package struct DatabaseEngineRow: RowDecodable, Sendable {
    package let engine: DatabaseEngine

    package init(row: inout RowDecoder) throws(PostgresError) {
        engine = try row.next(String?.self) == nil ? .postgres : .citus
    }
}

extension PostgresConnection {
    /// The engine of the database.
    package func engine() throws(PostgresError) -> DatabaseEngine {
        try query(DatabaseEngine.query).first?.engine ?? .postgres
    }
}

extension ServerFailure {
    /// True if the statement may succeed on a new connection, because the server became Citus under this one.
    var suggestsNewEngine: Bool { sqlState == .featureNotSupported && !isStalePreparation }
}
