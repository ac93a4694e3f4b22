import AccountTestSupport
import Foundation
import JSON
import Subprocess

extension RunningProgram {
    /// Serves the files of a folder on a free port of 127.0.0.1.
    static func serveFiles(of folder: URL, _ body: @Sendable (_ port: Int) async throws -> Void) async throws {
        try await run(
            .name("python3"),
            ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder.path],
            recognizing: { line -> Int? in
                let words = line.split(separator: " ")
                return words.firstIndex(of: "port").flatMap { Int(words[$0 + 1]) }
            },
            body
        )
    }

    /// Runs `concord serve` on a database. `settings` is the rest of its configuration file.
    static func serve(
        _ database: TestDatabase,
        _ settings: String,
        _ body: @Sendable (_ url: String) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("concord-\(UUID()).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let common = """
            database: {url: "\(database.url)"}
            listen: {port: 0}
            keys: {encryption: "1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
            log: {format: json}

            """
        try Data((common + settings).utf8).write(to: file)
        try await run(
            .name("sh"),
            ["-c", "exec \"$0\" serve --config \"$1\" 2>&1", try folder() + "/concord", file.path],
            recognizing: { line -> Int? in
                guard let said = try? JSONValue(parsing: Array(line.utf8)), said["message"] == "ready" else {
                    return nil
                }
                return said["address"]?.string?.split(separator: ":").last.flatMap { Int($0) }
            },
            { port in try await body("http://127.0.0.1:\(port)") }
        )
    }
}
