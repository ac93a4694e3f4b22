import AccountOperations
import AccountStore
import JSON

/// The versions of the policy, for people and for programs.
enum PolicyHistoryText {
    /// A line for each version, with its changes below it.
    static func table(_ versions: [PolicyVersion]) -> String {
        let rows =
            [["VERSION", "CHANGED", "AUTHOR", "REASON"]]
            + versions.map { version in
                [
                    String(version.version), RFC3339.text(version.changedAt), version.attribution.author ?? "unknown",
                    version.attribution.reason ?? "-",
                ]
            }
        let table = TextTable.lines(rows, fitting: Terminal.width, whole: [0, 1])
        let changes = versions.map { PolicyText.lines($0.changes).map { "    \($0)" } }
        return (table.prefix(1) + zip(table.dropFirst(), changes).flatMap { [$0] + $1 }).joined(separator: "\n")
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

    /// An array of the changes.
    static func json(_ changes: [PolicyState.Change]) -> String { JSONValue.array(changes.map(json(of:))).text }

    private static func json(of change: PolicyState.Change) -> JSONValue {
        .object([
            "name": .string(change.name), "before": change.before ?? .null, "after": change.after ?? .null,
        ])
    }
}
