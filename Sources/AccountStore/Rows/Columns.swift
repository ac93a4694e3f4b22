import Postgres

/// A column of a table: its name, and the value of a record that it holds.
struct Column<Record>: Sendable {
    let name: StaticString
    fileprivate let bind: @Sendable (Record, inout SQL.Interpolation) -> Void
    fileprivate let bindAll: @Sendable ([Record], inout SQL.Interpolation) -> Void
    fileprivate let read: @Sendable (inout RowDecoder, inout Record, StaticString) throws(PostgresError) -> Void

    init<Value: StoredValue>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value,
        _ set: @escaping @Sendable (inout Record, Value) -> Void
    ) {
        self.name = name
        bind = { record, sql in sql.appendInterpolation(value(record)) }
        bindAll = { records, sql in sql.appendInterpolation(records.map(value)) }
        read = { row, record, table throws(PostgresError) in set(&record, try row.next(of: table)) }
    }

    init<Value: StoredValue>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value?,
        _ set: @escaping @Sendable (inout Record, Value?) -> Void
    ) {
        self.name = name
        bind = { record, sql in sql.appendInterpolation(value(record)) }
        bindAll = { records, sql in sql.appendInterpolation(records.map(value)) }
        read = { row, record, table throws(PostgresError) in set(&record, try row.next(of: table)) }
    }

    init<Value: PostgresValue & PostgresArrayElement>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value,
        _ set: @escaping @Sendable (inout Record, Value) -> Void
    ) {
        self.name = name
        bind = { record, sql in sql.appendInterpolation(value(record)) }
        bindAll = { records, sql in sql.appendInterpolation(records.map(value)) }
        read = { row, record, _ throws(PostgresError) in set(&record, try row.next()) }
    }

    init<Value: PostgresValue & PostgresArrayElement>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value?,
        _ set: @escaping @Sendable (inout Record, Value?) -> Void
    ) {
        self.name = name
        bind = { record, sql in sql.appendInterpolation(value(record)) }
        bindAll = { records, sql in sql.appendInterpolation(records.map(value)) }
        read = { row, record, _ throws(PostgresError) in set(&record, try row.next()) }
    }
}

/// The columns of a table that its statements name together, in one order for all of them.
struct Columns<Record>: Sendable {
    /// `a, b, c`
    let names: SQL
    fileprivate let list: [Column<Record>]
    // Side by side, because to take a whole column costs more than to bind or read its value.
    fileprivate let binds: [@Sendable (Record, inout SQL.Interpolation) -> Void]
    private let reads: [@Sendable (inout RowDecoder, inout Record, StaticString) throws(PostgresError) -> Void]
    fileprivate let texts: [StaticString]

    init(_ list: [Column<Record>]) {
        self.list = list
        names = Self.joined(list.map { SQL(literal: $0.name) })
        binds = list.map(\.bind)
        reads = list.map(\.read)
        texts = list.map(\.name)
    }

    /// `t.a, t.b, t.c`
    func names(of table: SQL) -> SQL {
        Self.joined(list.map { "\(table).\(SQL(literal: $0.name))" })
    }

    /// `($1, $2, $3)`: the values of one record.
    func row(_ record: Record) -> SQL {
        var sql = SQL.Interpolation(literalCapacity: 0, interpolationCount: list.count)
        for place in binds.indices {
            sql.appendLiteral(place == 0 ? "(" : Self.separator(place))
            binds[place](record, &sql)
        }
        sql.appendLiteral(")")
        return SQL(stringInterpolation: sql)
    }

    /// `$1, $2, $3`: for each column an array with the values of all records, for `unnest`.
    func arrays(_ records: [Record]) -> SQL {
        var sql = SQL.Interpolation(literalCapacity: 0, interpolationCount: list.count)
        for (place, column) in list.enumerated() {
            sql.appendLiteral(Self.separator(place))
            column.bindAll(records, &sql)
        }
        return SQL(stringInterpolation: sql)
    }

    /// `a = t.a, b = t.b, c = t.c`
    func assignments(from table: SQL) -> SQL {
        Self.joined(list.map { "\(SQL(literal: $0.name)) = \(table).\(SQL(literal: $0.name))" })
    }

    /// Reads the columns in their order.
    ///
    /// - `table`: for errors.
    func read(_ row: inout RowDecoder, into record: inout Record, of table: StaticString) throws(PostgresError) {
        for place in reads.indices { try reads[place](&row, &record, table) }
    }

    private static func joined(_ pieces: [SQL]) -> SQL {
        var sql: SQL = ""
        for (place, piece) in pieces.enumerated() { sql.append("\(SQL(literal: separator(place)))\(piece)") }
        return sql.asOnePiece
    }

    /// Before the column at `place`: six stand on a line, for whoever reads the statement.
    fileprivate static func separator(_ place: Int) -> StaticString {
        place == 0 ? "" : place % 6 == 0 ? ",\n    " : ", "
    }
}

extension SQL.Interpolation {
    /// `a = $1, b = $2, c = $3`: sets the columns to the values of a record.
    mutating func appendInterpolation<Record>(_ columns: Columns<Record>, from record: Record) {
        for place in columns.binds.indices {
            appendLiteral(Columns<Record>.separator(place))
            appendLiteral(columns.texts[place])
            appendLiteral(" = ")
            columns.binds[place](record, &self)
        }
    }
}
