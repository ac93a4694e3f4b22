import AccountTestSupport
import Foundation
import Subprocess
import SystemPackage
import Testing

/// `scripts/manual`, which writes the manual pages and the completions of a release.
struct ManualTests {
    @Test func `every command has a manual page, and every shell completions`() async throws {
        try await Folder.with { folder in
            let result = try await Subprocess.run(
                .path(FilePath(AccountTestSupport.Repository.root + "/scripts/manual")),
                arguments: ["\(try ProgramFolder.path)/concord", folder.path("out")],
                output: .string(limit: 4096),
                error: .string(limit: 1 << 16)
            )
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            let pages = Set(try FileManager.default.contentsOfDirectory(atPath: folder.path("out/man/man1")))
            try await TestDatabase.with { database in
                for command in try await ConcordCommand.all(database) {
                    #expect(pages.contains("concord-\(command.replacing(" ", with: "-")).1"), "\(command)")
                }
            }
            #expect(pages.contains("concord.1"))
            for completions in ["bash/concord", "zsh/_concord", "fish/concord.fish"] {
                let text = try String(contentsOfFile: folder.path("out/completions/\(completions)"), encoding: .utf8)
                #expect(text.contains("service-account"), "\(completions)")
            }
            let page = try String(contentsOfFile: folder.path("out/man/man1/concord-serve.1"), encoding: .utf8)
            for part in [".SH NAME\nconcord\\-serve \\- ", ".SH SYNOPSIS", ".SH OPTIONS", "\\fB\\-\\-config\\fR"] {
                #expect(page.contains(part), "\(part)")
            }
        }
    }
}
