import AccountTestSupport
import EmbeddedFiles
import Foundation
import Testing

@testable import Delivery

/// The built-in mail templates and those of operators.
struct MailTemplatesTests {
    private let golden = GoldenFiles()
    private static let everything = MailTemplates.Values(
        text: [
            "LINK": "https://id.example.com/__/auth/action?mode=x&oobCode=y", "EMAIL": "ada@example.com",
            "NEW_EMAIL": "ada@example.org", "APP_NAME": "Example", "DISPLAY_NAME": "Ada", "CODE": "12345678",
            "PROVIDER": "Google", "ASKING_NAME": "Ada L.", "ASKING_FROM": "192.0.2.7", "UNTIL": "2026-12-22 05:04 UTC",
            "AFTER_RESET": "true", "BY_OPERATOR": "true", "AT": "2026-11-20 05:04 UTC", "PASSWORD_CHANGED": "true",
            "ACCOUNT_URL": "https://id.example.com/account",
        ],
        methods: ["Google", "GitHub"],
        added: ["Facebook", "Phone number (…3434)"],
        removed: ["Google"],
        ways: [
            ["URL": "https://id.example.com/signin#way=emailLink&x", "BY_LINK": "true"],
            ["URL": "https://id.example.com/signin#way=password", "BY_PASSWORD": "true"],
            ["URL": "https://id.example.com/signin#way=phone", "BY_PHONE": "true"],
            ["URL": "https://id.example.com/signin#way=google.com", "METHOD": "Google", "BY_PROVIDER": "true"],
            ["URL": "https://id.example.com/signin#way=setPassword", "SETS_PASSWORD": "true"],
        ]
    )

    /// A lookup of an account without a working method.
    private static let ofDisabledAccount = {
        var values = everything
        values.ways = []
        return values
    }()

    /// A lookup of an address without an account.
    private static let withoutAccount = MailTemplates.Values(
        text: ["EMAIL": "ada@example.com", "APP_NAME": "Example", "NO_ACCOUNT": "true"]
    )

    /// A reset of an account that has a phone number and a provider.
    private static func ofProviders(_ values: MailTemplates.Values, _ flags: String...) -> MailTemplates.Values {
        var values = values
        values.ways = values.ways.filter { $0["BY_PHONE"] != nil || $0["BY_PROVIDER"] != nil }
        for flag in flags { values.text[flag] = "true" }
        return values
    }

    @Test func `a reset of an account without a password shows its methods before the link`() throws {
        let templates = try MailTemplates()
        for language in templates.languages {
            let plain = try #require(templates.render("PASSWORD_RESET", in: [language], Self.everything))
            #expect(!plain.text.contains("/signin") && plain.html.split(separator: "class=\"button\"").count == 2)
            let values = Self.ofProviders(Self.everything, "HAS_WAYS")
            let mail = try #require(templates.render("PASSWORD_RESET", in: [language], values))
            let places = ["way=phone", "way=google.com", "oobCode=y"].map { mail.text.split(separator: $0)[0].count }
            #expect(places == places.sorted() && Set(places).count == 3, "\(mail.text)")
            #expect(mail.html.split(separator: "class=\"button\"").count == 4)
        }
    }

    @Test func `a lookup shows a button for each method, and none without an account`() throws {
        let templates = try MailTemplates()
        for language in templates.languages {
            let mail = try #require(templates.render("LOOKUP", in: [language], Self.everything))
            for way in Self.everything.ways {
                let link = try #require(way["URL"])
                #expect(mail.text.contains("  \(link)\n"), "\(language): \(mail.text)")
                #expect(mail.html.contains("href=\"\(link.replacing("&", with: "&amp;"))\">"), "\(mail.html)")
            }
            #expect(mail.html.split(separator: "class=\"button\"").count == 6)
            for values in [Self.ofDisabledAccount, Self.withoutAccount] {
                let bare = try #require(templates.render("LOOKUP", in: [language], values))
                #expect(!bare.html.contains("class=\"button\"") && !bare.text.contains("/signin"))
            }
            let none = try #require(templates.render("LOOKUP", in: [language], Self.withoutAccount))
            #expect(!none.html.contains("class=\"code\"") && none.text.contains("ada@example.com"))
        }
    }

