/// The words of a rule. docs/reference/decisions.md is generated from them.
package struct RuleText: Sendable, Hashable {
    /// Under which circumstances it is the rule, after those before it in its table.
    package let condition: String
    package let outcome: String

    init(_ condition: String, _ outcome: String) {
        self.condition = condition
        self.outcome = outcome
    }
}

extension RuleText {
    /// Both in a sentence for somebody who has not got the tables at hand: letters stand for accounts there.
    package var sentence: String {
        Self.spelledOut("\(outcome) (\(condition))")
    }

    private static let letters: [Character: String] = [
        "F": "the owner of the identity", "M": "the owner of the address", "T": "the account of the session",
        "O": "the account with the address asked for", "N": "the account with the number",
    ]

    private static func spelledOut(_ text: String) -> String {
        var result = ""
        var word = ""
        for character in text + " " {
            if character.isLetter || character.isNumber {
                word.append(character)
                continue
            }
            if word.count == 1, let letter = word.first, let name = letters[letter] {
                // "F's own" and "F" alike.
                result += name
            } else {
                result += word
            }
            result.append(character)
            word = ""
        }
        return String(result.dropLast())
    }
}
