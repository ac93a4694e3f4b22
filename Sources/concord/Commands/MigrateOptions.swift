import AccountStore
import ArgumentParser
import FoundationEssentials
import Migrations
import Postgres

/// The option that replaces the migrations in the program by files.
struct MigrationDirectoryOptions: ParsableArguments {
    @Option(
        name: .customLong("migrations"),
        help: ArgumentHelp(
            "Directory of migration files to use instead of those in the program.",
            valueName: "directory"
        )
    )
    var path: String?

    /// - Throws: `MigrationDirectoryError.unreadable`.
    func read() throws(MigrationDirectoryError) -> MigrationSet {
        guard let path else { return .embedded }
        return try MigrationDirectory(path: path).read()
    }

    /// Returns a migrator for the configured database.
    func withMigrator<Output>(
        _ configuration: ConfigurationOptions,
        lockWait: Duration = .zero,
        _ body: (Migrator) async throws -> Output
    ) async throws -> Output {
        let postgres = try DatabaseConfiguration(try configuration.sources()).postgres
        let migrator = Migrator(
            configuration: postgres,
            migrations: try read(),
            toolVersion: ConcordVersion.current,
            lockWait: lockWait
        )
        return try await namingDatabase(postgres) { try await body(migrator) }
    }
}

/// The common options of the commands that change the schema.
struct MigrationRunOptions: ParsableArguments {
    @Flag(help: "Print what would run, and change nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Time to wait for another run, and for tables in use, such as 90s. Default: 60s.",
            valueName: "time"
        ),
        transform: { text in
            let form = ConfigurationForm.duration(milliseconds: 0...3_600_000)
            guard let wait = form.parse(text) else { throw ValidationError("give \(form.allowed)") }
            return wait
        }
    )
    var lockWait = Duration.seconds(60)

    @Option(help: "Output format. json is printed at the end of the run.")
    var format: OutputFormat = .text

    /// Prints at once, also into a pipe, so that the log of a container shows the progress. If the write fails, the run
    /// continues, and the command reports the failure at its end.
    private static func report(_ step: CompletedStep) {
        try? say(MigrateReport.text(step))
        try? flushOutput()
    }

    /// Migrates to `target`, or only prints the plan: one line for each migration.
    func migrate(_ migrator: Migrator, to target: MigrationTarget) async throws {
        let refusals: [MigrationRefusal]
        if dryRun {
            switch try await migrator.plan(target) {
            case .plan(let plan):
                try say(format == .json ? MigrateReport.json(plan) : MigrateReport.text(plan))
                return
            case .refused(let reasons): refusals = reasons
            }
        } else {
            let outcome = try await migrator.run(
                target,
                onStep: { step in if format == .text { Self.report(step) } },
                onWait: { place in complain("\(place): a table is in use, trying again") }
            )
            switch outcome {
            case .done(let steps):
                let state = try await migrator.state()
                try say(
                    format == .json ? MigrateReport.json(steps, state) : MigrateReport.closing(steps, state)
                )
                if format == .text, state.version >= SchemaVersion.required,
                    let distribution = try await migrator.distribution(of: Distribution.moved),
                    let line = MigrateReport.text(distribution)
                {
                    try say(line)
                }
                return
            case .refused(let reasons): refusals = reasons
            }
        }
        if format == .json { try say(MigrateReport.json(refusals, isDryRun: dryRun)) }
        complain(refusals.map(\.description).joined(separator: "\n"))
        complain("nothing was changed")
        throw ExitCode.answerIsNo
    }
}
