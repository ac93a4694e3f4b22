import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import Postgres
import Synchronization

/// `concord policy`: shows, simulates and applies policies.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show the policy, simulate another one, apply it, and list and compare the versions.",
        discussion: "A policy is the project's configuration and which of its registered providers are enabled.",
        subcommands: [Simulate.self, Apply.self, Show.self, History.self, Diff.self]
    )

    /// The path of the file as given.
    fileprivate static func file(_ path: String) throws(ConfigurationMistakes) -> PolicyFile {
        try PolicyFile(path: path) { FileManager.default.contents(atPath: $0).map(Array.init) }
    }
}

extension PolicyCommand {
    /// `concord policy simulate`
    struct Simulate: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Predict what a proposed policy would do to every account and to recent sign-ins.",
            discussion: """
                Writes nothing to the database. Judges every account under the policy in force and under the proposed \
                one, while servers run, as of one instant except on Citus. Also repeats the decisions since --since \
                under the proposed policy, and counts the sessions that a shorter limit on inactivity would end. \
                Addresses are masked unless --show-identifiers is given.

                Exits with 1 if an account meets an effect that --fail-on names; with 64 if the tenant does not exist. \
                A run that was interrupted or that lost the database prints how to continue.

                EXAMPLES
                  concord policy simulate policy.yaml
                  concord policy simulate policy.yaml --since 7d --format csv >effects.csv
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var reading: SnapshotOptions

        @OptionGroup var replica: ReplicaOptions

        @OptionGroup var cursor: CursorOption

        @OptionGroup var colors: ColorOption

        @Option(
            help: ArgumentHelp(
                "Repeat decisions since a time, such as 2026-11-22T08:00:00Z, 36h or 7d.",
                valueName: "time"
            )
        )
        var since = "30d"

        @Option(help: "Output format.")
        var format: SimulationFormat = .text

        @Option(
            help: ArgumentHelp(
                "Effects that make the command exit with 1, separated by commas; or never.",
                valueName: "effects"
            )
        )
        var failOn = SimulatedEffect.lockedOut.rawValue

        @Argument(help: ArgumentHelp("The proposed policy, in YAML (docs/guides/policy.md).", valueName: "policy.yaml"))
        var file: String

        func validate() throws {
            try SnapshotOptions.validate(since: since)
            _ = try failing()
        }

        private func failing() throws -> Set<SimulatedEffect> {
            if failOn == "never" { return [] }
            var effects: Set<SimulatedEffect> = []
            for name in failOn.split(separator: ",", omittingEmptySubsequences: false) {
                guard let effect = SimulatedEffect(rawValue: String(name)) else {
                    throw ValidationError(
                        """
                        --fail-on: there is no effect \(name); give never, or some of \
                        \(SimulatedEffect.allCases.map(\.rawValue).joined(separator: ", "))
                        """
                    )
                }
                effects.insert(effect)
            }
            return effects
        }

        func perform() async throws {
            let configuration = try AuditConfiguration(try configuration.sources())
            let proposed = try PolicyCommand.file(file)
            let postgres = configuration.database.postgres
            let present = try await withClient(postgres) { client in
                let store = AccountStore(client: client)
                try await reading.checkTenant(store)
                return try await PolicyState.load(store)
            }
            guard let present else { throw StartupFailure.noProject }
            switch present.after(proposed.proposal) {
            case .failure(let unregistered): throw proposed.mistakes(about: unregistered.all)
            case .success(let next):
                let accounts = try await replica.database(of: configuration.database)
                try await namingDatabase(accounts) { try await simulate(present, next, configuration, accounts) }
            }
        }

        private func simulate(
            _ present: PolicyState,
            _ next: PolicyState,
            _ configuration: AuditConfiguration,
            _ postgres: PostgresConfiguration
        ) async throws {
            let registry = configuration.providerRegistry
            let name = "concord policy"
            let snapshots = reading.snapshots(postgres, applicationName: name)
            let comparison = PolicyComparison(present: present.terms(registry), proposed: next.terms(registry))
            let simulation = PolicySimulation(comparison)
            let now = Effects.system.now()
            let subject = SimulationOutput.Subject(
                file: file,
                version: present.project.version,
                changes: present.changes(to: next),
                simulated: [.accounts, .requests, .sessions],
                since: SnapshotOptions.instant(since, before: now) ?? now,
                now: now
            )
            let output = SimulationOutput(
                format,
                subject,
                showsIdentifiers: reading.showIdentifiers,
                isColored: colors.color.isOn()
            )
            let walk = SnapshotWalk(
                total: try await snapshots.estimatedCount(),
                after: cursor.start,
                showsProgress: reading.readers.progress.showsProgress
            )
            let reached = Mutex(PolicySimulation.Progress())
            try output.begin()
            func simulated() async throws -> (PolicySimulation.Progress, SimulationOutput.Afterwards) {
                let result = try await simulation.run(
                    snapshots,
                    tenant: reading.tenantID,
                    after: cursor.start,
                    at: now,
                    check: walk.checkForEnd,
                    onPrediction: { try output.report($0) },
                    report: { progress in
                        reached.withLock { $0 = progress }
                        try walk.report(progress.accounts, at: progress.place)
                    }
                )
                reached.withLock { $0 = result }
                let history = try await simulation.history(
                    RecordedDecisions(postgres, applicationName: name),
                    since: subject.since,
                    tenant: reading.tenantID,
                    report: { _ in try walk.report(result.accounts, at: nil) }
                )
                let sessions = try await UnusedSessions.ended(
                    by: next.sessionLifetimes,
                    butNotBy: present.sessionLifetimes,
                    at: now,
                    tenant: reading.tenantID,
                    postgres,
                    applicationName: name
                )
                return (result, SimulationOutput.Afterwards(sessions: sessions, history: history))
            }
            let (result, afterwards) = try await walk.run(
                simulated,
                orElse: { try output.end(reached.withLock { $0 }, nil) }
            )
            try output.end(result, afterwards)
            let isFound = try failing().contains { result.effects[$0, default: 0] > 0 }
            guard !isFound else { throw ExitCode.answerIsNo }
        }
    }

    /// `concord policy apply`
    struct Apply: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what a policy would change, ask, and apply the whole file or nothing.",
            discussion: """
                Prints each field before and after, judges every account as concord policy simulate does, and counts \
                the accounts that meet each effect, and the sessions that would end. Fields that the file does not \
                name stay as they are. If nothing would change, no new version is made. If the policy changes between \
                the question and the answer, nothing is changed. Running servers follow within \
                \(ProjectCache.stalenessSeconds) seconds, and log the version with its author and reason. To be able \
                to go back, run concord policy show > file first, and apply that file later.

