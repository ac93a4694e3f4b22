import Subprocess
import SystemPackage

/// The result of a finished child process.
struct ChildResult {
    /// True if it exited with status 0.
    var succeeded: Bool
    /// Both output streams, interleaved.
    var output: String
}

/// The environment of every child process. It inherits nothing of the caller, such as `PGDATA`, `PGOPTIONS` or the
/// locale. Messages are in English, because the code parses some of them.
private let childEnvironment: [Environment.Key: String] = [
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "TZ": "UTC",
]

/// Runs a program to its end.
///
/// The working directory is the root, which every user can enter. Cancellation of the task interrupts the child:
/// `initdb` then deletes its files, and `pg_ctl` stops the server that it waits for.
/// - Throws: `PostgresClusterError.commandFailed` if the program cannot be started, `cancelled` if the task is
///   cancelled.
func runChild(
    _ program: String,
    _ arguments: [String],
    as user: ServerUser? = nil,
    environment: Environment = .custom(childEnvironment)
) async throws(PostgresClusterError) -> ChildResult {
    let words = (user?.commandPrefix ?? []) + [program] + arguments
    let executable: Executable = words[0].hasPrefix("/") ? .path(FilePath(words[0])) : .name(words[0])
    var options = PlatformOptions()
    options.teardownSequence = [.send(signal: .interrupt, allowedDurationToNextStep: .seconds(10))]
    do {
        let result = try await run(
            executable,
            arguments: Arguments(Array(words.dropFirst())),
            environment: environment,
            workingDirectory: "/",
            platformOptions: options,
            output: .string(limit: 1 << 20),
            error: .combinedWithOutput
        )
        guard !Task.isCancelled else { throw PostgresClusterError.cancelled }
        return ChildResult(
            succeeded: result.terminationStatus.isSuccess,
            output: result.standardOutput.trimmingWhitespace
        )
    } catch {
        throw Task.isCancelled ? .cancelled : .commandFailed(command: program, output: "\(error)")
    }
}

/// Runs a program that must succeed, and returns its output.
/// - Throws: `PostgresClusterError.commandFailed` if it cannot be started or exits with a status other than 0,
///   `cancelled` if the task is cancelled.
@discardableResult
func runChildSuccessfully(
    _ program: String,
    _ arguments: [String],
    as user: ServerUser? = nil
) async throws(PostgresClusterError) -> String {
    let result = try await runChild(program, arguments, as: user)
    guard result.succeeded else { throw .commandFailed(command: program, output: result.output) }
    return result.output
}

extension String {
    /// The text without white space at either end.
    var trimmingWhitespace: String {
        let tail = drop { $0.isWhitespace }
        guard let last = tail.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(tail[...last])
    }
}
