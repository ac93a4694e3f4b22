import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import JSON

/// `concord outbox`: mails, text messages and pushes that are not sent yet.
struct OutboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "List outgoing messages, show one, retry them, or discard them.",
        subcommands: [List.self, Show.self, Retry.self, Discard.self]
    )

    /// The states of messages that can be listed.
    enum ListedState: String, CaseIterable, ExpressibleByArgument {
        case pending
        case failed
        case discarded

        var state: OutboxMessage.State {
            switch self {
            case .pending: .pending
            case .failed: .failed
            case .discarded: .discarded
            }
        }
    }
}

extension OutboxCommand {
    /// `concord outbox list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print pending and failed messages, oldest first.",
            discussion: """
                --state discarded prints discarded messages.

                Does not show what messages say. Shows only the first character and the domain of an address; without \
                the key-encryption keys, no address is shown.

                EXAMPLES
                  concord outbox list
                  concord outbox list --state failed --format ndjson
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Only messages in this state.")
        var state: ListedState?

        @Option(help: ArgumentHelp("Maximum number of messages in each state.", valueName: "number"))
        var max = 100

        @Option(help: "Output format.")
        var format: ListFormat = .text

        func validate() throws {
            guard (1...10_000).contains(max) else { throw ValidationError("--max: give a number from 1 to 10000") }
        }

        func perform() async throws {
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
            case .ndjson: for message in messages { try say(OutboxCommand.object(message).text) }
            }
        }
    }

    /// `concord outbox show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print one message: its state, attempts and last failure.",
            discussion: """
                Does not show what the message says. Without the key-encryption keys, no address is shown. Exits with 1 \
                if there is no such message.

                EXAMPLES
                  concord outbox show 00000000-0000-4000-8000-000000000001
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        @Argument(help: ArgumentHelp("Id of the message, as concord outbox list prints it.", valueName: "id"))
        var id: String

        func validate() throws {
            guard OutboxListing.named([id]) != nil else {
                throw ValidationError("an id is a UUID, as concord outbox list prints it")
            }
        }

