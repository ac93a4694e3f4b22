import AccountLinking
import AccountStore
import AccountTestSupport
import Delivery
import Foundation
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Mails made from the outbox's content.
@Suite(.service) struct MailChannelTests {
    private static let id = PostgresUUID(high: 0x0123_4567_89AB_CDEF, low: 0x8123_4567_89AB_CDEF)

    @Test(arguments: Mail.Template.allCases) func `every mail has texts in every language`(
        _ template: Mail.Template
    ) async throws {
        let service = try TestService.shared
        for locale in ["en", "zh-TW", "th"] {
            let mail = Mail(
                template: template,
                to: "Ada@example.com",
                email: "ada@example.com",
                newEmail: "ada@example.org",
                displayName: "Ada",
                code: "12345678",
                shortCode: "87654321",
                link: "https://example.com/link",
                locale: locale,
                requester: .init(provider: "google.com", name: "Ada L.", from: "192.0.2.7"),
                suspended: .init(
                    methods: ["password", "oidc.corp"],
                    reason: "password-reset",
                    until: "2026-12-22T05:04:05Z"
                ),
                changed: .init(
                    added: ["github.com", "phone"],
                    removed: ["oidc.corp"],
                    replacesPassword: true,
                    addedNumberEnding: "3434",
                    at: "2026-11-22T05:04:05Z",
                    until: "2026-12-22T05:04:05Z"
                ),
                merged: .init(isByOperator: true, undoUntil: "2026-12-22T05:04:05Z"),
                numberEnding: "3434",
                ways: [
                    .init(method: "emailLink", link: "https://example.com/by-link"),
                    .init(method: "password", link: "https://example.com/by-password"),
                    .init(method: "phone", link: "https://example.com/by-phone"),
                    .init(method: "google.com", link: "https://example.com/by-google?a=1&b=2"),
                    .init(method: "password", link: "https://example.com/new-password", setsPassword: true),
                ]
            )
            let message = try #require(
                try service.channel(NoRelay()).message(
                    Mail(plaintext: mail.plaintext) ?? mail,
                    id: Self.id,
                    createdAt: service.clock.now
                )
            )
            #expect(message.language == locale && message.to.raw == "Ada@example.com")
            #expect(message.id == "01234567-89ab-cdef-8123-456789abcdef@example.com")
            #expect(message.text.contains("Ada"))
            switch template {
            case .code(.revertSecondFactorAddition):
                for said in ["3434", "https://example.com/link"] {
                    #expect(message.text.contains(said) && message.html.contains(said))
                }
            case .code(.revertSignInMethodChange):
                for said in [
                    "GitHub", "(…3434)", "corp", "2026-11-22 05:04 UTC", "2026-12-22 05:04 UTC",
                    "https://example.com/link",
                ] {
                    #expect(message.text.contains(said) && message.html.contains(said), "\(said)")
                }
            case .signInMethodsChanged:
                #expect(message.text.contains("2026-11-22 05:04 UTC") && message.html.contains("corp"))
            case .code(.lookUp):
                #expect(!message.text.contains("12345678") && message.text.contains("\n\n87654321\n\n"))
                for way in mail.ways {
                    #expect(message.text.contains("  \(way.link)\n"), "\(way.link)")
                    let escaped = way.link.replacing("&", with: "&amp;")
                    #expect(message.html.contains("<a class=\"button\" href=\"\(escaped)\">"), "\(way.link)")
                }
                #expect(message.text.contains("Google") && message.html.contains("Google"))
            case .code(let kind):
                // A link's code appears only in the link.
                #expect(message.text.contains("https://example.com/link") && !message.text.contains("12345678"))
                #expect(message.text.contains("\n\n87654321\n\n") == kind.hasShortCode)
                #expect(message.html.contains("<p class=\"code\">87654321</p>") == kind.hasShortCode)
            case .conflictProof:
                for said in ["Google", "Ada L.", "192.0.2.7", "12345678", "https://example.com/link"] {
                    #expect(message.text.contains(said) && message.html.contains(said))
                }
            case .methodsQuarantined:
                #expect(message.text.contains("corp") && message.text.contains("2026-12-22 05:04 UTC"))
            case .accountsMerged:
                #expect(message.text.contains("2026-12-22 05:04 UTC") && message.text.contains("ada@example.com"))
            case .mergeUndone:
                #expect(message.text.contains("ada@example.com") && message.html.contains("ada@example.com"))
            case .signUpMailbox:
                for said in ["Google", "Ada L.", "87654321", "https://example.com/link"] {
                    #expect(message.text.contains(said) && message.html.contains(said))
                }
                #expect(!message.text.contains("12345678"))
            case .wrongDoor:
                #expect(message.text.contains("\n\n87654321\n\n") && !message.text.contains("12345678"))
                for way in mail.ways { #expect(message.text.contains("  \(way.link)\n"), "\(way.link)") }
            case .addressInUse:
                #expect(message.text.contains("ada@example.com"))
            }
        }
    }

