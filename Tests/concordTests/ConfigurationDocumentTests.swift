import FoundationEssentials
import Testing

@testable import concord

@Suite struct ConfigurationDocumentTests {
    /// `docs/operations.md`, from the top of the repository.
    private static let document = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "docs/operations.md")

    @Test func `the table of settings in the operations manual is the one the program has`() throws {
        let (begin, end) = ("<!-- begin: configuration -->\n", "\n<!-- end: configuration -->")
        var text = String(decoding: try Data(contentsOf: Self.document), as: UTF8.self)
        let start = try #require(text.firstRange(of: begin)?.upperBound)
        let stop = try #require(text.firstRange(of: end)?.lowerBound)
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            text.replaceSubrange(start..<stop, with: ConfigurationTable.markdown)
            try Data(text.utf8).write(to: Self.document)
        } else {
            #expect(text[start..<stop] == ConfigurationTable.markdown)
        }
    }
}
