import AccountTestSupport
import Glibc
import Subprocess
import SystemPackage
import Testing

/// `scripts/demo` with the built programs: three processes that communicate over HTTP.
@Suite struct DemoTests {
    @Test func `the story plays to its end`() async throws {
        let run = try await demo()
        #expect(run.exitCode == 0, "\(run.output)")
        let steps = run.output.split(separator: "\n").filter { $0.contains("✓") }
        #expect(steps.count >= 15, "\(run.output)")
        #expect(!run.output.contains("✗"))
        #expect(run.output.contains("account exists with different credential"))
        #expect(run.output.contains("steps went as they should"))
    }

    @Test func `an issuer that signs with an unpublished key is refused`() async throws {
        let run = try await demo("--wrong-key")
        #expect(run.exitCode == 1, "\(run.output)")
        let wrong = run.output.split(separator: "\n").filter { $0.contains("✗") }
        #expect(wrong.count == 1, "\(run.output)")
        #expect(wrong.first?.contains("expected needConfirmation and a pendingToken") == true)
        #expect(wrong.first?.contains("400 INVALID_IDP_RESPONSE : ") == true)
    }

    @Test func `without the built programs the script names the command to build them`() async throws {
        let run = try await demo("--binaries", "nowhere")
        #expect(run.exitCode == 69)
        #expect(run.errors.contains("make demo"))
    }

    private struct Run {
        let exitCode: Int32
        let output: String
        let errors: String
    }

    private func demo(_ options: String...) async throws -> Run {
        let result = try await Subprocess.run(
            .path(FilePath(AccountTestSupport.Repository.root + "/scripts/demo")),
            arguments: Arguments(["--binaries", try folderOfThisProgram()] + options),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        guard case .exited(let code) = result.terminationStatus else {
            Issue.record("scripts/demo ended by a signal")
            return Run(exitCode: -1, output: "", errors: "")
        }
        return Run(exitCode: code, output: result.standardOutput, errors: result.standardError)
    }

    /// Returns the folder of this test program and the other programs.
    private func folderOfThisProgram() throws -> String {
        let program = try #require(realpath("/proc/self/exe", nil))
        defer { free(program) }
        let parts = String(cString: program).split(separator: "/").dropLast()
        return "/" + parts.joined(separator: "/")
    }
}
