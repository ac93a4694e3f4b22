import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials

/// `concord config`: the settings of the configuration file and the environment.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show or check the configuration.",
        subcommands: [Print.self, Check.self]
    )
}

extension ConfigCommand {
    /// `concord config print`
    struct Print: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every setting in force and its source, without secrets.",
            discussion: """
                EXAMPLES
                  concord config print
                  concord config print --format json | jq -r '.[].key'
                """
        )

        @OptionGroup var options: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let sources = try options.sources()
            let lines = ConfigurationTable.effective(sources)
            switch format {
            case .text: try say(ConfigCommand.text(lines, fitting: Terminal.width))
            case .json: try say(try ConfigCommand.json(lines))
            }
            let mistakes = ConfigurationMistakes.inSettings(of: sources)
            if !mistakes.all.isEmpty { throw mistakes }
        }
    }

    /// `concord config check`
    struct Check: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that `concord serve` would accept the configuration, without starting anything.",
            discussion: """
                Reports every mistake at once, and then exits with 78. Warns if the database is reached over a network \
                without verified TLS, and about every finding of concord audit run in the project's configuration. If \
                the database cannot be reached, says so and exits with 0, because the settings were checked.

                EXAMPLES
                  concord config check
                  concord config check --config new.yaml --offline
                """
        )

        @OptionGroup var options: ConfigurationOptions

        @Flag(help: "Check the settings only, without connecting to the database.")
        var offline = false

        func perform() async throws {
            let sources = try options.sources()
            let configuration = try ServeConfiguration(sources)
            let environment = ProcessInfo.processInfo.environment
            for warning in configuration.database.transportWarnings(environment: environment) {
                complain("warning: \(warning)")
            }
            try say("the configuration is complete")
            if !offline { await warnOfProject(try AuditConfiguration(sources)) }
        }

        private func warnOfProject(_ configuration: AuditConfiguration) async {
            do {
                let terms = try await withClient(configuration.database.postgres) { client in
                    try await AuditedProject.load(AccountStore(client: client), configuration.providerRegistry)
                        .terms(at: Effects.system.now())
                }
                let style = Style(showsIdentifiers: false)
                for finding in AuditRule.all.flatMap({ $0.findings(inProjectOf: terms) }) {
                    let rule = finding.rule
                    complain(
                        "\(rule.severity.rawValue): \(rule.summary) (\(rule.id): \(style.found(finding.evidence)))"
                    )
                }
            } catch {
                complain("the project's configuration was not checked: \(words(for: error))")
            }
        }
    }

    /// Three columns: key, value, origin.
    ///
    /// - `width`: the number of columns of the terminal; `nil` for no limit.
    static func text(_ lines: [ConfigurationTable.Line], fitting width: Int? = nil) -> String {
        if let width {
            return TextTable.text(lines.map { [$0.name, $0.value, $0.origin.description] }, fitting: width)
        }
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
