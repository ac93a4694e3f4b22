import AccountTestSupport
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

    static func run(_ arguments: [String], _ database: TestDatabase, input: String = "") async throws -> Ending {
        let result = try await Subprocess.run(
            try program,
            arguments: Arguments(arguments),
            environment: environment(database),
            input: .string(input),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return (result.terminationStatus, result.standardOutput, result.standardError)
    }
}
