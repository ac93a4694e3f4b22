import ArgumentParser

/// Suggestions for mistyped names.
enum Suggestion {
    /// Minimum length of a name that is completed.
    private static let beginningMin = 4

    /// Returns the name that is most similar to a mistyped one; `nil` if none is similar.
    static func nearest(to name: String, among names: some Sequence<String>) -> String? {
        let ranked = names.map { (distance: editDistance(name, $0), name: $0) }
            .filter { $0.distance <= max(2, name.count / 4) }
        return ranked.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// The question after a message, `; did you mean NAME?`, about the most similar name or the shortest one that `name`
    /// begins; empty if there is none.
    static func question(about name: String, among names: some Sequence<String>) -> String {
        let suggestion = nearest(to: name, among: names) ?? completion(of: name, among: names)
        return suggestion.map { "; did you mean \($0)?" } ?? ""
    }

    private static func completion(of name: String, among names: some Sequence<String>) -> String? {
        guard name.count >= beginningMin else { return nil }
        let beginning = letters(of: name)
        return names.filter { letters(of: $0).hasPrefix(beginning) }.min { ($0.count, $0) < ($1.count, $1) }
    }

    /// The name in lower case, without punctuation.
    private static func letters(of name: String) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }

    /// The Levenshtein distance of two ASCII names.
    private static func editDistance(_ lhs: String, _ rhs: String) -> Int {
        let (left, right) = (Array(lhs.utf8.prefix(128)), Array(rhs.utf8))
        var row = Array(0...right.count)
        for (i, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let substituted = diagonal + (byte == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}

/// A command line that names an unknown subcommand.
struct UnknownCommand: Equatable {
    /// The commands before it, such as `concord account`.
    let parent: String
    let name: String
    let suggestion: String?

    /// Returns `nil` if every word before the first option or argument is a command.
    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        var (command, words) = (root, [Self.name(of: root)])
        for word in arguments {
            let subcommands = command.configuration.subcommands
            guard !word.hasPrefix("-"), !subcommands.isEmpty, word != "help" else { return nil }
            if let next = subcommands.first(where: { Self.name(of: $0) == word }) {
                command = next
                words.append(word)
                continue
            }
            // Then the word may be an argument of the default command.
            guard command.configuration.defaultSubcommand == nil else { return nil }
            parent = words.joined(separator: " ")
            name = word
            suggestion = Suggestion.nearest(to: word, among: subcommands.map(Self.name))
            return
        }
        return nil
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? command._commandName
    }

    var message: String {
        let hint = suggestion.map { "; did you mean \(parent) \($0)?" } ?? ""
        return "there is no command \(parent) \(name)\(hint)\nTo list all: \(parent) --help"
    }
}
