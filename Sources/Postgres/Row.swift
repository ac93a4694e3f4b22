/// A type that is read from one row of a result: its properties in column order.
///
///     init(row: inout RowDecoder) throws(PostgresError) {
///         id = try row.next()
///         email = try row.next()
///     }
package protocol RowDecodable: Sendable {
    /// - Throws: `.decoding` if a column is missing, is NULL where a value is required, or has another type.
    init(row: inout RowDecoder) throws(PostgresError)
}

/// Reads the columns of one row, one after the other.
package struct RowDecoder: ~Copyable {
    private let result: ResultSet
    private let row: Int
    /// The place of the next column, from 0.
    package private(set) var column = 0

    init(result: ResultSet, row: Int) {
        self.result = result
        self.row = row
    }

    /// The name of the column that was read last.
    package var lastColumnName: String { result.columnName(column - 1) }

    /// A decoder of the same row whose next column is at `column`.
    package func at(_ column: Int) -> RowDecoder {
        var decoder = RowDecoder(result: result, row: row)
        decoder.column = column
        return decoder
    }

    /// Passes over columns that `at` reads.
    package mutating func skip(_ count: Int) {
        column += count
    }

    /// Returns the next column, which must not be NULL.
    package mutating func next<Value: PostgresValue>(_ type: Value.Type = Value.self) throws(PostgresError) -> Value {
        guard let value = try next(Value?.self) else {
            throw PostgresError(.decoding, "column \(column) (\(lastColumnName)) is NULL")
        }
        return value
    }

    /// Returns the next column; `nil` for NULL.
    package mutating func next<Value: PostgresValue>(_ type: Value?.Type = Value?.self) throws(PostgresError) -> Value?
    {
        let current = column
        guard current < result.columnCount else {
            throw PostgresError(.decoding, "row has \(result.columnCount) columns, one more was read")
        }
        column += 1
        let oid = result.typeOID(column: current)
        guard Value.accepts(typeOID: oid) else {
            throw PostgresError(
                .decoding,
                "column \(column) (\(result.columnName(current))) has type \(oid), not \(Value.typeOID)"
            )
        }
        return try result.value(row: row, column: current, as: Value.self)
    }

    /// - Throws: `.decoding` unless every column has been read.
    func finish() throws(PostgresError) {
        guard column == result.columnCount else {
            throw PostgresError(.decoding, "row has \(result.columnCount) columns, \(column) were read")
        }
    }
}

/// The most frequent types. These functions are not generic, because other targets cannot specialize generic ones.
extension RowDecoder {
    package mutating func next() throws(PostgresError) -> String { try next(String.self) }
    package mutating func next() throws(PostgresError) -> String? { try next(String?.self) }
    package mutating func next() throws(PostgresError) -> Int64 { try next(Int64.self) }
    package mutating func next() throws(PostgresError) -> Bool { try next(Bool.self) }
    package mutating func next() throws(PostgresError) -> PostgresTimestamp { try next(PostgresTimestamp.self) }
    package mutating func next() throws(PostgresError) -> PostgresTimestamp? { try next(PostgresTimestamp?.self) }
    package mutating func next() throws(PostgresError) -> [UInt8] { try next([UInt8].self) }
    package mutating func next() throws(PostgresError) -> [UInt8]? { try next([UInt8]?.self) }
}

extension Optional: RowDecodable where Wrapped: PostgresValue {
    /// A row of one column that may be NULL.
    package init(row: inout RowDecoder) throws(PostgresError) {
        self = try row.next(Wrapped?.self)
    }
}
