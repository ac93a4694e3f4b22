import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import JSON

/// `concord outbox`: the messages on their way out.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "The messages on their way out, and those that were given up.",
        subcommands: [List.self, Retry.self]
    )

    /// What can be listed.
    enum ListedState: String, CaseIterable, ExpressibleByArgument {
        case pending
        case failed

        var state: OutboxMessage.State {
            switch self {
            case .pending: .pending
            case .failed: .failed
            }
        }
    }
}

extension OutboxCommand {
    /// `concord outbox list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the messages that wait and those that were given up, the oldest first.",
            discussion: """
                Nothing of what they say is shown, and of an address only its first character and its domain; that takes the \
                key-encryption keys, and without them no address is shown.
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Only messages in this state.")
        var state: ListedState?

        @Option(help: ArgumentHelp("How many of each state at most.", valueName: "number"))
        var max = 100

        @Option(help: "The form of the listing.")
        var format: ConfigCommand.OutputFormat = .text

        func validate() throws {
            guard (1...10_000).contains(max) else { throw ValidationError("--max: give a number from 1 to 10000") }
        }

        func run() async throws {
            try await reportingErrors {
                let configuration = try OutboxConfiguration(try configuration.sources())
                let sealer = try configuration.keys.map { try Sealer($0) }
                let states = (state.map { [$0] } ?? [.failed, .pending]).map(\.state)
                let messages = try await withClient(configuration.database.postgres) { client in
                    let listing = OutboxListing(AccountStore(client: client), sealer: sealer)
                    var found: [ListedMessage] = []
                    for state in states { found += try await listing.messages(state, countMax: max) }
                    return found
                }
                let now = Effects.system.now()
                switch format {
                case .text: try say(OutboxCommand.text(messages, at: now))
                case .json: try say(OutboxCommand.json(messages))
                }
            }
        }
    }

    /// `concord outbox retry`
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have messages that were given up sent after all.",
            discussion: "What has expired is not sent any more. Exits with 1 when nothing was changed."
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: ArgumentHelp("The messages, as the list names them.", valueName: "id"))
        var ids: [String] = []

        @Flag(help: "All of them.")
        var failed = false

        func validate() throws {
            guard ids.isEmpty == failed else {
                throw ValidationError("name messages, or give --failed for all of them")
            }
        }

        func run() async throws {
            try await reportingErrors {
                let configuration = try OutboxConfiguration(try configuration.sources())
                let count = try await withClient(configuration.database.postgres) { client in
                    try await OutboxListing(AccountStore(client: client), sealer: nil)
                        .retry(failed ? nil : ids, at: Effects.system.now())
                }
                guard let count else { throw ValidationError("an id is a UUID, as concord outbox list prints it") }
                guard count > 0 else {
                    complain("none of that was given up and is still worth sending; nothing was changed")
                    throw ExitCode.answerIsNo
                }
                try say("\(count) \(count == 1 ? "message is" : "messages are") due again")
            }
        }
    }

    /// Seven columns with a heading; a line that says so where there is nothing.
    static func text(_ messages: [ListedMessage], at now: Timestamp) -> String {
        guard !messages.isEmpty else { return "no message waits, and none was given up" }
        let rows =
            [["ID", "STATE", "KIND", "AGE", "ATTEMPTS", "REASON", "TO"]]
            + messages.map { message in
                [
                    message.id, message.state.rawValue, message.kind.rawValue,
                    age(now.secondsSinceEpoch - message.createdAt.secondsSinceEpoch), String(message.attempts),
                    message.reason ?? "-", message.recipient ?? "-",
                ]
            }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { $0 == row.count - 1 ? row[$0] : padded(row[$0], to: widths[$0]) }.joined(separator: "  ")
        }
        .joined(separator: "\n")
    }

    /// An array of objects.
    static func json(_ messages: [ListedMessage]) -> String {
        JSONValue.array(
            messages.map { message in
                var fields: [String: JSONValue] = [
                    "id": .string(message.id), "state": .string(message.state.rawValue),
                    "kind": .string(message.kind.rawValue), "attempts": .integer(Int64(message.attempts)),
                    "createdAt": .string(RFC3339.text(message.createdAt)),
                    "expiresAt": .string(RFC3339.text(message.expiresAt)),
                ]
                if message.state == .pending { fields["nextAttemptAt"] = .string(RFC3339.text(message.nextAttemptAt)) }
                fields["reason"] = message.reason.map { .string($0) }
                fields["to"] = message.recipient.map { .string($0) }
                return .object(fields)
            }
        ).text
    }

    /// In the greatest unit of which there is one.
    private static func age(_ seconds: Int64) -> String {
        for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, Int64)] where seconds >= length {
            return "\(seconds / length)\(unit)"
        }
        return "\(max(0, seconds))s"
    }
}
