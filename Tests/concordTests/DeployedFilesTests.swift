import AccountTestSupport
import Foundation
import Testing

@testable import concord

/// The example files in `deploy`.
struct DeployedFilesTests {
    private static let key = "1:" + String(repeating: "A", count: 43) + "="

    private static func file(_ path: String) throws -> String {
        try String(contentsOfFile: Repository.root + "/deploy/" + path, encoding: .utf8)
    }

    /// The values of `name` in the unit, without comments.
    private static func values(of name: String) throws -> [String] {
        try file("systemd/concord.service").split(separator: "\n").filter { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    @Test func `serve accepts the example configuration`() throws {
        let sources = configurationSources(
            try Self.file("concord.yaml"),
            files: ["/etc/concord/keys": "# the first key\n\(Self.key)\n"]
        )
        let configuration = try ServeConfiguration(sources)
        #expect(configuration.listen.port == 8080)
        #expect(configuration.listen.trustedProxies.count == 2)
        #expect(configuration.keys.sealing.id == 1)
    }

    @Test func `serve accepts the example configuration with the variables of the unit`() throws {
        let variables = try Self.values(of: "Environment").map { $0.split(separator: "=", maxSplits: 1) }
        let environment = Dictionary(uniqueKeysWithValues: variables.map { (String($0[0]), String($0[1])) })
            .mapValues { $0.replacing("%d", with: "/run/credentials/concord.service") }
        let sources = configurationSources(
            try Self.file("concord.yaml"),
            environment,
            files: ["/run/credentials/concord.service/keys": Self.key]
        )
        let configuration = try ServeConfiguration(sources)
        #expect(configuration.listen.adminListener != nil)
        let credentials = try Self.values(of: "LoadCredential")
        #expect(credentials.contains("keys:/etc/concord/keys"))
        #expect(credentials.contains("concord.yaml:/etc/concord/concord.yaml"))
    }

    @Test func `the settings in comments of the example configuration exist`() throws {
        let known = Set(ConfigurationTable.entries.map(\.name))
        var (group, checked) = ("", 0)
        for line in try Self.file("concord.yaml").split(separator: "\n") {
            if let match = line.wholeMatch(of: #/(?:# )?([a-z_]+):/#) {
                group = String(match.1)
            } else if let match = line.wholeMatch(of: #/(?:  # |#   )([a-z_]+): [^ ].*/#) {
                #expect(known.contains("\(group).\(match.1)"), "\(line)")
                checked += 1
            }
        }
        #expect(checked >= 8)
    }

    @Test func `systemd waits longer for the end of requests than Concord does`() throws {
        let seconds = try #require(try Self.values(of: "TimeoutStopSec").first?.wholeMatch(of: #/(\d+)s/#)?.1)
        let sources = configurationSources(try Self.file("concord.yaml"), files: ["/etc/concord/keys": Self.key])
        let drain = try ServeConfiguration(sources).limits.drainTimeout
        #expect(try .seconds(#require(Int(seconds))) > drain)
    }
}
