/// The table in `docs/reference/promises.md`. Every promise appears once and in order, and each claim names a test that
/// exists and is enabled.
struct Promises {
    /// One row of the table.
    struct Row: Equatable {
        var id: String
        var promise: String
        /// The tests of the promise; empty for "not yet".
        var claims: [Claim]
    }

    /// One test that a row names, written `` `Suite/test name` (Tests/…/File.swift) ``.
    struct Claim: Equatable {
        var suite: String
        var test: String
        var file: String
    }

    var rows: [Row] = []
    /// The errors in the table.
    var problems: [String] = []

    /// Number of promises.
    static let count = 89

    init(_ document: String) {
        for line in document.split(separator: "\n") where line.hasPrefix("| S") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map(Self.trim)
            guard cells.count == 5 else {
                problems.append("not three cells: \(line)")
                continue
            }
            var claims: [Claim] = []
            if cells[3] != "not yet" {
                for text in cells[3].split(separator: "<br>") {
                    if let claim = Self.claim(Self.trim(text)) {
                        claims.append(claim)
                    } else {
                        problems.append("\(cells[1]): neither \"not yet\" nor `Suite/test name` (file): \(text)")
                    }
                }
            }
            if cells[2].isEmpty { problems.append("\(cells[1]) has no text") }
            rows.append(Row(id: cells[1], promise: cells[2], claims: claims))
        }
        let expected = (1...Self.count).map { "S\($0)" }
        let found = rows.map(\.id)
        if found != expected {
            let missing = expected.filter { !found.contains($0) }
            let surplus = found.filter { !expected.contains($0) }
            problems.append("not S1 to S\(Self.count) once each, in order; missing \(missing), unknown \(surplus)")
        }
    }

    /// Returns the errors in the claims. `file` reads a file of the repository.
    func problemsWithClaims(reading file: (String) -> String?) -> [String] {
        rows.flatMap { row in
            row.claims.compactMap { claim in
                guard let source = file(claim.file) else { return "\(row.id): there is no \(claim.file)" }
                return Self.problem(with: claim, in: source).map { "\(row.id): \($0)" }
            }
        }
    }

    /// Returns the error in a claim; nil if the file declares the suite and an enabled test of that name.
    private static func problem(with claim: Claim, in source: String) -> String? {
        // Reads the lines, because the scanner blanks names in back-ticks. Lines that begin with a comment are dropped.
        let lines = source.split(separator: "\n").map(trim).filter { !$0.hasPrefix("//") }
        let suites = ["struct", "enum", "extension", "actor", "class"].flatMap {
            ["\($0) \(claim.suite) {", "\($0) \(claim.suite):"]
        }
        guard lines.contains(where: { line in suites.contains { line.contains($0) } }) else {
            return "\(claim.file) declares no suite \(claim.suite)"
        }
        let declarations = ["func `\(claim.test)`(", "func \(claim.test)("]
        guard let index = lines.firstIndex(where: { line in declarations.contains { line.contains($0) } }) else {
            return "\(claim.file) has no test \"\(claim.test)\""
        }
        // The attribute is on the same line or above it, down from the end of the previous declaration.
        var attributes = lines[index].split(separator: "func ").first.map(String.init) ?? ""
        for line in lines[..<index].reversed() {
            if attributes.contains("@Test") || line == "}" || line.hasSuffix("{") { break }
            attributes = line + attributes
        }
        guard attributes.contains("@Test") else { return "\"\(claim.test)\" in \(claim.file) is not a test" }
        if [".disabled", ".enabled", ".onCitus"].contains(where: attributes.contains) {
            return "\"\(claim.test)\" in \(claim.file) does not always run"
        }
        return nil
    }

    private static func claim(_ text: String) -> Claim? {
        guard text.hasPrefix("`"), text.hasSuffix(")"), let end = text.dropFirst().firstIndex(of: "`") else {
            return nil
        }
        let name = text[text.index(after: text.startIndex)..<end].split(separator: "/", maxSplits: 1)
        let file = trim(text[text.index(after: end)...])
        guard name.count == 2, file.hasPrefix("(Tests/") else { return nil }
        return Claim(suite: String(name[0]), test: String(name[1]), file: String(file.dropFirst().dropLast()))
    }

    private static func trim(_ text: some StringProtocol) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
