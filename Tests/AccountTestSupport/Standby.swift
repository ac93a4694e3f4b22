import Foundation
package import Postgres
import PostgresCluster
import Subprocess
import SystemPackage

/// A streaming standby of a test's private server, made by `pg_basebackup`.
package struct Standby: Sendable {
    /// The primary, with a migrated database.
    package let primary: TestDatabase
    /// The same database on the standby.
    package let url: String
    private let folder: String

    private static let name = "replicated"

    package var configuration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString: url) }
    }

    /// Starts a primary and its standby, runs `body`, and removes both.
    package static func with(_ body: (Standby) async throws -> Void) async throws {
        // Short, because a socket's path has at most 107 bytes.
        let folder = "/tmp/concord-standby-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var settings = ClusterSettings.disposable
        settings.additional = [
            "wal_level": "replica", "max_wal_senders": "4",
            // The standby is compared by what is flushed.
            "synchronous_commit": "on",
        ]
        let cluster = PostgresCluster(dataDirectory: folder + "/primary", settings: settings)
        let connection = try await cluster.start()
        do {
            _ = try await cluster.createDatabase(name)
            try await TestDatabase.migrated(connection.url(database: name)) { primary in
                let standby = Standby(
                    primary: primary,
                    url: "postgresql://\(connection.role)@/\(name)?host=\(folder)/standby&port=5432",
                    folder: folder
                )
                try await standby.start(from: connection)
                do {
                    try await body(standby)
                } catch {
                    try? await standby.stop()
                    throw error
                }
                // The test may have stopped it.
                try? await standby.stop()
            }
        } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    /// Stops the standby as a crash would.
    package func stop() async throws {
        try await run("pg_ctl", ["-D", folder + "/standby/data", "-w", "-m", "immediate", "stop"])
    }

    /// Pauses the replay of changes. Returns once nothing more is replayed.
    package func pause() async throws {
        try await execute("SELECT pg_wal_replay_pause()")
        let state: Query<String> = "SELECT pg_get_wal_replay_pause_state()"
        while try await PostgresConnection.withConnection(try configuration, { try $0.query(state) }) != ["paused"] {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs statements on the standby.
    package func execute(_ script: String) async throws {
        try await PostgresConnection.withConnection(try configuration) { try $0.execute(script: script) }
    }

    private func start(from primary: ClusterConnection) async throws {
        let directory = folder + "/standby"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        if geteuid() == 0 { try await Self.launch("/bin/chown", ["postgres:", directory]) }
        try await run(
            "pg_basebackup",
            [
                "-D", directory + "/data", "-h", primary.socketDirectory, "-p", "5432", "-U", primary.role, "-R",
                "-X", "stream", "--checkpoint=fast", "--no-sync",
            ]
        )
        let settings = "-c unix_socket_directories=\(directory) -c port=5432 -c listen_addresses=''"
        try await run(
            "pg_ctl",
            ["-D", directory + "/data", "-w", "-t", "60", "-l", directory + "/log", "-o", settings, "start"]
        )
    }

    /// Runs one of the server's programs. If the tests run as root, which the server refuses, it runs as `postgres`.
    private func run(_ program: String, _ arguments: [String]) async throws {
        let binaries = try await Self.launch("/usr/bin/env", ["pg_config", "--bindir"])
        let command = [binaries + "/" + program] + arguments
        if geteuid() == 0 {
            let asPostgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
            try await Self.launch("/usr/bin/env", asPostgres + command)
        } else {
            try await Self.launch(command[0], Array(command.dropFirst()))
        }
    }

    /// Runs a program to its end, and returns its output.
    @discardableResult
    private static func launch(_ program: String, _ arguments: [String]) async throws -> String {
        // A file, because a server that keeps running would keep a pipe open.
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("concord-out-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let output = try FileDescriptor.open(
            path,
            .writeOnly,
            options: [.create, .exclusiveCreate],
            permissions: .ownerReadWrite
        )
        let result = try await Subprocess.run(
            .path(FilePath(program)),
            arguments: Arguments(arguments),
            workingDirectory: "/",
            output: .fileDescriptor(output, closeAfterSpawningProcess: true),
            error: .combinedWithOutput
        )
        let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard result.terminationStatus.isSuccess else {
            throw ProgramFailed(program: ([program] + arguments).joined(separator: " "), output: text)
        }
        return text
    }

    private struct ProgramFailed: Error {
        var program: String
        var output: String
    }
}
