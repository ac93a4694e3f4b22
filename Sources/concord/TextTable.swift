/// Tables of aligned columns, for people.
enum TextTable {
    /// A line for each row. All rows have the same number of cells. Two spaces separate the columns, and no line ends
    /// with a space. The first `rightAligned` columns are aligned to the right, the others to the left.
    static func lines(_ rows: [[String]], rightAligned: Int = 0) -> [String] {
        let widths = rows.first?.indices.map { column in rows.map { $0[column].count }.max() ?? 0 } ?? []
        return rows.map { row in
            let cells = zip(row, widths).enumerated().map { column, cell in
                padded(cell.0, to: cell.1, onLeft: column < rightAligned)
            }
            let line = cells.joined(separator: "  ")
            guard let end = line.lastIndex(where: { $0 != " " }) else { return "" }
            return String(line[...end])
        }
    }

    static func text(_ rows: [[String]]) -> String { lines(rows).joined(separator: "\n") }

    /// A line for each pair of a name and its value.
    static func text(_ pairs: [(String, String)]) -> String { text(pairs.map { [$0.0, $0.1] }) }
}

/// Returns `text` with spaces after it, or before it, up to `width` characters.
func padded(_ text: String, to width: Int, onLeft: Bool = false) -> String {
    let spaces = String(repeating: " ", count: max(0, width - text.count))
    return onLeft ? spaces + text : text + spaces
}
