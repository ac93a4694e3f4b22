import Testing

struct GoldenFilesTests {
    @Test func `every golden file is compared by a test of its target`() throws {
        let files = try Repository.files(under: "Tests")
        let golden = files.map(\.path).filter { $0.contains("/Golden/") }
        #expect(golden.count > 20)
        #expect(GoldenFiles.unreferenced(golden, in: files.filter { $0.path.hasSuffix(".swift") }) == [])
    }

    @Test func `a golden file that only a comment or another target names is reported`() {
        let sources = [
            SourceFile(
                path: "Tests/ATests/A.swift",
                text: """
                    // golden.expect(text, matches: "comment.txt")
                    let list = ["list.txt"]
                    try golden.expect(text, matches: "good.txt")
                    """
            ),
            SourceFile(path: "Tests/BTests/B.swift", text: "expect(text, matches: \"other.txt\")\n"),
        ]
        let names = ["comment.txt", "good.txt", "list.txt", "other.txt"]
        #expect(
            GoldenFiles.unreferenced(names.map { "Tests/ATests/Golden/\($0)" }, in: sources)
                == ["comment.txt", "list.txt", "other.txt"].map { "Tests/ATests/Golden/\($0)" }
        )
    }
}
