import AccountLinking
import Testing

@testable import concord

struct SuggestionTests {
    @Test func `a mistyped name gets the most similar one, or the one that it begins`() {
        let rules = AuditRule.all.map(\.id)
        #expect(Suggestion.nearest(to: "weak-pasword-hash", among: rules) == "weak-password-hash")
        #expect(Suggestion.question(about: "lookalike", among: rules) == "; did you mean look-alike-addresses?")
        #expect(Suggestion.nearest(to: "nonsense", among: rules) == nil)
        #expect(Suggestion.nearest(to: "x", among: ["run", "rules"]) == nil)
        #expect(Suggestion.question(about: "emial", among: ["email", "phone"]) == "; did you mean email?")
        #expect(Suggestion.question(about: "nonsense", among: ["email"]) == "")
    }

    @Test func `an unknown command is named with its parents and a suggestion`() throws {
        let unknown = try #require(UnknownCommand(in: ["acount", "find", "a"], of: Concord.self))
        #expect(
            unknown.message
                == "there is no command concord acount; did you mean concord account?\nTo list all: concord --help"
        )
        let nested = try #require(UnknownCommand(in: ["outbox", "lsit", "--max", "1"], of: Concord.self))
        #expect(nested.parent == "concord outbox" && nested.suggestion == "list")
        #expect(UnknownCommand(in: ["frobnicate"], of: Concord.self)?.suggestion == nil)
    }

    @Test(arguments: [
        ["account", "find"], ["account", "merge", "ada", "bob"], ["--nonsense"], ["help", "acount"], [],
    ])
    func `known commands and arguments are no unknown commands`(line: [String]) {
        #expect(UnknownCommand(in: line, of: Concord.self) == nil)
    }
}