        func perform() async throws {
            let configuration = try OutboxConfiguration(try configuration.sources())
            let sealer = try configuration.keys.map { try Sealer($0) }
            guard let id = OutboxListing.named([id])?.first else { return }
            let found = try await withClient(configuration.database.postgres) { client in
                try await OutboxListing(AccountStore(client: client), sealer: sealer).message(id)
            }
            guard let found else {
                complain("there is no such message, or it was deleted after it expired")
                throw ExitCode.answerIsNo
            }
            switch format {
            case .text: try say(OutboxCommand.text(of: found))
            case .json: try say(OutboxCommand.object(found).text)
            }
        }
    }

    /// `concord outbox retry`
    struct Retry: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send failed messages again.",
            discussion: """
                Expired messages are not sent. Exits with 1 if nothing was changed.

                EXAMPLES
                  concord outbox retry --failed
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: ArgumentHelp("Ids of messages, as concord outbox list prints them.", valueName: "id"))
        var ids: [String] = []

        @Flag(help: "Retry all failed messages.")
        var failed = false

        func validate() throws {
            guard ids.isEmpty == failed else {
                throw ValidationError("give the ids of messages, or --failed for all failed messages")
            }
        }

        func perform() async throws {
            let configuration = try OutboxConfiguration(try configuration.sources())
            let count = try await withClient(configuration.database.postgres) { client in
                try await OutboxListing(AccountStore(client: client), sealer: nil)
                    .retry(failed ? nil : ids, at: Effects.system.now())
            }
            guard let count else { throw ValidationError("an id is a UUID, as concord outbox list prints it") }
            guard count > 0 else {
                complain("no such message has failed and is still valid; nothing was changed")
                throw ExitCode.answerIsNo
            }
            try say("\(count) \(count == 1 ? "message is" : "messages are") due to be sent again")
        }
    }

    /// `concord outbox discard`
    struct Discard: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Discard messages, so that they are never sent.",
            discussion: """
                Shows the messages and asks. Deletes their contents at once. Skips and counts a message that a worker \
                is sending. Without the key-encryption keys, no address is shown.

                Exits with 1 if nothing was discarded, if a message that you named remains, or if you do not agree.

                EXAMPLES
                  concord outbox discard --kind mail --older-than 7d --dry-run
                  concord outbox discard --all-pending --yes
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(
            help: ArgumentHelp(
                "Ids of pending or failed messages, as concord outbox list prints them.",
                valueName: "id"
            )
        )
        var ids: [String] = []

        @Flag(help: "All pending messages.")
        var allPending = false

        @Option(help: "Pending messages of this kind: mail, sms or push.")
        var kind: OutboxMessage.Kind?

        @Option(
            help: ArgumentHelp(
                "Pending messages that have waited longer, such as 90m, 36h or 7d, or that were written before a time, such as 2026-11-22T08:00:00Z.",
                valueName: "time"
            )
        )
        var olderThan: String?

        @Flag(help: "Show which messages would be discarded, and change nothing.")
        var dryRun = false

        @Flag(help: "Discard them without asking.")
        var yes = false

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        /// Maximum number of shown messages.
        private static let shownMax = 100

        func validate() throws {
            guard ids.isEmpty == (allPending || kind != nil || olderThan != nil) else {
                throw ValidationError("give the ids of messages, or --all-pending, --kind or --older-than")
            }
            guard !dryRun || !yes else { throw ValidationError("give --dry-run or --yes, not both") }
            guard OutboxListing.named(ids) != nil else {
                throw ValidationError("an id is a UUID, as concord outbox list prints it")
            }
            if let olderThan, SnapshotOptions.instant(olderThan, before: Timestamp(secondsSinceEpoch: 0)) == nil {
                throw ValidationError(
                    "--older-than: give a time such as 2026-11-22T08:00:00Z, or a duration such as 90m, 36h or 7d"
                )
            }
        }

        func perform() async throws {
            let configuration = try OutboxConfiguration(try configuration.sources())
            let sealer = try configuration.keys.map { try Sealer($0) }
            let selection = selection(at: Effects.system.now())
            try await withClient(configuration.database.postgres) { client in
                let listing = OutboxListing(AccountStore(client: client), sealer: sealer)
                try await discard(selection, listing)
            }
        }

        private func selection(at now: Timestamp) -> OutboxSelection {
            if !ids.isEmpty, let named = OutboxListing.named(ids) { return .named(named) }
            let cutoff = olderThan.flatMap { SnapshotOptions.instant($0, before: now) } ?? now
            return .pending(kind, writtenUntil: cutoff)
        }

        private func discard(_ selection: OutboxSelection, _ listing: OutboxListing) async throws {
            let now = Effects.system.now()
            let count = try await listing.countDiscardable(selection, at: now)
            let shown = try await listing.discardable(selection, at: now, countMax: Self.shownMax)
            let outcome = DiscardOutcome(shown: shown, matching: count.unclaimed, named: Int64(Set(ids).count))
            if format == .text, count.unclaimed > 0 { try say(outcome.table(at: now)) }
            if dryRun {
                try say(
                    format == .json ? outcome.json(claimed: count.claimed) : outcome.forecast(claimed: count.claimed)
                )
                guard outcome.isWhole(count.unclaimed) else { throw ExitCode.answerIsNo }
                return
            }
            try flushOutput()
            var discarded: Int64 = 0
            if count.unclaimed > 0 {
                let question =
                    "Discard \(messages(count.unclaimed))? Their contents are deleted, and they are never sent."
                try await agree(to: question, isAgreed: yes)
                discarded = try await listing.discard(selection, at: Effects.system.now())
            }
            let claimed = try await listing.countDiscardable(selection, at: Effects.system.now()).claimed
            try say(
                format == .json
                    ? outcome.json(discarded: discarded, claimed: claimed)
                    : outcome.report(discarded: discarded, claimed: claimed)
            )
            guard outcome.isWhole(discarded) else { throw ExitCode.answerIsNo }
        }
    }

    /// A table of 7 columns with a heading, or a line if there is no message.
    static func text(_ messages: [ListedMessage], at now: Timestamp) -> String {
        guard !messages.isEmpty else { return "no message is pending or failed" }
        let rows =
            [["ID", "STATE", "KIND", "AGE", "ATTEMPTS", "REASON", "TO"]]
            + messages.map { message in
                [
                    message.id, message.state.rawValue, message.kind.rawValue,
                    age(now.secondsSinceEpoch - message.createdAt.secondsSinceEpoch), String(message.attempts),
                    message.reason ?? "-", message.recipient ?? "-",
                ]
            }
        return TextTable.text(rows, fitting: Terminal.width)
    }

    /// An array of objects.
    static func json(_ messages: [ListedMessage]) -> String { array(messages).text }

    fileprivate static func array(_ messages: [ListedMessage]) -> JSONValue { .array(messages.map(object)) }

    static func object(_ message: ListedMessage) -> JSONValue {
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

    /// A line for each property of one message.
    static func text(of message: ListedMessage) -> String {
        var lines = [
            ("id", message.id), ("state", message.state.rawValue), ("kind", message.kind.rawValue),
            ("to", message.recipient ?? "-"), ("created", RFC3339.text(message.createdAt)),
            ("expires", RFC3339.text(message.expiresAt)), ("attempts", String(message.attempts)),
        ]
        if message.state == .pending { lines.append(("next attempt", RFC3339.text(message.nextAttemptAt))) }
        lines.append(("reason", message.reason ?? "-"))
        return TextTable.text(lines)
    }

    /// The age in the largest unit that gives at least 1.
    static func age(_ seconds: Int64) -> String {
        for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, Int64)] where seconds >= length {
            return "\(seconds / length)\(unit)"
        }
        return "\(max(0, seconds))s"
    }
}