    @Test func `a language of an operator may lack a new type, but no half of it`() throws {
        let old = MailTemplates.types.filter { !["LOOKUP", "SIGN_UP_MAILBOX", "WRONG_DOOR"].contains($0) }.flatMap {
            type in
            ["txt", "html"].map { part in
                (
                    "\(type).de.\(part)",
                    (part == "txt" ? "Subject: \(type)\n\n" : "") + "{{LINK}} {{CODE}}"
                )
            }
        }
        let templates = try MailTemplates(files: old)
        #expect(templates.languages.contains("de"))
        #expect(templates.language(for: ["de"], of: "VERIFY_EMAIL") == "de")
        #expect(templates.language(for: ["de"], of: "LOOKUP") == "en")
        let mail = try #require(templates.render("LOOKUP", in: ["de"], Self.everything))
        #expect(mail.language == "en" && mail.subject == "How to sign in to Example")
        let half = old + [("LOOKUP.de.txt", "Subject: x\n\n{{#WAYS}}{{URL}}{{/WAYS}} {{CODE}}")]
        let mistakes = #expect(throws: MailTemplates.Mistakes.self) { try MailTemplates(files: half) }
        #expect(mistakes?.all.map(\.file) == ["LOOKUP.de.html"])
        let whole = try MailTemplates(files: half + [("LOOKUP.de.html", "{{#WAYS}}{{URL}}{{/WAYS}} {{CODE}}")])
        #expect(whole.language(for: ["de"], of: "LOOKUP") == "de")
    }

    @Test(arguments: ["en", "zh-TW", "th"])
    func `every mail matches the golden file, and text and HTML contain the same values`(_ language: String) throws {
        let templates = try MailTemplates()
        var text = ""
        for type in MailTemplates.types {
            var plain = Self.everything
            for absent in ["DISPLAY_NAME", "ASKING_NAME", "ASKING_FROM", "AFTER_RESET", "BY_OPERATOR"] {
                plain.text[absent] = nil
            }
            plain.text["AFTER_PROOF"] = "true"
            var audited = plain
            audited.text["AFTER_PROOF"] = nil
            audited.text["AFTER_AUDIT"] = "true"
            var recovered = plain
            recovered.text["AFTER_PROOF"] = nil
            recovered.text["AFTER_RECOVERY"] = "true"
            var ofPassword = plain
            (ofPassword.text["PROVIDER"], ofPassword.text["CODE"]) = (nil, nil)
            let variants =
                switch type {
                case "CONFLICT_PROOF": [Self.everything, plain]
                case "METHODS_QUARANTINED": [Self.everything, plain, recovered, audited]
                case "SIGN_UP_MAILBOX": [Self.everything, plain, ofPassword]
                case "ACCOUNTS_MERGED": [Self.everything, plain]
                case "MERGE_UNDONE": [plain, plain.with("BY_OWNER")]
                case "LOOKUP": [plain, Self.ofDisabledAccount, Self.withoutAccount]
                case "PASSWORD_RESET":
                    [plain, Self.ofProviders(plain, "HAS_WAYS"), Self.ofProviders(plain, "HAS_WAYS", "SUSPENDS_WAYS")]
                case "WRONG_DOOR":
                    [
                        plain.with("WRONG_PASSWORD", "HAS_WAYS"), plain.with("LINKS_OFF", "HAS_WAYS").withoutCode(),
                        plain.with("SIGNED_UP", "HAS_WAYS"),
                        Self.ofDisabledAccount.with("WRONG_PASSWORD").withoutCode(),
                    ]
                default: [plain]
                }
            for values in variants {
                let mail = try #require(templates.render(type, in: [language], values))
                #expect(mail.language == language)
                text += "== \(type)\nSubject: \(mail.subject)\n\n\(mail.text)\n"
                for said in [mail.subject, mail.text, mail.html] {
                    #expect(!said.contains("{{") && !said.contains("}}"))
                }
                // Text and HTML contain the same values.
                for value in values.text.keys {
                    let escaped = values.text[value]?.replacing("&", with: "&amp;") ?? ""
                    #expect(mail.text.contains(values.text[value] ?? "") == mail.html.contains(escaped), "\(value)")
                }
            }
        }
        switch language {
        case "en": try golden.expect(text, matches: "mails-en.txt")
        case "th": try golden.expect(text, matches: "mails-th.txt")
        default: try golden.expect(text, matches: "mails-zh-TW.txt")
        }
    }

    @Test(arguments: ["en", "zh-TW", "th"])
    func `the text for a change that another mailbox undid differs from the text for a reset`(_ language: String) throws
    {
        let templates = try MailTemplates()
        var undone = Self.everything
        undone.text["AFTER_UNDO"] = "true"
        let type = "SIGN_IN_METHODS_CHANGED"
        let reset = try #require(templates.render(type, in: [language], Self.everything))
        let mail = try #require(templates.render(type, in: [language], undone))
        #expect(mail.subject != reset.subject && !mail.text.contains("{{") && !mail.html.contains("{{"))
        for said in ["Example", "ada@example.com", "2026-11-20 05:04 UTC", "Facebook", "(…3434)", "Google"] {
            #expect(mail.text.contains(said) && mail.html.contains(said), "\(said)")
        }
        #expect(!reset.text.contains("Facebook") && !reset.html.contains("Facebook"))
        // The golden file has the text for the reset.
        #expect(mail.text.split(separator: "\n").count > reset.text.split(separator: "\n").count)
    }

