import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import Glibc
import JSON
import Postgres
import Synchronization

/// `concord account import`
struct AccountImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take accounts in from a file, with the hashes of their passwords.",
        discussion: """
            What is wrong with a row is told with its line, and all others go in. An account that is there becomes what the \
            row says. Whatever ended the command, the same command again finishes the work: rows that are in already \
            change nothing. Exits with 1 when a row was left out.
            """
    )

    /// What is hashed first, as the Firebase CLI says it.
    enum InputOrder: String, CaseIterable, ExpressibleByArgument {
        case saltFirst = "SALT_FIRST"
        case passwordFirst = "PASSWORD_FIRST"
    }

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The form of the file.")
    var format: AccountFormat

    @Option(help: ArgumentHelp("Supabase's auth.identities, of the form of the file.", valueName: "file"))
    var identities: String?

    @Option(help: ArgumentHelp("How the passwords were hashed.", valueName: "name"))
    var hashAlgo: String?

    @Option(help: ArgumentHelp("The signer key, in base64. Others on this machine can see it.", valueName: "base64"))
    var hashKey: String?

    @Option(help: ArgumentHelp("A file with the signer key, in base64.", valueName: "file"))
    var hashKeyFile: String?

    @Option(help: ArgumentHelp("What SCRYPT puts behind the salt, in base64.", valueName: "base64"))
    var saltSeparator: String?

    @Option(help: ArgumentHelp("Rounds of the algorithm.", valueName: "number"))
    var rounds: Int64?

    @Option(help: ArgumentHelp("Memory cost of SCRYPT, or N of STANDARD_SCRYPT.", valueName: "number"))
    var memCost: Int64?

    @Option(help: ArgumentHelp("p of STANDARD_SCRYPT.", valueName: "number"))
    var parallelization: Int64?

    @Option(help: ArgumentHelp("r of STANDARD_SCRYPT.", valueName: "number"))
    var blockSize: Int64?

    @Option(help: ArgumentHelp("Bytes of a hash of STANDARD_SCRYPT.", valueName: "number"))
    var dkLen: Int64?

    @Option(help: "What was hashed first, where it is not as usual.")
    var hashInputOrder: InputOrder?

    @Flag(help: "Leave accounts that are there as they are, and say so.")
    var noOverwrite = false

    @Option(help: ArgumentHelp("Write what is wrong there, an object on each line.", valueName: "file"))
    var errors: String?

    @Argument(help: ArgumentHelp("The file; - is standard input.", valueName: "file"))
    var file: String

    func validate() throws {
        guard identities == nil || format == .supabase else {
            throw ValidationError("--identities belongs to --format supabase")
        }
        guard hashKey == nil || hashKeyFile == nil else {
            throw ValidationError("give --hash-key or --hash-key-file")
        }
    }

    func run() async throws {
        try await reportingErrors {
            let serving = try ServeConfiguration(try configuration.sources())
            let parameters = try hashParameters()
            let complaints = try RowComplaints(path: errors)
            let effects = Effects.system
            let passwords = try PasswordHasher(
                threadCount: serving.limits.passwordHashingThreads,
                queueMax: serving.limits.passwordHashingQueueLengthMax,
                randomBytes: effects.randomBytes
            )
            let sealer = try Sealer(serving.keys)
            let end = try await withClient(serving.database.postgres) { client in
                let reader = try AccountFileReader(path: file, format, identities: identities)
                let store = AccountStore(client: client)
                guard try await store.project() != nil else {
                    throw StartupFailure.noProject
                }
                var options = AccountImport.Options(tenant: .project)
                options.allowsOverwrite = !noOverwrite
                if let parameters {
                    let keys = HashKeys(store: store, sealer: sealer, effects: effects)
                    switch try await keys.hashing(by: parameters) {
                    case .success(let hashing): options.hashing = hashing
                    case .failure(let defect): throw ValidationError(defect.explanation)
                    }
                }
                let accounts = AccountImport(store: store, passwords: passwords, effects: effects)
                return try await FileImport(accounts, options, complaints).run(reader)
            }
            await passwords.shutDown()
            try say(end.counts.summary)
            switch end.reason {
            case .finished:
                try complaints.finish()
                if end.counts.refused > 0 { throw ExitCode.answerIsNo }
            case .stopped(let line):
                complain("stopped; all rows before line \(line) are done. The same command again finishes the work")
                throw ExitCode.stopped
            case .failed(let error, let line):
                complain("\(error)")
                complain("all rows before line \(line) are done. The same command again finishes the work")
                throw ExitCode(for: error)
            }
        }
    }

    private func hashParameters() throws -> HashParameters? {
        // What Supabase stores describes itself.
        guard let name = hashAlgo ?? (format == .supabase ? "PHC" : nil) else { return nil }
        var parameters = HashParameters(algorithm: name)
        var key = hashKey
        if let hashKeyFile {
            guard let bytes = FileManager.default.contents(atPath: hashKeyFile) else {
                throw StartupFailure("\(hashKeyFile): cannot be read", .badConfiguration)
            }
            key = String(decoding: bytes, as: UTF8.self)
        }
        parameters.signerKey = try bytes(key, hashKeyFile == nil ? "--hash-key" : "--hash-key-file")
        parameters.saltSeparator = try bytes(saltSeparator, "--salt-separator")
        parameters.rounds = rounds
        parameters.memoryCost = memCost
        parameters.parallelization = parallelization
        parameters.blockSize = blockSize
        parameters.derivedKeyLength = dkLen
        parameters.order = hashInputOrder.map { $0 == .saltFirst ? .saltFirst : .passwordFirst }
        return parameters
    }

    private func bytes(_ text: String?, _ option: String) throws -> [UInt8]? {
        guard let text else { return nil }
        guard let bytes = Base64URL.decodeEitherAlphabet(text.filter { !$0.isWhitespace }) else {
            throw ValidationError("\(option): give base64")
        }
        return bytes
    }
}

