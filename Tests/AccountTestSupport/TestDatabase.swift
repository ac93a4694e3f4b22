import AccountStore
import Foundation
import Glibc
import Migrations
package import Postgres
import PostgresCluster
package import Spans

/// A migrated database for one test, on a real PostgreSQL.
///
/// The server is a private cluster that lives as long as the test process, or the one in `CONCORD_TEST_DATABASE_URL`.
/// `CONCORD_TEST_STATEMENT_MODE` and `CONCORD_TEST_SESSION_SETTINGS` are the modes of connections, for a pooler.
/// Each database is a copy of one migrated template, made in the time of a file copy.
package struct TestDatabase: Sendable {
    package let configuration: PostgresConfiguration
    /// URL for `psql` or a child process.
    package let url: String

    /// A database that the caller creates and removes.
    package init(configuration: PostgresConfiguration, url: String) {
        self.configuration = configuration
        self.url = url
    }

    /// Creates a database, runs `body`, and drops the database.
    ///
    /// Waits while many databases are in use: tests run concurrently, and the server's connections are limited.
    package static func with<Output: Sendable>(
        _ body: (TestDatabase) async throws -> Output
    ) async throws -> Output {
        // A test in a suite that already has a database must not wait for its suite.
        if isNested { return try await withoutWaiting(body) }
        await Turnstile.shared.enter()
        do {
            let output = try await $isNested.withValue(true) { try await withoutWaiting(body) }
            await Turnstile.shared.leave()
            return output
        } catch {
            await Turnstile.shared.leave()
            throw error
        }
    }

    @TaskLocal private static var isNested = false

    private static func withoutWaiting<Output: Sendable>(
        _ body: (TestDatabase) async throws -> Output
    ) async throws -> Output {
        let name = "test_\(UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased())"
        let database = try await TestServer.shared.makeDatabase(name)
        do {
            let output = try await body(database)
            try await TestServer.shared.drop(name)
            return output
        } catch {
            try await TestServer.shared.drop(name)
            throw error
        }
    }

    /// Migrates the database at `url` to the newest schema and runs `body`. The caller removes the database.
    package static func migrated<Output: Sendable>(
        _ url: String,
        _ body: (TestDatabase) async throws -> Output
    ) async throws -> Output {
        let configuration = try PostgresConfiguration(connectionString: url)
        try await TestServer.migrate(configuration)
        return try await body(TestDatabase(configuration: configuration.patient, url: url))
    }

    package func withClient<Output: Sendable>(
        metrics: PostgresMetrics? = nil,
        writeConnections: Int? = nil,
        spans: Spans = .off,
        _ body: (PostgresClient) async throws -> Output
    ) async throws -> Output {
        var configuration = configuration
        if let writeConnections { configuration.writeConnections = writeConnections }
        let client = PostgresClient(configuration: configuration, metrics: metrics, spans: spans)
        return try await withThrowingTaskGroup { group in
            group.addTask { await client.run() }
            defer { client.shutDown() }
            return try await body(client)
        }
    }

    /// The rows of `query`, read on a separate connection, past the program's caches.
    package func rows<Row>(_ query: Query<Row>) async throws -> [Row] {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.query(query)
        }
    }

    /// Runs statements as another program would: in one transaction, but on Citus, which refuses some statements in a
    /// text of several, one by one.
    package func execute(_ script: String) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            guard try connection.engine() == .citus else { return try connection.execute(script: script) }
            for statement in SQLStatement.split(script) { try connection.execute(script: statement.text) }
        }
    }

    /// The number that `query` returns.
    package func count(_ query: Query<Int64?>) async throws -> Int64 {
        try await rows(query).first.flatMap { $0 } ?? 0
    }
}

