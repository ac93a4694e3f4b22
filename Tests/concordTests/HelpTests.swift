import AccountTestSupport
import ArgumentParser
import Testing

@testable import concord

/// The help of every command.
struct HelpTests {
    @Test func `the help of every command has its purpose and its arguments`() throws {
        try golden.expect(help(of: Concord.self, []), matches: "help.txt")
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
