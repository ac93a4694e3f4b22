import AccountLinking
import AccountOperations
import AccountTestSupport
import IdentityProviders
import Testing

@testable import concord

/// The file an operator keeps registrations of providers in.
struct ProvidersFileTests {
    @Test func `every field is read, and secrets can be in files beside it`() throws {
        let file = try Self.read(
            """
            providers:
              google.com:
                enabled: true
                clientId: 7-x.apps.googleusercontent.com
                clientSecretFile: secrets/google
              apple.com:
                enabled: false
                clientId: com.example.service
                appleSignInConfig:
                  bundleIds: [com.example.app, com.example.other]
                  codeFlowConfig: {teamId: TEAM, keyId: 1E5, privateKeyFile: /keys/apple.p8}
              oidc.corp:
                enabled: true
                displayName: "Corp"
                clientId: corp
                clientSecret: in the file
                issuer: https://id.corp.example
                emailDomains: [Corp.Example, a.example]
                responseType: {code: true, idToken: false}
                addresses:
                  token: https://inside.corp.example/token
            """,
            ["etc/secrets/google": "GOOGLE-SECRET\n", "/keys/apple.p8": "-----BEGIN\nKEY\n-----END\r\n"]
        )
        #expect(file.configs.map(\.provider.rawValue) == ["google.com", "apple.com", "oidc.corp"])
        let (google, apple, corp) = (file.configs[0], file.configs[1], file.configs[2])
        #expect(google.isEnabled && google.clientID == "7-x.apps.googleusercontent.com")
        #expect(google.clientSecret == .text("GOOGLE-SECRET"))
        #expect(!apple.isEnabled && apple.appleBundleIDs == ["com.example.app", "com.example.other"])
        #expect(apple.appleTeamID == "TEAM")
        // Taken as it is written: YAML's own reading would make a number of it.
        #expect(apple.appleKeyID == "1E5")
        #expect(apple.applePrivateKey == .text("-----BEGIN\nKEY\n-----END"))
        #expect(corp.displayName == "Corp" && corp.issuer == "https://id.corp.example")
        #expect(corp.clientSecret == .text("in the file"))
        #expect(corp.emailDomains.map(\.rawValue) == ["a.example", "corp.example"])
        #expect(corp.acceptsAuthorizationCodes && !corp.acceptsIDTokens)
        #expect(corp.addresses == [.token: "https://inside.corp.example/token"])
    }

    @Test func `every mistake is reported together, with its place and without secrets`() throws {
        let mistakes = try Self.mistakes(
            """
            providers:
              example.com: {enabled: true}
              google.com:
                enabled: perhaps
                clientSecret: s3cr3t
              github.com:
                clientID: written otherwise
                clientSecret: s3cr3t
              facebook.com:
                appleSignInConfig: {bundleIds: [x]}
              twitter.com:
                clientSecret: s3cr3t
                clientSecretFile: secrets/twitter
              apple.com:
                appleSignInConfig: {codeFlowConfig: {privateKeyFile: none.p8}}
              oidc.a:
                addresses: {userInfo: https://a.example}
              oidc.b: words
              yahoo.com:
                clientSecretFile: empty
              oidc.c:
                emailDomains: [corp.example, "*.corp.example"]
              linkedin.com:
                emailDomains: [corp.example]
            """,
            ["etc/secrets/twitter": "s3cr3t", "etc/empty": "\n"]
        )
        let reported = mistakes.description.split(separator: "\n").map(String.init)
        #expect(
            reported == [
                "etc/providers.yaml:2: example.com: unknown provider: use a supported provider or oidc.NAME",
                "etc/providers.yaml:3: google.com: Invalid value at 'enabled' (TYPE_BOOL)",
                "etc/providers.yaml:6: github.com: clientID is unknown, empty or not allowed here",
                "etc/providers.yaml:9: facebook.com: appleSignInConfig is unknown, empty or not allowed here",
                "etc/providers.yaml:11: twitter.com: clientSecret is given twice; keep one",
                "etc/providers.yaml:14: apple.com: privateKeyFile: none.p8 cannot be read; check its path and permissions",
                "etc/providers.yaml:16: oidc.a: INVALID_CONFIG : addresses names an unknown endpoint.",
                "etc/providers.yaml:18: oidc.b: must be an object with the fields of the provider",
                "etc/providers.yaml:19: yahoo.com: clientSecretFile: empty holds no text",
                "etc/providers.yaml:21: oidc.c: INVALID_CONFIG : Each of emailDomains must be the domain of an email address, "
                    + "such as example.com.",
                "etc/providers.yaml:23: linkedin.com: emailDomains is unknown, empty or not allowed here",
            ]
        )
        #expect(!mistakes.description.contains("s3cr3t"))
    }

    @Test(arguments: [
        ("", "give `providers`, and below it each provider by its id"),
        ("google.com: {enabled: true}", "give `providers`, and below it each provider by its id"),
        ("providers: {}\nother: {}", "give `providers`, and below it each provider by its id"),
        ("providers: [", "not YAML"),
        ("providers: {google.com: {}, google.com: {}}", "given twice in one group: google.com"),
        (String(repeating: "#", count: ProvidersFile.bytesMax + 1), "longer than 1 MiB"),
    ])
    func `a file of another kind is refused as a whole`(_ text: String, _ problem: String) throws {
        let mistakes = try Self.mistakes(text, [:])
        #expect(mistakes.all.count == 1)
        #expect(mistakes.description.contains(problem))
    }

    @Test func `a small file that expands without limit is refused`() throws {
        // Nine aliases of nine aliases, ten times over.
        var text = "providers:\n  oidc.a:\n    addresses: &a0 {token: x}\n"
        for level in 1...10 {
            let names = (0..<9).map { "k\($0): *a\(level - 1)" }.joined(separator: ", ")
            text += "    x\(level): &a\(level) {\(names)}\n"
        }
        #expect(try Self.mistakes(text, [:]).description.contains("the file has too many values"))
    }

    @Test func `a missing or binary file is reported`() throws {
        let absent = #expect(throws: ConfigurationMistakes.self) {
            try ProvidersFile(path: "gone.yaml") { _ in nil }
        }
        #expect(absent?.description == "gone.yaml: the file cannot be read; check its path and permissions")
        let binary = #expect(throws: ConfigurationMistakes.self) {
            try ProvidersFile(path: "binary") { _ in [0xFF, 0xFE, 0x00] }
        }
        #expect(binary?.description == "binary: not UTF-8 text")
    }

    private static func read(_ text: String, _ files: [String: String]) throws -> ProvidersFile {
        try ProvidersFile(path: "etc/providers.yaml") { path in
            (path == "etc/providers.yaml" ? text : files[path]).map { Array($0.utf8) }
        }
    }

    private static func mistakes(_ text: String, _ files: [String: String]) throws -> ConfigurationMistakes {
        try #require(#expect(throws: ConfigurationMistakes.self) { _ = try read(text, files) })
    }
}
