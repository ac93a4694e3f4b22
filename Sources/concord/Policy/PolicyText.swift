import AccountLinking
import AccountOperations
import AccountStore
import JSON

/// A policy in the form of the file that `concord policy simulate` and `apply` read.
enum PolicyText {
    static func yaml(_ state: PolicyState) -> String {
        var lines = ["# Version \(state.project.version). Values that are not set are marked."]
        var open: [String] = []
        for field in ProjectConfigField.all {
            let stored = state.project.settings[field.path]
            guard let value = field.value(in: state.project.settings) else { continue }
            let groups = field.path.dropLast()
            let shared = zip(open, groups).prefix { $0 == $1 }.count
            for (depth, group) in groups.enumerated().dropFirst(shared) { lines.append(line(depth, "\(group):")) }
            open = Array(groups)
            let mark = stored != nil ? "" : field.followsPreset ? "  # by the preset" : "  # by default"
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

    /// One object: `version`, and `policy` with every value in force.
    static func json(_ state: PolicyState) -> String {
        var policy = JSONValue.object([:])
        for field in ProjectConfigField.all {
            guard let value = field.value(in: state.project.settings) else { continue }
            policy = policy.setting(value, at: field.path[...])
        }
        let providers = state.providers.map { provider in
            (provider.provider.rawValue, JSONValue.object(["enabled": .bool(provider.isEnabled)]))
        }
        if !providers.isEmpty {
            policy = policy.setting(.object([String: JSONValue](uniqueKeysWithValues: providers)), at: ["providers"])
        }
        return JSONValue.object(["version": .integer(state.project.version), "policy": policy]).text
    }

    /// The differences as aligned lines `name  before → after`. If a list or an object is too long for its line, a line
    /// for each added (`+`) or removed (`-`) entry follows.
    ///
    /// `simulated`: the parts of the following simulation. A field that does not affect them is marked. Without a
    /// simulation, there are no marks.
    static func lines(
        _ changes: [PolicyState.Change],
        simulated: Set<PolicyState.Change.Effect>? = nil
    ) -> [String] {
        let width = changes.map(\.name.count).max() ?? 0
        return changes.flatMap { change in
            let isSimulated = simulated?.contains(change.judges) ?? true
            let note = isSimulated ? "" : "  (not simulated)"
            let (summary, entries) = difference(change.before, change.after)
            return ["\(padded(change.name, to: width))  \(summary)\(note)"] + entries.map { "    \($0)" }
        }
    }

    private static let lengthMax = 200

    private static func difference(_ before: JSONValue?, _ after: JSONValue?) -> (summary: String, entries: [String]) {
        let (old, new) = (shown(before), shown(after))
        if max(old.count, new.count) <= lengthMax { return ("\(old) → \(new)", []) }
        let (oldEntries, newEntries) = (entries(before), entries(after))
        guard let oldEntries, let newEntries else {
            // Both texts begin shortly before the first difference.
            let start = max(0, zip(old, new).prefix { $0 == $1 }.count - 20)
            let (old, new) = (cut(old, from: start), cut(new, from: start))
            return ("\(old) → \(new)", [])
        }
        let removed = oldEntries.filter { !newEntries.contains($0) }.map { "- \($0)" }
        let added = newEntries.filter { !oldEntries.contains($0) }.map { "+ \($0)" }
        let changed = removed + added
        let summary = "\(oldEntries.count) → \(newEntries.count) entries"
        return (changed.isEmpty ? summary + ", in another order" : summary, changed)
    }

    /// The entries of a list or an object, one line each; `nil` for a single value.
    private static func entries(_ value: JSONValue?) -> [String]? {
        switch value {
        case nil: []
        case .array(let items): items.map { shown($0) }
        case .object(let members): members.sorted { $0.key < $1.key }.map { "\(visible($0.key)): \(shown($0.value))" }
        default: nil
        }
    }

    private static func cut(_ text: String, from start: Int) -> String {
        let rest = text.dropFirst(start)
        return (start > 0 ? "…" : "") + rest.prefix(lengthMax) + (rest.count > lengthMax ? "…" : "")
    }

    private static func shown(_ value: JSONValue?) -> String {
        guard let value else { return "-" }
        return visible(value.string ?? value.text)
    }

    /// Returns `text` with escapes for characters that would move the cursor, start a line or change the text
    /// direction.
    private static func visible(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { visible, scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                visible += "\\u{\(String(scalar.value, radix: 16))}"
            default: visible.unicodeScalars.append(scalar)
            }
        }
    }

    private static func line(_ depth: Int, _ text: String) -> String {
        String(repeating: "  ", count: depth) + text
    }
}