/// Admits a limited number of tests at a time, in the order of arrival.
private actor Turnstile {
    static let shared = Turnstile(places: 12)

    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) {
        self.places = places
    }

    func enter() async {
        if places > 0 {
            places -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty {
            places += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

extension PostgresConfiguration {
    /// The configuration with long timeouts, because a test machine may be slow and shared.
    fileprivate var patient: PostgresConfiguration {
        var configuration = self
        configuration.queueWait = .seconds(300)
        configuration.readStatementTimeout = .seconds(300)
        configuration.writeStatementTimeout = .seconds(300)
        configuration.lockTimeout = .seconds(300)
        configuration.connectTimeout = .seconds(300)
        let environment = ProcessInfo.processInfo.environment
        if environment["CONCORD_TEST_STATEMENT_MODE"] == "unnamed" { configuration.statementMode = .unnamed }
        if environment["CONCORD_TEST_SESSION_SETTINGS"] == "transaction" {
            configuration.sessionSettings = .transaction
        }
        return configuration
    }
}

/// The PostgreSQL server of a test process.
actor TestServer {
    static let shared = TestServer()

    private struct Server: Sendable {
        var base: PostgresConfiguration
        /// The workers, if the server is the coordinator of a Citus cluster.
        var workers: [PostgresConfiguration] = []
        var url: @Sendable (String) -> String

        var nodes: [PostgresConfiguration] { [base] + workers }
    }

    private var template: Task<Server, any Error>?
    private static let templateName = "concord_template"

    func engine() async throws -> DatabaseEngine {
        try await PostgresConnection.withConnection(ready().base) { try $0.engine() }
    }

    /// Copies the template. On Citus each node has a part of it, and the catalogue of the copy is right because a copy has
    /// the object ids of its template.
    func makeDatabase(_ name: String) async throws -> TestDatabase {
        let server = try await ready()
        try await Self.run("CREATE DATABASE \(name) TEMPLATE \(Self.templateName)", onEachOf: server.nodes)
        var configuration = server.base.withDatabase(name).patient
        configuration.writeConnections = 4
        return TestDatabase(configuration: configuration, url: server.url(name))
    }

    func drop(_ name: String) async throws {
        let nodes = try await ready().nodes
        let drop = "DROP DATABASE IF EXISTS \(name) WITH (FORCE)"
        do {
            try await Self.run(drop, onEachOf: nodes)
        } catch let error as PostgresError where error.sqlState?.rawValue == "55006" {
            // A background process of Citus that waits for another node ends late.
            try await Self.run(drop, onEachOf: nodes)
        }
    }

    private func ready() async throws -> Server {
        if let template { return try await template.value }
        let started = Task { try await Self.start() }
        template = started
        return try await started.value
    }

    private static func start() async throws -> Server {
        let url: @Sendable (String) -> String
        let connectionString: String
        if let given = ProcessInfo.processInfo.environment["CONCORD_TEST_DATABASE_URL"] {
            connectionString = given
            url = { name in URLComponents(string: given).map { $0.settingPath("/\(name)") } ?? given }
        } else {
            let directory = FileManager.default.temporaryDirectory
                .appendingPathComponent("concord-tests-\(ProcessInfo.processInfo.processIdentifier)")
            var settings = ClusterSettings.disposable
            settings.connectionsMax = 400
            let cluster = PostgresCluster(dataDirectory: directory.path, settings: settings)
            let connection = try await cluster.start()
            clusterOfThisProcess = (cluster, directory.path)
            atexit { removeCluster() }
            connectionString = connection.url(database: "postgres")
            url = { connection.url(database: $0) }
        }
        let base = try PostgresConfiguration(connectionString: connectionString)
        var server = Server(base: base, url: url)
        let citus = try await CitusNodes.of(base, connectionString)
        server.workers = citus?.workers.map(\.configuration) ?? []
        for node in server.nodes {
            try await run("DROP DATABASE IF EXISTS \(templateName) WITH (FORCE)", on: node)
            try await run("CREATE DATABASE \(templateName)", on: node)
        }
        try await citus?.form(templateName)
        try await migrate(base.withDatabase(templateName))
        if let citus {
            try await distribute(base.withDatabase(templateName))
            try await citus.close(templateName)
        }
        return server
    }

    /// Few shards, because each is a table to copy and to ask.
    private static func distribute(_ configuration: PostgresConfiguration) async throws {
        let distributor = Distributor(
            configuration: configuration,
            migrations: try MigrationDirectory(path: Repository.root + "/migrations").read(),
            tables: TestDatabase.placedTables,
            shards: 4
        )
        if case .refused(let refusals) = try await distributor.run() {
            throw TestServerFailure(refusals.map(\.description).joined(separator: "\n"))
        }
    }

    static func migrate(_ configuration: PostgresConfiguration) async throws {
        let migrations = try MigrationDirectory(path: Repository.root + "/migrations").read()
        _ = try await Migrator(configuration: configuration, migrations: migrations, toolVersion: "test").run(.latest)
    }

    private static func run(_ script: String, onEachOf nodes: [PostgresConfiguration]) async throws {
        try await withThrowingTaskGroup { group in
            for node in nodes { group.addTask { try await run(script, on: node) } }
            try await group.waitForAll()
        }
    }

    static func run(_ script: String, on configuration: PostgresConfiguration) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(script: script)
        }
    }
}

/// Lives as long as the process, because a released cluster releases its directory. Written once, by the only start.
private nonisolated(unsafe) var clusterOfThisProcess: (cluster: PostgresCluster, directory: String)?

/// Removes the server's files. The server stops with its owner.
private func removeCluster() {
    if let directory = clusterOfThisProcess?.directory { try? FileManager.default.removeItem(atPath: directory) }
}

extension URLComponents {
    fileprivate func settingPath(_ path: String) -> String {
        var components = self
        components.path = path
        return components.string ?? ""
    }
}

/// The location of the sources under test.
package enum Repository {
    /// The folder with `Package.swift`.
    package static let root: String = {
        var url = URL(fileURLWithPath: #filePath)
        while url.path != "/", !FileManager.default.fileExists(atPath: url.appendingPathComponent("Package.swift").path)
        {
            url.deleteLastPathComponent()
        }
        return url.path
    }()

    /// The environment for programs that tests start: without variables for tests, which a program would refuse.
    package static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("CONCORD_TEST_") }
    }
}