/// How many rows there were, and what became of them.
struct ImportCounts: Sendable {
    var created = 0
    var replaced = 0
    var unchanged = 0
    var refused = 0

    var all: Int { created + replaced + unchanged + refused }

    var summary: String {
        "\(all) \(all == 1 ? "account" : "accounts"): \(created) created, \(replaced) replaced, "
            + "\(unchanged) unchanged, \(refused) left out"
    }
}

/// Where rows that are left out are told: on standard error, or in a file.
final class RowComplaints: Sendable {
    private let path: String?
    private let descriptor: Int32?
    /// Why the file does not have them all.
    private let failure = Mutex<OutputFailure?>(nil)

    init(path: String?) throws {
        self.path = path
        guard let path else {
            descriptor = nil
            return
        }
        let opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw StartupFailure("\(path): \(String(cString: strerror(errno)))", .badConfiguration)
        }
        descriptor = opened
    }

    func tell(_ message: String, line: Int, id: String?) {
        guard let descriptor, let path else {
            // An id with control characters would write what it likes on a terminal.
            let name = id.flatMap(UserID.init).map { "\($0.rawValue): " } ?? ""
            complain("line \(line): \(name)\(message)")
            return
        }
        var fields: [String: JSONValue] = ["line": .integer(Int64(line)), "message": .string(message)]
        fields["localId"] = id.map { .string($0) }
        do throws(OutputFailure) {
            try writeAll(Array("\(JSONValue.object(fields).text)\n".utf8)[...], to: descriptor, named: path)
        } catch {
            failure.withLock { $0 = $0 ?? error }
        }
    }

    /// - Throws: `OutputFailure` where the file does not have everything that was told. Every other row was taken in.
    func finish() throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

/// Takes a file in, some rows at a time.
struct FileImport {
    enum Reason {
        case finished
        /// By a signal. All rows before the line are done.
        case stopped(line: Int)
        case failed(any Error, line: Int)
    }

    private let accounts: AccountImport
    private let options: AccountImport.Options
    private let complaints: RowComplaints

