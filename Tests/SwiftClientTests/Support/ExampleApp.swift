import AccountTestSupport
import ConcordAuth
import Glibc
import Subprocess
import SystemPackage

/// `examples/swift`, the real program, with a person who answers its questions.
struct ExampleApp: Sendable {
    let server: String
    let store: String
    var project = DevServer.project
    var key = "any"
    var environment: [String: String] = [:]
    /// The program and its first arguments. A test can start the app by another program.
    var launcher: [String] = []

    /// The reply of the person to a question.
    enum Reply: Sendable {
        case text(String)
        /// Kills the app with SIGKILL.
        case kill
    }

    struct Run: Sendable {
        /// The exit status; `nil` after a signal.
        let exitCode: Int32?
        let wasKilled: Bool
        /// Standard output and standard error.
        let output: String
        /// The questions, in order.
        let questions: [String]
    }

    /// Runs a command to its end. `answer` returns the reply to a question, the text before its colon, or `nil` to end
    /// standard input. `kill` kills the process at a moment of its choice.
    func run(
        _ arguments: String...,
        answer: @Sendable (_ question: String) async throws -> Reply? = { _ in nil },
        kill: (@Sendable (_ processID: Int32) async -> Void)? = nil
    ) async throws -> Run {
        let program = "\(try RunningProgram.folder())/concord-example"
        // A test machine may be slow and shared.
        let options = ["--server", server, "--project", project, "--key", key, "--store", store, "--timeout", "300"]
        let words = launcher + [program] + options + arguments
        let variables = AccountTestSupport.Repository.environment.merging(environment) { $1 }
        let result = try await Subprocess.run(
            words[0].hasPrefix("/") ? .path(FilePath(words[0])) : .name(words[0]),
            arguments: Arguments(Array(words.dropFirst())),
            environment: .custom(
                Dictionary(uniqueKeysWithValues: variables.map { (Environment.Key(stringLiteral: $0.key), $0.value) })
            ),
            input: .inputWriter,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            let processID = execution.processIdentifier.value
            let killer = kill.map { kill in Task { await kill(processID) } }
            defer { killer?.cancel() }
            var output = ""
            var questions: [String] = []
            for try await buffer in execution.standardOutput {
                output += buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                // A question ends without a line break.
                guard output.hasSuffix(": "), let line = output.split(separator: "\n").last else { continue }
                // Replies are not echoed, so the questions of one line follow one another.
                let asked = line.split(separator: ": ").last.map(String.init) ?? ""
                questions.append(asked)
                switch try await answer(asked) {
                case .text(let text): _ = try? await execution.standardInputWriter.write(text + "\n")
                case .kill: Glibc.kill(processID, SIGKILL)
                case nil: try await execution.standardInputWriter.finish()
                }
            }
            try? await execution.standardInputWriter.finish()
            return (output, questions)
        }
        var exitCode: Int32?
        if case .exited(let code) = result.terminationStatus { exitCode = code }
        return Run(
            exitCode: exitCode,
            wasKilled: result.terminationStatus == .signaled(SIGKILL),
            output: result.closureResult.0,
            questions: result.closureResult.1
        )
    }
}
