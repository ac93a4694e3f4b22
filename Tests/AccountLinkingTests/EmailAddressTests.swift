import AccountLinking
import Testing

struct EmailAddressTests {
    @Test(arguments: [
        "a@b.co", "ann.lee+news@example.com", "!#$%&'*+-/=?^_`{|}~@example.com", "1@example.com", "a@localhost",
        "a@x--y.example.com", "a@1.example", "a@xn--bcher-kva.example",
        String(repeating: "a", count: 64) + "@example.com",
        "a@" + String(repeating: "b", count: 63) + ".com",
        String(repeating: "a", count: 64) + "@" + String(repeating: "b.", count: 93) + "com",
    ])
    func `an ordinary address is accepted unchanged`(raw: String) throws {
        let email = try #require(EmailAddress(raw))
        #expect(email.raw == raw)
        #expect(email.canonical == raw)
        #expect(email.lowercased == raw)
    }

    @Test(arguments: [
        "", "@", "a", "a@", "@example.com", "a@b@example.com", "a b@example.com", " a@example.com", "a@example.com ",
        "a@example.com\n", "a\u{0}@example.com", "a\t@example.com", "a\u{7F}@example.com", ".a@example.com",
        "a.@example.com", "a..b@example.com", "\"a\"@example.com", "a(x)@example.com", "a,b@example.com",
        "<a@example.com>", "a@example", "a@com.", "a@.com", "a@example..com", "a@-example.com", "a@example-.com",
        "a@exa_mple.com", "a@[127.0.0.1]", "a@127.0.0.1", "a@example.123", "a@example.com/", "a@localhost.",
        "a@local", "a:b@example.com", "a;b@example.com", "a\\b@example.com", "a[b]@example.com",
        String(repeating: "a", count: 65) + "@example.com",
        "a@" + String(repeating: "b", count: 64) + ".com",
        String(repeating: "a", count: 64) + "@" + String(repeating: "b.", count: 94) + "com",
    ])
    func `a malformed address is refused`(raw: String) {
        #expect(EmailAddress(raw) == nil)
    }

    @Test func `only case is folded, and it is folded everywhere`() throws {
        let email = try #require(EmailAddress("Ann.LEE+News@EXAMPLE.Com"))
        #expect(email.raw == "Ann.LEE+News@EXAMPLE.Com")
        #expect(email.canonical == "ann.lee+news@example.com")
        #expect(email.lowercased == "ann.lee+news@example.com")
        #expect(email == EmailAddress("ann.lee+news@example.com"))
        #expect(email != EmailAddress("annlee@example.com"))
        #expect(email != EmailAddress("ann.lee@example.com"))
    }

    @Test func `equal addresses hash equally`() throws {
        let forms = try ["Jose\u{301}@Bücher.example", "JOSÉ@xn--bcher-kva.EXAMPLE", "josé@bücher.example"].map {
            try #require(EmailAddress($0))
        }
        #expect(Set(forms).count == 1)
    }

    @Test func `the domain is that of the key`() throws {
        #expect(try #require(EmailAddress("a@EXAMPLE.com")).domain == "example.com")
        #expect(try #require(EmailAddress("a@Bücher.example")).domain == "xn--bcher-kva.example")
    }

    @Test(arguments: [
        ("a@Bücher.example", "a@xn--bcher-kva.example"),
        ("a@BU\u{308}CHER.example", "a@xn--bcher-kva.example"),
        ("a@faß.example", "a@xn--fa-hia.example"),
        ("a@例え.テスト", "a@xn--r8jz45g.xn--zckzah"),
        ("a@例え。テスト", "a@xn--r8jz45g.xn--zckzah"),
        ("राम@उदाहरण.भारत", "राम@xn--p1b6ci4b4b3a.xn--h2brj9c"),
        ("JOSE\u{301}@example.com", "jos\u{E9}@example.com"),
        ("o\u{308}\u{323}@example.com", "\u{1ECD}\u{308}@example.com"),
        ("\u{212B}sa+X.Y@Example.com", "\u{E5}sa+x.y@example.com"),
        ("user.名前@example.com", "user.名前@example.com"),
    ])
    func `an internationalized address has one key, byte for byte`(raw: String, canonical: String) throws {
        let email = try #require(EmailAddress(raw))
        #expect(Array(email.canonical.utf8) == Array(canonical.utf8))
        #expect(email.raw == raw)
        // The key parses to itself.
        #expect(Array(try #require(EmailAddress(email.canonical)).canonical.utf8) == Array(canonical.utf8))
    }

    @Test func `the wire form of an internationalized address is lower case only`() throws {
        #expect(try #require(EmailAddress("ANN@BÜCHER.example")).lowercased == "ann@bücher.example")
    }

