import ArgumentParser
import JSON
import Migrations

/// `concord migrate`: the schema of the database, step by step.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrate the schema of the database, or show its state.",
        discussion: """
            Needs the address of the database: CONCORD_DATABASE_URL, or database.url in concord.yaml. Connect to \
            PostgreSQL directly, not through a pooler in transaction mode: one session holds a lock for the whole run.
            """,
        subcommands: [Up.self, Down.self, Status.self, Verify.self, Distribute.self, Create.self]
    )
}

extension MigrateCommand {
    /// `concord migrate up`
    struct Up: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply pending migrations.",
            discussion: """
                Each migration runs in a separate transaction. If one fails, the ones before it stay applied.

                EXAMPLES
                  concord migrate up
                  concord migrate up --dry-run
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions
        @OptionGroup var execution: MigrationRunOptions

        @Option(help: ArgumentHelp("The last migration to apply; all by default.", valueName: "number"))
        var to: Int?

        func perform() async throws {
            try await directory.withMigrator(configuration, lockWait: execution.lockWait) { migrator in
                try await execution.migrate(migrator, to: to.map { .up(to: $0) } ?? .latest)
            }
        }
    }

    /// `concord migrate down`
    struct Down: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revert migrations. Everything they added is dropped, data included.",
            discussion: """
                EXAMPLES
                  concord migrate down --to 29 --dry-run
                  concord migrate down --to 29 --yes
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions
        @OptionGroup var execution: MigrationRunOptions

        @Option(help: ArgumentHelp("The last migration to keep; 0 keeps none.", valueName: "number"))
        var to: Int

        @Flag(help: "Confirm that everything these migrations added is dropped.")
        var yes = false

        func validate() throws {
            guard yes || execution.dryRun else {
                throw ValidationError(
                    "this drops tables and the data in them; add --yes to do it, or --dry-run to see what would run"
                )
            }
        }

        func perform() async throws {
            try await directory.withMigrator(configuration, lockWait: execution.lockWait) { migrator in
                try await execution.migrate(migrator, to: .down(to: to))
            }
        }
    }

    /// `concord migrate status`
    struct Status: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all migrations: applied, pending, changed, missing or interrupted.",
            discussion: """
                Exits with 1 unless every migration is applied and none differs from its file.

                EXAMPLES
                  concord migrate status
                  concord migrate status --format json | jq .upToDate
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let status = try await directory.withMigrator(configuration) { try await $0.status() }
            switch format {
            case .text: try say(MigrateReport.text(status, fitting: Terminal.width))
            case .json: try say(try MigrateReport.json(status))
            }
            guard status.isUpToDate else { throw ExitCode.answerIsNo }
        }
    }

    /// `concord migrate verify`
    struct Verify: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that the files of all applied migrations exist and are unchanged.",
            discussion: """
                If not, names the files and exits with 1.

                EXAMPLES
                  concord migrate verify
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let refusals = try await directory.withMigrator(configuration) { try await $0.verify() }
            if format == .json {
                try say(
                    JSONValue.object([
                        "unchanged": .bool(refusals.isEmpty),
                        "refusals": .array(refusals.map { .string($0.description) }),
                    ]).text
                )
            }
            guard refusals.isEmpty else {
                complain(refusals.map(\.description).joined(separator: "\n"))
                throw ExitCode.answerIsNo
            }
            if format == .text { try say("all applied migrations are unchanged") }
        }
    }

    /// `concord migrate create`
    struct Create: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the next pair of migration files.",
            discussion: """
                Needs no database.

                EXAMPLES
                  concord migrate create add_nickname
                """
        )

        @Option(name: .customLong("migrations"), help: ArgumentHelp("Directory to write to.", valueName: "directory"))
        var directory = "migrations"

        @Argument(help: "Name of the migration, in snake_case.")
        var name: String

        func perform() async throws {
            for path in try MigrationDirectory(path: directory).create(name: name) { try say(path) }
        }
    }
}
