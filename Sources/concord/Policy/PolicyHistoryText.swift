import AccountLinking
import AccountOperations
import AccountStore
import JSON

/// The versions of the policy, for people and for programs.
enum PolicyHistoryText {
    /// A line for each version, with what it changed below it.
    static func table(_ versions: [PolicyVersion]) -> String {
        let rows =
            [["VERSION", "CHANGED", "AUTHOR", "REASON"]]
            + versions.map { version in
                [
                    String(version.version), RFC3339.text(version.changedAt), version.attribution.author ?? "unknown",
                    version.attribution.reason ?? "-",
                ]
            }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        func line(_ row: [String]) -> String {
            row.enumerated().map { column, cell in column == row.count - 1 ? cell : padded(cell, to: widths[column]) }
                .joined(separator: "  ")
        }
        var lines = [line(rows[0])]
        for (version, row) in zip(versions, rows.dropFirst()) {
            lines.append(line(row))
            lines += PolicyText.lines(version.changes).map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    static func json(_ versions: [PolicyVersion]) -> String {
        JSONValue.array(
            versions.map { version in
                .object([
                    "version": .integer(version.version), "changedAt": .string(RFC3339.text(version.changedAt)),
                    "author": version.attribution.author.map(JSONValue.string) ?? .null,
                    "reason": version.attribution.reason.map(JSONValue.string) ?? .null,
                    "changes": .array(version.changes.map { json(of: $0) }),
                ])
            }
        ).text
    }

    private static func json(of change: PolicyState.Change) -> JSONValue {
        .object([
            "name": .string(change.name), "before": change.before ?? .null, "after": change.after ?? .null,
        ])
    }
}
