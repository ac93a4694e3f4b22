import ArgumentParser
import FoundationEssentials
import Migrations
import Postgres

/// The option that names the directory of the migration files.
struct MigrationDirectoryOptions: ParsableArguments {
    @Option(
        name: .customLong("migrations"),
        help: ArgumentHelp(
            "Directory of the migration files. Default: migrations in the working directory, or else "
                + "../share/concord/migrations beside the program.",
            valueName: "directory"
        )
    )
    var path: String?

    /// The directory to use.
    /// - Throws: `MigrationDirectoryError.unreadable` if no place has the directory.
    func locate() throws -> MigrationDirectory {
        try Self.locate(path, executable: try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    }

    static func locate(
        _ path: String?,
        executable: String?,
        workingDirectory: String = "."
    ) throws(MigrationDirectoryError) -> MigrationDirectory {
        if let path { return MigrationDirectory(path: path) }
        var candidates = ["\(workingDirectory)/migrations"]
        if let executable, let slash = executable.lastIndex(of: "/") {
            candidates.append("\(executable[..<slash])/../share/concord/migrations")
        }
        for candidate in candidates {
            var isDirectory = false
            if FileManager.default.fileExists(atPath: candidate, isDirectory: &isDirectory), isDirectory {
                return MigrationDirectory(path: candidate)
            }
        }
        throw MigrationDirectoryError.unreadable(path: candidates.joined(separator: " and "))
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
            migrations: try locate().read(),
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
            "How long to wait while another migration runs, with a unit: 90s, 5m.",
            valueName: "time"
        ),
        transform: { text in
            let form = ConfigurationForm.duration(milliseconds: 0...3_600_000)
            guard let wait = form.parse(text) else { throw ValidationError("give \(form.allowed)") }
            return wait
        }
    )
    var lockWait = Duration.seconds(60)

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
                try say(MigrateReport.text(plan))
                return
            case .refused(let reasons): refusals = reasons
            }
        } else {
            switch try await migrator.run(target, onStep: Self.report) {
            case .done(let steps):
                try say(MigrateReport.closing(steps, try await migrator.state()))
                return
            case .refused(let reasons): refusals = reasons
            }
        }
        complain(refusals.map(\.description).joined(separator: "\n"))
        complain("nothing was changed")
        throw ExitCode.answerIsNo
    }
}
