import Testing

struct PromisesTests {
    @Test func `every promise is listed, and every claim names an enabled test`() throws {
        let promises = Promises(try Repository.file("docs/reference/promises.md").text)
        #expect(promises.problems == [])
        #expect(promises.problemsWithClaims { try? Repository.file($0).text } == [])
    }

    /// A table with every promise, S3 replaced by `row`.
    private func table(_ row: String) -> String {
        (1...Promises.count).map { $0 == 3 ? row : "| S\($0) | something | not yet |" }.joined(separator: "\n")
    }

    @Test func `a claim is parsed into suite, test and file`() {
        let promises = Promises(
            table("| S3 | x | `A/the first` (Tests/T/A.swift)<br>`B/second/half` (Tests/T/B.swift) |")
        )
        #expect(promises.problems == [])
        #expect(
            promises.rows[2].claims == [
                Promises.Claim(suite: "A", test: "the first", file: "Tests/T/A.swift"),
                Promises.Claim(suite: "B", test: "second/half", file: "Tests/T/B.swift"),
            ]
        )
        #expect(promises.rows[1].claims == [])
    }

    @Test(arguments: [
        "",
        "| S4 | something | not yet |",
        "| S3 | something | not yet |\n| S3 | something | not yet |",
        "| S81 | something | not yet |",
        "| S3 |  | not yet |",
        "| S3 | something | surely |",
        "| S3 | something | `A/b` (Sources/A.swift) |",
        "| S3 | something |",
    ])
    func `a malformed table is reported`(row: String) {
        #expect(!Promises(table(row)).problems.isEmpty)
    }

    @Test(arguments: [
        ("struct A {\n    @Test func `works`() {}\n}", true),
        ("struct A {\n    @Test(\n        arguments: [1]\n    )\n    func `works`(n: Int) {}\n}", true),
        ("@Suite(.serialized)\nstruct A {\n    /// Says why.\n    @Test func works() {}\n}", true),
        ("struct B {\n    @Test func `works`() {}\n}", false),
        ("struct A {\n    @Test func `works too`() {}\n}", false),
        ("struct A {\n    func `works`() {}\n}", false),
        ("struct A {\n    @Test func `other`() {\n    }\n    func `works`() {}\n}", false),
        ("struct A {\n    // @Test func `works`() {}\n}", false),
        ("struct A {\n    @Test(.disabled()) func `works`() {}\n}", false),
        ("struct A {\n    @Test(\n        .enabled(if: isFriday)\n    )\n    func `works`() {}\n}", false),
    ])
    func `a claim holds only if its test exists and is enabled`(source: String, holds: Bool) {
        let promises = Promises(table("| S3 | x | `A/works` (Tests/T/A.swift) |"))
        let problems = promises.problemsWithClaims { $0 == "Tests/T/A.swift" ? source : nil }
        #expect(problems.isEmpty == holds)
        #expect(!promises.problemsWithClaims { _ in nil }.isEmpty)
    }
}
