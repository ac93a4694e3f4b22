import AccountLinking
import AccountStore
import ArgumentParser
import Migrations
import Postgres
import Synchronization

/// `concord account export`
struct AccountExportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export all accounts to a file, in the order of their uids.",
        discussion: """
            Exports all accounts while servers run, as of one instant except on Citus. The file gets its name once it \
            is complete; if the command ends early, run it again to start over. Only ndjson holds every field of an \
            account.

            EXAMPLES
              concord account export --format ndjson --output users.ndjson
              concord account export --format csv --quiet | wc -l
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "Format of the file.")
    var format: ExportForm

    @Option(help: ArgumentHelp("Output file; standard output by default.", valueName: "file"))
    var output: String?

    @Flag(
        help: """
            Include password hashes, in a format that names its algorithm (--hash-algo PHC). Treat such a file as a secret.
            """
    )
    var includePasswordHashes = false

    @OptionGroup var readers: ReaderOptions

    @OptionGroup var replica: ReplicaOptions

    func perform() async throws {
        let postgres = try await replica.database(of: try DatabaseConfiguration(try configuration.sources()))
        try await namingDatabase(postgres) { try await export(from: postgres) }
    }

    private func export(from postgres: PostgresConfiguration) async throws {
        try requireSchema(try await SchemaState.load(postgres))
        let export = AccountExport(postgres, withHashes: includePasswordHashes)
        let walk = SnapshotWalk(
            total: try await export.estimatedCount(),
            advice: output.map { "\($0) was not written" } ?? "what was written is incomplete",
            showsProgress: readers.progress.showsProgress
        )
        let sink = try ExportSink(path: output)
        let done: ExportedFile
        do {
            done = try await walk.run { try await write(export, to: sink, walk) }
            try sink.finish()
        } catch {
            sink.discard()
            throw error
        }
        if !readers.progress.quiet { complain("\(done.count) \(done.count == 1 ? "account" : "accounts")") }
        if done.leftOut > 0 {
            complain(
                "left out \(done.leftOut) linked identities that this format cannot hold; --format ndjson exports them"
            )
        }
    }

    /// Returns how many accounts were written, and what was left out.
    private func write(_ export: AccountExport, to sink: ExportSink, _ walk: SnapshotWalk) async throws -> ExportedFile
    {
        let withHashes = includePasswordHashes
        let file = Mutex(ExportedFile(format))
        try await export.read(.project, check: walk.checkForEnd) { account, hash in
            try file.withLock { file in
                file.append(account, passwordHash: withHashes ? hash : nil)
                if file.isFull { try sink.write(file.take()) { try walk.checkForEnd() } }
                try walk.report(file.count, at: nil)
            }
        }
        return try file.withLock { file in
            file.finish()
            try sink.write(file.take()) { try walk.checkForEnd() }
            return file
        }
    }
}
