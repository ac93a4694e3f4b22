import AccountLinking
import Postgres

/// A column of a table: its name, and the value of a record that it holds.
struct Column<Record>: Sendable {
    typealias Path = PartialKeyPath<Record> & Sendable
    typealias Read = @Sendable (inout RowDecoder, inout Record, StaticString) throws(PostgresError) -> Void

    let name: StaticString
    /// Binds the value of a record, and those of many records as an array; `nil` for a column that is only read.
    fileprivate var write: Write?
    /// The property by which `ColumnValues` finds the column; `nil` for a column that is only written.
    fileprivate var path: (any Path)?
    /// Reads the column into a record.
    fileprivate var read: Read?

    fileprivate struct Write: Sendable {
        let one: @Sendable (Record, inout SQL.Interpolation) -> Void
        var all: @Sendable ([Record], inout SQL.Interpolation) -> Void = { _, _ in preconditionFailure("no arrays") }
    }

    /// A column that is written from a property of a record, and found by it in a row.
    init<Value: ColumnValue>(_ name: StaticString, _ path: any KeyPath<Record, Value> & Sendable) {
        self.init(written: name) { $0[keyPath: path] }
        self.path = path
    }

    init<Value: ColumnValue>(_ name: StaticString, _ path: any KeyPath<Record, Value?> & Sendable) {
        self.init(written: name) { $0[keyPath: path] }
        self.path = path
    }

    /// A column of arrays. `unnest` would take them apart, so no insert of many records has it.
    init<Value: PostgresArrayElement>(arrays name: StaticString, _ path: any KeyPath<Record, [Value]> & Sendable) {
        self.init(name, Write { record, sql in sql.appendInterpolation(record[keyPath: path]) })
        self.path = path
    }

    /// A column that is never written with a record: it has a default, or a separate statement sets it.
    init<Value>(read name: StaticString, _ path: any KeyPath<Record, Value> & Sendable) {
        self.init(name, nil)
        self.path = path
    }

    /// A column that is never read.
    init<Value: ColumnValue>(written name: StaticString, _ value: @escaping @Sendable (Record) -> Value?) {
        let write = Write(
            one: { record, sql in sql.appendInterpolation(value(record)?.stored) },
            all: { records, sql in sql.appendInterpolation(records.map { value($0)?.stored }) }
        )
        self.init(name, write)
    }

    /// A column that every new row has the same value in.
    init(written name: StaticString, always value: SQL) {
        self.init(name, Write { _, sql in sql.appendInterpolation(value) })
    }

    /// The same column in an insert that gives every row the same value.
    func always(_ value: SQL) -> Column { Column(written: name, always: value) }

    /// A column that is read into a record that is there already.
    init<Value: ColumnValue>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value,
        _ set: @escaping @Sendable (inout Record, Value) -> Void
    ) {
        self.init(written: name, value)
        read = { row, record, table throws(PostgresError) in set(&record, try row.nextColumn(of: table)) }
    }

    init<Value: ColumnValue>(
        _ name: StaticString,
        _ value: @escaping @Sendable (Record) -> Value?,
        _ set: @escaping @Sendable (inout Record, Value?) -> Void
    ) {
        self.init(written: name, value)
        read = { row, record, table throws(PostgresError) in set(&record, try row.nextColumn(of: table)) }
    }

    private init(_ name: StaticString, _ write: Write?) {
        self.name = name
        self.write = write
    }
}

/// The columns of a table that its statements name together, in one order for all of them.
struct Columns<Record>: Sendable {
    let table: StaticString
    /// `a, b, c`: the columns that are read.
    let names: SQL
    /// `SELECT a, b, c FROM table`
    let select: SQL
    /// `a, b, c`: the columns that are written.
    let writtenNames: SQL
    /// `INSERT INTO table (a, b, c)`
    let into: SQL
    /// `ON CONFLICT (a) DO UPDATE SET b = excluded.b, c = excluded.c`: an insert replaces the row of the same key.
    let orReplace: SQL

