import Glibc
package import Subprocess
import Synchronization
import SystemPackage
import Testing

/// A program beside the tests that says, in a line of its output, that it is ready.
package enum RunningProgram {
    /// Starts it, runs `body` with what `recognize` finds in its output, and ends it and all that it started, also if the
    /// body throws.
    package static func run<Found: Sendable, Output: Sendable>(
        _ executable: Executable,
        _ arguments: [String],
        recognizing recognize: @escaping @Sendable (String) -> Found?,
        _ body: @Sendable (Found) async throws -> Output
    ) async throws -> Output {
        var options = PlatformOptions()
        options.createSession = true
        let environment = Dictionary(
            uniqueKeysWithValues: Repository.environment.map {
                (Environment.Key(stringLiteral: $0.key), $0.value)
            }
        )
        return try await Subprocess.run(
            executable,
            arguments: Arguments(arguments),
            environment: .custom(environment),
            workingDirectory: FilePath(Repository.root),
            platformOptions: options,
            input: .none,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            let (founds, found) = AsyncStream.makeStream(of: Found.self)
            let lines = execution.standardOutput.strings()
            let said = LastLines()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                // The output is read to the end: a program blocks if its output is not read.
                group.addTask {
                    for try await line in lines {
                        said.append(line)
                        recognize(line).map { _ = found.yield($0) }
                    }
                    found.finish()
                }
                let outcome: Result<Output, any Error>
                do {
                    guard let first = await founds.first(where: { _ in true }) else {
                        throw NeverReady(output: said.text)
                    }
                    outcome = .success(try await body(first))
                } catch {
                    outcome = .failure(error)
                }
                let end = TeardownStep.gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: .seconds(20))
                await execution.teardown(using: [end])
                try await group.waitForAll()
                return try outcome.get()
            }
        }.closureResult
    }

    /// The program ended before it was ready; its last lines give the reason.
    package struct NeverReady: Error {
        package let output: String
    }

    /// The last lines of a program's output.
    private final class LastLines: Sendable {
        private let lines = Mutex<[String]>([])

        func append(_ line: String) { lines.withLock { $0 = $0.suffix(19) + [line] } }

        var text: String { lines.withLock { $0.joined() } }
    }

    /// The folder of the built programs, which is the folder of this one.
    package static func folder() throws -> String {
        let program = try #require(realpath("/proc/self/exe", nil))
        defer { free(program) }
        return "/" + String(cString: program).split(separator: "/").dropLast().joined(separator: "/")
    }

    package static func built(_ name: String) throws -> Executable {
        .path(FilePath("\(try folder())/\(name)"))
    }
}
