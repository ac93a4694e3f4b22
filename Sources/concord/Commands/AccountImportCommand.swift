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
struct AccountImportCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import accounts from a file, with their password hashes.",
        discussion: """
            Reports each row with a mistake by its line and leaves it out; imports all other rows. A row replaces an \
            account that exists already. If the command ends early, run it again to finish: rows that were imported \
            before change nothing. Exits with 1 if a row was left out.

            EXAMPLES
              concord account import --format json --hash-algo BCRYPT users.json
              concord account import --format supabase --errors errors.ndjson users.csv
            """
    )

    /// The input that is hashed first, with the names of the Firebase CLI.
    enum InputOrder: String, CaseIterable, ExpressibleByArgument {
        case saltFirst = "SALT_FIRST"
        case passwordFirst = "PASSWORD_FIRST"
    }

    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var progress: ProgressOptions

    @Option(help: "Format of the file.")
    var format: AccountFormat

    @Option(help: ArgumentHelp("File with Supabase's auth.identities, in the same format.", valueName: "file"))
    var identities: String?

    @Option(help: ArgumentHelp("Algorithm of the password hashes.", valueName: "name"))
    var hashAlgo: String?

    @Option(help: ArgumentHelp("Signer key, in base64. Other users of this machine can see it.", valueName: "base64"))
    var hashKey: String?

    @Option(help: ArgumentHelp("File with the signer key, in base64.", valueName: "file"))
    var hashKeyFile: String?

    @Option(help: ArgumentHelp("Salt separator of SCRYPT, in base64.", valueName: "base64"))
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

    @Option(help: "Which input was hashed first, if it is not the usual one.")
    var hashInputOrder: InputOrder?

    @Flag(help: "Leave existing accounts as they are, and report their rows.")
    var noOverwrite = false

    @Option(help: ArgumentHelp("Write the mistakes to this file, one JSON object per line.", valueName: "file"))
    var errors: String?

    @Option(help: "Format of the summary.")
    var summaryFormat: OutputFormat = .text

    @Argument(help: ArgumentHelp("The file; - reads standard input.", valueName: "file"))
    var file: String

    func validate() throws {
        guard identities == nil || format == .supabase else {
            throw ValidationError("--identities needs --format supabase")
        }
        guard hashKey == nil || hashKeyFile == nil else {
            throw ValidationError("give --hash-key or --hash-key-file, not both")
        }
    }

    func perform() async throws {
        let serving = try ServeConfiguration(try configuration.sources())
        let parameters = try hashParameters()
        if parameters == nil { try checkNothingIsHashed() }
        let effects = Effects.system
        let passwords = try PasswordHasher(
            threadCount: serving.limits.passwordHashingThreads,
            queueMax: serving.limits.passwordHashingQueueLengthMax,
            randomBytes: effects.randomBytes
        )
        let (end, rowErrors) = try await withSealingStore(serving) { store, sealer in
            let reader = try AccountFileReader(path: file, format, identities: identities)
            guard try await store.project() != nil else {
                throw StartupFailure.noProject
            }
            var options = AccountImport.Options(tenant: .project)
            options.allowsOverwrite = !noOverwrite
            if let parameters {
                let keys = HashKeys(store: store, sealer: sealer, effects: effects)
                switch try await keys.hashing(by: parameters) {
                case .success(let hashing): options.hashing = hashing
                case .failure(let defect): throw ValidationError(explanation(defect))
                }
            }
            // Opened after the input, because both could be the same file.
            let rowErrors = try RowErrors(path: errors, reading: [file] + (identities.map { [$0] } ?? []))
            let accounts = AccountImport(store: store, passwords: passwords, effects: effects)
            let end = try await FileImport(
                accounts,
                options,
                rowErrors,
                showsProgress: progress.showsProgress
            ).run(reader)
            rowErrors.reportRemaining()
            return (end, rowErrors)
        }
        await passwords.shutDown()
        try say(summaryFormat == .json ? end.counts.json : end.counts.summary)
        switch end.reason {
        case .finished:
            try rowErrors.finish()
            if end.counts.refused > 0 { throw ExitCode.answerIsNo }
        case .stopped(let place):
            complain("stopped; \(place.before). Run the same command again to finish")
            throw ExitCode.stopped
        case .failed(let error, let place):
            if let error = error as? PostgresError {
                complain("\(await databaseFailure(error, serving.database.postgres))")
            } else {
                complain("\(error)")
            }
            complain("\(place.before). Run the same command again to finish")
            throw ExitCode(for: error)
        }
    }

    /// Reads the file once before the import if no option names the hash algorithm. A stream cannot be read twice.
    private func checkNothingIsHashed() throws {
        guard file != "-", FileIdentity(path: file) != nil else { return }
        let reader = try AccountFileReader(path: file, format, identities: nil)
        do throws(AccountFileError) {
            while let row = try reader.next() {
                if case .success(let account) = row.content, account.hasHash { throw .unnamedHash(row.place) }
            }
        } catch {
            // Other errors are reported after the rows before them are imported.
            if case .unnamedHash = error { throw error }
        }
    }

    /// The defect in the words of the options.
    private func explanation(_ defect: HashParameters.Defect) -> String {
        func option(_ field: String) -> String {
            [
                "signerKey": hashKeyFile == nil ? "--hash-key" : "--hash-key-file", "saltSeparator": "--salt-separator",
                "rounds": "--rounds", "memoryCost": "--mem-cost", "cpuMemCost": "--mem-cost",
                "blockSize": "--block-size", "parallelization": "--parallelization", "dkLen": "--dk-len",
            ][field] ?? field
        }
        return switch defect {
        case .unknownAlgorithm: "--hash-algo: give one of " + HashParameters.algorithms.joined(separator: ", ")
        case .missing("argon2Parameters"):
            "ARGON2 can be imported over HTTP only; give PHC for hashes that name their algorithm"
        case .missing(let field): "\(option(field)) is missing"
        case .outOfRange(let field, let range): "\(option(field)) has to be \(range)"
        case .tooManyKeys: defect.explanation
        }
    }

    private func hashParameters() throws -> HashParameters? {
        // The hashes of Supabase name their algorithm.
        guard let name = hashAlgo ?? (format == .supabase ? "PHC" : nil) else { return nil }
        var parameters = HashParameters(algorithm: name)
        var key = hashKey
        if let hashKeyFile {
            guard let bytes = FileManager.default.contents(atPath: hashKeyFile) else {
                throw StartupFailure(
                    "\(hashKeyFile): cannot be read; check its path and permissions",
                    .badConfiguration
                )
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

/// Numbers of rows by outcome.
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

    /// The same as one JSON object.
    var json: String {
        let counts = [
            "accounts": all, "created": created, "replaced": replaced, "unchanged": unchanged, "leftOut": refused,
        ]
        return JSONValue.object(counts.mapValues { .integer(Int64($0)) }).text
    }
}

/// The report of skipped rows, on standard error or in a file.
final class RowErrors: Sendable {
    private let path: String?
    private let descriptor: Int32?
    private let count = Mutex(0)
    /// The reason why the file lacks a report.
    private let failure = Mutex<OutputFailure?>(nil)

    /// Maximum number of rows on standard error; of further rows only their number is printed.
    private static let reportedMax = 100

    /// - Parameters:
    ///   - path: `nil` is standard error.
    ///   - inputs: paths of files that are open for reading.
    /// - Throws: `ValidationError` if one of them is `path`; `StartupFailure` if `path` cannot be written.
    init(path: String?, reading inputs: [String]) throws {
        self.path = path
        guard let path else {
            descriptor = nil
            return
        }
        let opened = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw StartupFailure("\(path): \(String(cString: strerror(errno)))", .badConfiguration)
        }
        if let identity = FileIdentity(descriptor: opened) {
            guard !inputs.contains(where: { FileIdentity(path: $0) == identity }) else {
                close(opened)
                throw ValidationError("--errors: \(path) is read by this command; give another file")
            }
            ftruncate(opened, 0)
        }
        descriptor = opened
    }

    func report(_ message: String, _ place: RowPlace, id: String?) {
        guard let descriptor, let path else {
            let count = count.withLock { count in
                count += 1
                return count
            }
            guard count <= Self.reportedMax else { return }
            // An id with control characters could change the terminal.
            let name = id.flatMap(UserID.init).map { "\($0.rawValue): " } ?? ""
            complain("\(place): \(name)\(message)")
            return
        }
        var fields: [String: JSONValue] = ["line": .integer(Int64(place.line)), "message": .string(message)]
        fields["index"] = place.index.map { .integer(Int64($0)) }
        fields["localId"] = id.map { .string($0) }
        do throws(OutputFailure) {
            try writeAll(Array("\(JSONValue.object(fields).text)\n".utf8)[...], to: descriptor, named: path)
        } catch {
            failure.withLock { $0 = $0 ?? error }
        }
    }

    /// - Throws: `OutputFailure` if the file lacks a report. All other rows were imported.
    func finish() throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Prints the number of rows that were not reported on standard error.
    func reportRemaining() {
        let more = count.withLock { $0 } - Self.reportedMax
        guard more > 0 else { return }
        complain("\(more) more \(more == 1 ? "row was" : "rows were") left out; --errors FILE lists all of them")
    }
}

extension ImportedAccount {
    fileprivate var hash: [UInt8]? {
        if case .hash(let bytes, _) = password { bytes } else { nil }
    }

    /// True if the hash is the placeholder for readers who may not see it (`ExportedAccount.redacted`).
    fileprivate var isRedacted: Bool { hash.map { $0 == Array("REDACTED".utf8) } ?? false }

    /// True if the algorithm of the hash must be named.
    fileprivate var hasHash: Bool { hash != nil && !isRedacted }
}

/// Imports a file in batches.
struct FileImport {
    enum Reason {
        case finished
        /// Stopped by a signal. All rows before the place are imported.
        case stopped(RowPlace)
        case failed(any Error, RowPlace)
    }

    private let accounts: AccountImport
    private let options: AccountImport.Options
    private let rowErrors: RowErrors
    private let showsProgress: Bool

    init(
        _ accounts: AccountImport,
        _ options: AccountImport.Options,
        _ rowErrors: RowErrors,
        showsProgress: Bool
    ) {
        self.showsProgress = showsProgress
        self.accounts = accounts
        self.options = options
        self.rowErrors = rowErrors
    }

    private typealias Batch = [(place: RowPlace, account: ImportedAccount)]

    /// Number of batches that are written concurrently, while the next one is read.
    private static let batchesMax = 3

    /// Ends early on SIGINT and SIGTERM, after the running batches.
    func run(_ reader: AccountFileReader) async throws -> (counts: ImportCounts, reason: Reason) {
        let interrupt = Interrupt()
        return await interrupt.watching { await read(reader, until: interrupt) }
    }

    private func read(
        _ reader: AccountFileReader,
        until interrupt: Interrupt
    ) async -> (counts: ImportCounts, reason: Reason) {
        let meter = ProgressMeter(total: nil, noun: "accounts", isShown: showsProgress)
        return await withTaskGroup(of: BatchResult.self) { group in
            var counts = ImportCounts()
            var under = 0
            /// The error and the place of the first batch that could not be written.
            var lost: (error: any Error, place: RowPlace)?
            func take(_ result: BatchResult) {
                under -= 1
                switch result.outcome {
                case .success(let done):
                    counts.created += done.created
                    counts.replaced += done.replaced
                    counts.unchanged += done.unchanged
                    counts.refused += done.refused
                case .failure(let error):
                    if lost.map({ result.place < $0.place }) ?? true { lost = (error, result.place) }
                }
                meter.show(Int64(counts.all))
            }
            var seen: Set<Int> = []
            var last: RowPlace?
            var end: Reason?
            while end == nil, lost == nil {
                var batch: Batch = []
                do throws(AccountFileError) {
                    while batch.count < AccountImport.rowsMax, let row = try reader.next() {
                        last = row.place
                        if let account = try admitted(row, &seen, &counts) { batch.append((row.place, account)) }
                    }
                    if batch.count < AccountImport.rowsMax { end = .finished }
                } catch {
                    end = .failed(error, place(of: error, after: last, reader))
                }
                if interrupt.hasCome, end == nil, let place = batch.first?.place {
                    end = .stopped(place)
                    break
                }
                guard !batch.isEmpty else { break }
                if under == Self.batchesMax, let result = await group.next() { take(result) }
                under += 1
                group.addTask { [batch] in await write(batch) }
            }
            for await result in group { take(result) }
            meter.clear()
            if let lost { return (counts, .failed(lost.error, lost.place)) }
            return (counts, end ?? .finished)
        }
    }

    /// The place of the first remaining row. Earlier rows will still be written.
    private func place(of error: AccountFileError, after last: RowPlace?, _ reader: AccountFileReader) -> RowPlace {
        if case .unnamedHash(let place) = error { return place }
        var place = RowPlace(line: last?.line ?? 1, index: reader.hasIndexes ? (last?.index ?? -1) + 1 : nil)
        if case .broken(_, let line) = error { place.line = line }
        return place
    }

    /// Returns the account of a row, if it is valid and its id is not in an earlier row.
    ///
    /// `seen`: hashes of ids, about 16 bytes for each account. With a billion accounts, a collision is possible.
    private func admitted(
        _ row: FileRow<ImportedAccount>,
        _ seen: inout Set<Int>,
        _ counts: inout ImportCounts
    ) throws(AccountFileError) -> ImportedAccount? {
        func refuse(_ message: String, id: String?) {
            rowErrors.report(message, row.place, id: id)
            counts.refused += 1
        }
        switch row.content {
        case .failure(let defect): refuse(defect.description, id: nil)
        case .success(let account):
            if let id = account.id, !seen.insert(id.hashValue).inserted {
                refuse(ImportRefusal.repeatedLocalID.message, id: id)
            } else if account.isRedacted {
                refuse("the export left out the password hash", id: account.id)
            } else if options.hashing == nil, account.hasHash {
                throw .unnamedHash(row.place)
            } else {
                return account
            }
        }
        return nil
    }

    private struct BatchResult: Sendable {
        let place: RowPlace
        let outcome: Result<ImportCounts, any Error>
    }

    private func message(_ refusal: ImportRefusal) -> String {
        // For Supabase, the operator names no algorithm.
        guard refusal == .invalidPasswordHash, case .selfDescribing = options.hashing else { return refusal.message }
        return "passwordHash does not name its algorithm, or names an unknown key"
    }

    private func write(_ batch: Batch) async -> BatchResult {
        let place = batch.first?.place ?? RowPlace(line: 1)
        do {
            // A retry of a batch whose answer was lost changes no row again.
            let outcome = try await waitingForDatabase { try await accounts.apply(batch.map(\.account), options) }
            for (index, refusal) in outcome.refused {
                rowErrors.report(message(refusal), batch[index].place, id: batch[index].account.id)
            }
            let counts = ImportCounts(
                created: outcome.created,
                replaced: outcome.replaced,
                unchanged: outcome.unchanged,
                refused: outcome.refused.count
            )
            return BatchResult(place: place, outcome: .success(counts))
        } catch {
            return BatchResult(place: place, outcome: .failure(error))
        }
    }
}
