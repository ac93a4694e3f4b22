import AccountLinking
import AccountOperations
import AccountStore
import JSON

/// A policy in the form of the file that `concord policy simulate` and `apply` read.
enum PolicyText {
    static func yaml(_ state: PolicyState) -> String {
        var lines = ["# Version \(state.project.version). What nobody has set is marked."]
        var open: [String] = []
        for field in ProjectConfigField.all {
            let stored = state.project.settings[field.path]
            guard let value = field.value(in: state.project.settings) else { continue }
            let groups = field.path.dropLast()
            let shared = zip(open, groups).prefix { $0 == $1 }.count
            for (depth, group) in groups.enumerated().dropFirst(shared) { lines.append(line(depth, "\(group):")) }
            open = Array(groups)
            let mark = stored == nil ? "  # by default" : ""
            let depth = field.path.count - 1
            switch value {
            case .array(let items) where !items.isEmpty:
                lines.append(line(depth, "\(field.path[depth]):\(mark)"))
                lines += items.map { line(depth + 1, "- \($0.text)") }
            default: lines.append(line(depth, "\(field.path[depth]): \(value.text)\(mark)"))
            }
        }
        guard !state.providers.isEmpty else { return lines.joined(separator: "\n") }
        lines.append("providers:")
        lines += state.providers.map { line(1, "\($0.provider.rawValue): {enabled: \($0.isEnabled)}") }
        return lines.joined(separator: "\n")
    }

    /// A line for each difference, `name  before → after`; the names stand below each other.
    ///
    /// `marksUnjudged`: says so where a simulation does not look at a field.
    static func lines(_ changes: [PolicyState.Change], marksUnjudged: Bool = false) -> [String] {
        let width = changes.map(\.name.count).max() ?? 0
        return changes.map { change in
            let note = change.isJudged || !marksUnjudged ? "" : "  (no account is judged by it)"
            return "\(padded(change.name, to: width))  \(shown(change.before)) → \(shown(change.after))\(note)"
        }
    }

    private static func shown(_ value: JSONValue?) -> String {
        guard let value else { return "-" }
        let text = value.string ?? value.text
        return text.count > 200 ? text.prefix(200) + "…" : text
    }

    private static func line(_ depth: Int, _ text: String) -> String {
        String(repeating: "  ", count: depth) + text
    }
}