    // Separate arrays: copying a whole column costs more than binding or reading its value.
    private let readNames: [StaticString]
    private let reads: [Column<Record>.Read]
    private let paths: [(any Column<Record>.Path)?]
    fileprivate let texts: [StaticString]
    fileprivate let writes: [Column<Record>.Write]

    /// - `key`: the columns of the primary key, which come first.
    init(of table: StaticString, key: [Column<Record>] = [], _ others: [Column<Record>]) {
        self.table = table
        let read = (key + others).filter { $0.path != nil || $0.read != nil }
        let written = (key + others).filter { $0.write != nil }
        readNames = read.map(\.name)
        reads = read.compactMap(\.read)
        paths = read.map(\.path)
        texts = written.map(\.name)
        writes = written.compactMap(\.write)
        let name = SQL(literal: table)
        names = Self.joined(readNames.map { SQL(literal: $0) })
        select = ("SELECT \(names) FROM \(table: table)" as SQL).asOnePiece
        writtenNames = Self.joined(texts.map { SQL(literal: $0) })
        into = ("INSERT INTO \(name) (\(writtenNames))" as SQL).asOnePiece
        let keyNames = Self.joined(key.map { SQL(literal: $0.name) })
        let replaced = Self.joined(
            texts.dropFirst(key.count).map { "\(SQL(literal: $0)) = excluded.\(SQL(literal: $0))" }
        )
        orReplace = ("ON CONFLICT (\(keyNames)) DO UPDATE SET \(replaced)" as SQL).asOnePiece
    }

    // MARK: Reading

    /// `table.a, table.b, table.c`
    var qualifiedNames: SQL { names(of: SQL(literal: table)) }

    /// `t.a, t.b, t.c`
    func names(of table: SQL) -> SQL {
        Self.joined(readNames.map { "\(table).\(SQL(literal: $0))" })
    }

    /// `a, t.b, c`: some columns as other expressions.
    func names(replacing expressions: [String: SQL]) -> SQL {
        Self.joined(readNames.map { expressions[$0.description] ?? SQL(literal: $0) })
    }

    /// `a, $1, c`: the columns that are written, some as other expressions.
    func writtenNames(replacing expressions: [String: SQL]) -> SQL {
        var names: SQL = ""
        for (place, name) in texts.enumerated() {
            names.append("\(SQL(literal: Self.separator(place)))\(expressions[name.description] ?? SQL(literal: name))")
        }
        return names
    }

    /// Reads the columns in their order.
    func read(_ row: inout RowDecoder, into record: inout Record) throws(PostgresError) {
        for place in reads.indices { try reads[place](&row, &record, table) }
    }

    /// The values of the columns, which begin at the next column of `row`.
    func values(_ row: inout RowDecoder) -> ColumnValues<Record> {
        let values = ColumnValues(paths: paths, table: table, row: row.at(row.column))
        row.skip(paths.count)
        return values
    }

    // MARK: Writing

    /// `INSERT INTO table (a, b, c) VALUES ($1, $2, $3)`
    ///
    /// - `replaces`: true to replace the row of the same key.
    /// - `isShared`: true to merge concurrent statements into one with several rows (`WriteBatch.isShared`).
    func insert(_ record: Record, replaces: Bool = false, isShared: Bool = false) -> SQL {
        let row: SQL = "(\(bindings(record)))"
        let ending: SQL = replaces ? "\n\(orReplace)" : ""
        // Spliced into another statement, the row would be no row.
        return isShared ? "\(into)\nVALUES \(row: row)\(ending)" : "\(into)\nVALUES \(row)\(ending)"
    }

    /// `INSERT INTO table (tenant_id, b, c) SELECT $1, new.* FROM unnest($2, $3) AS new`
    ///
    /// - `tenant`: the value of the first column, the same in all records.
    func insertMany(_ records: [Record], tenant: TenantID) -> SQL {
        "\(into)\nSELECT \(tenant), new.* FROM unnest(\(arrays(records, from: 1))) AS new"
    }