                Exits with 1 if nothing was changed although the file differs from the policy; with --dry-run, if more \
                users would be locked out than --max-locked-out allows; with 75 on Ctrl-C.

                EXAMPLES
                  concord policy apply --dry-run policy.yaml
                  concord policy apply policy.yaml --reason "ticket 4711"
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var readers: ReaderOptions

        @OptionGroup var colors: ColorOption

        @Option(
            help: ArgumentHelp(
                "Apply only if this version is still in force, such as the one you simulated against.",
                valueName: "version"
            )
        )
        var ifVersion: Int64?

        @Option(help: ArgumentHelp("Maximum number of users that the policy may lock out.", valueName: "number"))
        var maxLockedOut: Int64 = 0

        @Option(
            help: ArgumentHelp(
                "Reason for the change; stored with the version and logged. Name no person in it.",
                valueName: "text"
            )
        )
        var reason: String?

        @Flag(help: "Only show what would change.")
        var dryRun = false

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        @Argument(help: ArgumentHelp("The policy, in YAML (docs/guides/policy.md).", valueName: "policy.yaml"))
        var file: String

        func validate() throws {
            guard maxLockedOut >= 0 else { throw ValidationError("--max-locked-out: give a number, 0 or more") }
            if let reason, !AccountMerges.isReason(reason) {
                throw ValidationError("--reason: give at most \(Attribution.lengthMax) characters, all on one line")
            }
        }

