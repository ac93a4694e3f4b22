import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import IdentityProviders

/// The peculiarities of each provider's answers.
struct ProviderTests {
    // MARK: Google

    @Test
    func `Google's issuer is accepted with and without its scheme`() async throws {
        let scene = try Scene(.google)
        let verified = try #require(try await scene.verify(claims: ["iss": "accounts.google.com"]).verified)
        #expect(verified.incoming.issuer == "https://accounts.google.com")
        #expect(try await scene.verify(claims: ["iss": "http://accounts.google.com"]) == .invalid(.wrongIssuer))
    }

    @Test
    func `Google's hosted domain is stored with the address`() async throws {
        let scene = try Scene(.google)
        let address = try #require(EmailAddress("Ada@example.com"))
        let hosted = try #require(try await scene.verify(claims: ["hd": "example.com"]).verified)
        #expect(hosted.incoming.email == .present(address, flag: .isTrue, hostedDomain: "example.com"))
        let consumer = try #require(try await scene.verify(claims: [:]).verified)
        #expect(consumer.incoming.email == .present(address, flag: .isTrue, hostedDomain: nil))
    }

    @Test
    func `the fields of an answer for Google have Google's form`() async throws {
        let scene = try Scene(.google)
        let claims: [String: JSONValue] = [
            "sub": "108", "given_name": "Ada", "family_name": "Lovelace", "picture": "https://example.com/a.png",
            "locale": "en",
        ]
        let verified = try #require(try await scene.verify(claims: claims).verified)
        #expect(verified.federatedID == "https://accounts.google.com/108")
        #expect(verified.firstName == "Ada")
        #expect(verified.lastName == "Lovelace")
        #expect(verified.incoming.profile.photoURL == "https://example.com/a.png")
        #expect(verified.incoming.profile.language == "en")
        #expect(verified.signInAttributes == nil)
        #expect(
            verified.rawUserInfo == """
                {"granted_scopes":"openid https://www.googleapis.com/auth/userinfo.profile \
                https://www.googleapis.com/auth/userinfo.email","id":"108","name":"Ada Lovelace","given_name":"Ada",\
                "family_name":"Lovelace","verified_email":true,"locale":"en","email":"Ada@example.com",\
                "picture":"https://example.com/a.png"}
                """
        )
    }

    // MARK: Apple

    @Test(arguments: ["client-1", "com.example.app"])
    func `Apple's audiences are services ids and bundle ids`(audience: String) async throws {
        #expect(try await Scene(.apple).verify(claims: ["aud": .string(audience)]).verified != nil)
    }

    @Test(
        arguments: [
            (true, true), ("true", true), (false, false), ("false", false), ("TRUE", false), (1, false), ("1", false),
            (.null, false), ([true], false),
        ] as [(JSONValue, Bool)]
    )
    func `only true and the text true verify an address`(flag: JSONValue, expected: Bool) async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            let verified = try #require(try await scene.verify(claims: ["email_verified": flag]).verified)
            guard case .present(_, let flag, _) = verified.incoming.email else {
                Issue.record("no address")
                return
            }
            #expect((flag == .isTrue) == expected)
        }
    }

    @Test
    func `only the name is read from Apple's user parameter`() async throws {
        let scene = try Scene(.apple)
        let user = #"{"name":{"firstName":"Grace","lastName":"Hopper"},"email":"admin@example.com","sub":"other"}"#
        let token = try scene.token(["name": .null])
        let credential = ProviderCredential(provider: .apple, idToken: token, appleUser: user)
        let verified = try #require(try await scene.verify(credential).verified)
        #expect(verified.firstName == "Grace")
        #expect(verified.lastName == "Hopper")
        #expect(verified.fullName == "Grace Hopper")
        #expect(verified.incoming.profile.displayName == "Grace Hopper")
        #expect(verified.incoming.email.address?.lowercased == "ada@example.com")
        #expect(verified.incoming.identity.subject == "subject-1")
    }

    @Test(
        arguments: [
            "", "no JSON", "[]", "{}", #"{"name":"Grace"}"#, #"{"name":{"firstName":1}}"#,
            #"{"name":{"firstName":""}}"#,
            #"{"name":{"firstName":"\u0000"}}"#, "{\"name\":\"" + String(repeating: "x", count: 5000) + "\"}",
        ]
    )
    func `a name that cannot be read does not stop the sign-in`(user: String) async throws {
        let scene = try Scene(.apple)
        let credential = ProviderCredential(
            provider: .apple,
            idToken: try scene.token(["name": .null]),
            appleUser: user
        )
        let verified = try #require(try await scene.verify(credential).verified)
        #expect(verified.incoming.profile.displayName == nil)
    }

    @Test
    func `a first or a last name alone is a name`() async throws {
        let scene = try Scene(.apple)
        let user = #"{"name":{"firstName":"Grace"}}"#
        let credential = ProviderCredential(provider: .apple, idToken: try scene.token(), appleUser: user)
        #expect(try await scene.verify(credential).verified?.incoming.profile.displayName == "Grace")
    }

    // MARK: Facebook

    @Test
    func `Facebook's Limited Login has two issuers`() async throws {
        let scene = try Scene(.facebook)
        let claims: [String: JSONValue] = ["iss": "https://limited.facebook.com"]
        #expect(try await scene.verify(claims: claims).verified?.incoming.issuer == "https://www.facebook.com")
    }

    // MARK: OpenID Connect

    @Test
    func `other claims of an issuer become sign-in attributes`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        let claims: [String: JSONValue] = [
            "groups": ["a", "b"], "department": "engines", "at_hash": "x", "jti": "y", "acr": "silver",
        ]
        let verified = try #require(try await scene.verify(claims: claims).verified)
        #expect(
            verified.signInAttributes == [
                "groups": ["a", "b"], "department": "engines", "acr": "silver", "email": "Ada@example.com",
                "email_verified": true, "name": "Ada Lovelace",
            ]
        )
        #expect(verified.federatedID == "subject-1")
        #expect(verified.rawUserInfo.contains(#""department":"engines""#))
    }

    @Test
    func `attributes that are too large for a token are omitted as a whole`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        func groups(_ bytes: Int) -> [String: JSONValue] { ["groups": .string(String(repeating: "g", count: bytes))] }
        let most = OpenIDConnect.attributesBytesMax
        let many = try #require(try await scene.verify(claims: groups(most / 2)).verified)
        #expect(many.signInAttributes?["groups"] != nil)
        // Token and profile together may exceed the limit.
        let credential = ProviderCredential(provider: many.incoming.identity.provider, idToken: "x")
        let claims = JSONValue.object(groups(most).merging(["sub": "subject-1"]) { $1 })
        let tooMany = OpenIDConnect.verification(of: credential, claims: claims, issuer: "https://issuer.example")
        #expect(tooMany.verified != nil && tooMany.verified?.signInAttributes == nil)
    }

    @Test
    func `standard claims fill the profile`() async throws {
        let claims: [String: JSONValue] = [
            "name": .null, "given_name": "Ada", "family_name": "Lovelace", "preferred_username": "ada",
            "zoneinfo": "Europe/London", "birthdate": "1815-12-10", "locale": "en-GB",
        ]
        let verified = try #require(try await Scene(Scene.openIDConnect).verify(claims: claims).verified)
        #expect(
            verified.incoming.profile
                == Profile(
                    displayName: "Ada Lovelace",
                    screenName: "ada",
                    language: "en-GB",
                    timeZone: "Europe/London",
                    dateOfBirth: "1815-12-10"
                )
        )
    }

    @Test
    func `profile claims of a wrong form are omitted, and long ones cut off`() async throws {
        let claims: [String: JSONValue] = [
            "name": .string(String(repeating: "n", count: 300)), "picture": "javascript:alert(1)", "locale": 7,
            "email": "not an address",
        ]
        let verified = try #require(try await Scene(Scene.openIDConnect).verify(claims: claims).verified)
        #expect(verified.incoming.profile.displayName?.count == 256)
        #expect(verified.incoming.profile.photoURL == nil)
        #expect(verified.incoming.profile.language == nil)
        #expect(verified.incoming.email == .absent)
    }

    @Test
    func `two issuers with the same subject are two identities`() async throws {
        let other = try #require(ProviderID("oidc.other"))
        let here = try await Scene(Scene.openIDConnect).verify(claims: [:]).verified
        let there = try await Scene(other).verify(claims: [:]).verified
        #expect(here?.incoming.identity.subject == there?.incoming.identity.subject)
        #expect(here?.incoming.identity != there?.incoming.identity)
    }

    @Test
    func `a token of one provider is refused by another`() async throws {
        for holder in Scene.verified {
            for other in Scene.verified where other != holder {
                let token = try Scene(holder, key: .rsa("key-1")).token()
                #expect(try await Scene(other).verify(token).verified == nil)
            }
        }
    }

    @Test
    func `an OpenID Connect provider without an issuer, or for codes only, verifies nothing`() async throws {
        var scene = try Scene(Scene.openIDConnect)
        scene.configuration.issuer = ""
        #expect(try await scene.verify(claims: [:]) == .invalid(.providerNotConfigured))
        scene.configuration.issuer = scene.issuer
        scene.configuration.acceptsIDTokens = false
        #expect(try await scene.verify(claims: [:]) == .invalid(.unsupportedKind))
    }

    @Test
    func `an issuer's trailing slash is not doubled`() async throws {
        var scene = try Scene(Scene.openIDConnect)
        let issuer = "https://slash.example/"
        scene.configuration.issuer = issuer
        scene.stub.publish(
            ["issuer": .string(issuer), "jwks_uri": .string(scene.keySetURL)],
            at: "https://slash.example/.well-known/openid-configuration"
        )
        #expect(try await scene.verify(claims: ["iss": .string(issuer)]).verified != nil)
    }
}
