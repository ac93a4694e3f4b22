import CLibpq

/// The answer to one statement: rows, or the number of changed rows.
///
/// Only this file and `Connection.swift` hold libpq's pointers.
final class ResultSet: @unchecked Sendable {
    // PROOF of Sendable: a PGresult is read-only after PQgetResult returned it, and libpq allows reading it from any
    // thread, also after its connection was closed. Its owner's deinit frees it once, when nothing can reach it: a view
    // keeps its owner.
    private let pointer: OpaquePointer
    /// The result that frees the pointer, if it is not this one.
    private let owner: ResultSet?
    /// The rows that a view shows; `nil` for all.
    private let shownRows: [Int]?

    let rowCount: Int
    let columnCount: Int

    /// Takes ownership of `pointer`.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
        owner = nil
        shownRows = nil
        rowCount = Int(PQntuples(pointer))
        columnCount = Int(PQnfields(pointer))
    }

    private init(_ rows: [Int], of owner: ResultSet) {
        pointer = owner.pointer
        self.owner = owner
        shownRows = rows
        rowCount = rows.count
        columnCount = owner.columnCount
    }

    deinit {
        if owner == nil { PQclear(pointer) }
    }

    /// Returns some of the rows as a result. Requires a result that shows all rows.
    func view(ofRows rows: [Int]) -> ResultSet {
        ResultSet(rows, of: self)
    }

    /// Returns the numbers of the rows by the value of a column, without rows where it is NULL. Requires a result that
    /// shows all rows.
    func rowsByValue(ofColumn column: Int) -> [[UInt8]: [Int]] {
        precondition(column < columnCount, "a column outside the result")
        var rows: [[UInt8]: [Int]] = [:]
        rows.reserveCapacity(rowCount)
        for row in 0..<rowCount where PQgetisnull(pointer, Int32(row), Int32(column)) == 0 {
            let bytes = UnsafeRawBufferPointer(
                start: PQgetvalue(pointer, Int32(row), Int32(column)),
                count: Int(PQgetlength(pointer, Int32(row), Int32(column)))
            )
            rows[Array(bytes), default: []].append(row)
        }
        return rows
    }

    /// The kinds of answers.
    enum Outcome {
        case rows
        case command
        case copy
        case failure
        /// Skipped because a statement before it failed (pipeline mode).
        case skipped
        /// The answer to a Sync: all earlier statements have been answered (pipeline mode).
        case synced
    }

    var outcome: Outcome {
        switch PQresultStatus(pointer) {
        case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: .rows
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .command
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: .copy
        case PGRES_PIPELINE_ABORTED: .skipped
        case PGRES_PIPELINE_SYNC: .synced
        default: .failure
        }
    }

    /// The command tag, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String {
        guard let tag = PQcmdStatus(pointer) else { return "" }
        return String(cString: tag)
    }

    /// The number of rows that the statement inserted, changed, deleted or returned; zero for other statements.
    var affectedRows: Int {
        guard let count = PQcmdTuples(pointer) else { return 0 }
        return Int(String(cString: count)) ?? 0
    }

    func typeOID(column: Int) -> UInt32 {
        PQftype(pointer, Int32(column))
    }

    func columnName(_ column: Int) -> String {
        guard let name = PQfname(pointer, Int32(column)) else { return "?" }
        return String(cString: name)
    }

    /// Returns the value at `row` and `column`; `nil` for NULL. Both must be within the result.
    func value<Value: PostgresValue>(
        row: Int,
        column: Int,
        as type: Value.Type
    ) throws(PostgresError) -> Value? {
        precondition(row < rowCount && column < columnCount, "cell outside the result")
        let row = Int32(shownRows.map { $0[row] } ?? row)
        let column = Int32(column)
        guard PQgetisnull(pointer, row, column) == 0 else { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(pointer, row, column),
            count: Int(PQgetlength(pointer, row, column))
        )
        return try Value(decoding: bytes.bytes)
    }

    /// Returns all rows.
    /// - Throws: `.tooManyRows`, or `.decoding` if a row is not a `Row`.
    func decode<Row: RowDecodable>(rowsMax: Int) throws(PostgresError) -> [Row] {
        guard rowCount <= rowsMax else {
            throw PostgresError(.tooManyRows, "result has \(rowCount) rows, \(rowsMax) are allowed")
        }
        var rows: [Row] = []
        rows.reserveCapacity(rowCount)
        for index in 0..<rowCount {
            var decoder = RowDecoder(result: self, row: index)
            rows.append(try Row(row: &decoder))
            try decoder.finish()
        }
        return rows
    }

    /// Returns the failure that the server or libpq reported.
    func failure() -> ServerFailure {
        ServerFailure(
            severity: field(DiagnosticField.severity) ?? "",
            sqlState: field(DiagnosticField.sqlState).map { SQLState($0) },
            message: field(DiagnosticField.message) ?? "",
            sourceFunction: field(DiagnosticField.sourceFunction),
            constraint: field(DiagnosticField.constraint),
            table: field(DiagnosticField.table),
            column: field(DiagnosticField.column)
        )
    }

    private func field(_ code: Int32) -> String? {
        PQresultErrorField(pointer, code).map { String(cString: $0) }
    }
}

/// libpq's field codes (`postgres_ext.h`). Swift does not import these character macros.
private enum DiagnosticField {
    static let severity = Int32(UInt8(ascii: "V"))
    static let sqlState = Int32(UInt8(ascii: "C"))
    static let message = Int32(UInt8(ascii: "M"))
    static let sourceFunction = Int32(UInt8(ascii: "R"))
    static let constraint = Int32(UInt8(ascii: "n"))
    static let table = Int32(UInt8(ascii: "t"))
    static let column = Int32(UInt8(ascii: "c"))
}

extension RawSpan {
    /// Returns the whole span as one integer in network byte order.
    func integer<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) throws(PostgresError) -> Integer {
        guard byteCount == MemoryLayout<Integer>.size else {
            throw PostgresError(.decoding, "\(Integer.self) in \(byteCount) bytes")
        }
        return try integer(type, at: 0)
    }

    /// Returns the integer in network byte order at `offset`.
    func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type,
        at offset: Int
    ) throws(PostgresError) -> Integer {
        guard offset >= 0, byteCount - offset >= MemoryLayout<Integer>.size else {
            throw PostgresError(.decoding, "value is cut short")
        }
        return Integer(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// Returns the bytes as UTF-8: `client_encoding` is always UTF8.
    func text() -> String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    func bytes() -> [UInt8] {
        withUnsafeBytes { [UInt8]($0) }
    }
}