        func perform() async throws {
            let configuration = try AuditConfiguration(try configuration.sources())
            let proposed = try PolicyCommand.file(file)
            try await withClient(configuration.database.postgres) { client in
                let store = AccountStore(client: client)
                guard let present = try await PolicyState.load(store) else { throw StartupFailure.noProject }
                if let ifVersion, ifVersion != present.project.version {
                    throw try await changedMeanwhile(store, since: ifVersion)
                }
                let rollback = try await store.rollback(by: proposed.proposal, from: present.project)
                let proposal = rollback.proposal
                for logo in rollback.deleted {
                    complain(
                        """
                        \(logo.field): the database no longer has the image \(logo.digest), so this policy has no logo \
                        there. To set one afterwards: concord branding set --logo FILE
                        """
                    )
                }
                switch present.after(proposal) {
                case .failure(let unregistered): throw proposed.mistakes(about: unregistered.all)
                case .success(let next):
                    let changes = present.changes(to: next)
                    if !changes.isEmpty {
                        try await show(changes, present, next, configuration)
                        let fictional = proposal.settings?.change(of: present.project.settings)
                        let owned = try await store.ownedNumber(among: fictional?.numbersToBeFree ?? [])
                        if let owned { throw refusal(of: owned) }
                        if dryRun { return }
                        try await agree(to: "Bring this policy into force?", isAgreed: yes)
                    } else if dryRun {
                        return try say("version \(present.project.version) is in force already")
                    }
                    try await apply(proposal, of: proposed, to: present, store)
                }
            }
        }

        /// Prints the effects and the number of affected accounts.
        /// - Throws: `ExitCode.answerIsNo` if too many users would be locked out, after a message on standard error.
        private func show(
            _ changes: [PolicyState.Change],
            _ present: PolicyState,
            _ next: PolicyState,
            _ configuration: AuditConfiguration
        ) async throws {
            let registry = configuration.providerRegistry
            let now = Effects.system.now()
            let subject = SimulationOutput.Subject(
                file: file,
                version: present.project.version,
                changes: changes,
                simulated: [.accounts, .sessions],
                since: now,
                now: now
            )
            let output = SimulationOutput(
                .text,
                subject,
                showsIdentifiers: false,
                isColored: colors.color.isOn()
            )
            try output.begin()
            try flushOutput()
            if changes.contains(where: { $0.judges == .requests }) {
                complain(
                    "some changes affect requests only; to repeat recorded requests: concord policy simulate \(file)"
                )
            }
            if changes.contains(where: { $0.judges == .sessions }) {
                let sessions = try await UnusedSessions.ended(
                    by: next.sessionLifetimes,
                    butNotBy: present.sessionLifetimes,
                    at: now,
                    tenant: nil,
                    configuration.database.postgres,
                    applicationName: "concord policy"
                )
                try output.report(sessions)
                try flushOutput()
            }
            guard changes.contains(where: { $0.judges == .accounts }) else { return }
            let snapshots = AccountSnapshots(
                configuration.database.postgres,
                temporaryFolder: ReaderOptions.temporaryFolder,
                applicationName: "concord policy"
            )
            let simulation = PolicySimulation(
                PolicyComparison(present: present.terms(registry), proposed: next.terms(registry))
            )
            let walk = SnapshotWalk(
                total: try await snapshots.estimatedCount(),
                advice: "nothing was changed",
                showsProgress: readers.progress.showsProgress
            )
            let result = try await walk.run {
                try await simulation.run(
                    snapshots,
                    tenant: nil,
                    at: now,
                    check: walk.checkForEnd,
                    onPrediction: { _ in },
                    report: { try walk.report($0.accounts, at: nil) }
                )
            }
            try output.endWithCounts(result)
            let lockedOut = result.effects[.lockedOut, default: 0]
            guard lockedOut > maxLockedOut else { return }
            complain(
                """
                \(grouped(lockedOut)) \(lockedOut == 1 ? "user" : "users") would be locked out, and --max-locked-out allows \
                \(grouped(maxLockedOut)); nothing was changed. List them: concord policy simulate \(file). To lock them out: \
                --max-locked-out \(lockedOut)
                """
            )
            throw ExitCode.answerIsNo
        }

        private func apply(
            _ proposal: PolicyProposal,
            of proposed: PolicyFile,
            to present: PolicyState,
            _ store: AccountStore
        ) async throws {
            let outcome = try await store.apply(
                proposal,
                at: Effects.system.now(),
                by: .operator(reason: reason),
                expectedVersion: present.project.version,
                expectedProviders: present.providers
            )
            switch outcome {
            case .applied(let version): try say("version \(version) is in force")
            case .inForce(let version): try say("version \(version) is in force already; nothing was changed")
            case .missingProject: throw StartupFailure.noProject
            case .providerNotRegistered(let provider): throw proposed.mistakes(about: [provider])
            case .otherVersion: throw try await changedMeanwhile(store, since: present.project.version)
            case .testPhoneNumberInUse(let number): throw refusal(of: number)
            case .imageMissing(let digest):
                complain(
                    """
                    the database has no image \(digest), so it cannot be the logo; nothing was changed. Store it: \
                    concord branding set --logo FILE
                    """
                )
                throw ExitCode.answerIsNo
            }
        }

