import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import Glibc
import JSON
import Postgres

/// `concord account export`
struct AccountExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write every account into a file, in the order of their ids.",
        discussion: """
            Each account is as it was when it was read; one that exists throughout is written once. A file appears under \
            its name when it is whole. Only ndjson holds everything that an account has.
            """
    )

    /// The forms that are written.
    enum Form: String, CaseIterable, ExpressibleByArgument {
        case json
        case csv
        case ndjson
    }

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The form of the file.")
    var format: Form

    @Option(help: ArgumentHelp("Where to; standard output unless given.", valueName: "file"))
    var output: String?

    @Flag(
        help: "With the hashes of passwords, which describe themselves (--hash-algo PHC). Keep such a file as a secret."
    )
    var includePasswordHashes = false

    func run() async throws {
        try await reportingErrors {
            let database = try DatabaseConfiguration(try configuration.sources())
            let sink = try ExportSink(path: output)
            var (count, leftOut) = (0, 0)
            do {
                (count, leftOut) = try await withClient(database.postgres) { client in
                    try await write(AccountStore(client: client), to: sink)
                }
                try sink.finish()
            } catch {
                sink.discard()
                throw error
            }
            complain("\(count) \(count == 1 ? "account" : "accounts")")
            if leftOut > 0 {
                complain("\(leftOut) linked identities have no place in this form and were left out; ndjson has them")
            }
        }
    }

    private static let pageSize = 1000

    private func write(_ store: AccountStore, to sink: ExportSink) async throws -> (count: Int, leftOut: Int) {
        var (count, leftOut) = (0, 0)
        if format == .json { try sink.write(Array("{\"users\":[".utf8)) }
        var page = try await store.accountPage(after: nil, limit: Self.pageSize, tenant: .project)
        while !page.users.isEmpty {
            // The next one is read while this one is written.
            let lastID = page.lastID
            async let next = store.page(after: lastID, limit: Self.pageSize)
            var bytes: [UInt8] = []
            for user in page.users {
                let hash = page.passwordHashes[user.id].map { hash in
                    includePasswordHashes ? ExportedAccount.passwordHash(hash) : ExportedAccount.redacted
                }
                switch format {
                case .json:
                    bytes += Array((count == 0 ? "\n" : ",\n").utf8) + ExportedAccount.json(user, passwordHash: hash)
                case .ndjson:
                    bytes += ExportedAccount.everything(user, passwordHash: hash) + [UInt8(ascii: "\n")]
                case .csv:
                    let line = FirebaseCSV.line(user, passwordHash: hash)
                    bytes += Array(line.text.utf8)
                    leftOut += line.leftOut
                }
                count += 1
            }
            try sink.write(bytes)
            page = try await next
        }
        if format == .json { try sink.write(Array("\n]}\n".utf8)) }
        return (count, leftOut)
    }
}

extension AccountStore {
    /// The next page; an empty one after the last.
    fileprivate func page(after id: UserID?, limit: Int) async throws -> AccountPage {
        guard let id else { return AccountPage() }
        return try await accountPage(after: id, limit: limit, tenant: .project)
    }
}

/// Where an export goes. A file has another name until it is whole.
struct ExportSink {
    private let descriptor: Int32
    private let path: String?

    private var partial: String? { path.map { $0 + ".partial" } }

    init(path: String?) throws {
        self.path = path
        guard let path else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path + ".partial", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartupFailure("\(path).partial: \(String(cString: strerror(errno)))", .badConfiguration)
        }
    }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                throw StartupFailure(
                    "\(path ?? "standard output"): \(String(cString: strerror(errno)))",
                    .cannotWrite
                )
            }
            rest = rest.dropFirst(written)
        }
    }

    func finish() throws {
        guard let path, let partial else { return }
        guard fsync(descriptor) == 0, close(descriptor) == 0, rename(partial, path) == 0 else {
            throw StartupFailure("\(path): \(String(cString: strerror(errno)))", .cannotWrite)
        }
    }

    func discard() {
        if let partial { unlink(partial) }
    }
}
