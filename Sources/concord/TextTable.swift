/// Tables of aligned columns, for people.
enum TextTable {
    /// Minimum widths of shortened columns. The second one applies if the first leaves a line too long.
    private static let shortenedMin = [10, 4]
    private static let gap = 2

    /// A line for each row. All rows have the same number of cells. Two spaces separate the columns, and no line ends
    /// with a space. The first `rightAligned` columns are aligned to the right, the others to the left.
    ///
    /// - `width`: the number of columns of the terminal; `nil` for no limit. The widest columns are shortened until a line
    ///   fits, and a cell that is cut ends with `…`.
    /// - `whole`: the columns that are never shortened, such as ids to be copied.
    static func lines(
        _ rows: [[String]],
        rightAligned: Int = 0,
        fitting width: Int? = nil,
        whole: Set<Int> = [0]
    ) -> [String] {
        var widths = rows.first?.indices.map { column in rows.map { $0[column].displayWidth }.max() ?? 0 } ?? []
        if let width { shorten(&widths, to: width, except: whole) }
        return rows.map { row in
            let cells = zip(row, widths).enumerated().map { column, cell in
                padded(cell.0.cut(to: cell.1), to: cell.1, onLeft: column < rightAligned)
            }
            let line = cells.joined(separator: String(repeating: " ", count: gap))
            guard let end = line.lastIndex(where: { $0 != " " }) else { return "" }
            return String(line[...end])
        }
    }

    /// Takes columns from the widest column until a line has at most `width`, or no column can be shortened.
    private static func shorten(_ widths: inout [Int], to width: Int, except whole: Set<Int>) {
        var excess = widths.reduce(0, +) + gap * max(0, widths.count - 1) - width
        for least in shortenedMin {
            while excess > 0 {
                let candidates = widths.indices.filter { !whole.contains($0) && widths[$0] > least }
                guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
                widths[widest] -= 1
                excess -= 1
            }
        }
    }

    static func text(_ rows: [[String]], fitting width: Int? = nil, whole: Set<Int> = [0]) -> String {
        lines(rows, fitting: width, whole: whole).joined(separator: "\n")
    }

    /// A line for each pair of a name and its value.
    static func text(_ pairs: [(String, String)]) -> String { text(pairs.map { [$0.0, $0.1] }) }
}

/// Returns `text` with spaces after it, or before it, up to `width` columns of a terminal.
func padded(_ text: String, to width: Int, onLeft: Bool = false) -> String {
    let spaces = String(repeating: " ", count: max(0, width - text.displayWidth))
    return onLeft ? spaces + text : text + spaces
}
