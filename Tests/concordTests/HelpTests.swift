import AccountTestSupport
import ArgumentParser
import Testing

@testable import concord

/// The help of every command.
struct HelpTests {
    @Test func `the help of every command has its purpose and its arguments`() throws {
        try golden.expect(help(of: Concord.self, []), matches: "help.txt")
    }

    @Test func `the help of every command has examples that the command accepts`() throws {
        for (words, command) in leaves(of: Concord.self, []) {
            let examples = Self.examples(in: command.configuration.discussion)
            #expect(!examples.isEmpty && examples.count <= 3, "\(words.joined(separator: " "))")
            for example in examples {
                let arguments = Self.arguments(of: example)
                #expect(arguments.starts(with: words), "\(example)")
                #expect(throws: Never.self, "\(example)") {
                    _ = try Concord.parseAsRoot(Array(arguments.dropFirst()))
                }
            }
        }
    }

    private func leaves(
        of command: any ParsableCommand.Type,
        _ parents: [String]
    ) -> [(words: [String], command: any ParsableCommand.Type)] {
        let words = parents + [command.configuration.commandName ?? command._commandName]
        let subcommands = command.configuration.subcommands
        // The default command may be left out.
        if words.last == "run", parents.last == "merge" { return [(parents, command)] }
        return subcommands.isEmpty ? [(words, command)] : subcommands.flatMap { leaves(of: $0, words) }
    }

    private static func examples(in discussion: String) -> [String] {
        guard let heading = discussion.firstRange(of: "EXAMPLES\n") else { return [] }
        return discussion[heading.upperBound...].replacing("\\\n", with: "").split(separator: "\n").map(String.init)
    }

    /// The words of a command line up to a pipe or a redirect. Double quotes keep spaces in a word.
    private static func arguments(of line: String) -> [String] {
        let quoted = line.split(separator: "\"", omittingEmptySubsequences: false)
        let words = quoted.enumerated().flatMap { index, part in
            index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
        }
        return Array(words.prefix { $0 != "|" && !$0.hasPrefix(">") })
    }

    private func help(of command: any ParsableCommand.Type, _ parents: [String]) -> String {
        let name = command.configuration.commandName ?? command._commandName
        let words = parents + [name]
        let own = """
            ## \(words.joined(separator: " ")) --help

            \(Concord.helpMessage(for: command, columns: 100))

            """
        return ([own] + command.configuration.subcommands.map { help(of: $0, words) }).joined(separator: "\n")
    }
}
