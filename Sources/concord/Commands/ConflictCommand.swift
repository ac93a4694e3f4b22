import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord conflict`: conflicts of sign-in methods, for operators.
struct ConflictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflict",
        abstract: "List conflicts between sign-in methods, show one, or decline one.",
        discussion: """
            A conflict holds a provider's credential that Concord could not apply, until the account's owner proves \
            who they are. Addresses are masked; without the key-encryption keys, no address is shown.
            """,
        subcommands: [List.self, Show.self, Decline.self]
    )

    struct Options: ParsableArguments {
        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        /// Runs `body` on the database of the configuration.
        func withConflicts(
            _ body: @escaping @Sendable (ConflictAdministration, AccountStore) async throws -> Void
        ) async throws {
            try await ConflictCommand.withConflicts(configuration, body)
        }
    }

    /// Runs `body` on the database of the configuration.
    fileprivate static func withConflicts(
        _ options: ConfigurationOptions,
        _ body: @escaping @Sendable (ConflictAdministration, AccountStore) async throws -> Void
    ) async throws {
        let configuration = try OutboxConfiguration(try options.sources())
        let sealer = try configuration.keys.map { try Sealer($0) }
        try await withClient(configuration.database.postgres) { client in
            let store = AccountStore(client: client)
            try await body(ConflictAdministration(store: store, sealer: sealer, effects: .system), store)
        }
    }
}

extension ConflictFacts.ShownState: ExpressibleByArgument {}
extension ConflictKind: ExpressibleByArgument {}

extension ConflictCommand {
    /// `concord conflict list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print conflicts, newest first.",
            discussion: """
                If there are more, standard error says how to continue.

                EXAMPLES
                  concord conflict list --state open
                  concord conflict list --user UID --format json
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: ListFormat = .text

        @Option(help: "Only conflicts in this state.")
        var state: ConflictFacts.ShownState?

        @Option(help: ArgumentHelp("Only conflicts about this account.", valueName: "uid"))
        var user: String?

        @Option(
            help: ArgumentHelp(
                "Only conflicts about credentials of this provider, such as google.com.",
                valueName: "id"
            )
        )
        var provider: String?

        @Option(help: "Only conflicts of this kind.")
        var kind: ConflictKind?

        @Option(
            help: ArgumentHelp(
                "Only conflicts opened since a time, such as 2026-11-22T08:00:00Z, 90m, 36h or 7d.",
                valueName: "time"
            )
        )
        var openedSince: String?

        @Option(help: ArgumentHelp("Only conflicts opened before a time.", valueName: "time"))
        var openedBefore: String?

        @Option(help: ArgumentHelp("Maximum number of conflicts.", valueName: "number"))
        var max = ConflictAdministration.countByDefault

        @Option(help: ArgumentHelp("Continue where an earlier list ended.", valueName: "cursor"))
        var after: String?

        func validate() throws {
            guard (1...ConflictAdministration.countMax).contains(max) else {
                throw ValidationError("--max: give a number from 1 to \(ConflictAdministration.countMax)")
            }
            if let user, UserID(user) == nil { throw ValidationError("--user: not a uid: \(user)") }
            if let provider, ProviderID(provider) == nil {
                throw ValidationError("--provider: not the id of a provider: \(provider)")
            }
            for (option, time) in [("--opened-since", openedSince), ("--opened-before", openedBefore)] {
                guard let time, SnapshotOptions.instant(time, before: Timestamp(secondsSinceEpoch: 0)) == nil else {
                    continue
                }
                throw ValidationError(
                    "\(option): give a time such as 2026-11-22T08:00:00Z, or a duration such as 90m, 36h or 7d"
                )
            }
        }

        func perform() async throws {
            let now = Effects.system.now()
            var filter = ConflictFilter()
            filter.state = state
            filter.user = user.flatMap(UserID.init)
            filter.provider = provider.flatMap(ProviderID.init)
            filter.kind = kind
            filter.openedSince = openedSince.flatMap { SnapshotOptions.instant($0, before: now) }
            filter.openedBefore = openedBefore.flatMap { SnapshotOptions.instant($0, before: now) }
            let (wanted, format) = (filter, format)
            let (cursor, count) = (after, max)
            try await ConflictCommand.withConflicts(configuration) { conflicts, _ in
                let page = try await conflicts.conflicts(wanted, after: cursor, count: count, tenant: .project)
                guard let page else { throw ValidationError("--after: not a cursor that an earlier list printed") }
                if format == .json {
                    try say(ConflictText.json(page))
                } else {
                    try ConflictText.listing(at: now).write(page.conflicts, as: format)
                }
                if let next = page.next, format != .json { complain("there are more: --after \(next)") }
            }
        }
    }

    /// `concord conflict show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print one conflict.",
            discussion: """
                Exits with 1 if there is no such conflict.

                EXAMPLES
                  concord conflict show ID
                """
        )

        @OptionGroup var options: Options

        @Argument(help: ArgumentHelp("Id of the conflict, as concord conflict list prints it.", valueName: "id"))
        var id: String

        func perform() async throws {
            let (id, format) = (id, options.format)
            try await options.withConflicts { conflicts, _ in
                let conflict = try await conflicts.existing(id)
                try say(ConflictText.text(of: conflict, format))
            }
        }
    }

    /// `concord conflict decline`
    struct Decline: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Decline a conflict: its credential can no longer be used.",
            discussion: """
                Shows the conflict and asks. The account stays as it is, and the next sign-in with the provider opens \
                another conflict. Exits with 1 if the conflict was resolved, declined or invalid before, or if you do \
                not agree.

                EXAMPLES
                  concord conflict decline ID
                """
        )

        @OptionGroup var options: Options

        @Flag(help: "Decline the conflict without asking.")
        var yes = false

        @Argument(help: ArgumentHelp("Id of the conflict, as concord conflict list prints it.", valueName: "id"))
        var id: String

        func perform() async throws {
            let (id, format, yes) = (id, options.format, yes)
            try await options.withConflicts { conflicts, store in
                let conflict = try await conflicts.existing(id)
                guard [.open, .proven].contains(conflict.state) else {
                    complain("nothing was changed: the conflict is \(conflict.state.rawValue)")
                    throw ExitCode.answerIsNo
                }
                if format == .text { try say(ConflictText.text(of: conflict, .text)) }
                try flushOutput()
                try await agree(to: "Decline this conflict?", isAgreed: yes)
                // Loads the webhooks that receive the decision.
                try await store.refreshWebhooks()
                do {
                    let declined = try await conflicts.decline(id, expectedVersion: nil, tenant: .project)
                    try say(
                        format == .json
                            ? ConflictText.text(of: declined.conflict, .json)
                            : "declined; decision \(declined.decision.text)"
                    )
                } catch is Denial {
                    let state = try await conflicts.conflict(id, tenant: .project)?.state.rawValue
                    complain("nothing was changed: the conflict is \(state ?? "gone")")
                    throw ExitCode.answerIsNo
                }
            }
        }
    }
}

extension ConflictAdministration {
    fileprivate func existing(_ id: String) async throws -> ReportedConflict {
        guard let conflict = try await conflict(id, tenant: .project) else {
            complain(
                "there is no such conflict, or it was deleted after it expired; to list all: concord conflict list"
            )
            throw ExitCode.answerIsNo
        }
        return conflict
    }
}

/// The output formats of conflicts.
enum ConflictText {
    /// The table, and the objects of the route.
    static func listing(at now: Timestamp) -> Listing<ReportedConflict> {
        Listing(
            [
                .init("id", "ID") { .string($0.id) },
                .init("state", "STATE") { .string($0.state.rawValue) },
                .init("age", "AGE") {
                    .string(OutboxCommand.age(now.secondsSinceEpoch - $0.openedAt.secondsSinceEpoch))
                },
                .init("provider", "PROVIDER") { .string($0.provider.rawValue) },
                .init("as", "AS") { $0.maskedEmail.map(JSONValue.string) },
                .init("user", "USER") { .string($0.user.rawValue) },
                .init("kind", "KIND") { .string($0.kind.rawValue) },
            ],
            none: "no conflict matches",
            whole: [0, 5],
            document: { conflict in text(of: conflict, .json) }
        )
    }

    /// The JSON object of the route.
    static func json(_ page: ConflictPage) -> String {
        JSONWriter.text { writer in
            writer.field("conflicts", objects: page.conflicts) { $0.fields(of: $1) }
            writer.field("nextPageToken", page.next)
        }
    }

    /// A JSON object, or a line for each property.
    static func text(of conflict: ReportedConflict, _ format: OutputFormat) -> String {
        switch format {
        case .json: return JSONWriter.text { $0.fields(of: conflict) }
        case .text:
            var lines = [
                ("id", conflict.id), ("state", conflict.state.rawValue), ("kind", conflict.kind.rawValue),
                ("provider", conflict.provider.rawValue), ("as", conflict.maskedEmail ?? "-"),
                ("account", conflict.user.rawValue), ("signed in by", conflict.accountMethod.rawValue),
                ("opened", RFC3339.text(conflict.openedAt)), ("expires", RFC3339.text(conflict.expiresAt)),
            ]
            if let closedAt = conflict.closedAt { lines.append(("closed", RFC3339.text(closedAt))) }
            lines.append(("proofs", "\(conflict.proofsStarted)"))
            if let proof = conflict.proof {
                let left = max(0, ConflictProofFacts.attemptsMax - proof.attempts)
                lines.append(
                    (
                        "proof",
                        "\(proof.binding.kind.rawValue), \(left) attempts left, until \(RFC3339.text(proof.expiresAt))"
                    )
                )
            }
            return TextTable.text(lines)
        }
    }
}
