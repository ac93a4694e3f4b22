import AccountTestSupport
import JSON
import Testing

/// Requests and their answers as people review them: one golden file per route.
struct Transcript {
    static let golden = GoldenFiles()

    private(set) var text = ""
    private let path: String

    /// - Parameter path: of the route; what is posted goes there.
    init(_ path: String) {
        self.path = path
    }

    /// Posts `body` and notes what came back.
    @discardableResult
    mutating func post(_ title: String, _ body: JSONValue, to wire: Wire) async throws -> Wire.Answer {
        let answer = try await wire.post(path, body)
        note(title, "POST \(path)\n\(masked(body.text))", answer)
        return answer
    }

    mutating func note(_ title: String, _ request: String, _ answer: Wire.Answer) {
        if !text.isEmpty { text += "\n" }
        text += "## \(title)\n\n\(request)\n\n\(answer.status)\n\(indented(masked(answer.text)))\n"
    }

    func expect(matches name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try Self.golden.expect(text, matches: name, sourceLocation: sourceLocation)
    }
}
