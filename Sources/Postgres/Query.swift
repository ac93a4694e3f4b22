/// A statement and the type of the rows it returns.
package struct Query<Row: RowDecodable>: Sendable, ExpressibleByStringInterpolation {
    package let sql: SQL
    /// The column of the answer that holds the key; `nil` for a query that never shares its statement.
    let keyColumn: Int?

    package init(_ sql: SQL) {
        self.sql = sql
        keyColumn = nil
    }

    /// Makes a lookup: a query for the rows of one key. While the connections are busy, lookups that differ only in the
    /// key are sent as one statement.
    ///
    /// The statement compares the key with `= ANY($n)`, or joins `unnest($n)`, where `$n` is its last parameter, an
    /// array that holds only the key. The answer contains the key in column `keyColumn`, counted from 0, with exactly
    /// the type of the array's elements. A row answers every key by which it was found, so no other condition may
    /// depend on the key.
    ///
    ///     Query(keyColumn: 0, "SELECT id, email FROM users WHERE tenant = \(tenant) AND id = ANY(\([id]))")
    package init(keyColumn: Int, _ sql: SQL) {
        var sql = sql
        sql.mergeByKeys()
        self.sql = sql
        self.keyColumn = keyColumn
    }

    /// A query, or a lookup, with another text for Citus (`SQL.init(_:onCitus:)`). On Citus every caller sends its own
    /// statement, so that text has one key and no array.
    package init(keyColumn: Int? = nil, _ sql: SQL, onCitus form: @autoclosure @escaping @Sendable () -> SQL) {
        var sql = sql
        if keyColumn != nil { sql.mergeByKeys() }
        self.sql = SQL(sql, onCitus: form())
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
/// Guards are the database's own: a violated constraint or a failed assertion rolls back all statements.
package struct WriteBatch: Sendable {
    /// For metrics and traces; a closed set.
    package let name: StaticString
    /// If `true`, the batch may be applied in one transaction with batches of other callers: while the connections are
    /// busy, batches of the same statements are collected, and statements are merged where they can be (`\(row:)` and
    /// `\(keys:)` of `SQL`).
    ///
    /// For batches that touch no common data and seldom fail. If one fails, all are rolled back and each is applied
    /// again alone, so that every caller gets its own answer. Shared batches return no rows.
    package let isShared: Bool
    /// The order in which shared batches are applied together. Batches that update common rows put the first of these
    /// rows here, so that two transactions never deadlock.
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

/// The results of a committed `WriteBatch`, by statement index; none for a shared batch.
package struct WriteResult: Sendable {
    private let results: [ResultSet]
    private let rowsMax: Int

    init(results: [ResultSet], rowsMax: Int) {
        self.results = results
        self.rowsMax = rowsMax
    }

    /// Returns the number of rows that the statement at `index` inserted, changed, deleted or returned.
    package func affectedRows(_ index: Int) -> Int {
        results[index].affectedRows
    }

    /// Returns the rows that the statement at `index` returned (`RETURNING …`).
    /// - Throws: `.decoding`, `.tooManyRows`. The batch is committed nevertheless.
    package func rows<Row: RowDecodable>(_ index: Int, as type: Row.Type = Row.self) throws(PostgresError) -> [Row] {
        try results[index].decode(rowsMax: rowsMax)
    }
}
