/// The rows of an answer as the server sent them, to be packed, kept somewhere and read later (`PackedColumns`).
package struct RawRows: Sendable {
    private let result: ResultSet

    init(_ result: ResultSet) {
        self.result = result
    }

    package var count: Int { result.rowCount }

    package var shape: RowShape {
        RowShape(types: (0..<result.columnCount).map { result.typeOID(column: $0) })
    }

    /// Appends the columns of a row to `bytes`, for a `ColumnPacker`: each with its length before it in four bytes, the highest first,
    /// and -1 for NULL.
    package func append(row: Int, to bytes: inout [UInt8]) {
        result.append(row: row, to: &bytes)
    }

    /// One value that is a text; empty for NULL.
    package func text(row: Int, column: Int) -> String {
        withBytes(row: row, column: column) { String(decoding: $0, as: UTF8.self) }
    }

    /// The values of a column of texts.
    package func texts(ofColumn column: Int) -> [String] {
        (0..<count).map { text(row: $0, column: column) }
    }

    /// Calls `body` with the bytes of one value, as PostgreSQL's binary format has it; without any for NULL.
    package func withBytes<Output>(row: Int, column: Int, _ body: (UnsafeRawBufferPointer) -> Output) -> Output {
        result.withBytes(row: row, column: column, body)
    }
}
