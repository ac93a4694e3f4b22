/// A statement and the type of the rows it returns.
package struct Query<Row: RowDecodable>: Sendable, ExpressibleByStringInterpolation {
    package let sql: SQL

    package init(_ sql: SQL) {
        self.sql = sql
    }

    package init(stringLiteral value: String) {
        sql = SQL(stringLiteral: value)
    }

    package init(stringInterpolation: SQL.Interpolation) {
        sql = SQL(stringInterpolation: stringInterpolation)
    }
}

/// Statements that are applied together or not at all, in one round trip.
///
/// Guards are the database's own: a constraint that a statement violates, or an assertion that raises, undoes them all.
package struct WriteBatch: Sendable {
    /// For metrics and traces; a closed set.
    package let name: StaticString
    package private(set) var statements: [SQL] = []

    package init(_ name: StaticString) {
        self.name = name
    }

    package mutating func append(_ statement: SQL) {
        statements.append(statement)
    }

    package var isEmpty: Bool { statements.isEmpty }
}

/// What the statements of a committed `WriteBatch` returned, by their index.
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
