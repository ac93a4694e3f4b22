import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import Postgres
import Synchronization

/// The options for reading the tables of accounts.
struct ReaderOptions: ParsableArguments {
    /// Ignored. Accepted for scripts that were written for earlier versions.
    @Option(help: .hidden)
    var connections = 2

    @OptionGroup var progress: ProgressOptions

    /// The folder for data that does not fit into memory: `TMPDIR`, or `/tmp`.
    static var temporaryFolder: String { FileManager.default.temporaryDirectory.path }

    func validate() throws {
        guard (1...16).contains(connections) else {
            throw ValidationError("--connections: give a number from 1 to 16")
        }
    }
}

/// The common options of commands that read all accounts.
struct SnapshotOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only this tenant; all tenants by default.", valueName: "id"))
    var tenant: String?

    @Flag(help: "Print addresses, phone numbers and providers' ids of users unmasked.")
    var showIdentifiers = false

    @OptionGroup var readers: ReaderOptions

    var tenantID: TenantID? { tenant.map { TenantID($0) } }

    /// - Throws: `ValidationError` if `--tenant` names an unknown tenant.
    func checkTenant(_ store: AccountStore) async throws {
        guard let tenantID, tenantID != .project, try await !store.hasTenant(tenantID) else { return }
        throw ValidationError("--tenant: there is no tenant \(tenantID.rawValue)")
    }

    func snapshots(_ postgres: PostgresConfiguration, applicationName: String = "concord audit") -> AccountSnapshots {
        AccountSnapshots(
            postgres,
            temporaryFolder: ReaderOptions.temporaryFolder,
            applicationName: applicationName
        )
    }

    static func validate(since: String) throws {
        guard instant(since, before: Effects.system.now()) != nil else {
            throw ValidationError("--since: give a time such as 2026-11-22T08:00:00Z, or a duration such as 36h or 7d")
        }
    }

    /// Parses a time of RFC 3339, or a duration before now.
    static func instant(_ text: String, before now: Timestamp) -> Timestamp? {
        if let date = try? Date(text, strategy: .iso8601) {
            return Timestamp(millisecondsSinceEpoch: Int64((date.timeIntervalSince1970 * 1000).rounded()))
        }
        let units: [Character: Int64] = ["m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (1...100_000).contains(count)
        else { return nil }
        return now.adding(seconds: -count * unit)
    }
}

/// The option that names the start of a run over all accounts.
struct CursorOption: ParsableArguments {
    @Option(help: ArgumentHelp("Continue where an earlier run stopped.", valueName: "cursor"))
    var after: String?

    var start: AccountSnapshots.Place? { after.flatMap(AccountSnapshots.Place.init(cursor:)) }

    func validate() throws {
        if let after, AccountSnapshots.Place(cursor: after) == nil {
            throw ValidationError("--after: not a cursor that an earlier run printed")
        }
    }
}

/// A run over all accounts. It shows its progress on a terminal, and prints how to continue if it ends early.
final class SnapshotWalk: Sendable {
    private let meter: ProgressMeter
    private let interrupt = Interrupt()
    private let reached: Mutex<AccountSnapshots.Place?>
    /// The advice if the run ends early, instead of the place to continue from.
    private let advice: String?

    /// - Parameters:
    ///   - total: the estimated number of accounts; `nil` if unknown.
    ///   - start: the place where the run begins.
    ///   - showsProgress: true if it shows a progress line.
    init(total: Int64?, after start: AccountSnapshots.Place?, showsProgress: Bool) {
        meter = ProgressMeter(total: total, noun: "accounts", isShown: showsProgress)
        reached = Mutex(start)
        advice = nil
    }

    /// A run that cannot be continued.
    init(total: Int64?, advice: String, showsProgress: Bool) {
        meter = ProgressMeter(total: total, noun: "accounts", isShown: showsProgress)
        reached = Mutex(nil)
        self.advice = advice
    }

    /// Shows that so many accounts are done, up to `place`.
    /// - Throws: `Interrupted`.
    func report(_ count: Int64, at place: AccountSnapshots.Place?) throws {
        if let place { reached.withLock { $0 = place } }
        meter.show(count)
        try checkForEnd()
    }

    /// - Throws: `Interrupted` after a signal to end.
    func checkForEnd() throws {
        if interrupt.hasCome { throw Interrupted() }
    }

    /// Runs `body`, which reports its progress.
    ///
    /// - `orElse`: the text if it does not finish.
    func run<Output: Sendable>(
        _ body: () async throws -> Output,
        orElse breakOff: () throws -> Void = {}
    ) async throws -> Output {
        do {
            let output = try await interrupt.watching(body)
            meter.clear()
            return output
        } catch {
            meter.clear()
            // After a failed write, the place to continue from is unknown.
            try breakOff()
            let advice =
                advice ?? reached.withLock { $0 }.map { "continue with: --after \($0.cursor)" }
                ?? "nothing was printed yet"
            if error is Interrupted {
                complain("interrupted; \(advice)")
                throw ExitCode.stopped
            }
            complain("stopped; \(advice)")
            throw error
        }
    }
}
