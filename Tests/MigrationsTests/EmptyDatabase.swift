import FoundationEssentials
import Glibc
import Migrations
import Postgres
import PostgresCluster
import Subprocess
import SystemPackage
import Testing

/// An empty database on PostgreSQL: on the server that `CONCORD_TEST_DATABASE_URL` names, or on a private cluster that
/// runs as long as the test process.
struct EmptyDatabase: Sendable {
    let name: String
    let configuration: PostgresConfiguration
    private let server: TestServer

    /// Creates an empty database, runs `body`, and drops it.
    static func with<Output: Sendable>(
        _ body: (EmptyDatabase) async throws -> Output
    ) async throws -> Output {
        let server = try await TestServer.shared
        let name = "migrations_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        try await server.run("CREATE DATABASE \(name) TEMPLATE template0")
        let database = EmptyDatabase(
            name: name,
            configuration: server.configuration.withDatabase(name),
            server: server
        )
        do {
            let output = try await body(database)
            try await server.run("DROP DATABASE \(name) WITH (FORCE)")
            return output
        } catch {
            try await server.run("DROP DATABASE \(name) WITH (FORCE)")
            throw error
        }
    }

    /// Runs a script of statements on a separate connection.
    func execute(_ script: String) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(script: script)
        }
    }

    /// Runs `Rows/NNNN_name.sql` if it exists. It inserts rows into the tables as they are after this migration.
    func insertRows(of migration: MigrationSet.Migration) async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Rows/\(migration.up.fileName.stem).sql")
        guard let data = FileManager.default.contents(atPath: file.path()) else { return }
        try await execute(String(decoding: data, as: UTF8.self))
    }

    /// Returns the rows of `query`, read on a separate connection.
    func rows<Row>(_ query: Query<Row>) async throws -> [Row] {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.query(query)
        }
    }

    /// Returns the schema as `pg_dump` writes it, without the parts that differ between runs or minor versions:
    /// comments, settings, `\restrict` lines and repeated empty lines.
    func schema() async throws -> String {
        let result = try await Subprocess.run(
            server.dumpProgram,
            arguments: [
                "--schema-only", "--no-owner", "--no-privileges", "--dbname", server.url(name),
            ],
            output: .string(limit: 4 << 20),
            error: .string(limit: 64 << 10)
        )
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        var lines: [Substring] = []
        for line in result.standardOutput.split(separator: "\n", omittingEmptySubsequences: false) {
            let isNoise =
                line.hasPrefix("--") || line.hasPrefix("SET ") || line.hasPrefix("\\")
                || line.hasPrefix("SELECT pg_catalog.set_config(")
            if !isNoise, !(line.isEmpty && lines.last?.isEmpty != false) { lines.append(line) }
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The server of this test process.
private struct TestServer: Sendable {
    let configuration: PostgresConfiguration
    /// The URL of a database for `pg_dump`.
    let url: @Sendable (_ database: String) -> String
    let dumpProgram: Executable
    /// Stored, because releasing the cluster releases its directory.
    let cluster: PostgresCluster?

    static var shared: TestServer {
        get async throws { try await starting.value }
    }

    private static let starting = Task { try await start() }

    func run(_ script: String) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(script: script)
        }
    }

    private static func start() async throws -> TestServer {
        if let url = ProcessInfo.processInfo.environment["CONCORD_TEST_DATABASE_URL"] {
            let configuration = try PostgresConfiguration(connectionString: url)
            return TestServer(
                configuration: configuration,
                url: { replacingDatabase(in: url, with: $0) },
                dumpProgram: .name("pg_dump"),
                cluster: nil
            )
        }
        removeLeftovers()
        let directory = FileManager.default.temporaryDirectory.appending(path: "\(prefix)\(getpid())").path()
        let cluster = PostgresCluster(dataDirectory: directory, settings: .disposable)
        let connection = try await cluster.start()
        let ownProgram = "/usr/lib/postgresql/\(connection.majorVersion)/bin/pg_dump"
        return TestServer(
            configuration: try PostgresConfiguration(connectionString: connection.url(database: "postgres")),
            url: { connection.url(database: $0) },
            dumpProgram: FileManager.default.fileExists(atPath: ownProgram)
                ? .path(FilePath(ownProgram)) : .name("pg_dump"),
            cluster: cluster
        )
    }

    private static let prefix = "concord-migrations-tests-"

    /// A test process cannot delete its cluster at its end. The next one does, after the server has stopped with its
    /// owner.
    private static func removeLeftovers() {
        let root = FileManager.default.temporaryDirectory
        for name in (try? FileManager.default.contentsOfDirectory(atPath: root.path())) ?? [] {
            guard name.hasPrefix(prefix), let owner = pid_t(name.dropFirst(prefix.count)), kill(owner, 0) != 0 else {
                continue
            }
            try? FileManager.default.removeItem(at: root.appending(path: name))
        }
    }
}

/// Returns `url` with another database of the same server.
private func replacingDatabase(in url: String, with name: String) -> String {
    let query = url.firstIndex(of: "?") ?? url.endIndex
    let authority = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    let path = url[authority..<query].firstIndex(of: "/") ?? query
    return "\(url[..<path])/\(name)\(url[query...])"
}
