import AccountAPI
import AccountLinking
import AccountStore
import ArgumentParser
import JSON
import Migrations
import Postgres
import Synchronization

/// `concord account export`
struct AccountExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write every account into a file, in the order of their ids.",
        discussion: """
            All accounts are as they were at one instant, beside running servers. A file appears under its name when it is \
            whole: whatever ended the command, the same command again writes it from the beginning. Only ndjson holds \
            everything that an account has. What is read goes through a file without a name in TMPDIR, with all that is \
            exported in it.
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The form of the file.")
    var format: ExportForm

    @Option(help: ArgumentHelp("Where to; standard output unless given.", valueName: "file"))
    var output: String?

    @Flag(
        help: "With the hashes of passwords, which describe themselves (--hash-algo PHC). Keep such a file as a secret."
    )
    var includePasswordHashes = false

    @OptionGroup var readers: ReaderOptions

    func run() async throws {
        try await reportingErrors {
            let database = try DatabaseConfiguration(try configuration.sources())
            try await namingDatabase(database.postgres) { try await export(from: database.postgres) }
        }
    }

    private func export(from postgres: PostgresConfiguration) async throws {
        try requireSchema(try await SchemaState.load(postgres))
        let export = AccountExport(
            postgres,
            connections: readers.connections,
            temporaryFolder: ReaderOptions.temporaryFolder,
            withHashes: includePasswordHashes
        )
        let walk = SnapshotWalk(
            total: try await export.estimatedCount(),
            advice: output.map { "\($0) was not written" } ?? "what was written is not all"
        )
        let sink = try ExportSink(path: output)
        let done: ExportedPart
        do {
            done = try await walk.run { try await write(export, to: sink, walk) }
            try sink.finish()
        } catch {
            sink.discard()
            throw error
        }
        complain("\(done.count) \(done.count == 1 ? "account" : "accounts")")
        if done.leftOut > 0 {
            complain(
                "\(done.leftOut) linked identities have no place in this form and were left out; ndjson has them"
            )
        }
    }

    /// Returns how many accounts were written, and what was left out.
    private func write(
        _ export: AccountExport,
        to sink: ExportSink,
        _ walk: SnapshotWalk
    ) async throws -> ExportedPart {
        let (format, withHashes) = (format, includePasswordHashes)
        let done = Mutex(ExportedPart())
        try sink.write(format.beginning) { try walk.checkForEnd() }
        try await export.read(
            .project,
            reading: { try walk.report(0, at: nil, reading: $0) },
            write: { try format.part($0, withHashes: withHashes) },
            take: { part in
                let before = done.withLock { $0.count }
                let bytes = part.bytes.dropFirst(before == 0 ? format.separatorBytes : 0)
                try sink.write(bytes) { try walk.checkForEnd() }
                let count = done.withLock { done in
                    done.count += part.count
                    done.leftOut += part.leftOut
                    return done.count
                }
                try walk.report(Int64(count), at: nil, reading: ScanProgress())
            }
        )
        let all = done.withLock { $0 }
        try sink.write(format.end) { try walk.checkForEnd() }
        return all
    }
}
