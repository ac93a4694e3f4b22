import AccountTestSupport
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
