import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// Pages with the branding of a project: the real program, a real browser.
@Suite(.serialized, .page) struct BrandingPageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    private static func brand(_ name: JSONValue, _ branding: JSONValue) async throws {
        let path = "/v2/projects/demo-concord/config?updateMask=concord.displayName,concord.branding"
        let body: JSONValue = ["concord": ["displayName": name, "branding": branding]]
        let answer = try await server.send(.PATCH, path, body, bearer: "owner")
        #expect(answer.status == 200, "\(answer.json.text)")
    }

    private static let acme: JSONValue = [
        "accentColor": "#0a664c", "supportUrl": "mailto:help@acme.example",
        "privacyUrl": "https://acme.example/privacy", "termsUrl": "https://acme.example/terms",
        "texts": [
            "en": ["greeting": "Welcome to Acme", "footer": "Acme & Sons"], "zh-TW": ["footer": "艾克米"],
            "th": ["greeting": "ยินดีต้อนรับ"],
        ],
    ]

    private static func putLogo() async throws {
        let image: JSONValue = ["image": .string(LogoFixture.png.base64)]
        let answer = try await server.send(.PUT, "/concord/v1/branding/logo", image, bearer: "owner")
        #expect(answer.status == 200, "\(answer.json.text)")
    }

    @Test func `every branded page can be read and used, in three languages, light and dark`() async throws {
        try await Self.brand("Acme Bank", Self.acme)
        try await Self.putLogo()
        let conflict = try await Self.server.openConflict("branded@example.com")
        try await Browser.run { browser in
            func expectReadable(_ step: String) async throws {
                for (language, tag) in [("繁體中文", "zh-TW"), ("ไทย", "th"), ("English", "en")] {
                    try await browser.press(language)
                    for isDark in [false, true] {
                        try await browser.darken(isDark)
                        for width in [320, 1280] {
                            try await browser.resize(width, 800)
                            #expect(try await browser.defects() == [], "\(step) \(tag) \(isDark) \(width)")
                            #expect(try await browser.brokenRules() == [], "\(step) \(tag) \(isDark) \(width)")
                            guard isDark == (tag == "zh-TW"), (width == 320) == (tag != "en") else { continue }
                            try await browser.screenshot("branded-\(step)-\(tag)")
                        }
                    }
                }
            }
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await expectReadable("conflict")
            try await browser.open("\(try Self.server.url)/__/auth/action?mode=resetPassword&lang=en")
            try await browser.wait(until: "document.querySelector('h1') && \(Browser.isIdle)")
            try await expectReadable("action")
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func `name, logo, colour, links and lines are shown in the language of the page`() async throws {
        try await Self.brand("Acme Bank", Self.acme)
        try await Self.putLogo()
        try await Browser.run { browser in
            try await browser.open("\(try Self.server.url)/conflict")
            try await browser.wait(for: "This cannot be finished here")
            #expect(try await browser.value("document.title") == "This cannot be finished here · Acme Bank")
            #expect(try await browser.text("main").contains("Open the full link again from Acme Bank or the email"))
            try await browser.wait(until: "document.querySelector('.logo').complete")
            #expect(try await browser.value("document.querySelector('.logo').naturalWidth") == 48)
            let logo = try await browser.accessible(".logo")
            #expect(logo.name == "Acme Bank")
            #expect(try await browser.text("header").contains("Welcome to Acme"))
            #expect(try await browser.text("footer").contains("Acme & Sons"))
            #expect(try await browser.text("footer").contains("Privacy"))
            let accent = "getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
            #expect(try await browser.value(accent) == "#0a664c")
            try await browser.darken(true)
            #expect(try await browser.value(accent) == "#51927f")

            try await browser.press("ไทย")
            let header = try await browser.text("header")
            #expect(header.contains("ยินดีต้อนรับ") && !header.contains("Welcome"))
            let footer = try await browser.text("footer")
            #expect(footer.contains("Acme & Sons"), "Thai has no footer")
            #expect(footer.contains("ฝ่ายสนับสนุน") && !footer.contains("Privacy"))
            #expect(try await browser.text("main").contains("จาก Acme Bank"))
            try await browser.press("繁體中文")
            #expect(try await browser.text("footer").contains("艾克米"))
            #expect(try await browser.complaints() == [])

            try await browser.open("\(try Self.server.url)/__/auth/handler?hl=en")
            try await browser.wait(for: "Sign-in failed")
            #expect(try await browser.text("main").contains("Go back to Acme Bank and try again"))
            #expect(try await browser.text("footer").contains("Privacy"))
        }
    }

    @Test func `hostile branding is text, and no script of it runs`() async throws {
        let name = "</title><script>document.title='x'</script>"
        try await Self.brand(.string(name), [:])
        try await Browser.run { browser in
            try await browser.open("\(try Self.server.url)/conflict")
            try await browser.wait(for: "This cannot be finished here")
            #expect(try await browser.value("document.body.dataset.app") == .string(name))
            #expect(try await browser.value("document.title") == .string("This cannot be finished here · \(name)"))
            #expect(try await browser.value("document.scripts.length") == 1)
            #expect(try await browser.complaints() == [])
        }
        try await Self.brand(.null, [:])
    }

    @Test func `the preview leads to pages and mails`() async throws {
        try await Self.brand("Acme Bank", Self.acme)
        try await Browser.run { browser in
            let preview = "\(try Self.server.url)/__/concord/branding"
            try await browser.open(preview)
            #expect(try await browser.text("main").contains("6.37:1"))
            let links = try await browser.value("[...document.links].map((link) => link.href)").array ?? []
            // The conflict page; in three languages, 4 pages and 16 mails.
            #expect(links.count == 1 + 3 * (4 + 16))
            let mail = try #require(links.compactMap(\.string).first { $0.hasSuffix("PASSWORD_RESET.th") })
            try await browser.open(mail)
            #expect(
                try await browser.value("getComputedStyle(document.querySelector('.button')).backgroundColor")
                    == "rgb(10, 102, 76)"
            )
        }
    }
}
