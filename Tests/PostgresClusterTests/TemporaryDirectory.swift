import Glibc
import Testing

@testable import PostgresCluster

/// Runs `body` with a new directory that any user may enter. Then stops every server in it, and deletes it.
func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/concord-test-XXXXXX".utf8CString)
    let path = try #require(mkdtemp(&template).map { String(cString: $0) })
    chmod(path, 0o755)
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(path))
    } catch {
        outcome = .failure(error)
    }
    for name in try directoryEntries(path) {
        let directory = DataDirectory(path: "\(path)/\(name)")
        try? await directory.livePostmaster()?.stop(in: directory.cluster, mode: .immediate, stopTimeout: .seconds(5))
    }
    try await runChildSuccessfully("/bin/rm", ["-rf", "--", path])
    try outcome.get()
}

extension ClusterSettings {
    /// A server without durability that outlives its owner, with the socket in `directory`.
    static func lasting(in directory: String) -> ClusterSettings {
        ClusterSettings(isDurable: false, socketRoot: directory)
    }

    /// Like ``durable``, with the socket in `directory`.
    static func durable(in directory: String) -> ClusterSettings {
        ClusterSettings(socketRoot: directory)
    }

    /// Like ``disposable``, with the socket in `directory`.
    static func disposable(in directory: String) -> ClusterSettings {
        ClusterSettings(isDurable: false, endsWithOwner: true, socketRoot: directory)
    }
}

extension ClusterConnection {
    /// Returns the output of `psql` for `statement`, without decoration. Throws if `psql` fails.
    func query(_ statement: String, database: String = "postgres") async throws -> String {
        try await runChildSuccessfully(
            "psql",
            ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", statement, url(database: database)]
        )
    }

    /// True if the server process is alive.
    var isAlive: Bool {
        DataDirectory(path: dataDirectory).livePostmaster().map { Int($0.processID) } == processID
    }
}