    @Test(arguments: [
        "😀@example.com", "a\u{200B}b@example.com", "a\u{202E}b@example.com", "a\u{AD}b@example.com",
        "\u{FF41}nn@example.com", "a\u{FF20}example.com", "a@ex\u{FF20}mple.com", "a@☃\u{2024}com/x", "a\u{85}@b.co",
        "\u{301}a@example.com", "a+\u{301}@example.com", "a@\u{301}b.com", "a@b\u{FF0F}c.com", "a\u{2028}@example.com",
        "a@\u{3002}com", "é..a@example.com", ".é@example.com", "é.@example.com", "é @example.com",
        "é\u{0}@example.com", "a@é\u{0}.com", "\u{212A}ate@example.com", "\u{130}rem@example.com", "é\u{37E}@b.co",
        "\u{1FEF}é@b.co",
        String(repeating: "é", count: 33) + "@example.com",
    ])
    func `characters that are invisible, combine with nothing or change when folded are refused`(raw: String) {
        #expect(EmailAddress(raw) == nil)
    }

    @Test func `similar addresses of other scripts stay different`() throws {
        let latin = try #require(EmailAddress("anna@example.com"))
        let cyrillic = try #require(EmailAddress("\u{430}nna@example.com"))
        #expect(latin != cyrillic)
    }
}

struct IdentifierTests {
    @Test func `a user id has 1 to 128 characters, no control characters`() {
        #expect(UserID("a")?.rawValue == "a")
        #expect(UserID(String(repeating: "é", count: 128)) != nil)
        #expect(UserID(String(repeating: "a", count: 129)) == nil)
        // Counted as in the database: an "e" and its accent are two.
        #expect(UserID(String(repeating: "e\u{301}", count: 64)) != nil)
        #expect(UserID(String(repeating: "e\u{301}", count: 65)) == nil)
        #expect(UserID("") == nil)
        #expect(UserID("a\n") == nil)
        #expect(UserID("a\u{7F}") == nil)
        #expect(UserID("\u{85}") != nil, "control characters outside ASCII are allowed")
        #expect(UserID(String(repeating: "\u{10FFFF}", count: 128)) != nil)
        #expect(UserID(String(repeating: "\u{10FFFF}", count: 129)) == nil)
    }

    @Test func `a provider id is lower case and plain`() {
        #expect(ProviderID("Google.com") == .google)
        #expect(ProviderID("oidc.Work_1-x")?.rawValue == "oidc.work_1-x")
        #expect(ProviderID("oidc.x")?.isOpenIDConnect == true)
        #expect(ProviderID("saml.x")?.isSAML == true)
        #expect(ProviderID("") == nil)
        #expect(ProviderID("a b") == nil)
        #expect(ProviderID("é") == nil)
        #expect(ProviderID(String(repeating: "a", count: 129)) == nil)
        #expect(ProviderID.apple < .google)
    }

    @Test func `a subject is stored unchanged`() {
        #expect(ProviderIdentity(provider: .google, subject: "AbC")?.subject == "AbC")
        #expect(ProviderIdentity(provider: .google, subject: "") == nil)
        #expect(ProviderIdentity(provider: .google, subject: "a\u{0}b") == nil)
        #expect(ProviderIdentity(provider: .google, subject: String(repeating: "a", count: 256)) == nil)
    }

    @Test(arguments: [
        ("+16505553434", "+16505553434"), ("+1 (650) 555-34.34", "+16505553434"), ("16505553434", nil),
        ("+06505553434", nil), ("+123456", nil), ("+1234567", "+1234567"), ("+123456789012345", "+123456789012345"),
        ("+1234567890123456", nil), ("", nil), ("+", nil), ("+1650555x434", nil), ("+٠١٢٣٤٥٦٧", nil),
    ])
    func `a number is E.164 after its separators are removed`(raw: String, canonical: String?) {
        #expect(PhoneNumber(raw)?.rawValue == canonical)
    }

    @Test func `an email proof parses from its name`() {
        let proofs: [EmailProof] = [.emailCode, .emailLink, .passwordReset, .administrator, .provider(.google)]
        for proof in proofs { #expect(EmailProof(name: proof.name) == proof) }
        #expect(EmailProof(name: "somebody") == nil)
        #expect(EmailProof(name: "provider:") == nil)
        #expect(Set(proofs.map(\.name)).count == proofs.count)
    }

    @Test func `instants before 1970 are rounded down`() {
        #expect(Timestamp(microsecondsSinceEpoch: -1).secondsSinceEpoch == -1)
        #expect(Timestamp(microsecondsSinceEpoch: -1_000_000).secondsSinceEpoch == -1)
        #expect(Timestamp(microsecondsSinceEpoch: 1_999_999).secondsSinceEpoch == 1)
        #expect(Timestamp(millisecondsSinceEpoch: 1500).millisecondsSinceEpoch == 1500)
        #expect(Timestamp(secondsSinceEpoch: 5).adding(seconds: 2).seconds(since: Timestamp(secondsSinceEpoch: 4)) == 3)
    }
}
