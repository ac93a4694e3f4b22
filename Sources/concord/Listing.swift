import JSON

/// A list that a command prints. Its columns are declared once, for a table and for JSON.
struct Listing<Row> {
    struct Column {
        fileprivate let key: String
        fileprivate let heading: String?
        fileprivate let value: (Row) -> JSONValue?
        fileprivate let text: (Row) -> String

        /// - Parameters:
        ///   - key: the name in JSON, in camel case.
        ///   - heading: the heading of the column; `nil` if only JSON has it.
        ///   - value: the value in JSON; `nil` leaves the member out.
        init(_ key: String, _ heading: String?, _ value: @escaping (Row) -> JSONValue?) {
            self.init(key, heading, value) { row in Self.text(value(row)) }
        }

        /// - `text`: the cell of the table.
        init(
            _ key: String,
            _ heading: String?,
            _ value: @escaping (Row) -> JSONValue?,
            text: @escaping (Row) -> String
        ) {
            self.key = key
            self.heading = heading
            self.value = value
            self.text = text
        }

        private static func text(_ value: JSONValue?) -> String {
            switch value {
            case .string(let text): text
            case .bool(let answer): answer ? "yes" : "no"
            case .array(let items): items.isEmpty ? "-" : items.map { text($0) }.joined(separator: ", ")
            case nil, .null: "-"
            case .some(let other): other.text
            }
        }
    }

    private let columns: [Column]
    /// The text of an empty list.
    private let none: String?
    private let hasHeading: Bool
    private let whole: Set<Int>
    private let document: ((Row) -> String)?

    /// - Parameters:
    ///   - columns: the columns, in their order.
    ///   - none: the text of an empty list; `nil` prints no text.
    ///   - hasHeading: true if the table begins with the headings.
    ///   - whole: the columns of the table that are never cut, counted from 0.
    ///   - document: the JSON object of a row, if a route has defined it; `nil` makes it from the columns.
    init(
        _ columns: [Column],
        none: String? = nil,
        hasHeading: Bool = true,
        whole: Set<Int> = [0],
        document: ((Row) -> String)? = nil
    ) {
        self.columns = columns
        self.none = none
        self.hasHeading = hasHeading
        self.whole = whole
        self.document = document
    }

    func write(_ rows: [Row], as format: ListFormat) throws {
        switch format {
        case .text: if let text = table(rows, fitting: Terminal.width) { try say(text) }
        case .json: try say(json(rows))
        case .ndjson: for row in rows { try say(text(row)) }
        }
    }

    /// The table; `nil` if there is no text to print.
    ///
    /// - `width`: the number of columns of the terminal; `nil` for no limit.
    func table(_ rows: [Row], fitting width: Int? = nil) -> String? {
        guard !rows.isEmpty else { return none }
        let shown = columns.filter { $0.heading != nil }
        let heading = hasHeading ? [shown.compactMap(\.heading)] : []
        return TextTable.text(heading + rows.map { row in shown.map { $0.text(row) } }, fitting: width, whole: whole)
    }

    /// An array of objects.
    func json(_ rows: [Row]) -> String { "[\(rows.map(text).joined(separator: ","))]" }

    private func text(_ row: Row) -> String { document?(row) ?? object(row).text }

    func object(_ row: Row) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for column in columns { members[column.key] = column.value(row) }
        return .object(members)
    }
}
