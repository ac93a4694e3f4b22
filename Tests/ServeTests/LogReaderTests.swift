import AccountTestSupport
import Glibc
import JSON
import NIOHTTP1
import Postgres
import Subprocess
import SystemPackage
import Testing

/// `concord serve` with a standard error that takes no lines.
@Suite(.serialized) struct LogReaderTests {
    /// Runs the server with `descriptor` as its standard error, and closes the descriptor here. The ports are chosen
    /// before, because no line names them.
    private func run<Output: Sendable>(
        _ database: TestDatabase,
        standardError descriptor: Int32,
        _ body: @Sendable (_ server: ServeProcess, _ metrics: ServeProcess) async throws -> Output
    ) async throws -> Output {
        let (port, metricsPort) = (try freePort(), try freePort())
        let settings = [
            "CONCORD_DATABASE_URL": database.url, "CONCORD_KEYS_ENCRYPTION": ServeProcess.keyEncryptionKey,
            "CONCORD_LISTEN_PORT": "\(port)", "CONCORD_LISTEN_METRICS_ADDRESS": "127.0.0.1:\(metricsPort)",
            "CONCORD_LOG_FORMAT": "json",
        ].merging(ServeProcess.patience) { $1 }
        let result = try await Subprocess.run(
            .path(FilePath("\(try ProgramFolder.path)/concord")),
            arguments: ["serve"],
            environment: .custom(
                Dictionary(uniqueKeysWithValues: settings.map { (Environment.Key(stringLiteral: $0.key), $0.value) })
            ),
            input: .none,
            output: .discarded,
            error: .fileDescriptor(FileDescriptor(rawValue: descriptor), closeAfterSpawningProcess: true)
        ) { execution in
            let processID = execution.processIdentifier.value
            defer { kill(processID, SIGTERM) }
            let server = ServeProcess(url: "http://127.0.0.1:\(port)", processID: processID, log: ProcessLog())
            let deadline = ContinuousClock.now + .seconds(300)
            while (try? await server.send(.GET, "/readyz", key: nil).status) != 200 {
                try #require(ContinuousClock.now < deadline, "the server is not ready")
                try await Task.sleep(for: .milliseconds(50))
            }
            return try await body(server, server.at("http://127.0.0.1:\(metricsPort)"))
        }
        #expect(result.terminationStatus == .exited(0))
        return result.closureResult
    }

    private func dropped(_ metrics: ServeProcess, _ reason: String) async throws -> Double {
        let shown = try Exposition(try await metrics.send(.GET, "/metrics", key: nil).text)
        return try #require(shown.value("concord_log_lines_dropped_total", ["reason": reason]))
    }

    @Test func `with a full disk, requests are answered and metrics count the lost lines`() async throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await run(database, standardError: full) { server, metrics in
                for _ in 0..<10 { #expect(try await server.send(.GET, "/nowhere").status == 404) }
                while try await dropped(metrics, "failed") < 10 { try await Task.sleep(for: .milliseconds(50)) }
                #expect(try await dropped(metrics, "full") == 0)
            }
        }
    }

    @Test func `if the reader stops, requests are answered, and the log later says how many lines it dropped`()
        async throws
    {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // Programs of other tests inherit neither end.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        defer { close(readEnd) }
        let text = try await TestDatabase.with { database in
            try await database.makeProject()
            return try await run(database, standardError: writeEnd) { server, metrics in
                // The pipe and the buffer fill.
                while try await dropped(metrics, "full") == 0 {
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for number in 0..<200 {
                            let id = String(repeating: "x", count: 120) + "\(number)"
                            group.addTask {
                                try await server.send(.GET, "/nowhere", headers: ["X-Request-Id": id]).status
                            }
                        }
                        for try await status in group { #expect(status == 404) }
                    }
                }
                #expect(kill(server.processID, SIGTERM) == 0)
                return await runOnNewThread { Self.readAll(readEnd) }
            }
        }
        let lines = text.split(separator: "\n").compactMap { try? JSONValue(parsing: Array($0.utf8)) }
        let report = lines.first { $0["message"] == "log lines were dropped" }
        #expect(report?["level"] == "warning" && report?["reason"] == "the reader of the log is too slow")
        #expect(lines.count > 1000 && text.split(separator: "\n").count == lines.count, "every line is whole")
    }

    /// Reads until the writer has ended.
    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part.prefix(count)
        }
    }
}
