import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials

/// `concord audit`: finds and repairs problems of accounts.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Find accounts that are broken, at risk or duplicated, and repair them by a plan.",
        discussion: "Only apply and undo write to the database.",
        subcommands: [
            Run.self, Rules.self, AuditPlanCommand.self, AuditApplyCommand.self, AuditUndoCommand.self,
            AuditPlansCommand.self,
        ]
    )
}

extension AuditCommand {
    /// `concord audit run`
    struct Run: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the project and its accounts against the rules, and print the findings.",
            discussion: """
                Findings about the project's configuration come first, unless --user, --emails or --after is given. \
                Accounts are read while servers run, as of one instant except on Citus. Rules about several accounts \
                need all accounts, so --user, --emails and --since leave these rules out. Addresses, phone numbers and \
                providers' ids of users are masked unless --show-identifiers is given.

                Exits with 1 if a finding has the severity of --fail-on or a higher one, or if no account has a uid or \
                an address that --user or --emails names (not with --fail-on never); with 64 if the tenant does not \
                exist. A run that was interrupted or that lost the database prints how to continue.

                EXAMPLES
                  concord audit run --summary
                  concord audit run --rule weak-password-hash --limit 20
                  concord audit run --format sarif >audit.sarif
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @OptionGroup var selecting: AuditSelectionOptions

        @OptionGroup var reading: SnapshotOptions

        @OptionGroup var cursor: CursorOption

        @OptionGroup var replica: ReplicaOptions

        @OptionGroup var colors: ColorOption

        @Option(help: "Output format.")
        var format: FindingFormat = .text

        @Flag(help: "Print only the number of findings by rule.")
        var summary = false

        @Option(
            help: ArgumentHelp(
                "Print the numbers by rule, then at most this many findings, the most serious first. Default: \(FindingExtent.shownByDefault) on a terminal, all otherwise.",
                valueName: "number"
            )
        )
        var limit: Int?

        @Option(help: "Lowest severity that makes the command exit with 1: note, warning, error, or never.")
        var failOn: Threshold = .error

        func validate() throws {
            if summary, format != .text, format != .ndjson {
                throw ValidationError("--summary needs --format text or ndjson")
            }
            if limit != nil, format != .text { throw ValidationError("--limit needs --format text") }
            if let limit, !(0...100_000).contains(limit) {
                throw ValidationError("--limit: give a number from 0 to 100000")
            }
            guard limit == nil || !summary else { throw ValidationError("give --limit or --summary, not both") }
        }

        private var extent: FindingExtent {
            if summary { return .countsOnly }
            if let limit { return .first(limit) }
            return format == .text && Terminal.width != nil ? .first(FindingExtent.shownByDefault) : .all
        }

        func perform() async throws {
            let configuration = try AuditConfiguration(try configuration.sources())
            let postgres = configuration.database.postgres
            let now = Effects.system.now()
            let task = try await withClient(postgres) { client -> AuditTask in
                let store = AccountStore(client: client)
                return AuditTask(
                    terms: try await AuditedProject.load(store, configuration.providerRegistry).terms(at: now),
                    selection: try await selecting.selection(store, reading, before: now)
                )
            }
            let accounts = try await replica.database(of: configuration.database)
            try await namingDatabase(accounts) { try await audit(reading.snapshots(accounts), task) }
        }

        private struct AuditTask: Sendable {
            let terms: AuditTerms
            let selection: AuditSelection
        }

        private func audit(_ snapshots: AccountSnapshots, _ task: AuditTask) async throws {
            let (terms, selection) = (task.terms, task.selection.accounts)
            let rules = selecting.rules(for: selection)
            let audit = Audit(
                snapshots,
                rules: rules,
                terms: terms
            )
            if try await !snapshots.isOfOneInstant() {
                complain("on Citus, accounts are read at slightly different times; findings are checked again")
            }
            let total: Int64? =
                if case .all = selection { try await snapshots.estimatedCount() } else { nil }
            let output = FindingOutput(
                format,
                extent,
                rules: rules,
                showsIdentifiers: reading.showIdentifiers,
                isColored: colors.color.isOn(),
                at: terms.now
            )
            let walk = SnapshotWalk(
                total: total,
                after: cursor.start,
                showsProgress: reading.readers.progress.showsProgress
            )
            try output.begin()
            // With a cursor, an earlier run has reported these.
            let aboutProject = cursor.start == nil ? rules.flatMap { $0.findings(inProjectOf: terms) } : []
            for finding in aboutProject { try output.report(finding) }
            var result = try await walk.run(
                {
                    try await audit.run(
                        selection,
                        tenant: reading.tenantID,
                        after: cursor.start,
                        check: walk.checkForEnd,
                        onFinding: { try output.report($0) },
                        report: { try walk.report($0.accounts, at: $0.place) }
                    )
                },
                orElse: { try output.breakOff() }
            )
            for finding in aboutProject { result.findings[finding.rule.id, default: 0] += 1 }
            try output.end(result)
            // With a cursor, an earlier run has checked the others.
            let foundAll = cursor.start != nil || selecting.foundAll(task.selection, result)
            guard failOn == .never || foundAll && !result.reaches(failOn) else { throw ExitCode.answerIsNo }
        }
    }

    /// `concord audit rules`
    struct Rules: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the rules, or explain one: what it finds, why it matters, and how to repair it.",
            discussion: """
                Needs no database.

                EXAMPLES
                  concord audit rules
                  concord audit rules weak-password-hash
                """
        )

        @Argument(help: "The rule to explain; lists all rules by default.")
        var id: String?

        @Option(help: "Output format.")
        var format: ListFormat = .text

        func validate() throws {
            if let id, AuditRule.named(id) == nil {
                let question = Suggestion.question(about: id, among: AuditRule.all.map(\.id))
                throw ValidationError(
                    "there is no rule \(id)\(question.isEmpty ? ";" : question) concord audit rules lists them"
                )
            }
        }

        func perform() async throws {
            let rule = id.flatMap(AuditRule.named)
            if let rule, format == .text {
                try say(AuditRuleText.explanation(rule))
            } else {
                try AuditRuleText.listing.write(rule.map { [$0] } ?? AuditRule.all, as: format)
            }
        }
    }
}

/// The minimum severity of reported findings.
enum Threshold: String, CaseIterable, ExpressibleByArgument {
    case note
    case warning
    case error
    case never

    fileprivate func includes(_ severity: AuditRule.Severity) -> Bool {
        switch self {
        case .note: true
        case .warning: severity >= .warning
        case .error: severity >= .error
        case .never: false
        }
    }
}

extension Audit.Progress {
    /// True if a finding reaches the threshold.
    fileprivate func reaches(_ threshold: Threshold) -> Bool {
        findings.contains { id, count in
            count > 0 && AuditRule.named(id).map { threshold.includes($0.severity) } == true
        }
    }
}
