/// A type that is read from one row of a result: its properties in column order.
///
///     init(row: inout RowDecoder) throws(PostgresError) {
///         id = try row.next()
///         email = try row.next()
///     }
package protocol RowDecodable: Sendable {
    /// - Throws: `.decoding` when a column is missing, is NULL where a value is needed, or has another type.
    init(row: inout RowDecoder) throws(PostgresError)
}

/// Reads the columns of one row, one after the other.
package struct RowDecoder: ~Copyable {
    /// Where it is, unless it is packed.
    private let result: ResultSet?
    private let row: Int
    /// The bytes that hold a packed row, the types of its columns, and where its next one begins.
    private let packed: [UInt8]
    private let shape: RowShape
    private var offset: Int
    private let columnCount: Int
    private var column = 0

    init(result: ResultSet, row: Int) {
        self.result = result
        self.row = row
        packed = []
        shape = RowShape(types: [])
        offset = 0
        columnCount = result.columnCount
    }

    /// - `offset`: where the row begins that `RawRows.append` wrote.
    init(packed bytes: [UInt8], at offset: Int, shape: RowShape) {
        result = nil
        row = 0
        packed = bytes
        self.shape = shape
        self.offset = offset
        columnCount = shape.types.count
    }

    /// The next column, which must not be NULL.
    package mutating func next<Value: PostgresValue>(_ type: Value.Type = Value.self) throws(PostgresError) -> Value {
        guard let value = try next(Value?.self) else {
            throw PostgresError(.decoding, "column \(column) (\(columnName(column - 1))) is NULL")
        }
        return value
    }

    /// The next column, `nil` for NULL.
    package mutating func next<Value: PostgresValue>(_ type: Value?.Type = Value?.self) throws(PostgresError) -> Value?
    {
        let current = column
        guard current < columnCount else {
            throw PostgresError(.decoding, "row has \(columnCount) columns, one more was read")
        }
        column += 1
        if let result {
            try check(Value.self, result.typeOID(column: current))
            return try result.value(row: row, column: current, as: Value.self)
        }
        try check(Value.self, shape.types[current])
        return try packed.withUnsafeBufferPointer { packed throws(PostgresError) in
            let bytes = UnsafeRawBufferPointer(packed)
            var columns = PackedColumns(bytes, at: offset)
            defer { offset = columns.offset(in: bytes) }
            guard let value = try columns.next() else { return nil }
            return try Value(decoding: value.bytes)
        }
    }

    private func check<Value: PostgresValue>(_ type: Value.Type, _ oid: UInt32) throws(PostgresError) {
        guard Value.accepts(typeOID: oid) else {
            throw PostgresError(
                .decoding,
                "column \(column) (\(columnName(column - 1))) has type \(oid), not \(Value.typeOID)"
            )
        }
    }

    private func columnName(_ column: Int) -> String {
        result?.columnName(column) ?? "of a packed row"
    }

    /// - Throws: `.decoding` unless every column has been read.
    func finish() throws(PostgresError) {
        guard column == columnCount else {
            throw PostgresError(.decoding, "row has \(columnCount) columns, \(column) were read")
        }
    }
}

/// What packed rows of one statement have in common: the types of their columns.
package struct RowShape: Sendable, Hashable {
    let types: [UInt32]

    /// The row that `RawRows.append` wrote at `offset` of `bytes`.
    ///
    /// - Throws: `.decoding`, as for a row that comes from the server.
    package func decode<Row: RowDecodable>(
        _ type: Row.Type = Row.self,
        from bytes: [UInt8],
        at offset: Int
    ) throws(PostgresError) -> Row {
        var decoder = RowDecoder(packed: bytes, at: offset, shape: self)
        let row = try Row(row: &decoder)
        try decoder.finish()
        return row
    }
}

/// The types that most columns have, by functions that are not generic: other targets cannot specialize those that are.
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
