import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Delivery
import Foundation
import Testing

@testable import concord

/// The configuration of a gateway for text messages, and its visible part.
struct MessagesConfigurationTests {
    private static let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
    private static let twilio = [
        "TWILIO_ACCOUNT_SID": "AC1234", "TWILIO_AUTH_TOKEN": "the-token", "TWILIO_FROM": "+15005550006",
    ]

    private func sources(_ sms: [String: String], authorities: String? = nil) -> ConfigurationSources {
        var required = [
            "CONCORD_DATABASE_URL": "postgresql:///concord",
            "CONCORD_KEYS_ENCRYPTION": "1:" + Data(repeating: 1, count: 32).base64EncodedString(),
        ]
        if authorities != nil { required["CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES"] = "/authorities.pem" }
        let given = Dictionary(uniqueKeysWithValues: sms.map { ("CONCORD_SMS_" + $0, $1) })
        let files = authorities.map { ["/authorities.pem": $0] } ?? [:]
        return configurationSources(nil, required.merging(given) { $1 }, files: files)
    }

    private func read(_ sms: [String: String]) throws -> MessagesConfiguration {
        try ServeConfiguration(sources(sms)).messages
    }

    private func channel(_ sms: [String: String], authorities: String? = nil) throws -> SMSChannel? {
        let configuration = try ServeConfiguration(sources(sms, authorities: authorities))
        return configuration.messages.channel(configuration.providers)
    }

