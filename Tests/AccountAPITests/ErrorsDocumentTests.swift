import AccountTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import AccountAPI

/// `docs/reference/errors.md` names what the program answers with: nothing else, nothing less.
@Suite struct ErrorsDocumentTests {
    /// The cells of the tables whose first column has this heading.
    private static func rows(below heading: String) throws -> [[String]] {
        let path = AccountTestSupport.Repository.root + "/docs/reference/errors.md"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| \(heading) |") })
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func `every code is explained, with its status, and no other`() throws {
        let rows = try Self.rows(below: "Code")
        #expect(
            rows.allSatisfy { $0.count == 4 && !$0[2].isEmpty && !$0[3].isEmpty },
            "\(rows.filter { $0.count != 4 })"
        )
        // A row may explain several codes.
        let documented = rows.flatMap { row in row[0].split(separator: ", ").map { "\($0) \(row[1])" } }
        let answered = ErrorCode.allCases.map { "`\($0.rawValue)` \(APIError.code($0).status.code)" }
        #expect(documented.sorted() == answered.sorted())
    }

    @Test func `every problem is explained, with its status, and no other`() throws {
        let rows = try Self.rows(below: "Type")
        #expect(rows.allSatisfy { $0.count == 4 && !$0[2].isEmpty && !$0[3].isEmpty })
        let answered = ProblemType.allCases.map { "`\($0.rawValue)` \($0.status.code)" }
        #expect(rows.map { "\($0[0]) \($0[1])" } == answered)
        #expect(Set(ProblemType.allCases.map(\.title)).count == ProblemType.allCases.count)
    }

    @Test func `every answer without a code is explained, with its status`() throws {
        let documented = try Self.rows(below: "`error.status`").map { "\($0[0]) \($0[1])" }
        let errors: [APIError] = [
            .malformedJSON(""), .invalidValue(at: "", expected: ""), .invalidArgument(""), .invalidAPIKey,
            .bodyTooLarge, .missingAPIKey, .missingCredentials, .invalidCredentials, .notFound, .unimplemented(""),
            .unavailable, .unexpected,
        ]
        let answered = errors.map { "`\($0.canonicalStatus ?? "")` \($0.status.code)" }
        #expect(Set(documented) == Set(answered))
        #expect(documented.count == Set(documented).count)
    }
}