    /// `$1, $2, $3`: the values of one record.
    func bindings(_ record: Record) -> SQL {
        var sql = SQL.Interpolation(literalCapacity: 0, interpolationCount: writes.count)
        for place in writes.indices {
            sql.appendLiteral(Self.separator(place))
            writes[place].one(record, &sql)
        }
        return SQL(stringInterpolation: sql)
    }

    /// `$1, $2, $3`: for each column an array with the values of all records, for `unnest`.
    ///
    /// - `first`: the place of the first column among them.
    func arrays(_ records: [Record], from first: Int = 0) -> SQL {
        var sql = SQL.Interpolation(literalCapacity: 0, interpolationCount: writes.count)
        for place in writes.indices.dropFirst(first) {
            sql.appendLiteral(Self.separator(place - first))
            writes[place].all(records, &sql)
        }
        return SQL(stringInterpolation: sql)
    }

    /// `a = t.a, b = t.b, c = t.c`
    func assignments(from table: SQL) -> SQL {
        Self.joined(texts.map { "\(SQL(literal: $0)) = \(table).\(SQL(literal: $0))" })
    }

    private static func joined(_ pieces: [SQL]) -> SQL {
        var sql: SQL = ""
        for (place, piece) in pieces.enumerated() { sql.append("\(SQL(literal: separator(place)))\(piece)") }
        return sql.asOnePiece
    }

    /// Before the column at `place`: six stand on a line, for the reader of the statement.
    fileprivate static func separator(_ place: Int) -> StaticString {
        place == 0 ? "" : place % 6 == 0 ? ",\n    " : ", "
    }
}

extension SQL.Interpolation {
    /// `a = $1, b = $2, c = $3`: sets the columns to the values of a record.
    mutating func appendInterpolation<Record>(_ columns: Columns<Record>, from record: Record) {
        for place in columns.writes.indices {
            appendLiteral(Columns<Record>.separator(place))
            appendLiteral(columns.texts[place])
            appendLiteral(" = ")
            columns.writes[place].one(record, &self)
        }
    }
}

/// The values of `Columns` in one row. Each is found by its property, so only the list of columns has their order.
///
///     var values = columns.values(&row)
///     hashKey = HashKeyRecord(slot: try values(\.slot), id: try values(\.id), …)
struct ColumnValues<Record>: ~Copyable {
    private let paths: [(any Column<Record>.Path)?]
    private let table: StaticString
    private let row: RowDecoder
    private var next = 0

    fileprivate init(paths: [(any Column<Record>.Path)?], table: StaticString, row: consuming RowDecoder) {
        self.paths = paths
        self.table = table
        self.row = row
    }

    mutating func callAsFunction<Value: ColumnValue>(_ path: KeyPath<Record, Value>) throws(PostgresError) -> Value {
        var cell = try find(path)
        return try cell.nextColumn(of: table)
    }

    mutating func callAsFunction<Value: ColumnValue>(_ path: KeyPath<Record, Value?>) throws(PostgresError) -> Value? {
        var cell = try find(path)
        return try cell.nextColumn(of: table)
    }

    mutating func array<Value: PostgresArrayElement>(
        _ path: KeyPath<Record, [Value]>
    ) throws(PostgresError) -> [Value] {
        var cell = try find(path)
        return try cell.next()
    }

    /// The value of a column that a record always has and this row may lack, such as one of an outer join; `nil` for
    /// NULL.
    mutating func optional<Value: ColumnValue>(_ path: KeyPath<Record, Value>) throws(PostgresError) -> Value? {
        var cell = try find(path)
        return try cell.nextColumn(of: table)
    }

    /// The cell of a property. They are mostly asked for in their order.
    private mutating func find(_ path: PartialKeyPath<Record>) throws(PostgresError) -> RowDecoder {
        func isFound(_ place: Int) -> Bool {
            paths[place].map { $0 as PartialKeyPath<Record> == path } ?? false
        }
        if next >= paths.count || !isFound(next) {
            guard let place = paths.indices.first(where: isFound) else {
                throw PostgresError(.decoding, "no column of \(table) is read into \(path)")
            }
            next = place
        }
        defer { next += 1 }
        return row.at(row.column + next)
    }
}
