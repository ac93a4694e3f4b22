import Foundation
import Postgres
import Synchronization
import Testing

/// A PostgreSQL server for tests: in a new directory, on a Unix socket, removed when the process ends.
final class TestCluster: Sendable {
    let directory: String
    private let binaries: String
    private let extraSettings: [String]
    private let databaseNumber = Atomic(0)

    /// The cluster that most tests share, each in its own database.
    static let shared = Result { try TestCluster() }

    /// Creates and starts a cluster.
    init(settings: [String] = []) throws {
        directory = Self.temporaryPath("pg")
        binaries = try Self.output("pg_config", ["--bindir"])
        extraSettings = settings
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        remove.withLock { $0.append(self) }
        registerRemoval()
        if getuid() == 0 { _ = try Self.output("chown", ["postgres:", directory]) }
        try run("initdb", ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"])
        try start()
    }

    private var data: String { "\(directory)/data" }

    func start() throws {
        let settings =
            [
                "listen_addresses=''", "unix_socket_directories='\(directory)'", "fsync=off", "full_page_writes=off",
                "max_connections=500", "log_min_messages=log", "autovacuum=off",
            ] + extraSettings
        let options = settings.map { "-c \($0)" }.joined(separator: " ")
        try run("pg_ctl", ["-D", data, "-w", "-t", "60", "-l", "\(directory)/log", "-o", options, "start"])
    }

    /// In the mode `immediate` the server stops as in a crash.
    func stop(mode: String = "fast") throws {
        try run("pg_ctl", ["-D", data, "-w", "-t", "60", "-m", mode, "stop"])
    }

    func dispose() {
        try? stop(mode: "immediate")
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The configuration of the database that every cluster has.
    func configuration(database: String = "postgres") throws -> PostgresConfiguration {
        try PostgresConfiguration(connectionString: "host=\(directory) user=postgres dbname=\(database)")
    }

    /// Creates an empty database.
    func makeDatabase() async throws -> PostgresConfiguration {
        let number = databaseNumber.add(1, ordering: .relaxed).newValue
        let name = "test_\(number)"
        try await PostgresConnection.withConnection(try configuration()) { connection in
            try connection.execute(script: "CREATE DATABASE \(name)")
        }
        return try configuration(database: name)
    }

    /// Runs one of the server's programs. If the tests run as root, which the server refuses, it runs as `postgres`.
    private func run(_ program: String, _ arguments: [String]) throws {
        let command = ["\(binaries)/\(program)"] + arguments
        if getuid() == 0 {
            let asPostgres = ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
            _ = try Self.output("setpriv", asPostgres + command)
        } else {
            _ = try Self.output(command[0], arguments)
        }
    }

    /// Short, because the path of a Unix socket has at most 107 bytes.
    private static func temporaryPath(_ kind: String) -> String {
        let name = "concord-\(kind)-\(getpid())-\(UInt16.random(in: .min ... .max))"
        return FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    }

    struct ProgramFailed: Error {
        var program: String
        var output: String
    }

    private static func output(_ program: String, _ arguments: [String]) throws -> String {
        // A file, because a server that keeps running would keep a pipe open.
        let path = temporaryPath("out")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let quoted = ([program] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        let status = system("cd / && exec \(quoted) </dev/null >\(path) 2>&1")
        let output = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard status == 0 else { throw ProgramFailed(program: program, output: output) }
        return output
    }
}

/// Clusters to stop and remove when the process ends.
private let remove = Mutex<[TestCluster]>([])
private let isRemovalRegistered = Atomic(false)

private func registerRemoval() {
    guard !isRemovalRegistered.exchange(true, ordering: .relaxed) else { return }
    atexit {
        for cluster in remove.withLock({ $0 }) { cluster.dispose() }
    }
}

/// Settings and metrics of one test.
struct Adjustment: Sendable {
    var apply: @Sendable (inout PostgresConfiguration) -> Void

    static let none = Self { _ in }

    static func adjusted(_ apply: @escaping @Sendable (inout PostgresConfiguration) -> Void) -> Self {
        Self(apply: apply)
    }
}

/// Runs `body` with a client of a new database, then shuts it down.
func withClient<Output: Sendable>(
    _ adjustment: Adjustment = .none,
    of configuration: PostgresConfiguration? = nil,
    observer: (any PostgresObserver)? = nil,
    _ body: @escaping @Sendable (PostgresClient, PostgresConfiguration) async throws -> Output
) async throws -> Output {
    var settings: PostgresConfiguration
    if let configuration {
        settings = configuration
    } else {
        settings = try await TestCluster.shared.get().makeDatabase()
    }
    // Tests share a busy machine.
    settings.readConnections = 2
    settings.writeConnections = 2
    settings.leasedConnections = 2
    settings.queueWait = .seconds(60)
    settings.connectTimeout = .seconds(60)
    settings.readStatementTimeout = .seconds(60)
    settings.writeStatementTimeout = .seconds(60)
    settings.lockTimeout = .seconds(60)
    adjustment.apply(&settings)
    let client = PostgresClient(configuration: settings, observer: observer)
    return try await withThrowingTaskGroup(of: Void.self) { [settings] group in
        group.addTask { await client.run() }
        do {
            let output = try await body(client, settings)
            client.shutDown()
            try await group.waitForAll()
            return output
        } catch {
            client.shutDown()
            throw error
        }
    }
}

/// Runs a script on a new connection.
func execute(_ script: String, on configuration: PostgresConfiguration) async throws {
    try await PostgresConnection.withConnection(configuration) { try $0.execute(script: script) }
}

extension PostgresClient {
    func expect<Row: RowDecodable & Equatable>(
        _ query: Query<Row>,
        returns expected: [Row],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let rows = try await read(query)
        #expect(rows == expected, sourceLocation: sourceLocation)
    }
}

/// Stores the events of a client.
final class Listener: PostgresObserver {
    private let events = Mutex<[PostgresEvent]>([])

    func postgresEvent(_ event: PostgresEvent) {
        events.withLock { $0.append(event) }
    }

    func heard(_ isMeant: (PostgresEvent) -> Bool) -> Bool { count(isMeant) > 0 }

    func count(_ isMeant: (PostgresEvent) -> Bool) -> Int {
        events.withLock { $0.count(where: isMeant) }
    }
}

/// A counter for several tasks.
final class Counter: Sendable {
    private let count = Atomic(0)

    @discardableResult
    func increment(by amount: Int = 1) -> Int {
        count.add(amount, ordering: .relaxed).newValue
    }

    var value: Int { count.load(ordering: .relaxed) }
}

/// A row of two columns.
struct Pair<First: PostgresValue, Second: PostgresValue>: RowDecodable {
    var first: First
    var second: Second

    init(row: inout RowDecoder) throws(PostgresError) {
        first = try row.next()
        second = try row.next()
    }
}

/// Waits until `condition` holds. The suite's time limit ends the wait otherwise.
func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(1)) }
}

/// Returns the error of `body`.
func failure<Output: Sendable>(
    _ body: () async throws -> Output
) async -> PostgresError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}
