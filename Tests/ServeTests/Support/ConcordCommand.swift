import AccountTestSupport
import Glibc
import JSON
import Postgres
import Subprocess
import SystemPackage

/// A command of the real program that runs to its end.
enum ConcordCommand {
    typealias Ending = (status: TerminationStatus, output: String, error: String)

    /// Everything the program finds in its environment.
    static func environment(_ database: TestDatabase) -> Environment {
        .custom(
            Dictionary(
                uniqueKeysWithValues: [
                    "CONCORD_DATABASE_URL": database.url, "CONCORD_KEYS_ENCRYPTION": ServeProcess.keyEncryptionKey,
                ].merging(ServeProcess.patience) { $1 }.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
            )
        )
    }

    static var program: Executable {
        get throws { .path(FilePath("\(try ProgramFolder.path)/concord")) }
    }

    /// - `settings`: variables of its environment that are otherwise.
    static func run(
        _ arguments: [String],
        _ database: TestDatabase,
        input: String = "",
        _ settings: [Environment.Key: String] = [:]
    ) async throws -> Ending {
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database).updating(settings.mapValues(Optional.some)),
            input: .string(input),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return (result.terminationStatus, result.standardOutput, result.standardError)
    }

    /// Every command, as the program lists them itself.
    static func all(_ database: TestDatabase) async throws -> Set<String> {
        let dump = try await run(["--experimental-dump-help"], database)
        let tree = try JSONValue(parsing: Array(dump.output.utf8))
        func leaves(_ command: JSONValue?, _ parents: [String]) -> [String] {
            let name = command?["commandName"]?.string ?? ""
            if name == "help" { return [] }
            let words = parents + [name]
            let subcommands = command?["subcommands"]?.array ?? []
            if subcommands.isEmpty { return [words.dropFirst().joined(separator: " ")] }
            return subcommands.flatMap { leaves($0, words) }
        }
        return Set(leaves(tree["command"], []))
    }

    /// A run whose standard output is `output`, which is closed here.
    static func run(
        _ arguments: [String],
        _ database: TestDatabase,
        into output: FileDescriptor
    ) async throws -> (status: TerminationStatus, error: String) {
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database),
            input: .none,
            output: .fileDescriptor(output, closeAfterSpawningProcess: true),
            error: .string(limit: 1 << 20)
        )
        return (result.terminationStatus, result.standardError)
    }

    /// A run at a terminal; once it has said `question`, `meanwhile` runs, and then `answer` is typed there, or the process
    /// meets it.
    static func asked(
        _ arguments: [String],
        _ database: TestDatabase,
        question: String = "[y/N] ",
        meanwhile: @Sendable () async throws -> Void = {},
        answer: Answer
    ) async throws -> Ending {
        let terminal = try Terminal()
        defer { terminal.close() }
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database),
            input: .fileDescriptor(try terminal.user(), closeAfterSpawningProcess: true),
            output: .string(limit: 1 << 20),
            error: .sequence
        ) { execution in
            var (error, isAsked) = ("", false)
            var patience: Task<Void, any Error>?
            defer { patience?.cancel() }
            for try await buffer in execution.standardError {
                error += buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                guard !isAsked, error.contains(question) else { continue }
                isAsked = true
                try await meanwhile()
                switch answer {
                case .text(let text): try terminal.type(text)
                case .signal(let signal):
                    kill(execution.processIdentifier.value, signal)
                    // Where it is passed over, a no in the end keeps that from hanging.
                    patience = Task {
                        try await Task.sleep(for: .seconds(60))
                        try terminal.type("n\n")
                    }
                }
            }
            return error
        }
        return (result.terminationStatus, result.standardOutput, result.closureResult)
    }

    /// A run with both output streams at one terminal. Returns the text that the terminal received, which ends its lines
    /// with CR LF.
    static func atTerminal(
        _ arguments: [String],
        _ database: TestDatabase,
        _ settings: [Environment.Key: String] = [:]
    ) async throws -> (status: TerminationStatus, text: String) {
        let terminal = try Terminal()
        defer { terminal.close() }
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database).updating(settings.mapValues(Optional.some)),
            input: .none,
            output: .fileDescriptor(try terminal.user(), closeAfterSpawningProcess: true),
            error: .fileDescriptor(try terminal.user(), closeAfterSpawningProcess: true)
        )
        return (result.terminationStatus, terminal.received())
    }

    enum Answer: Sendable {
        case text(String)
        case signal(Int32)
    }

    /// Starts a run that waits for a table, does something to it there, and lets the table go once the run has said `sign`.
    static func interrupted(
        _ arguments: [String],
        _ database: TestDatabase,
        until sign: String? = nil,
        by act: @Sendable (_ process: Int32, TestDatabase) async throws -> Void
    ) async throws -> Ending {
        let blocker = try PostgresConnection(database.configuration)
        try blocker.execute(script: "BEGIN; LOCK TABLE second_factors IN ACCESS EXCLUSIVE MODE")
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database),
            input: .none,
            output: .string(limit: 1 << 20),
            error: .sequence
        ) { execution in
            while try await database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ) == 0 { try await Task.sleep(for: .milliseconds(20)) }
            try await act(execution.processIdentifier.value, database)
            var lines = execution.standardError.strings().makeAsyncIterator()
            var error = ""
            if let sign {
                while !error.contains(sign), let line = try await lines.next() { error += line }
            }
            try blocker.execute(script: "ROLLBACK")
            while let line = try await lines.next() { error += line }
            return error
        }
        return (result.terminationStatus, result.standardOutput, result.closureResult)
    }
}

/// A terminal with a user (`ioctl_tty(2)`: Glibc's module knows no `posix_openpt`).
private struct Terminal: Sendable {
    private let keyboard: FileDescriptor

    init() throws {
        keyboard = FileDescriptor(rawValue: open("/dev/ptmx", O_RDWR | O_NOCTTY))
        let unlock: UInt = 0x4004_5431
        var isLocked: Int32 = 0
        guard ioctl(keyboard.rawValue, unlock, &isLocked) == 0 else { throw Errno(rawValue: errno) }
    }

    /// The end of the terminal that a program reads from.
    func user() throws -> FileDescriptor {
        let openPeer: UInt = 0x5441
        let descriptor = ioctl(keyboard.rawValue, openPeer, O_RDWR | O_NOCTTY)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        return FileDescriptor(rawValue: descriptor)
    }

    func type(_ text: String) throws { _ = try keyboard.writeAll(text.utf8) }

    /// Everything that programs wrote, after the last of them ended. A terminal holds about 4 KB.
    func received() -> String {
        var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while let count = try? buffer.withUnsafeMutableBytes({ try keyboard.read(into: $0) }), count > 0 {
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    func close() { try? keyboard.close() }
}
