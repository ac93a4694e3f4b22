import AccountStore
import AccountTestSupport
import JSON
import Testing

@testable import concord

/// The version of the program. Tests are debug builds, which record no commit.
struct VersionTests {
    @Test func `a build without a record says unknown`() {
        #expect(ConcordVersion.commit == "unknown" && ConcordVersion.commitDate == "unknown")
        #expect(ConcordVersion.line == ConcordVersion.current)
        #expect(ConcordVersion.swift.hasPrefix("6."))
    }

    @Test func `members of the build take precedence over the defaults`() {
        #expect(Recorded.commit == "0123abc" && Recorded.commitDate == "unknown")
    }

    @Test func `the command prints the same facts as text and as JSON`() throws {
        let lines = VersionCommand.text.split(separator: "\n")
        #expect(lines.first == "version  \(ConcordVersion.current)" && lines.count == 5)
        let json = try JSONValue(parsing: Array(try VersionCommand.json().utf8))
        #expect(json["schema"]?.integer == Int64(SchemaVersion.required))
        #expect(json["commit"] == "unknown")
    }
}

private enum Recorded: BuildDefaults {}

extension Recorded {
    fileprivate static var commit: String { "0123abc" }
}