    @Test func `the app's name is the project's, then the sender's, then the project id`() async throws {
        func name(_ settings: [String: JSONValue], _ from: String) async throws -> [String?] {
            try await TestService.with(settings: .object(settings)) { service in
                let channel = MailChannel(
                    NoRelay(),
                    from: MailSender(from: try #require(Mailbox(from)), replyTo: nil, idDomain: "example.com"),
                    templates: try MailTemplates(),
                    project: service.operations.project
                )
                let mail = Mail(template: .addressInUse, to: "a@example.com", email: "a@example.com", locale: "xx")
                let message = try #require(channel.message(mail, id: Self.id, createdAt: service.clock.now))
                return [message.from.name, message.subject]
            }
        }
        let shown: JSONValue = ["displayName": "The App"]
        let subject = "Someone asked to use your email address at "
        #expect(try await name(["concord": shown], "M <m@example.com>") == ["M", subject + "The App"])
        #expect(try await name(["concord": shown], "m@example.com") == ["The App", subject + "The App"])
        #expect(try await name([:], "M <m@example.com>") == ["M", subject + "M"])
        #expect(try await name([:], "m@example.com") == [nil, subject + TestService.projectID])
        // An unsupported language falls back to the project's.
        let thai = try await name(["notification": ["defaultLocale": "th"]], "M <m@example.com>")
        #expect(thai[1] == "มีผู้ขอใช้ที่อยู่อีเมลของคุณที่ M")
    }

    @Test func `a mail shows the logo only from a public https URL, and the language's line and links`() async throws {
        let branding: JSONValue = [
            "accentColor": "#0a664c", "logo": .string(String(repeating: "a", count: 64)),
            "supportUrl": "https://acme.example/help", "texts": ["th": ["footer": "แอคมี"]],
        ]
        try await TestService.with(settings: ["concord": ["branding": branding]]) { service in
            for (publicURL, hasLogo) in [
                (nil, false), ("http://id.example.com", false), ("https://id.example.com/x", true),
            ] {
                let channel = MailChannel(
                    NoRelay(),
                    from: MailSender(
                        from: try #require(Mailbox("m@example.com")),
                        replyTo: nil,
                        idDomain: "example.com"
                    ),
                    templates: try MailTemplates(),
                    project: service.operations.project,
                    publicURL: publicURL
                )
                let mail = Mail(template: .addressInUse, to: "a@example.com", email: "a@example.com", locale: "th")
                let message = try #require(channel.message(mail, id: Self.id, createdAt: service.clock.now))
                let logo = "src=\"https://id.example.com/x/__/auth/logo?v=aaaaaaaa\""
                #expect(message.html.contains(logo) == hasLogo && message.html.contains("<img") == hasLogo)
                #expect(message.html.contains("background: #0a664c") && message.html.contains(">ฝ่ายสนับสนุน</a>"))
                #expect(message.text.hasSuffix("แอคมี\nฝ่ายสนับสนุน: https://acme.example/help\n"))
            }
        }
    }

    /// The mails that report a change, or that someone tried to change something.
    private static let reports: Set<Mail.Template> = [
        .addressInUse, .methodsQuarantined, .signInMethodsChanged, .accountsMerged, .mergeUndone, .code(.recoverEmail),
        .code(.revertSecondFactorAddition), .code(.revertSignInMethodChange),
    ]

    @Test(arguments: ["en", "zh-TW", "th"])
    func `a mail about a change links to the account's page, if there is one and its URL is known`(
        _ locale: String
    ) async throws {
        for isEnabled in [nil, true, false] as [Bool?] {
            let settings = JSONValue.object([:])
            let page = isEnabled.map { settings.setting(.bool($0), at: ["concord", "accountPage", "enabled"]) }
            try await TestService.with(settings: page ?? settings) { service in
                for publicURL in [nil, "https://id.example.com/x", "http://id.example.com/x"] {
                    let channel = try service.channel(NoRelay(), publicURL: publicURL)
                    for template in Mail.Template.allCases {
                        let mail = Mail(
                            template: template,
                            to: "a@example.com",
                            email: "a@example.com",
                            link: "https://id.example.com/link",
                            locale: locale
                        )
                        let message = try #require(channel.message(mail, id: Self.id, createdAt: service.clock.now))
                        let url = publicURL.map { $0 + "/account" } ?? "/account"
                        let isLinked = Self.reports.contains(template) && publicURL != nil && isEnabled != false
                        #expect(message.text.contains("\n\n\(url)\n\n") == isLinked, "\(template)")
                        #expect(message.html.contains("href=\"\(url)\"") == isLinked, "\(template)")
                        if !isLinked { #expect(!(message.text + message.html).contains("/account"), "\(template)") }
                    }
                }
            }
        }
    }

    @Test func `a message that is not a mail or has no address is refused`() async throws {
        let service = try TestService.shared
        let channel = try service.channel(NoRelay())
        let mail = Mail(template: .addressInUse, to: "", email: "", locale: "en")
        for content in [[], Array("{}".utf8), mail.plaintext] {
            let outcome = await channel.send(content, id: Self.id, createdAt: service.clock.now)
            #expect(outcome == .refused(reason: "unreadable"))
        }
    }

    @Test(arguments: ["Ada", "Ada Lovelace", "J. R. O’Neil-Smith", "ÅSA", "王小明", "สมชาย ใจดี"])
    func `a plausible name is shown`(_ name: String) {
        #expect(shownName(name) == name)
    }

    @Test(arguments: [
        "", "see evil.example", "https://evil.example", "a@b", "win 100", "x\r\ny", "<b>", "a/b",
        String(repeating: "a", count: 65),
        "\u{202E}ada", "ada\u{200B}",
    ])
    func `a name that could carry a stranger's text is not shown`(_ name: String) {
        #expect(shownName(name) == nil)
    }

    @Test func `methods have the same names in mails as on the page`() throws {
        let path = AccountTestSupport.Repository.root + "/Sources/AccountAPI/Pages/strings.json"
        let page = try JSONValue(parsing: Array(try #require(FileManager.default.contents(atPath: path))))
        for (language, names) in methodNames {
            for (method, name) in names { #expect(page["strings"]?[language]?["method.\(method)"]?.string == name) }
        }
        #expect(Set(methodNames.keys) == Set(try #require(page["languages"]?.object).keys))
        #expect(methodName("oidc.corp", in: "en") == "corp" && methodName("password", in: "de") == "Password")
        #expect(methodName("twitter.com", in: "th") == "X (Twitter)")
    }
}

/// Sends no mail.
private struct NoRelay: MailSending {
    let concurrencyMax = 1
    let sendSecondsMax: Int64 = 1

    func send(_ mail: MailMessage) async -> DeliveryOutcome { .unavailable(reason: "unreachable") }
    func shutDown() async {}
}