extension OutboxMessage.Kind: ExpressibleByArgument {}

/// The predicted or actual outcome of a discard, in its output formats.
struct DiscardOutcome {
    /// The oldest matching messages.
    let shown: [ListedMessage]
    /// Number of matching messages that no worker has claimed.
    let matching: Int64
    /// Number of named messages; 0 if none is named.
    let named: Int64

    /// Returns true if `discarded` is the number of requested messages.
    func isWhole(_ discarded: Int64) -> Bool { discarded > 0 && discarded >= named }

    func table(at now: Timestamp) -> String {
        let rest = matching - Int64(shown.count)
        return OutboxCommand.text(shown, at: now) + (rest > 0 ? "\nand \(grouped(rest)) more" : "")
    }

    func forecast(claimed: Int64) -> String {
        "\(messages(matching)) would be discarded" + others(matching, claimed)
    }

    func report(discarded: Int64, claimed: Int64) -> String {
        "\(messages(discarded)) discarded" + others(discarded, claimed)
    }

    private func others(_ discarded: Int64, _ claimed: Int64) -> String {
        let gone = max(0, named - discarded - claimed)
        return (claimed > 0 ? ", \(grouped(claimed)) left to the worker that is sending" : "")
            + (gone > 0 ? ", \(grouped(gone)) not found: sent, discarded or deleted before" : "")
    }

    func json(claimed: Int64) -> String {
        object(["dryRun": .bool(true), "matching": .integer(matching)], claimed)
    }

    func json(discarded: Int64, claimed: Int64) -> String {
        object(["dryRun": .bool(false), "discarded": .integer(discarded)], claimed)
    }

    /// `messages`: the oldest messages in their earlier state.
    private func object(_ fields: [String: JSONValue], _ claimed: Int64) -> String {
        JSONValue.object(
            fields.merging(["claimed": .integer(claimed), "messages": OutboxCommand.array(shown)]) { $1 }
        ).text
    }
}

/// `1 message`, `2 messages`.
private func messages(_ count: Int64) -> String { "\(grouped(count)) \(count == 1 ? "message" : "messages")" }
