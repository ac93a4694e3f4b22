import AccountTestSupport
import Foundation
import Subprocess
import SystemPackage
import Testing

/// `docs/reference/terminal.md`, which shows what commands print on a terminal.
struct TerminalRecordingTests {
    @Test func `the document shows what commands print on terminals of 80 and 120 columns`() async throws {
        try await Folder.with { folder in
            let result = try await Subprocess.run(
                .path(FilePath(AccountTestSupport.Repository.root + "/scripts/record-terminal")),
                arguments: ["\(try ProgramFolder.path)/concord", folder.path("out")],
                output: .string(limit: 4096),
                error: .string(limit: 1 << 16)
            )
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            for columns in [80, 120] {
                let text = try String(contentsOfFile: folder.path("out/\(columns).txt"), encoding: .utf8)
                for line in text.split(separator: "\n") { #expect(line.count <= columns, "\(line)") }
                try DocumentTable.expect(
                    "```\n\(text)```",
                    as: "\(columns) columns",
                    in: "docs/reference/terminal.md"
                )
            }
        }
    }
}
