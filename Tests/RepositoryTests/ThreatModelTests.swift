import Testing

/// `docs/concepts/threat-model.md` names the code and the tests for each threat.
struct ThreatModelTests {
    @Test func `every file that the threat model names exists`() throws {
        let text = try Repository.file("docs/concepts/threat-model.md").text
        let paths = text.matches(of: #/`((?:Sources|Tests)\/[^`]+)`/#).map { String($0.output.1) }
        #expect(paths.count > 40)
        for path in Set(paths).sorted() {
            #expect(throws: Never.self, "\(path)") { try Repository.file(path) }
        }
    }
}
