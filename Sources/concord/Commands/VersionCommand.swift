import ArgumentParser
import FoundationEssentials

/// `concord version`: the version and the origin of the program.
struct VersionCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print version, commit, schema and compiler of this program.",
        discussion: """
            The commit and its date are unknown unless the program was built by make.

            EXAMPLES
              concord version --format json
            """
    )

    @Option(help: "Output format.")
    var format: OutputFormat = .text

    func perform() async throws {
        switch format {
        case .text: try say(Self.text)
        case .json: try say(try Self.json())
        }
    }

    static var text: String {
        TextTable.text([
            ("version", ConcordVersion.current), ("commit", ConcordVersion.commit),
            ("date", ConcordVersion.commitDate), ("schema", String(ConcordVersion.schema)),
            ("swift", ConcordVersion.swift),
        ])
    }

    static func json() throws -> String {
        struct Report: Encodable {
            let version = ConcordVersion.current
            let commit = ConcordVersion.commit
            let date = ConcordVersion.commitDate
            let schema = ConcordVersion.schema
            let swift = ConcordVersion.swift
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Report()), as: UTF8.self)
    }
}
