import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

/// The texts and links of a project's branding, and branding as it is read from stored settings.
struct BrandingTests {
    @Test func `links are https or, for support, one mail address`() {
        for link in [
            "https://acme.example", "https://acme.example/help?a=1&b=2#top", "HTTPS://acme.example:8443/x",
            "https://xn--e1afmkfd.example/", "https://[2001:db8::1]/help",
        ] {
            #expect(BrandingText.isWebLink(link), "\(link)")
        }
        for link in [
            "", "acme.example", "http://acme.example", "javascript:alert(1)", "JaVaScRiPt:alert(1)",
            "java\nscript:alert(1)",
            " javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "//acme.example", "https://",
            "https:///x",
            "https://user@acme.example/", "https://acme.example@evil.example/", "https://acme.example/\"onclick=\"x",
            "https://acme.example/<script>", "https://acme.example/ x", "https://acme.example\\@evil.example",
            "https://аcme.example/", "https://acme.example/\u{202E}gnp", "vbscript:x", "file:///etc/passwd",
            "mailto:help@acme.example", "https://acme.example/" + String(repeating: "x", count: 2048),
        ] {
            #expect(!BrandingText.isWebLink(link), "\(link)")
        }
        #expect(
            BrandingText.isMailLink("mailto:help@acme.example") && BrandingText.isMailLink("MAILTO:a+b@acme.example")
        )
        for link in [
            "mailto:", "mailto:help", "help@acme.example", "mailto:a@acme.example?bcc=b@evil.example",
            "mailto:a@acme.example,b@evil.example", "mailto:a@acme.example%0Abcc:b@evil.example",
            "mailto:<a@acme.example>",
            "javascript:help@acme.example", "mailto:\u{202E}a@acme.example",
        ] {
            #expect(!BrandingText.isMailLink(link), "\(link)")
        }
    }

    @Test func `texts are one line without markup or invisible characters`() {
        for text in ["Acme – since 1899", "由 Acme 提供", "โดย Acme", "👩‍🚀 & friends", "5 > 3".replacing(">", with: "›")] {
            #expect(BrandingText.isPlainText(text), "\(text)")
        }
        for text in [
            "a\nb", "a\tb", "a\0", "\u{202E}emca", "\u{2066}a\u{2069}", "a\u{200B}b", "\u{FEFF}a", "a\u{2028}b",
            "\u{E000}",
            "<b>a</b>", "a < b", "\u{AD}a", "\u{200E}a", "\u{1B}[31m",
        ] {
            #expect(!BrandingText.isPlainText(text), "\(text)")
        }
        #expect(BrandingText.plainLine("Ac\u{202E}me\n") == "Acme")
    }

    @Test func `a stored value that is no longer valid is ignored`() {
        let branding = Branding(
            stored: [
                "concord": [
                    "displayName": "Ac\u{202E}me",
                    "branding": [
                        "accentColor": "#ffee00", "accentColorDark": "red}body{", "supportUrl": "javascript:alert(1)",
                        "privacyUrl": "mailto:a@acme.example", "termsUrl": 1,
                        "logo": "\"><script>alert(1)</script>", "logoDark": "../x",
                        "texts": ["en": ["footer": "<script>", "greeting": 1], "th": "x"],
                    ],
                ]
            ]
        )
        #expect(branding.name == "Acme" && branding.links.isEmpty && branding.logos.isEmpty)
        #expect(branding.palettes[.light] == nil)
        #expect(branding.text(.footer, in: "en") == nil && branding.text(.greeting, in: "th") == nil)
        #expect(Branding(stored: [:]) == .none && Branding(stored: ["concord": ["branding": [:]]]) == .none)
    }

    @Test func `dark mode gets the nearest readable shade, and a language without a text gets the English one`() {
        let branding = Branding(
            stored: [
                "concord": [
                    "branding": [
                        "accentColor": "#0a664c",
                        "texts": ["en": ["footer": "Acme"], "th": ["footer": "แอคมี"]],
                    ]
                ]
            ]
        )
        #expect(branding.palettes[.light]?.accent.text == "#0a664c")
        #expect(branding.palettes[.dark]?.accent.text == "#51927f")
        #expect(branding.text(.footer, in: "th")?.text == "แอคมี")
        #expect(branding.text(.footer, in: "zh-TW").map { [$0.text, $0.language] } == ["Acme", "en"])
        #expect(branding.text(.greeting, in: "en") == nil)
    }
}
