import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import Synchronization

/// `concord policy`: what holds, and what another policy would do.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show the policy, simulate another one, and bring it into force.",
        discussion: "A policy is the project's configuration and which of its registered providers are enabled.",
        subcommands: [Simulate.self, Apply.self, Show.self]
    )

    /// The file as a person named it.
    fileprivate static func file(_ path: String) throws(ConfigurationMistakes) -> PolicyFile {
        try PolicyFile(path: path) { FileManager.default.contents(atPath: $0).map(Array.init) }
    }
}

extension PolicyCommand {
    /// `concord policy simulate`
    struct Simulate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell what a proposed policy would do to every account, and to the sign-ins of a while.",
            discussion: """
                Nothing is written to the database, and nothing changes. Every account is judged under the policy in force \
                and under the proposed one, as of one instant, beside running servers; and what was decided since --since is \
                asked again. Addresses are masked unless --show-identifiers is given.

                Exits with 1 when an account meets what --fail-on names, with 64 where there is no such tenant. A run that \
                was interrupted or lost the database says how to go on.
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var reading: SnapshotOptions

        @OptionGroup var cursor: CursorOption

        @Option(
            help: ArgumentHelp(
                "How far back decisions are asked again: a time as 2026-11-22T08:00:00Z, or 36h, 7d.",
                valueName: "time"
            )
        )
        var since = "30d"

        @Option(help: "The form of the output.")
        var format: SimulationFormat = .text

        @Option(
            help: ArgumentHelp(
                "What makes the command exit with 1: effects with commas between them, or never.",
                valueName: "effects"
            )
        )
        var failOn = SimulatedEffect.lockedOut.rawValue

        @Argument(help: ArgumentHelp("The proposed policy, in YAML (docs/policy.md).", valueName: "policy.yaml"))
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
                        --fail-on: there is no effect \(name); there are never, \
                        \(SimulatedEffect.allCases.map(\.rawValue).joined(separator: ", "))
                        """
                    )
                }
                effects.insert(effect)
            }
            return effects
        }

        func run() async throws {
            try await reportingErrors {
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
                case .success(let next): try await simulate(present, next, configuration)
                }
            }
        }

        private func simulate(
            _ present: PolicyState,
            _ next: PolicyState,
            _ configuration: AuditConfiguration
        ) async throws {
            let postgres = configuration.database.postgres
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
                since: SnapshotOptions.instant(since, before: now) ?? now,
                now: now
            )
            let output = SimulationOutput(format, subject, showsIdentifiers: reading.showIdentifiers)
            let walk = SnapshotWalk(total: try await snapshots.estimatedCount(), after: cursor.start)
            let reached = Mutex(PolicySimulation.Progress())
            try output.begin()
            func simulated() async throws -> (PolicySimulation.Progress, PolicySimulation.History) {
                let result = try await simulation.run(
                    snapshots,
                    tenant: reading.tenantID,
                    after: cursor.start,
                    at: now,
                    tell: { try output.tell($0) },
                    report: { progress in
                        reached.withLock { $0 = progress }
                        try walk.report(progress.accounts, at: progress.place, reading: progress.reading)
                    }
                )
                reached.withLock { $0 = result }
                let history = try await simulation.history(
                    RecordedDecisions(postgres, applicationName: name),
                    since: subject.since,
                    tenant: reading.tenantID,
                    report: { _ in try walk.report(result.accounts, at: nil, reading: result.reading) }
                )
                return (result, history)
            }
            let (result, history) = try await walk.run(
                simulated,
                orElse: { try output.end(reached.withLock { $0 }, nil) }
            )
            try output.end(result, history)
            let isFound = try failing().contains { result.effects[$0, default: 0] > 0 }
            guard !isFound else { throw ExitCode.answerIsNo }
        }
    }

    /// `concord policy apply`
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Bring a policy into force, all of the file or nothing.",
            discussion: """
                What the file does not name stays as it is, and where all of it is so already no new version is made. \
                Running servers follow within \(ProjectCache.stalenessSeconds) seconds. Exits with 1 when nothing could be \
                changed.
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(
            help: ArgumentHelp(
                "Only if this version is still in force: the one that was simulated against.",
                valueName: "version"
            )
        )
        var ifVersion: Int64?

        @Argument(help: ArgumentHelp("The policy, in YAML (docs/policy.md).", valueName: "policy.yaml"))
        var file: String

        func run() async throws {
            try await reportingErrors {
                let database = try DatabaseConfiguration(try configuration.sources())
                let proposed = try PolicyCommand.file(file)
                let outcome = try await withClient(database.postgres) { client in
                    try await AccountStore(client: client).apply(
                        proposed.proposal,
                        at: Effects.system.now(),
                        expectedVersion: ifVersion
                    )
                }
                switch outcome {
                case .applied(let version): try say("version \(version) is in force")
                case .inForce(let version): try say("version \(version) is in force already; nothing was changed")
                case .missingProject: throw StartupFailure.noProject
                case .providerNotRegistered(let provider): throw proposed.mistakes(about: [provider])
                case .otherVersion:
                    complain("the policy was changed meanwhile; nothing was changed; simulate again")
                    throw ExitCode.answerIsNo
                case .testPhoneNumberInUse:
                    complain("a number that is to be fictional is an account's; nothing was changed")
                    throw ExitCode.answerIsNo
                }
            }
        }
    }

    /// `concord policy show`
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the policy in force, in the form of the file."
        )

        @OptionGroup var configuration: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let database = try DatabaseConfiguration(try configuration.sources())
                let state = try await withClient(database.postgres) { client in
                    try await PolicyState.load(AccountStore(client: client))
                }
                guard let state else { throw StartupFailure.noProject }
                try say(PolicyText.yaml(state))
            }
        }
    }
}