    init(_ accounts: AccountImport, _ options: AccountImport.Options, _ complaints: RowComplaints) {
        self.accounts = accounts
        self.options = options
        self.complaints = complaints
    }

    private typealias Batch = [(line: Int, account: ImportedAccount)]

    /// Batches that are written at once, while the next is read.
    private static let batchesMax = 3

    /// Ends early on SIGINT and SIGTERM, after the batches that are under way.
    func run(_ reader: AccountFileReader) async throws -> (counts: ImportCounts, reason: Reason) {
        let interrupt = Interrupt()
        return await interrupt.watching { await read(reader, until: interrupt) }
    }

    private func read(
        _ reader: AccountFileReader,
        until interrupt: Interrupt
    ) async -> (counts: ImportCounts, reason: Reason) {
        let meter = ProgressMeter(total: nil, noun: "accounts")
        return await withTaskGroup(of: BatchResult.self) { group in
            var counts = ImportCounts()
            var under = 0
            /// The first lines of batches that could not be written.
            var lost: (any Error, line: Int)?
            func take(_ result: BatchResult) {
                under -= 1
                switch result.outcome {
                case .success(let done):
                    counts.created += done.created
                    counts.replaced += done.replaced
                    counts.unchanged += done.unchanged
                    counts.refused += done.refused
                case .failure(let error): if result.line < lost?.line ?? .max { lost = (error, result.line) }
                }
                meter.show(Int64(counts.all))
            }
            var seen: Set<Int> = []
            var end: Reason?
            while end == nil, lost == nil {
                var batch: Batch = []
                do throws(AccountFileError) {
                    while batch.count < AccountImport.rowsMax, let row = try reader.next() {
                        if let account = admitted(row, &seen, &counts) { batch.append((row.line, account)) }
                    }
                    if batch.count < AccountImport.rowsMax { end = .finished }
                } catch {
                    end = .failed(error, line: batch.first?.line ?? error.line)
                }
                if interrupt.hasCome, end == nil, let line = batch.first?.line {
                    end = .stopped(line: line)
                    break
                }
                guard !batch.isEmpty else { break }
                if under == Self.batchesMax, let result = await group.next() { take(result) }
                under += 1
                group.addTask { [batch] in await write(batch) }
            }
            for await result in group { take(result) }
            meter.clear()
            if let lost { return (counts, .failed(lost.0, line: lost.line)) }
            return (counts, end ?? .finished)
        }
    }

    /// The account of a row that can be read and is not in the file before.
    ///
    /// `seen`: hashes of ids, some sixteen bytes for each account; of a billion accounts one could be taken for another.
    private func admitted(
        _ row: FileRow<ImportedAccount>,
        _ seen: inout Set<Int>,
        _ counts: inout ImportCounts
    ) -> ImportedAccount? {
        switch row.content {
        case .failure(let defect):
            complaints.tell(defect.description, line: row.line, id: nil)
            counts.refused += 1
            return nil
        case .success(let account):
            if let id = account.id, !seen.insert(id.hashValue).inserted {
                complaints.tell(ImportRefusal.repeatedLocalID.message, line: row.line, id: id)
                counts.refused += 1
                return nil
            }
            return account
        }
    }

    private struct BatchResult: Sendable {
        let line: Int
        let outcome: Result<ImportCounts, any Error>
    }

    private func write(_ batch: Batch) async -> BatchResult {
        let line = batch.first?.line ?? 1
        do {
            // What was written before its answer was lost changes nothing again.
            let outcome = try await waitingForDatabase { try await accounts.apply(batch.map(\.account), options) }
            for (index, refusal) in outcome.refused {
                complaints.tell(refusal.message, line: batch[index].line, id: batch[index].account.id)
            }
            let counts = ImportCounts(
                created: outcome.created,
                replaced: outcome.replaced,
                unchanged: outcome.unchanged,
                refused: outcome.refused.count
            )
            return BatchResult(line: line, outcome: .success(counts))
        } catch {
            return BatchResult(line: line, outcome: .failure(error))
        }
    }
}