    private func mistakes(_ sms: [String: String]) -> String {
        do {
            _ = try read(sms)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `the gateway can be absent, custom or Twilio-compatible`() throws {
        #expect(try read([:]).gateway == nil && channel([:]) == nil)
        let own = try read(["WEBHOOK_URL": "https://sms.example.com/send/", "WEBHOOK_SECRET": Self.secret])
        guard case .webhook("https://sms.example.com/send", let secret) = own.gateway else {
            Issue.record("\(own)")
            return
        }
        #expect(secret.bytes == Array(repeating: 7, count: 32))
        #expect(try channel(["WEBHOOK_URL": "https://sms.example.com", "WEBHOOK_SECRET": Self.secret])?.kind == .sms)
        guard
            case .twilio("https://api.twilio.com", "AC1234", "the-token", .from("+15005550006"))? =
                try read(Self.twilio).gateway
        else {
            Issue.record("no gateway")
            return
        }
        var service = Self.twilio
        service["TWILIO_FROM"] = nil
        service["TWILIO_MESSAGING_SERVICE_SID"] = "MG1"
        service["TWILIO_URL"] = "http://127.0.0.1:9999"
        guard case .twilio("http://127.0.0.1:9999", _, _, .messagingService("MG1"))? = try read(service).gateway
        else {
            Issue.record("no service")
            return
        }
        #expect(try read(["CONNECTIONS": "7", "TIMEOUT": "2s"]).connectionsMax == 7)
    }

    @Test func `a gateway may have a certificate of an authority for providers`() async throws {
        let identity = try TLSIdentity()
        try await LocalServer.run(https: identity) { _, _ in
            .text("")
        } _: { gateway in
            let settings = [
                "WEBHOOK_URL": gateway.address("/sms"), "WEBHOOK_SECRET": Self.secret, "TIMEOUT": "60s",
            ]
            let content = Array(
                #"{"to":"+16505553434","text":"123456","code":"123456","sessionInfo":"s","locale":"en"}"#.utf8
            )
            let id = try #require(OutboxMessage.ID(text: "01234567-89ab-cdef-0123-456789abcdef"))
            let time = Timestamp(secondsSinceEpoch: 1_750_000_000)
            let stranger = try #require(try channel(settings))
            #expect(await stranger.send(content, id: id, createdAt: time) != .delivered)
            #expect(gateway.requests.isEmpty)
            let trusting = try #require(try channel(settings, authorities: identity.pem))
            #expect(await trusting.send(content, id: id, createdAt: time) == .delivered)
            #expect(gateway.targets == ["/sms"])
        }
    }

    @Test(arguments: [
        (["WEBHOOK_URL": "https://sms.example.com"], "sms.webhook_secret: required beside sms.webhook_url"),
        (["WEBHOOK_SECRET": "whsec_short"], "sms.webhook_secret: give whsec_ and base64 of 24 to 64 bytes"),
        (["TWILIO_ACCOUNT_SID": "AC1"], "sms.twilio_auth_token: required beside sms.twilio_account_sid"),
        (
            ["TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "t"],
            "sms.twilio_from: required beside sms.twilio_account_sid"
        ),
        (["TWILIO_ACCOUNT_SID": "AC1/../x"], "sms.twilio_account_sid"), (["WEBHOOK_URL": "ftp://x"], "sms.webhook_url"),
        (["WEBHOOK_URL": "http://sms.example.com"], "sms.webhook_url"),
        (["WEBHOOK_URL": "https://sms.example.com/?token=t"], "sms.webhook_url"),
        (["WEBHOOK_URL": "https://user:password@sms.example.com/"], "sms.webhook_url"),
        (["TWILIO_URL": "http://10.0.0.1"], "sms.twilio_url"),
    ])
    func `a mistake says which setting to change`(sms: [String: String], mistake: String) {
        #expect(mistakes(sms).contains(mistake), "\(mistakes(sms))")
    }

    @Test func `two gateways or two senders are refused`() {
        let both = Self.twilio.merging(["WEBHOOK_URL": "https://x.example", "WEBHOOK_SECRET": Self.secret]) { $1 }
        #expect(mistakes(both).contains("excludes sms.webhook_url"))
        let senders = Self.twilio.merging(["TWILIO_MESSAGING_SERVICE_SID": "MG1"]) { $1 }
        #expect(mistakes(senders).contains("excludes sms.twilio_from"))
    }

    @Test func `no secret is shown, not even in an error`() {
        let settings = Self.twilio.merging(["WEBHOOK_SECRET": Self.secret, "TWILIO_FROM": "\u{1}"]) { $1 }
        let shown = ConfigurationTable.effective(sources(settings)).map(\.value).joined(separator: " ")
        for text in [shown, mistakes(settings), mistakes(["WEBHOOK_SECRET": "whsec_secret!"])] {
            for secret in ["the-token", Self.secret, "secret!"] { #expect(!text.contains(secret), "\(text)") }
        }
        #expect(!mistakes(settings).isEmpty)
    }

    private func assessments(_ given: [String: String]) throws -> AssessmentConfiguration? {
        let required = [
            "CONCORD_DATABASE_URL": "postgresql:///concord",
            "CONCORD_KEYS_ENCRYPTION": "1:" + Data(repeating: 1, count: 32).base64EncodedString(),
        ]
        let named = Dictionary(uniqueKeysWithValues: given.map { ("CONCORD_RECAPTCHA_ENTERPRISE_" + $0, $1) })
        return try ServeConfiguration(configurationSources(nil, required.merging(named) { $1 })).assessments
    }

    @Test func `assessments need a project, its key and a site key`() throws {
        #expect(try assessments([:]) == nil)
        let whole = ["PROJECT": "my-project", "API_KEY": "secret-key", "IOS_KEY": "6Lc_-1", "SCORE_MIN": "0.7"]
        let read = try #require(try assessments(whole))
        #expect(read.keys.iOS == "6Lc_-1" && read.keys.web == nil && read.scoreMin == 0.7)
        #expect(read.url == "https://recaptchaenterprise.googleapis.com")
        let mistaken: [([String: String], String)] = [
            (["API_KEY": "secret-key"], "recaptcha.enterprise_project: required"),
            (["WEB_KEY": "k"], "recaptcha.enterprise_project: required"),
            (["PROJECT": "p"], "recaptcha.enterprise_api_key: required"),
            (["PROJECT": "p", "API_KEY": "secret-key"], "recaptcha.enterprise_web_key: required"),
            (whole.merging(["SCORE_MIN": "1.1"]) { $1 }, "recaptcha.enterprise_score_min"),
            (whole.merging(["SCORE_MIN": "half"]) { $1 }, "recaptcha.enterprise_score_min"),
            (whole.merging(["IOS_KEY": "a/b"]) { $1 }, "recaptcha.enterprise_ios_key"),
            (whole.merging(["PROJECT": "../x"]) { $1 }, "recaptcha.enterprise_project"),
            (whole.merging(["URL": "http://example.com"]) { $1 }, "recaptcha.enterprise_url"),
        ]
        for (given, mistake) in mistaken {
            do {
                _ = try assessments(given)
                Issue.record("\(given) is taken")
            } catch {
                #expect("\(error)".contains(mistake) && !"\(error)".contains("secret-key"), "\(error)")
            }
        }
    }
}
