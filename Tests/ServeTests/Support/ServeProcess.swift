import AccountTestSupport
import Glibc
import JSON
import Subprocess
import SystemPackage
import Testing

/// `concord serve`, the real program, in a separate process, configured by its environment as an operator would.
struct ServeProcess: Sendable {
    let url: String
    let processID: Int32
    let log: ProcessLog

    static let keyEncryptionKey = "1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    static let keyEncryptionKeyBytes = Array("0123456789abcdef0123456789abcdef".utf8)

    /// A test machine may be slow and shared; what a test waits for is never one of these.
    static let patience = [
        "CONCORD_DATABASE_QUEUE_WAIT_TIMEOUT": "60s", "CONCORD_DATABASE_READ_STATEMENT_TIMEOUT": "2m",
        "CONCORD_DATABASE_WRITE_STATEMENT_TIMEOUT": "2m", "CONCORD_DATABASE_LOCK_TIMEOUT": "2m",
        "CONCORD_DATABASE_CONNECT_TIMEOUT": "60s", "CONCORD_LIMITS_REQUEST_TIMEOUT": "5m",
        "CONCORD_LIMITS_PROVIDER_CALL_TIMEOUT": "60s",
    ]

    /// Starts the program, runs `body` once it has said that it is ready, and ends it by SIGTERM.
    ///
    /// However the body ends, the process is gone afterwards; that it ended well, or as the test wants, is part of every
    /// test.
    static func run<Output: Sendable>(
        database url: String,
        _ settings: [String: String] = [:],
        openFilesMax: Int? = nil,
        endsWith status: TerminationStatus = .exited(0),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @Sendable (ServeProcess) async throws -> Output
    ) async throws -> Output {
        try await launch(
            database: url,
            settings,
            openFilesMax: openFilesMax,
            endsWith: status,
            sourceLocation: sourceLocation
        ) { starting in
            try await body(try await starting.ready())
        }
    }

    /// The same, except that `body` runs at once.
    ///
    /// `openFilesMax`: what the system lets the process open; `nil` for what it lets the tests open.
    static func launch<Output: Sendable>(
        database url: String,
        _ settings: [String: String] = [:],
        openFilesMax: Int? = nil,
        endsWith status: TerminationStatus = .exited(0),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @Sendable (StartingProcess) async throws -> Output
    ) async throws -> Output {
        let defaults = [
            "CONCORD_DATABASE_URL": url, "CONCORD_KEYS_ENCRYPTION": keyEncryptionKey, "CONCORD_LISTEN_PORT": "0",
            "CONCORD_LOG_FORMAT": "json",
        ]
        let environment = Dictionary(
            uniqueKeysWithValues: defaults.merging(patience) { $1 }.merging(settings) { $1 }
                .map { (Environment.Key(stringLiteral: $0.key), $0.value) }
        )
        let log = ProcessLog()
        let program = "\(try ProgramFolder.path)/concord"
        let result = try await Subprocess.run(
            .path(FilePath(openFilesMax == nil ? program : "/bin/sh")),
            arguments: openFilesMax.map { ["-c", "ulimit -n \($0) && exec \(program) serve"] } ?? ["serve"],
            environment: .custom(environment),
            workingDirectory: FilePath(AccountTestSupport.Repository.root),
            input: .none,
            output: .discarded,
            error: .sequence
        ) { execution in
            let processID = execution.processIdentifier.value
            let lines = execution.standardError.strings()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await line in lines { log.append(line) }
                    log.end()
                }
                let outcome = await Outcome { try await body(StartingProcess(processID: processID, log: log)) }
                kill(processID, SIGTERM)
                try await group.waitForAll()
                return outcome
            }
        }
        #expect(result.terminationStatus == status, "\(log.text)", sourceLocation: sourceLocation)
        return try result.closureResult.get()
    }

    /// The result of a body that runs beside a program.
    enum Outcome<Value: Sendable>: Sendable {
        case value(Value)
        case failure(any Error)

        init(_ body: () async throws -> Value) async {
            do {
                self = .value(try await body())
            } catch {
                self = .failure(error)
            }
        }

        func get() throws -> Value {
            switch self {
            case .value(let value): return value
            case .failure(let error): throw error
            }
        }
    }
}

/// A process that may not answer yet.
struct StartingProcess: Sendable {
    let processID: Int32
    let log: ProcessLog

    /// Waits until it says that it is ready.
    func ready() async throws -> ServeProcess {
        guard let line = await log.line(saying: "ready"),
            let port = line["address"]?.string?.split(separator: ":").last.flatMap({ Int($0) })
        else { throw ServeFailure(description: "ended before it was ready:\n\(log.text)") }
        return ServeProcess(url: "http://127.0.0.1:\(port)", processID: processID, log: log)
    }
}

struct ServeFailure: Error, CustomStringConvertible {
    let description: String
}

/// The folder in which the build put this test program, and the others beside it.
enum ProgramFolder {
    static var path: String {
        get throws {
            let program = try #require(realpath("/proc/self/exe", nil))
            defer { free(program) }
            return "/" + String(cString: program).split(separator: "/").dropLast().joined(separator: "/")
        }
    }
}
