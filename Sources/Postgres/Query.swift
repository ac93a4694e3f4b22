/// A statement and the type of the rows it returns.
package struct Query<Row: RowDecodable>: Sendable, ExpressibleByStringInterpolation {
    package let sql: SQL
    /// The column of the answer that holds the key, for a query that may share its statement with others.
    let keyColumn: Int?

    package init(_ sql: SQL) {
        self.sql = sql
        keyColumn = nil
    }

    /// A lookup: a query for the rows of one key, which may be answered together with others that differ in the key
    /// only. While the connections are busy such queries gather, and go out as one statement.
    ///
    /// The statement compares the key with `= ANY($n)`, or joins `unnest($n)`, where `$n` is its last parameter, an array
    /// that holds the key alone. The key is also the column `keyColumn` of the answer, counted from 0, and of the very type of the array's
    /// elements. A row is taken for the answer to every key it was found by, so no other condition may depend on the key.
    ///
    ///     Query(keyColumn: 0, "SELECT id, email FROM users WHERE tenant = \(tenant) AND id = ANY(\([id]))")
    package init(keyColumn: Int, _ sql: SQL) {
        var sql = sql
        sql.joinByKeys()
        self.sql = sql
        self.keyColumn = keyColumn
    }

    package init(stringLiteral value: StaticString) {
        self.init(SQL(stringLiteral: value))
    }

    package init(stringInterpolation: SQL.Interpolation) {
        self.init(SQL(stringInterpolation: stringInterpolation))
    }
}

/// Statements that are applied together or not at all, in one round trip.
///
/// Guards are the database's own: a constraint that a statement violates, or an assertion that raises, undoes them all.
package struct WriteBatch: Sendable {
    /// For metrics and traces; a closed set.
    package let name: StaticString
    /// Whether it may be applied together with batches of other callers, in one transaction: while the connections are
    /// busy, those of the same statements gather, and what can be one statement is (`\(row:)` and `\(keys:)` of `SQL`).
    ///
    /// For batches that touch nothing of each other's and seldom fail: when one of them fails, all are undone, and each is
    /// applied again by itself, so that every caller has an answer of its own. Nothing is told of the rows.
    package let isShared: Bool
    /// Batches that are applied together are applied in this order: those that update common rows name the first of them
    /// here, so that two transactions never wait for each other in a circle.
    package var order: [UInt8] = []
    package private(set) var statements: [SQL] = []

    package init(_ name: StaticString, _ statements: [SQL] = [], isShared: Bool = false) {
        self.name = name
        self.isShared = isShared
        self.statements = statements
    }

    package mutating func append(_ statement: SQL) {
        statements.append(statement)
    }

    package mutating func append(_ more: [SQL]) {
        statements += more
    }

    package var isEmpty: Bool { statements.isEmpty }
}

/// What the statements of a committed `WriteBatch` returned, by their index; nothing of one that is shared.
package struct WriteResult: Sendable {
    private let results: [ResultSet]
    private let rowsMax: Int

    init(results: [ResultSet], rowsMax: Int) {
        self.results = results
        self.rowsMax = rowsMax
    }

    /// How many rows the statement at `index` inserted, changed, deleted or returned.
    package func affectedRows(_ index: Int) -> Int {
        results[index].affectedRows
    }

    /// The rows that the statement at `index` returned (`RETURNING …`).
    ///
    /// - Throws: `.decoding`, `.tooManyRows`. The batch has been committed all the same.
    package func rows<Row: RowDecodable>(_ index: Int, as type: Row.Type = Row.self) throws(PostgresError) -> [Row] {
        try results[index].decode(rowsMax: rowsMax)
    }
}
