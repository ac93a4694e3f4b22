import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import Logging
import Postgres
import Synchronization

/// `concord audit`: what is wrong with accounts, or may soon be.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Look for accounts that are broken, at risk or double.",
        discussion: "Nothing is repaired, and nothing is written to the database.",
        subcommands: [Run.self, Rules.self]
    )
}

extension AuditCommand {
    /// `concord audit run`
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ask the rules about accounts, and print what they find.",
            discussion: """
                Reads everything as of one instant, beside running servers. Rules about several accounts need all of them: \
                they are left out with --user, --emails and --since. Addresses, numbers and providers' names of users are \
                masked unless --show-identifiers is given.

                Exits with 1 when something is found that --fail-on names. A run that was interrupted or lost the database \
                says how to go on.
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(
            name: .customLong("rule"),
            help: ArgumentHelp("Only this rule; may be repeated. All of them by default.", valueName: "id")
        )
        var ruleIDs: [String] = []

        @Option(help: ArgumentHelp("Only this tenant; all of them by default.", valueName: "id"))
        var tenant: String?

        @Option(
            name: .customLong("user"),
            help: ArgumentHelp("Only this account; may be repeated.", valueName: "uid")
        )
        var users: [String] = []

        @Option(
            help: ArgumentHelp(
                "Only the accounts that own the addresses in this file, one a line; - reads standard input.",
                valueName: "file"
            )
        )
        var emails: String?

        @Option(
            help: ArgumentHelp(
                "Only accounts that something happened to since: a time as 2026-11-22T08:00:00Z, or 36h, 7d.",
                valueName: "time"
            )
        )
        var since: String?

        @Option(help: ArgumentHelp("Go on where an earlier run stopped.", valueName: "cursor"))
        var after: String?

        @Option(help: "The form of the findings.")
        var format: FindingFormat = .text

        @Option(help: "The least severity that makes the command exit with 1: note, warning, error, or never.")
        var failOn: Threshold = .error

        @Flag(help: "Print addresses, numbers and providers' names of users as they are.")
        var showIdentifiers = false

        @Option(help: ArgumentHelp("How many connections read at once.", valueName: "number"))
        var connections = 2

        func validate() throws {
            guard (1...16).contains(connections) else {
                throw ValidationError("--connections: give a number from 1 to 16")
            }
            for id in ruleIDs where AuditRule.named(id) == nil {
                throw ValidationError("--rule: there is no rule \(id); concord audit rules lists them")
            }
            guard [!users.isEmpty, emails != nil, since != nil].filter(\.self).count <= 1 else {
                throw ValidationError("give one of --user, --emails and --since")
            }
            for user in users where UserID(user) == nil { throw ValidationError("--user: no uid: \(user)") }
            if let since, Self.instant(since, before: Effects.system.now()) == nil {
                throw ValidationError("--since: give a time as 2026-11-22T08:00:00Z, or a span as 36h or 7d")
            }
            if let after, AccountSnapshots.Place(cursor: after) == nil {
                throw ValidationError("--after: not a cursor that an earlier run printed")
            }
        }

        func run() async throws {
            try await reportingErrors {
                let configuration = try AuditConfiguration(try configuration.sources())
                let postgres = configuration.database.postgres
                let now = Effects.system.now()
                let task = try await withClient(postgres) { client -> AuditTask in
                    let store = AccountStore(client: client)
                    return AuditTask(
                        terms: try await Self.terms(store, configuration, at: now),
                        selection: try await selection(store, before: now)
                    )
                }
                let folder = FileManager.default.temporaryDirectory.path
                try await audit(
                    AccountSnapshots(postgres, connections: connections, temporaryFolder: folder),
                    temporaryFolder: folder,
                    task
                )
            }
        }

        private struct AuditTask: Sendable {
            let terms: AuditTerms
            let selection: AccountSnapshots.Selection
        }

        /// What the project as it is configured now makes of its accounts.
        static func terms(
            _ store: AccountStore,
            _ configuration: AuditConfiguration,
            at now: Timestamp
        ) async throws -> AuditTerms {
            guard let project = try await ProjectCache.load(store: store, trust: .declared) else {
                throw StartupFailure(
                    "the database holds no project yet; create it with: concord project init --id PROJECT-ID",
                    .badConfiguration
                )
            }
            let registry = ProviderRegistry(
                configuration.providers,
                configuration.limits,
                logger: makeLogger(LogConfiguration(level: .warning, format: .text))
            )
            return AuditTerms(
                policy: project.settings.policy,
                isEnabled: { registry.canSignIn($0, configuration: project.configuration(of: $0)) },
                now: now
            )
        }

        private func selection(
            _ store: AccountStore,
            before now: Timestamp
        ) async throws -> AccountSnapshots.Selection {
            if let since { return .changed(since: Self.instant(since, before: now) ?? now) }
            if let emails {
                let lines = try AddressList(path: emails).addresses
                return .users(try await owners(of: lines, store))
            }
            return users.isEmpty ? .all : .users(users.compactMap(UserID.init))
        }

        /// Who owns the addresses; those that nobody owns are told.
        private func owners(of addresses: [AddressList.Line], _ store: AccountStore) async throws -> [UserID] {
            var owners: [UserID] = []
            for start in stride(from: 0, to: addresses.count, by: 1000) {
                let some = addresses[start..<min(start + 1000, addresses.count)]
                let found = try await store.owners(of: some.map(\.address), tenant: TenantID(tenant ?? ""))
                for line in some {
                    if let owner = found[line.address] {
                        owners.append(owner)
                    } else {
                        complain("no account has the address on line \(line.number)")
                    }
                }
            }
            return owners
        }

        private func audit(
            _ snapshots: AccountSnapshots,
            temporaryFolder: String,
            _ task: AuditTask
        ) async throws {
            let terms = task.terms
            let selection = task.selection
            let rules = ruleIDs.isEmpty ? AuditRule.all : AuditRule.all.filter { ruleIDs.contains($0.id) }
            let unanswered = Audit.unanswered(rules, by: selection)
            if !unanswered.isEmpty {
                complain("not asked, because they need all accounts: \(unanswered.map(\.id).joined(separator: ", "))")
            }
            let audit = Audit(
                snapshots,
                rules: rules,
                terms: terms,
                temporaryFolder: temporaryFolder
            )
            let total: Int64? =
                if case .all = selection { try await snapshots.estimatedCount() } else { nil }
            let output = FindingOutput(format, rules: rules, showsIdentifiers: showIdentifiers, at: terms.now)
            let meter = ProgressMeter(total: total, noun: "accounts")
            let readingMeter = ProgressMeter(total: nil, noun: "blocks of tables read")
            let interrupt = Interrupt()
            let reached = Mutex<AccountSnapshots.Place?>(after.flatMap(AccountSnapshots.Place.init(cursor:)))
            let start = reached.withLock { $0 }
            output.begin()
            do {
                let result = try await interrupt.watching {
                    try await audit.run(
                        selection,
                        tenant: tenant.map { TenantID($0) },
                        after: start,
                        tell: { output.tell($0) },
                        report: { progress in
                            if let place = progress.place { reached.withLock { $0 = place } }
                            if progress.accounts > 0 || progress.blocksInAll == 0 {
                                meter.show(progress.accounts)
                            } else {
                                readingMeter.show(progress.blocksRead, of: progress.blocksInAll)
                            }
                            if interrupt.hasCome { throw Interrupted() }
                        }
                    )
                }
                meter.clear()
                output.end(result)
                guard !result.reaches(failOn) else { throw ExitCode.answerIsNo }
            } catch let code as ExitCode {
                throw code
            } catch {
                meter.clear()
                output.breakOff()
                let advice =
                    reached.withLock { $0 }.map { "go on with: --after \($0.cursor)" } ?? "nothing was told yet"
                if error is Interrupted {
                    complain("interrupted; \(advice)")
                    throw ExitCode.stopped
                }
                complain("stopped; \(advice)")
                throw error
            }
        }

        /// A time as RFC 3339 has it, or that long ago.
        static func instant(_ text: String, before now: Timestamp) -> Timestamp? {
            if let date = try? Date(text, strategy: .iso8601) {
                return Timestamp(millisecondsSinceEpoch: Int64((date.timeIntervalSince1970 * 1000).rounded()))
            }
            let units: [Character: Int64] = ["m": 60, "h": 3600, "d": 86_400]
            guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
                (1...100_000).contains(count)
            else { return nil }
            return now.adding(seconds: -count * unit)
        }
    }

    /// `concord audit rules`
    struct Rules: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the rules, or explain one: what it finds, why that matters, how it is repaired.",
            discussion: "Needs no database."
        )

        @Argument(help: "The rule to explain; all of them are listed without it.")
        var id: String?

        @Option(help: "The form of the listing.")
        var format: ConfigCommand.OutputFormat = .text

        func validate() throws {
            if let id, AuditRule.named(id) == nil {
                throw ValidationError("there is no rule \(id); concord audit rules lists them")
            }
        }

        func run() {
            let rules = id.flatMap(AuditRule.named).map { [$0] } ?? AuditRule.all
            switch format {
            case .text: print(id == nil ? RuleText.list(rules) : RuleText.explanation(rules[0]))
            case .json: print(RuleText.json(rules))
            }
        }
    }
}

/// The least severity that counts.
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
    /// Whether anything was found that counts.
    fileprivate func reaches(_ threshold: Threshold) -> Bool {
        findings.contains { id, count in
            count > 0 && AuditRule.named(id).map { threshold.includes($0.severity) } == true
        }
    }
}
