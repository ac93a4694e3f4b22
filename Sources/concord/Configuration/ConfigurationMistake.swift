/// A mistake in the configuration, for the person who wrote it. Never quotes a secret.
struct ConfigurationMistake: Sendable, Hashable, CustomStringConvertible {
    /// The origin of the mistake: `concord.yaml:12`, a variable's name, a flag; `nil` if something is missing.
    let origin: ConfigurationOrigin?
    /// The key, or the text in the place of a key; `nil` if the whole file is wrong.
    let key: String?
    /// The mistake and the next step.
    let problem: String

    var description: String {
        [origin?.description, key, problem].compactMap(\.self).joined(separator: ": ")
    }
}

/// All mistakes that make a configuration unusable, at least one.
struct ConfigurationMistakes: Error, CustomStringConvertible {
    let all: [ConfigurationMistake]

    /// One line for each mistake, by source: the file from top to bottom, variables, flags, then missing settings.
    var description: String {
        all.sorted(by: Self.precedes).map(\.description).joined(separator: "\n")
    }

    private static func precedes(_ lhs: ConfigurationMistake, _ rhs: ConfigurationMistake) -> Bool {
        let (left, right) = (rank(lhs), rank(rhs))
        return left == right ? lhs.description < rhs.description : left < right
    }

    private static func rank(_ mistake: ConfigurationMistake) -> Int {
        switch mistake.origin {
        case .file(_, let line): line ?? 0
        case .variable: 1_000_000_000
        case .default, nil: 1_000_000_001
        }
    }
}

/// The origin of a value. A later origin overrides an earlier one.
enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
    case `default`
    case file(String, line: Int?)
    case variable(String)

    var description: String {
        switch self {
        case .default: "default"
        case .file(let path, let line?): "\(path):\(line)"
        case .file(let path, nil): path
        case .variable(let name): name
        }
    }
}
