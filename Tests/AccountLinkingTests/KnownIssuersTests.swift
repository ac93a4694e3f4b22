import AccountLinking
import Testing

/// The issuers of known providers, and strings that only look like them.
struct KnownIssuersTests {
    private static let directory = "11111111-2222-3333-4444-555555555555"

    static let known: [(String, ProviderID)] = [
        ("https://accounts.google.com", .google),
        ("accounts.google.com", .google),
        ("https://appleid.apple.com", .apple),
        ("https://www.facebook.com", .facebook),
        ("https://limited.facebook.com", .facebook),
        ("https://www.linkedin.com", .linkedIn),
        ("https://www.linkedin.com/oauth", .linkedIn),
        ("https://api.login.yahoo.com", .yahoo),
        ("https://login.microsoftonline.com/\(directory)/v2.0", .microsoft),
        ("https://login.microsoftonline.com/common/v2.0", .microsoft),
        ("https://login.microsoftonline.com/contoso.onmicrosoft.com/v2.0", .microsoft),
        ("https://sts.windows.net/\(directory)/", .microsoft),
    ]

    @Test(arguments: known)
    func `a known issuer belongs to its provider`(issuer: String, provider: ProviderID) {
        #expect(ProviderID.known(forIssuer: issuer) == provider)
    }

    @Test func `every issuer in the provider table belongs to the provider of its row and is open to everyone`() {
        for row in KnownProvider.all {
            for issuer in row.issuers {
                #expect(ProviderID.known(forIssuer: issuer) == row.id, "\(issuer)")
                #expect(ProviderID.isOpenToEveryone(knownIssuer: issuer), "\(issuer)")
            }
        }
    }

    static let unknown = [
        "", "https://", "https://issuer.example",
        "https://accounts.google.com.evil.example", "https://accounts.google.com/", "https://accounts.google.com/x",
        "https://accounts.google.com@evil.example", "https://evil.example/https://accounts.google.com",
        "http://accounts.google.com", "HTTPS://accounts.google.com", "https://ACCOUNTS.google.com",
        " https://accounts.google.com", "https://accounts.google.com\u{0}", "https://accounts.googIe.com",
        "https://accounts.google.com:443", "https://accounts.google.com.", "https://accounts.google.com?x",
        "https://appleid.apple.com.evil.example", "https://appleid.apple.com/auth",
        "https://www.facebook.com.evil.example", "https://facebook.com", "https://m.facebook.com",
        "https://www.linkedin.com/oauth/", "https://www.linkedin.com/oauthx",
        "https://www.linkedin.com.evil.example/oauth",
        "https://api.login.yahoo.com.evil.example", "https://login.yahoo.com",
        "https://login.microsoftonline.com", "https://login.microsoftonline.com/",
        "https://login.microsoftonline.com/v2.0", "https://login.microsoftonline.com//v2.0",
        "https://login.microsoftonline.com/\(directory)", "https://login.microsoftonline.com/\(directory)/v2.0/",
        "https://login.microsoftonline.com/\(directory)/x/v2.0", "https://login.microsoftonline.com/../v2.0",
        "https://login.microsoftonline.com/\(directory)?/v2.0", "https://login.microsoftonline.com/@evil.example/v2.0",
        "https://login.microsoftonline.com/%2e%2e/v2.0",
        "https://login.microsoftonline.com.evil.example/\(directory)/v2.0",
        "https://login.microsoftonline.com@evil.example/\(directory)/v2.0",
        "https://evil.example/login.microsoftonline.com/\(directory)/v2.0",
        "https://login.microsoftonline.com/\(String(repeating: "a", count: 254))/v2.0",
        "https://sts.windows.net", "https://sts.windows.net/", "https://sts.windows.net//",
        "https://sts.windows.net/\(directory)", "https://sts.windows.net/\(directory)/x/",
        "https://sts.windows.net.evil.example/\(directory)/",
    ]

    @Test(arguments: unknown)
    func `a string that only looks like a known issuer is unknown`(issuer: String) {
        #expect(ProviderID.known(forIssuer: issuer) == nil)
        #expect(!ProviderID.isOpenToEveryone(knownIssuer: issuer))
    }

    @Test func `known issuers are open to everyone, except an organization's directory`() {
        let personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
        for name in ["common", "organizations", "consumers", "Common", personal, personal.uppercased()] {
            #expect(
                ProviderID.isOpenToEveryone(knownIssuer: "https://login.microsoftonline.com/\(name)/v2.0"),
                "\(name)"
            )
        }
        for issuer in [
            "https://login.microsoftonline.com/\(Self.directory)/v2.0", "https://sts.windows.net/\(Self.directory)/",
        ] {
            #expect(!ProviderID.isOpenToEveryone(knownIssuer: issuer), "\(issuer)")
        }
        for (issuer, provider) in Self.known where provider != .microsoft {
            #expect(ProviderID.isOpenToEveryone(knownIssuer: issuer), "\(issuer)")
        }
    }

    @Test func `a domain is stored in the canonical form of addresses`() {
        #expect(EmailDomain("Corp.Example")?.rawValue == "corp.example")
        #expect(EmailDomain("bücher.example")?.rawValue == "xn--bcher-kva.example")
        #expect(EmailDomain("localhost")?.rawValue == "localhost")
        for text in [
            "", "com", "@corp.example", "a@corp.example", "*.corp.example", "corp.example.", " corp.example",
            "10.0.0.1",
        ] {
            #expect(EmailDomain(text) == nil, "\(text)")
        }
    }
}
