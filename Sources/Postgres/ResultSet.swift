import CLibpq

/// The answer to one statement: rows, or how many rows it changed.
///
/// This file and `Connection.swift` are the only ones that hold libpq's pointers.
final class ResultSet: @unchecked Sendable {
    // PROOF of Sendable: a PGresult is read-only from the moment PQgetResult returned it, and libpq allows reading it
    // from any thread, also after its connection has been closed. It is freed once, by its owner's deinit, when nobody
    // can reach it: a view keeps its owner.
    private let pointer: OpaquePointer
    /// Whoever frees the pointer, where that is not this.
    private let owner: ResultSet?
    /// The rows that are shown, where those are not all.
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

    /// Some of the rows, as an answer of their own. Only of an answer that shows all.
    func view(ofRows rows: [Int]) -> ResultSet {
        ResultSet(rows, of: self)
    }

    /// The numbers of the rows by what one of their columns holds; rows with NULL are left out. Only of an answer that
    /// shows all.
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

    /// What kind of answer this is.
    enum Outcome {
        case rows
        case command
        case copy
        case failure
        /// Skipped because a statement before it failed (pipeline mode).
        case skipped
        /// Everything up to a Sync has been answered (pipeline mode).
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

    /// How many rows the statement inserted, changed, deleted or returned; zero for statements that count none.
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

    /// The value at `row` and `column`, `nil` for NULL. Both must lie within the result.
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

    /// All rows.
    ///
    /// - Throws: `.tooManyRows`, or `.decoding` when a row is not a `Row`.
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

    /// Calls `body` with the bytes of a value; an empty buffer where it is NULL. Only of an answer that shows all.
    func withBytes<Output>(row: Int, column: Int, _ body: (UnsafeRawBufferPointer) -> Output) -> Output {
        precondition(row < rowCount && column < columnCount, "cell outside the result")
        return body(
            UnsafeRawBufferPointer(
                start: PQgetvalue(pointer, Int32(row), Int32(column)),
                count: Int(PQgetlength(pointer, Int32(row), Int32(column)))
            )
        )
    }

    /// Appends a row, for `PackedColumns`. Only of an answer that shows all.
    func append(row: Int, to bytes: inout [UInt8]) {
        precondition(row < rowCount, "row outside the result")
        for column in 0..<columnCount {
            let isNull = PQgetisnull(pointer, Int32(row), Int32(column)) == 1
            let count = isNull ? -1 : PQgetlength(pointer, Int32(row), Int32(column))
            withUnsafeBytes(of: count.bigEndian) { bytes.append(contentsOf: $0) }
            withBytes(row: row, column: column) { bytes.append(contentsOf: $0) }
        }
    }

    /// What the server or libpq says went wrong.
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

/// libpq's field codes (`postgres_ext.h`), which are character macros that Swift does not import.
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
    /// The whole span as one integer in network byte order.
    func integer<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) throws(PostgresError) -> Integer {
        guard byteCount == MemoryLayout<Integer>.size else {
            throw PostgresError(.decoding, "\(Integer.self) in \(byteCount) bytes")
        }
        return try integer(type, at: 0)
    }

    /// An integer in network byte order at `offset`.
    func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ type: Integer.Type,
        at offset: Int
    ) throws(PostgresError) -> Integer {
        guard offset >= 0, byteCount - offset >= MemoryLayout<Integer>.size else {
            throw PostgresError(.decoding, "value is cut short")
        }
        return Integer(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// The bytes as UTF-8, which is what the server sends: `client_encoding` is always UTF8.
    func text() -> String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    func bytes() -> [UInt8] {
        withUnsafeBytes { [UInt8]($0) }
    }
}
