import ArgumentParser
import Migrations
import Postgres

/// `concord migrate`: the schema of the database, step by step.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema to a version, or see where it is.",
        discussion: """
            Needs the database's address: CONCORD_DATABASE_URL, or database.url in concord.yaml. Connect to PostgreSQL \
            itself and not through a pooler in transaction mode: one session holds a lock for the whole run.
            """,
        subcommands: [Up.self, Down.self, Status.self, Verify.self, Create.self]
    )
}

extension MigrateCommand {
    /// `concord migrate up`
    struct Up: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply pending migrations.",
            discussion: "Each migration is a transaction of its own. If one fails, those before it stay applied."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions
        @OptionGroup var execution: MigrationRunOptions

        @Option(help: ArgumentHelp("The last migration to apply; all by default.", valueName: "number"))
        var to: Int?

        func run() async throws {
            try await reportingErrors {
                try await directory.withMigrator(configuration, lockWait: execution.lockWait) { migrator in
                    try await execution.migrate(migrator, to: to.map { .up(to: $0) } ?? .latest)
                }
            }
        }
    }

    /// `concord migrate down`
    struct Down: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take migrations back. What they added is lost, data included."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions
        @OptionGroup var execution: MigrationRunOptions

        @Option(help: ArgumentHelp("The last migration to keep; 0 keeps none.", valueName: "number"))
        var to: Int

        @Flag(help: "Yes, drop what these migrations added.")
        var yes = false

        func validate() throws {
            guard yes || execution.dryRun else {
                throw ValidationError(
                    "this drops tables and the data in them; add --yes to do it, or --dry-run to see what would run"
                )
            }
        }

        func run() async throws {
            try await reportingErrors {
                try await directory.withMigrator(configuration, lockWait: execution.lockWait) { migrator in
                    try await execution.migrate(migrator, to: .down(to: to))
                }
            }
        }
    }

    /// `concord migrate status`
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all migrations: applied, pending, changed, missing or interrupted.",
            discussion: "Exits with 1 unless every migration is applied and none differs from its file."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions

        @Option(help: "The form of the listing.")
        var format: OutputFormat = .text

        func run() async throws {
            try await reportingErrors {
                let status = try await directory.withMigrator(configuration) { try await $0.status() }
                switch format {
                case .text: try say(MigrateReport.text(status))
                case .json: try say(try MigrateReport.json(status))
                }
                guard status.isUpToDate else { throw ExitCode.answerIsNo }
            }
        }
    }

    /// `concord migrate verify`
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that every applied migration is there as it was when it was applied.",
            discussion: "Exits with 1 and names the files if not."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions

        func run() async throws {
            try await reportingErrors {
                let refusals = try await directory.withMigrator(configuration) { try await $0.verify() }
                guard refusals.isEmpty else {
                    complain(refusals.map(\.description).joined(separator: "\n"))
                    throw ExitCode.answerIsNo
                }
                try say("all applied migrations are as they were")
            }
        }
    }

    /// `concord migrate create`
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the next pair of migration files.",
            discussion: "Needs no database."
        )

        @OptionGroup var directory: MigrationDirectoryOptions

        @Argument(help: "What the migration is about, in snake_case.")
        var name: String

        func run() async throws {
            try await reportingErrors {
                for path in try directory.locate().create(name: name) { try say(path) }
            }
        }
    }
}
