import AccountTestSupport
import Crypto
import Delivery
import Foundation
import Testing

@testable import concord

/// The configuration of silent pushes.
struct ApplePushConfigurationTests {
    private static let team = [
        "KEY_FILE": "/etc/concord/key.p8", "KEY_ID": "KEY1234567", "TEAM_ID": "TEAM123456",
        "BUNDLE_IDS": "com.example.app,com.example.beta",
    ]

    private func read(_ apns: [String: String]) throws -> ApplePushConfiguration {
        let identity = try TLSIdentity()
        let files = [
            "/etc/concord/key.p8": P256.Signing.PrivateKey().pemRepresentation,
            "/etc/concord/app.pem": identity.pem + "\n" + identity.keyPEM, "/etc/concord/only.pem": identity.pem,
            "/etc/concord/text": "nothing",
        ]
        var settings = [
            "CONCORD_DATABASE_URL": "postgresql:///concord",
            "CONCORD_KEYS_ENCRYPTION": "1:" + Data(repeating: 1, count: 32).base64EncodedString(),
        ]
        for (name, value) in apns { settings["CONCORD_APNS_" + name] = value }
        return try ServeConfiguration(configurationSources(nil, settings, files: files)).applePush
    }

    private func mistakes(_ apns: [String: String]) throws -> String {
        do {
            _ = try read(apns)
            return ""
        } catch let mistakes as ConfigurationMistakes {
            return "\(mistakes)"
        }
    }

    @Test func `apps have a team key, a certificate or nothing`() throws {
        let none = try read([:])
        #expect(none.apps.isEmpty && none.channel() == nil)
        #expect(none.hosts.production == "https://api.push.apple.com")
        #expect(none.hosts.sandbox == "https://api.sandbox.push.apple.com")
        var settings = Self.team
        settings["CERTIFICATES"] = "com.example.other=/etc/concord/app.pem"
        settings["CERTIFICATE_AUTHORITIES"] = "/etc/concord/app.pem"
        settings["SANDBOX_URL"] = "https://127.0.0.1:8443/"
        let all = try read(settings)
        #expect(all.apps.keys.sorted() == ["com.example.app", "com.example.beta", "com.example.other"])
        guard case .key("KEY1234567", "TEAM123456", _)? = all.apps["com.example.beta"],
            case .certificate(let pem)? = all.apps["com.example.other"]
        else {
            Issue.record("\(all.apps)")
            return
        }
        #expect(!pem.isEmpty && all.certificateAuthorities == pem)
        #expect(all.hosts.sandbox == "https://127.0.0.1:8443")
    }

    @Test(arguments: [
        (["KEY_ID": "K"], "apns.key_id: needs apns.key_file"),
        (["TEAM_ID": "T"], "apns.team_id: needs apns.key_file"),
        (["BUNDLE_IDS": "com.example.app"], "apns.bundle_ids: needs apns.key_file"),
        (team.filter { $0.key != "KEY_ID" }, "apns.key_id: required beside apns.key_file"),
        (team.filter { $0.key != "TEAM_ID" }, "apns.team_id: required beside apns.key_file"),
        (team.filter { $0.key != "BUNDLE_IDS" }, "apns.bundle_ids: required beside apns.key_file"),
        (team.merging(["KEY_FILE": "/etc/concord/text"]) { $1 }, "apns.key_file: the file holds no key from Apple"),
        (team.merging(["KEY_FILE": "/missing"]) { $1 }, "apns.key_file: the file cannot be read"),
        (["CERTIFICATES": "/etc/concord/app.pem"], "apns.certificates: give BUNDLE-ID=PATH"),
        (["CERTIFICATES": "com.example.app=/missing"], "apns.certificates: the file cannot be read"),
        (
            ["CERTIFICATES": "com.example.app=/etc/concord/only.pem"],
            "apns.certificates: the file of com.example.app holds"
        ),
        (
            team.merging(["CERTIFICATES": "com.example.app=/etc/concord/app.pem"]) { $1 },
            "apns.certificates: com.example.app is given twice"
        ),
        (["CERTIFICATE_AUTHORITIES": "/etc/concord/text"], "apns.certificate_authorities: the file holds no PEM"),
        (["PRODUCTION_URL": "http://127.0.0.1"], "apns.production_url: HTTP/2 needs TLS"),
        (["TIMEOUT": "9s"], "apns.timeout"),
    ])
    func `a mistake says which setting to change`(apns: [String: String], mistake: String) throws {
        let found = try mistakes(apns)
        #expect(found.contains(mistake), "\(found)")
        #expect(!found.contains("PRIVATE KEY-----\n"))
    }
}
