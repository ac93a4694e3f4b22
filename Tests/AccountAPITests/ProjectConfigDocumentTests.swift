import AccountOperations
import AccountTestSupport
import Foundation
import Testing

@Suite struct ProjectConfigDocumentTests {
    @Test func `the documented table of fields equals the program's table`() throws {
        let document = URL(filePath: Repository.root + "/docs/reference/project-configuration.md")
        let (begin, end) = ("<!-- begin: project configuration -->\n", "<!-- end: project configuration -->")
        var text = String(decoding: try Data(contentsOf: document), as: UTF8.self)
        let start = try #require(text.firstRange(of: begin)?.upperBound)
        let stop = try #require(text.firstRange(of: end)?.lowerBound)
        let table = ProjectConfigField.markdown + "\n"
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            text.replaceSubrange(start..<stop, with: table)
            try Data(text.utf8).write(to: document)
        } else {
            #expect(text[start..<stop] == table)
        }
    }

    @Test func `no two settings have the same path, and none is below another`() {
        for field in ProjectConfigField.all {
            let clashes = ProjectConfigField.all.filter { other in
                zip(field.path, other.path).allSatisfy { $0 == $1 }
            }
            #expect(clashes.count == 1, "\(field.name)")
        }
    }
}