    @Test func `the HTML of one mail matches the golden file`() throws {
        let mail = try #require(try MailTemplates().render("CONFLICT_PROOF", in: ["en"], Self.everything))
        try golden.expect(mail.html, matches: "conflict-proof.html")
    }

    private static let branding = [
        "ACCENT": "#0a664c", "ON_ACCENT": "#ffffff", "ACCENT_DARK": "#51927f", "ON_ACCENT_DARK": "#000000",
        "LOGO_URL": "https://id.example.com/__/auth/logo?v=0f4636c7", "FOOTER": "Acme & Sons, since 1899",
        "SUPPORT_URL": "mailto:help@acme.example", "SUPPORT_LABEL": "Support",
        "PRIVACY_URL": "https://acme.example/privacy?a=1&b=2", "PRIVACY_LABEL": "Privacy",
        "TERMS_URL": "https://acme.example/terms", "TERMS_LABEL": "Terms",
    ]

    @Test func `a mail with branding matches the golden file`() throws {
        var values = Self.everything
        values.text.merge(Self.branding) { $1 }
        let mail = try #require(try MailTemplates().render("CONFLICT_PROOF", in: ["en"], values))
        try golden.expect(mail.html + mail.text, matches: "branded.txt")
    }

    @Test func `an operator's layout may use the branding, and without it every mail ends with the links as text`()
        throws
    {
        var values = Self.everything
        values.text.merge(Self.branding) { $1 }
        let layout = "{{#LOGO_URL}}[{{LOGO_URL}}]{{/LOGO_URL}}{{$heading}}{{/heading}}{{$body}}{{/body}}{{FOOTER}}"
        let own = try MailTemplates(files: [("layout.html", layout)])
        let old = try MailTemplates(files: [("layout.html", "{{$heading}}{{/heading}}{{$body}}{{/body}}")])
        for type in MailTemplates.types {
            let mail = try #require(own.render(type, in: ["en"], values))
            #expect(mail.html.hasPrefix("[https://id.example.com/__/auth/logo?v=0f4636c7]"))
            #expect(mail.html.contains("Acme &amp; Sons"))
            let plain = try #require(old.render(type, in: ["en"], values))
            #expect(plain.text == mail.text && !plain.html.contains("acme.example"))
            #expect(
                plain.text.hasSuffix(
                    """
                    Acme & Sons, since 1899
                    Support: help@acme.example
                    Privacy: https://acme.example/privacy?a=1&b=2
                    Terms: https://acme.example/terms

                    """
                )
            )
            let without = try #require(MailTemplates().render(type, in: ["en"], Self.everything))
            #expect(mail.text.hasPrefix(without.text) && !without.html.contains("<img"))
        }
    }

    @Test(arguments: ["<script>", "\"\u{301} onclick=x", "'\u{301}", "<\u{301}b", "a & b", "{{LINK}}", "\r\nBcc: x"])
    func `values are escaped in HTML`(_ value: String) throws {
        var values = Self.everything
        for name in values.text.keys { values.text[name] = value }
        values.methods = [value]
        (values.added, values.removed) = ([value], [value])
        values.ways = [["URL": value, "METHOD": value, "BY_PROVIDER": "true"]]
        let templates = try MailTemplates()
        var marked = values
        for name in values.text.keys { marked.text[name] = "x" }
        marked.methods = ["x"]
        marked.ways = [["URL": "x", "METHOD": "x", "BY_PROVIDER": "true"]]
        func markup(_ text: String) -> [UInt8] { text.utf8.filter { "<>\"'\r".utf8.contains($0) } }
        for type in MailTemplates.types {
            let mail = try #require(templates.render(type, in: ["en"], values))
            let harmless = try #require(templates.render(type, in: ["en"], marked))
            #expect(markup(mail.html) == markup(harmless.html))
            #expect(mail.html.contains("&amp;") || !value.contains("&"))
            #expect(mail.subject.unicodeScalars.allSatisfy { $0.value >= 0x20 })
        }
    }

    @Test(arguments: [
        ("en", "en"), ("EN-gb", "en"), ("zh-TW", "zh-TW"), ("zh-tw", "zh-TW"), ("zh-Hant-TW", "zh-TW"),
        ("zh-Hant", "zh-TW"),
        ("zh", "zh-TW"), ("zh-CN", "zh-TW"), ("th-TH-u-nu-thai", "th"), ("de", "en"), ("", "en"), ("-", "en"),
        ("x-th", "en"),
    ])
    func `the best matching language is chosen`(_ wanted: String, _ language: String) throws {
        #expect(try MailTemplates().language(for: [wanted]) == language)
        #expect(try MailTemplates().language(for: ["xx", wanted, "en"]) == language)
    }

    @Test func `an operator's file replaces one built-in file`() throws {
        let templates = try MailTemplates(files: [
            ("VERIFY_EMAIL.th.txt", "Subject: A {{APP_NAME}}\n\nB {{{LINK}}}\n{{LINK}}{{! nothing }}"),
            ("layout.html", "[{{$heading}}{{/heading}}|{{$body}}{{/body}}]"),
        ])
        let mail = try #require(templates.render("VERIFY_EMAIL", in: ["th"], Self.everything))
        let link = try #require(Self.everything.text["LINK"])
        #expect(mail.subject == "A Example" && mail.text == "B \(link)\n\(link)")
        #expect(mail.html.hasPrefix("[") && mail.html.contains("|"))
        let ours = try #require(try MailTemplates().render("VERIFY_EMAIL", in: ["en"], Self.everything))
        #expect(templates.render("VERIFY_EMAIL", in: ["en"], Self.everything)?.text == ours.text)
    }

    @Test func `an operator's file need not link to the account's page`() throws {
        let templates = try MailTemplates(files: [
            ("MERGE_UNDONE.en.txt", "Subject: A\n\nB"), ("RECOVER_EMAIL.en.html", "{{LINK}}"),
        ])
        #expect(templates.render("MERGE_UNDONE", in: ["en"], Self.everything)?.text == "B")
        #expect(templates.render("RECOVER_EMAIL", in: ["en"], Self.everything)?.html.contains("/account") == false)
        #expect(templates.render("MERGE_UNDONE", in: ["th"], Self.everything)?.text.contains("/account") == true)
    }

    @Test func `an operator's language must be complete`() throws {
        let body = "{{LINK}} {{CODE}}{{#WAYS}} {{URL}}{{/WAYS}}"
        let files = MailTemplates.types.flatMap { type in
            [("\(type).de.txt", "Subject: Betreff\n\n\(body)"), ("\(type).de.html", body)]
        }
        let templates = try MailTemplates(files: files)
        #expect(templates.language(for: ["de-AT"]) == "de")
        #expect(templates.render("VERIFY_EMAIL", in: ["de-AT"], Self.everything)?.subject == "Betreff")
        #expect(throws: MailTemplates.Mistakes.self) { try MailTemplates(files: files.dropLast()) }
    }

    @Test(arguments: [
        ("readme.txt", "x", "is not a template"), ("VERIFY_EMAIL.txt", "x", "is not a template"),
        ("VERIFY_EMAIL.en.md", "x", "is not a template"), ("VERIFY.en.txt", "x", "is not a template"),
        ("VERIFY_EMAIL.en.txt", "{{LINK}}", "must begin with a line"),
        ("VERIFY_EMAIL.en.txt", "Subject: x\n\n{{LNK}}", "lacks {{LINK}}"),
        ("CONFLICT_PROOF.en.html", "{{LINK}}", "lacks {{CODE}}"),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{LNK}}", "contains {{LNK}}"),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{>other}}", "contains {{>other}}"),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{% CONTENT_TYPE:HTML}}", "contains {{%CONTENT_TYPE:HTML}}"),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{=<% %>=}}", "contains {{="),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{#EMAIL}}", "is not well-formed"),
        ("VERIFY_EMAIL.en.html", "{{LINK}} {{EMAIL", "is not well-formed"),
        ("layout.html", "{{/body}}", "is not well-formed"),
        ("VERIFY_EMAIL.de.txt", "Subject: x\n\n{{LINK}}", "is missing"),
    ])
    func `an invalid template is reported by name`(_ name: String, _ text: String, _ problem: String) throws {
        do {
            _ = try MailTemplates(files: [(name, text)])
            Issue.record("the template was accepted")
        } catch {
            #expect(error.all.contains { $0.problem.contains(problem) }, "\(error.all)")
        }
    }

    @Test func `every template of the folder is embedded in the binary`() throws {
        let folder = AccountTestSupport.Repository.root + "/Sources/Delivery/Templates"
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                == MailTemplates.builtIn.map(\.name).sorted()
        )
    }
}

extension MailTemplates.Values {
    /// The same with flags that sections of templates test.
    fileprivate func with(_ flags: String...) -> Self {
        var values = self
        for flag in flags { values.text[flag] = "true" }
        return values
    }

    /// The same while the code of another mail is valid.
    fileprivate func withoutCode() -> Self {
        var values = self
        values.text["CODE"] = nil
        return values
    }
}
