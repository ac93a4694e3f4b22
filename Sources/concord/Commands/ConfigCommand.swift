import ArgumentParser
import FoundationEssentials

/// `concord config`: what the process would be told by its file and its environment.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show or check the configuration.",
        subcommands: [Print.self, Check.self]
    )

    /// A listing for people, or the same for programs.
    enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
        case text
        case json
    }
}

extension ConfigCommand {
    /// `concord config print`
    struct Print: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every setting in force and where it comes from; secrets are left out."
        )

        @OptionGroup var options: ConfigurationOptions

        @Option(help: "The form of the listing.")
        var format: OutputFormat = .text

        func run() async throws {
            try await reportingErrors {
                let sources = try options.sources()
                let lines = ConfigurationTable.effective(sources)
                switch format {
                case .text: try say(ConfigCommand.text(lines))
                case .json: try say(try ConfigCommand.json(lines))
                }
                let mistakes = ConfigurationMistakes.inSettings(of: sources)
                if !mistakes.all.isEmpty { throw mistakes }
            }
        }
    }

    /// `concord config check`
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that `concord serve` would accept the configuration, without starting anything.",
            discussion: """
                Reports every mistake at once, and then exits with 78. Warns of a database that is reached over a network \
                without verified TLS. Does not connect to the database.
                """
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let configuration = try ServeConfiguration(try options.sources())
                let transport = DatabaseTransport(
                    configuration.database.postgres,
                    environment: ProcessInfo.processInfo.environment
                )
                if let warning = transport.warning { complain("warning: \(warning)") }
                try say("the configuration is complete")
            }
        }
    }

    /// Three columns: key, value, origin.
    static func text(_ lines: [ConfigurationTable.Line]) -> String {
        let nameWidth = lines.map(\.name.count).max() ?? 0
        let valueWidth = lines.map(\.value.count).filter { $0 <= 40 }.max() ?? 0
        return lines.map { line in
            "\(padded(line.name, to: nameWidth))  \(padded(line.value, to: valueWidth))  \(line.origin)"
        }
        .joined(separator: "\n")
    }

    /// An array of objects with `key`, `value` and `origin`.
    static func json(_ lines: [ConfigurationTable.Line]) throws -> String {
        struct Row: Encodable {
            let key: String
            let value: String
            let origin: String
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let rows = lines.map { Row(key: $0.name, value: $0.value, origin: $0.origin.description) }
        return String(decoding: try encoder.encode(rows), as: UTF8.self)
    }
}

/// `text` with spaces after it, up to `width` characters.
func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
