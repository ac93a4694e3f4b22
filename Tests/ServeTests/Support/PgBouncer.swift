import AccountTestSupport
import Foundation
import Postgres
import Subprocess
import SystemPackage

/// A PgBouncer in transaction mode, in a separate process, in front of the server of a test database.
struct PgBouncer: Sendable {
    /// The address of the test database through the pooler.
    let url: String

    /// The version, such as `[1, 24, 1]`; `nil` if the program is not installed.
    static let version: [Int]? = {
        guard let program else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--version"]
        let output = Pipe()
        process.standardOutput = output
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard let match = text.firstMatch(of: #/PgBouncer (\d+)\.(\d+)\.(\d+)/#) else { return nil }
        return [match.1, match.2, match.3].compactMap { Int($0) }
    }()

    /// The path that `CONCORD_TEST_PGBOUNCER` names, or else that of the system's package.
    private static let program =
        (ProcessInfo.processInfo.environment["CONCORD_TEST_PGBOUNCER"].map { [$0] }
        ?? ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"])
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// True if this version supports named statements, and `DEALLOCATE ALL` among them.
    static let supportsNamedStatements = version.map { !$0.lexicographicallyPrecedes([1, 22]) } ?? false

    /// The settings of a server behind this version, as the guide names them.
    static let settings =
        supportsNamedStatements
        ? ["CONCORD_DATABASE_SESSION_SETTINGS": "transaction"] : ["CONCORD_DATABASE_STATEMENT_MODE": "unnamed"]

    /// Starts the pooler, runs `body` once it takes connections, and ends it.
    ///
    /// - `poolSize`: connections to PostgreSQL: by default so few that all servers share them. A command holds several at
    ///   once (docs/guides/operations.md, "Connections of commands").
    /// - `ignoresOptions`: drops the startup options of connections without an error.
    static func run<Output: Sendable>(
        before database: TestDatabase,
        poolSize: Int = 4,
        ignoresOptions: Bool = false,
        _ body: @Sendable (PgBouncer) async throws -> Output
    ) async throws -> Output {
        guard let program, let host = database.configuration.value(of: "host") else { throw NoPooler() }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-pgbouncer-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try freePort()
        let file = folder + "/pgbouncer.ini"
        let server = [
            ("host", host), ("port", database.configuration.value(of: "port") ?? "5432"),
            ("user", database.configuration.value(of: "user") ?? NSUserName()),
        ]
        let text = """
            [databases]
            * = \(server.map { "\($0)=\($1)" }.joined(separator: " "))
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = \(poolSize)
            max_client_conn = 400
            query_wait_timeout = 0
            \(supportsNamedStatements ? "max_prepared_statements = 1000" : "")
            \(ignoresOptions ? "ignore_startup_parameters = options" : "")
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        // PgBouncer refuses root. The socket of the test's cluster belongs to `postgres` then.
        let user = geteuid() == 0 ? ["-u", "postgres"] : []
        let result = try await Subprocess.run(
            .path(FilePath(program)),
            arguments: Arguments(["-q"] + user + [file]),
            input: .none,
            output: .discarded,
            error: .discarded
        ) { execution in
            let name = database.configuration.value(of: "dbname") ?? ""
            let pooler = PgBouncer(url: "postgresql://concord@127.0.0.1:\(port)/\(name)")
            let outcome = await ServeProcess.Outcome {
                try await pooler.waitUntilReady()
                return try await body(pooler)
            }
            try execution.send(signal: .terminate)
            return outcome
        }
        return try result.closureResult.get()
    }

    private func waitUntilReady() async throws {
        let configuration = try PostgresConfiguration(connectionString: url)
        while true {
            do {
                return try await PostgresConnection.withConnection(configuration) { _ in }
            } catch let error as PostgresError where error.code == .unavailable {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private struct NoPooler: Error {}
}