        /// Reports the number that cannot become fictional.
        private func refusal(of number: PhoneNumber) -> ExitCode {
            complain(
                """
                an account has the number \(number.rawValue), so it cannot be fictional; nothing was changed. Remove it from \
                signIn.phoneNumber.testPhoneNumbers
                """
            )
            return ExitCode.answerIsNo
        }

        /// Reports who has changed the policy since `version`.
        private func changedMeanwhile(_ store: AccountStore, since version: Int64) async throws -> ExitCode {
            let newest = try await store.projectVersions(after: version, countMax: 1).first
            let what =
                newest.map { "version \($0.version) by \($0.attribution.author ?? "an unknown author") is in force" }
                ?? "a provider's registration was changed, or version \(version) never existed"
            complain(
                "the policy was changed meanwhile: \(what); nothing was changed. Simulate again: concord policy simulate \(file)"
            )
            return ExitCode.answerIsNo
        }
    }

    /// `concord policy show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the policy in force, in the format of the file.",
            discussion: """
                With --format json, the member policy is what a file may contain: \
                concord policy show --format json | jq .policy >policy.yaml

                EXAMPLES
                  concord policy show >policy.yaml
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format. text is YAML.")
        var format: OutputFormat = .text

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let state = try await withClient(database.postgres) { client in
                try await PolicyState.load(AccountStore(client: client))
            }
            guard let state else { throw StartupFailure.noProject }
            switch format {
            case .text: try say(PolicyText.yaml(state))
            case .json: try say(PolicyText.json(state))
            }
        }
    }

    /// `concord policy history`
    struct History: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the versions of the policy: when, by whom, why, and what changed.",
            discussion: """
                The newest version comes first. The author is the operating-system user of concord policy apply \
                (cli:), the service account of a request, or owner; versions that are older than this record have no \
                known author. Registrations that were changed by concord providers apply or over HTTP make no version.

                EXAMPLES
                  concord policy history --max 5
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("Maximum number of versions.", valueName: "number"))
        var max = 20

        @Option(help: "Output format.")
        var format = OutputFormat.text

        func validate() throws {
            guard (1...10_000).contains(max) else { throw ValidationError("--max: give a number from 1 to 10000") }
        }

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let versions = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).policyHistory(countMax: max)
            }
            guard !versions.isEmpty else { throw StartupFailure.noProject }
            switch format {
            case .text: try say(PolicyHistoryText.table(versions))
            case .json: try say(PolicyHistoryText.json(versions))
            }
        }
    }

    /// `concord policy diff`
    struct Diff: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print what differs between two versions of the policy.",
            discussion: """
                Registrations that were changed by concord providers apply or over HTTP make no version, and are not \
                compared. Exits with 0 also if the versions differ, and with 1 if one of them does not exist.

                EXAMPLES
                  concord policy diff 3
                  concord policy diff 3 5 --format json
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format = OutputFormat.text

        @Argument(help: ArgumentHelp("The version to compare with, such as 3.", valueName: "before"))
        var before: Int64

        @Argument(help: ArgumentHelp("The other version; by default, the one in force.", valueName: "after"))
        var after: Int64?

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let (before, after) = (before, after)
            let changes = try await withClient(database.postgres) { client in
                let store = AccountStore(client: client)
                guard let newest = try await store.project()?.project.version else { throw StartupFailure.noProject }
                guard let changes = try await store.policyChanges(from: before, to: after ?? newest) else {
                    complain("there is no such version: the newest is \(newest). To list them: concord policy history")
                    throw ExitCode.answerIsNo
                }
                return changes
            }
            switch format {
            case .text:
                try say(changes.isEmpty ? "no difference" : PolicyText.lines(changes).joined(separator: "\n"))
            case .json:
                try say(PolicyHistoryText.json(changes))
            }
        }
    }
}
