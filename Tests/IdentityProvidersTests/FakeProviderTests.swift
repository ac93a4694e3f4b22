import AccountLinking
import AccountTestSupport
import Crypto
import JSON
import Testing

@testable import IdentityProviders

/// Fake tokens are accepted in development, and refused without a `FakeProvider`.
struct FakeProviderTests {
    private static let json =
        #"{"sub":"fake-1","email":"ada@gmail.com","email_verified":true,"name":"Ada","hd":"x.test"}"#

    static let fakes: [String] = [
        json,
        CompactToken.unsigned([
            "sub": "fake-1", "email": "ada@gmail.com", "email_verified": true, "name": "Ada", "hd": "x.test",
        ]),
    ]

    private func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration? = nil
    ) async throws -> CredentialVerification {
        try await Scene(.google, fakes: FakeProvider()).registry
            .verify(credential, configuration: configuration, at: Scene.now)
    }

    @Test(arguments: fakes)
    func `every well-known provider accepts a fake token without a configuration`(token: String) async throws {
        for provider in FakeProvider.providers {
            let verified = try #require(try await verify(.init(provider: provider, idToken: token)).verified)
            #expect(verified.incoming.identity == ProviderIdentity(provider: provider, subject: "fake-1"))
            #expect(verified.incoming.profile.displayName == "Ada")
            #expect(verified.tokens.idToken == (provider == .twitter ? nil : token))
            guard case .present(let address, let flag, let domain) = verified.incoming.email else {
                Issue.record("no address")
                return
            }
            #expect(address.lowercased == "ada@gmail.com")
            #expect(flag == .isTrue)
            #expect(domain == (provider == .google ? "x.test" : nil))
        }
    }

    @Test
    func `providers without ID tokens accept a fake access token`() async throws {
        let token = #"{"sub":"12","screen_name":"ada","picture":"https://example.com/a.png"}"#
        let credential = ProviderCredential(provider: .twitter, accessToken: token, tokenSecret: "secret")
        let verified = try #require(try await verify(credential).verified)
        #expect(verified.incoming.identity.subject == "12")
        #expect(verified.incoming.profile.screenName == "ada")
        #expect(verified.incoming.email == .absent)
        #expect(verified.tokens.tokenSecret == "secret")
        #expect(verified.federatedID == "12")
    }

    /// The values from which SDKs rebuild a credential after a conflict: an access token for GitHub and Facebook, and
    /// also a secret for Twitter.
    @Test(arguments: fakes)
    func `the answer to a fake ID token has an access token that signs in without it`(token: String) async throws {
        for provider in FakeProvider.providers {
            let tokens = try #require(try await verify(.init(provider: provider, idToken: token)).verified).tokens
            #expect((tokens.tokenSecret != nil) == (provider == .twitter))
            let accessToken: String = try #require(tokens.accessToken)
            let rebuilt = ProviderCredential(
                provider: provider,
                accessToken: accessToken,
                tokenSecret: tokens.tokenSecret
            )
            let again = try #require(try await verify(rebuilt).verified)
            #expect(again.incoming.identity == ProviderIdentity(provider: provider, subject: "fake-1"))
        }
        let own = ProviderCredential(provider: .twitter, idToken: token, accessToken: "own", tokenSecret: "own secret")
        let tokens = try #require(try await verify(own).verified).tokens
        #expect(tokens == ProviderTokens(accessToken: "own", tokenSecret: "own secret"))
    }

    @Test
    func `the answer to a fake Google token has the form of Google's`() async throws {
        let verified = try await verify(.init(provider: .google, idToken: Self.json)).verified
        #expect(verified?.federatedID == "https://accounts.google.com/fake-1")
        #expect(verified?.incoming.issuer == "https://accounts.google.com")
        #expect(verified?.rawUserInfo.contains(#""verified_email":true"#) == true)
        #expect(verified?.rawUserInfo.contains(#""locale":"en""#) == true)
        #expect(
            verified?.incoming.profile.language == nil,
            "the answer has a default locale, the profile has no language"
        )
        let german = #"{"sub":"fake-1","locale":"de"}"#
        let other = try await verify(.init(provider: .google, idToken: german)).verified
        #expect(other?.rawUserInfo.contains(#""locale":"de""#) == true)
    }

    @Test
    func `a flag of a fake token that is the text false is false`() async throws {
        let token = #"{"sub":"1","email":"a@gmail.com","email_verified":"false"}"#
        let verified = try await verify(.init(provider: .google, idToken: token)).verified
        #expect(
            verified?.incoming.email
                == EmailAddress("a@gmail.com").map {
                    .present($0, flag: .isFalse, hostedDomain: nil)
                }
        )
    }

    @Test(
        arguments: [
            ("{", .malformed), ("{}", .missingSubject), (#"{"sub":""}"#, .missingSubject),
            (#"{"sub":1}"#, .missingSubject),
            (#"{"sub":null}"#, .missingSubject), (#"{"sub":"1"} x"#, .malformed), (#"{"sub":"a\u0000b"}"#, .malformed),
            ("{\"sub\":\"" + String(repeating: "s", count: 17_000) + "\"}", .tooLarge),
        ] as [(String, InvalidCredential)]
    )
    func `a fake token without a subject, malformed or too large is refused`(
        token: String,
        expected: InvalidCredential
    ) async throws {
        #expect(try await verify(.init(provider: .google, idToken: token)) == .invalid(expected))
    }

    @Test(arguments: ["foo", "a.b.c", "\u{65E5}", "."])
    func `a text that is neither a fake token nor a JWT is malformed in development`(token: String) async throws {
        #expect(try await verify(.init(provider: .google, idToken: token)) == .invalid(.malformed))
        let elsewhere = try await verify(.init(provider: try #require(ProviderID("oidc.x")), idToken: token))
        #expect(elsewhere == .invalid(.providerNotConfigured))
        let real = try await Scene(.google).registry
            .verify(.init(provider: .google, idToken: token), configuration: nil, at: Scene.now)
        #expect(real == .invalid(.providerNotConfigured))
    }

    @Test
    func `the nonce of a fake token is checked as that of a real one`() async throws {
        let scene = try Scene(Scene.openIDConnect, fakes: FakeProvider())
        let nonce = JSONValue.string(Hexadecimal.encode(Array(SHA256.hash(data: Array("raw".utf8)))))
        func apple(rawNonce: String?) async throws -> CredentialVerification {
            let token = JSONValue.object(["sub": "1", "nonce": nonce]).text
            return try await verify(.init(provider: .apple, idToken: token, rawNonce: rawNonce))
        }
        func registered(rawNonce: String?) async throws -> CredentialVerification {
            let token = JSONValue.object(scene.claims(["nonce": nonce])).text
            return try await scene.registry.verify(
                .init(provider: scene.provider, idToken: token, rawNonce: rawNonce),
                configuration: scene.configuration,
                at: Scene.now
            )
        }
        #expect(try await apple(rawNonce: "raw").verified != nil)
        #expect(try await apple(rawNonce: "wrong") == .invalid(.nonceMismatch))
        #expect(try await apple(rawNonce: nil) == .invalid(.missingNonce))
        #expect(try await registered(rawNonce: "raw").verified != nil)
        #expect(try await registered(rawNonce: "wrong") == .invalid(.nonceMismatch))
        #expect(try await registered(rawNonce: nil) == .invalid(.missingNonce))
        let unbound = try await verify(.init(provider: .apple, idToken: Self.json, rawNonce: "raw"))
        #expect(unbound.verified != nil, "a fake token without a nonce is not bound")
    }

    @Test
    func `a disabled provider refuses fake tokens`() async throws {
        let configuration = ProviderConfiguration(provider: .gitHub, isEnabled: false)
        let result = try await verify(.init(provider: .gitHub, idToken: Self.json), configuration: configuration)
        #expect(result == .invalid(.providerDisabled))
    }

    @Test
    func `an OpenID Connect provider must be registered and named by the token`() async throws {
        let scene = try Scene(Scene.openIDConnect, fakes: FakeProvider())
        func verify(_ claims: [String: JSONValue]) async throws -> CredentialVerification {
            let json = try await scene.verify(JSONValue.object(claims).text)
            let unsigned = try await scene.verify(CompactToken.unsigned(claims))
            #expect(json.invalid == unsigned.invalid)
            return json
        }
        #expect(try await verify(scene.claims()).verified?.signInAttributes?["name"] == "Ada Lovelace")
        #expect(try await verify(scene.claims(["aud": ["client-2", "x"]])).verified != nil)
        #expect(try await verify(scene.claims(["aud": "client-3"])) == .invalid(.wrongAudience))
        #expect(try await verify(scene.claims(["aud": .null])) == .invalid(.wrongAudience))
        #expect(try await verify(scene.claims(["iss": "https://other.example"])) == .invalid(.wrongIssuer))
        #expect(try await verify(scene.claims(["iss": .null])) == .invalid(.wrongIssuer))
        let token = JSONValue.object(scene.claims()).text
        let unregistered = try await scene.registry.verify(
            .init(provider: scene.provider, idToken: token),
            configuration: nil,
            at: Scene.now
        )
        #expect(unregistered == .invalid(.providerNotConfigured))
    }

    @Test(arguments: ["saml.example", "gc.apple.com", "unheard-of.example"])
    func `other providers refuse fake tokens`(name: String) async throws {
        let provider = try #require(ProviderID(name))
        let configuration = ProviderConfiguration(provider: provider, clientIDs: ["client-1"])
        let result = try await verify(.init(provider: provider, idToken: Self.json), configuration: configuration)
        #expect(result == .invalid(.unsupportedProvider))
    }

    @Test
    func `the signature of a signed token is verified in development`() async throws {
        let scene = try Scene(.google, fakes: FakeProvider())
        #expect(try await scene.verify(claims: [:]).verified != nil)
        #expect(try await scene.verify(claims: ["exp": 1]) == .invalid(.expired))
        let forged = try SharedKeys.otherRSA().token(scene.claims(), header: ["kid": "key-1"])
        #expect(try await scene.verify(forged) == .invalid(.badSignature))
        // An unsigned token with a signature is a forgery, not a fake token.
        let unsigned = CompactToken.unsigned(scene.claims()) + "AAAA"
        #expect(try await scene.verify(unsigned) == .invalid(.algorithmNotAllowed))
        let unconfigured = try await scene.registry.verify(
            .init(provider: .google, idToken: try scene.token()),
            configuration: nil,
            at: Scene.now
        )
        #expect(unconfigured == .invalid(.providerNotConfigured))
    }

    @Test(arguments: fakes)
    func `production refuses fake tokens`(token: String) async throws {
        for provider in Array(FakeProvider.providers) + [Scene.openIDConnect] {
            let scene = try Scene(provider)
            let asIDToken = ProviderCredential(provider: provider, idToken: token)
            #expect(try await scene.verify(asIDToken).verified == nil)
            #expect(try await scene.verify(.init(provider: provider, accessToken: token)).verified == nil)
            let unconfigured = try await scene.registry.verify(asIDToken, configuration: nil, at: Scene.now)
            #expect(unconfigured == .invalid(.providerNotConfigured))
            #expect(scene.stub.requests == 0)
        }
    }

    @Test func `the Workspace domain is used only if the issuer of an oidc provider is Google`()
        async throws
    {
        let provider = try #require(ProviderID("oidc.workspace"))
        for (issuer, expected) in [
            ("https://accounts.google.com", "corp.example"), ("https://accounts.google.com.evil.example", nil),
            ("https://issuer.example", nil),
        ] as [(String, String?)] {
            let claims: JSONValue = [
                "sub": "s", "iss": .string(issuer), "aud": "client", "email": "ann@corp.example",
                "email_verified": true,
                "hd": "corp.example",
            ]
            let configuration = ProviderConfiguration(provider: provider, clientIDs: ["client"], issuer: issuer)
            let result = try await verify(
                .init(provider: provider, idToken: claims.text),
                configuration: configuration
            )
            guard case .present(_, _, let hostedDomain) = result.verified?.incoming.email else {
                Issue.record("no address: \(issuer)")
                continue
            }
            #expect(hostedDomain == expected, "\(issuer)")
        }
    }
}
