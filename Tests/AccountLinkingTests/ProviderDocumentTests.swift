import AccountLinking
import AccountTestSupport
import Foundation
import Testing

/// The tables of `docs/guides/providers.md`.
struct ProviderDocumentTests {
    /// The cells of the rows below `heading`, up to the next heading.
    private static func rows(below heading: String) throws -> [[String]] {
        let document = try String(contentsOfFile: Repository.root + "/docs/guides/providers.md", encoding: .utf8)
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: heading), "no heading \(heading)")
        return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The entries of a cell.
    private static func entries(_ cell: String?) -> [String] { cell?.components(separatedBy: ", ") ?? [] }

    @Test func `the guide says what to register for every known provider`() throws {
        let listed = try Self.rows(below: "### What to register").flatMap { Self.entries($0.first) }
        for known in KnownProvider.all where known.signsIn {
            #expect(listed.contains("`\(known.id.rawValue)`"), "\(known.id.rawValue)")
        }
    }

    @Test func `the guide names the parameter for a reauthentication at every known provider`() throws {
        let listed = try Self.rows(below: "### Reauthentication").flatMap { Self.entries($0.first) }
        for known in KnownProvider.all where known.signsIn {
            #expect(listed.contains(known.displayName), "\(known.displayName)")
        }
    }

    @Test func `the guide lists every issuer of a known provider`() throws {
        let rows = try Self.rows(below: "### Known issuers")
        for known in KnownProvider.all {
            for issuer in known.issuers {
                let shown = known.id == .microsoft ? issuer.replacing("/common/", with: "/DIRECTORY/") : issuer
                #expect(
                    rows.contains {
                        Self.entries($0.first).contains("`\(shown)`") && $0.last == "`\(known.id.rawValue)`"
                    },
                    "\(issuer)"
                )
            }
        }
    }
}
