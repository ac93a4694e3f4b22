import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// Wrong claims of a well-signed token, for every provider with real verification.
struct IDTokenClaimsTests {
    @Test(arguments: Scene.verified)
    func `a valid token proves its subject`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        let token = try scene.token()
        let verified = try #require(try await scene.verify(token).verified)
        #expect(verified.incoming.identity == ProviderIdentity(provider: provider, subject: "subject-1"))
        #expect(verified.incoming.issuer == scene.issuer)
        #expect(verified.incoming.email.address?.lowercased == "ada@example.com")
        #expect(verified.incoming.profile.displayName == "Ada Lovelace")
        #expect(verified.fullName == "Ada Lovelace")
        #expect(verified.tokens.idToken == token)
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        let changes: [String: JSONValue]
        let expected: InvalidCredential
        var testDescription: String { JSONValue.object(changes).text }

        init(_ changes: [String: JSONValue], _ expected: InvalidCredential) {
            self.changes = changes
            self.expected = expected
        }
    }

    private static let seconds = Scene.now.secondsSinceEpoch

    static let wrong: [Wrong] = [
        Wrong(["iss": .null], .malformedClaim("iss")),
        Wrong(["iss": 1], .malformedClaim("iss")),
        Wrong(["iss": "https://evil.example"], .wrongIssuer),
        Wrong(["iss": "https://issuer.example/tenant/"], .wrongIssuer),
        Wrong(["iss": "HTTPS://ISSUER.EXAMPLE/tenant"], .wrongIssuer),
        Wrong(["aud": .null], .malformedClaim("aud")),
        Wrong(["aud": 1], .malformedClaim("aud")),
        Wrong(["aud": ["client-1", 1]], .malformedClaim("aud")),
        Wrong(["aud": []], .wrongAudience),
        Wrong(["aud": ""], .wrongAudience),
        Wrong(["aud": "client-3"], .wrongAudience),
        Wrong(["aud": "client-1 "], .wrongAudience),
        Wrong(["aud": ["client-3", "client-4"]], .wrongAudience),
        Wrong(["aud": ["client-1", "client-3"]], .wrongAuthorizedParty),
        Wrong(["aud": ["client-1", "client-3"], "azp": "client-3"], .wrongAuthorizedParty),
        Wrong(["aud": ["client-1", "client-3"], "azp": 1], .malformedClaim("azp")),
        Wrong(["exp": .null], .malformedClaim("exp")),
        Wrong(["exp": "1900000000"], .malformedClaim("exp")),
        Wrong(["exp": .integer(seconds - 60)], .expired),
        Wrong(["exp": .double(Double(seconds) - 60.5)], .expired),
        Wrong(["exp": 0], .expired),
        Wrong(["exp": -1], .expired),
        Wrong(["iat": .null], .malformedClaim("iat")),
        Wrong(["iat": .integer(seconds + 61)], .notYetValid),
        Wrong(["exp": .integer(seconds - 10 + 86_401)], .livesTooLong),
        Wrong(["iat": 0], .livesTooLong),
        Wrong(["iat": 1, "exp": 1_099_511_627_776], .livesTooLong),
        Wrong(["iat": -1], .livesTooLong),
        Wrong(["exp": .double(1e300)], .livesTooLong),
        Wrong(["iat": .double(-1e300)], .livesTooLong),
        Wrong(["nbf": .integer(seconds + 61)], .notYetValid),
        Wrong(["nbf": "soon"], .malformedClaim("nbf")),
        Wrong(["sub": .null], .missingSubject),
        Wrong(["sub": ""], .missingSubject),
        Wrong(["sub": 12], .missingSubject),
        Wrong(["sub": .string(String(repeating: "s", count: 256))], .malformedClaim("sub")),
        Wrong(["sub": "a\u{1}b"], .malformedClaim("sub")),
        Wrong(["nonce": 1], .malformedClaim("nonce")),
    ]

    @Test(arguments: wrong)
    func `a token with a wrong claim is refused`(wrong: Wrong) async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            #expect(try await scene.verify(claims: wrong.changes) == .invalid(wrong.expected), "\(provider.rawValue)")
        }
    }

    static let tolerated: [[String: JSONValue]] = [
        ["exp": .integer(seconds - 59)],
        ["exp": .double(Double(seconds) + 0.5)],
        ["iat": .integer(seconds + 60)],
        ["nbf": .integer(seconds + 60)],
        ["iat": .integer(seconds), "exp": .integer(seconds + 86_400)],
        ["auth_time": .integer(seconds - 86_400 * 365)],
        ["auth_time": 0],
        ["auth_time": "yesterday"],
        ["auth_time": .double(1e300)],
        ["nbf": .integer(seconds - 60)],
        ["aud": ["client-1"]],
        ["aud": ["client-1", "client-3"], "azp": "client-1"],
        ["aud": ["client-3", "client-2"], "azp": "client-1"],
        ["aud": "client-2", "azp": "client-2"],
        ["sub": .string(String(repeating: "s", count: 255))],
    ]

    @Test(arguments: tolerated)
    func `every form of claims that the standard allows is accepted`(changes: [String: JSONValue]) async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            #expect(try await scene.verify(claims: changes).verified != nil, "\(provider.rawValue)")
        }
    }

    @Test(arguments: Scene.verified)
    func `the time of the sign-in is auth_time, and never later than the time of issue`(
        provider: ProviderID
    ) async throws {
        let scene = try Scene(provider)
        let seconds = Self.seconds
        for (changes, expected) in [
            ([:], seconds - 10), (["auth_time": .integer(seconds - 5000)], seconds - 5000),
            (["auth_time": .integer(seconds + 5000)], seconds - 10), (["auth_time": 0], seconds - 10),
            (["auth_time": -1], seconds - 10), (["auth_time": "1"], seconds - 10),
            (["auth_time": .double(Double(seconds) - 20.5)], seconds - 21),
            (["iat": .integer(seconds + 60)], seconds + 60),
        ] as [([String: JSONValue], Int64)] {
            let verified = try #require(try await scene.verify(claims: changes).verified)
            #expect(verified.signedInAt?.secondsSinceEpoch == expected, "\(changes)")
            #expect(verified.expiresAt?.secondsSinceEpoch == seconds + 3590 + 60)
            let stored = VerifiedCredential(stored: verified.stored)
            #expect(stored == verified)
        }
    }

    @Test func `a stored credential has a flag of two values for older versions beside the flag of three`() async throws
    {
        let scene = try Scene(.google)
        for (flag, expected) in [
            (JSONValue.null, VerifiedFlag(nil)), (false, VerifiedFlag(false)), (true, VerifiedFlag(true)),
        ] {
            let verified = try #require(try await scene.verify(claims: ["email_verified": flag]).verified)
            guard case .present(_, let found, _) = verified.incoming.email else {
                Issue.record("no address")
                continue
            }
            #expect(found == expected)
            #expect(verified.stored["emailVerified"] == .bool(flag == true))
            #expect(VerifiedCredential(stored: verified.stored) == verified)
        }
    }

    @Test
    func `another authorized party is refused, except for Google`() async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            let result = try await scene.verify(claims: ["azp": "client-3"])
            #expect(result.invalid == (provider == .google ? nil : .wrongAuthorizedParty), "\(provider.rawValue)")
        }
    }

    @Test(arguments: Scene.verified)
    func `without a registered client every token is refused, without a request to the issuer`(
        provider: ProviderID
    ) async throws {
        var scene = try Scene(provider)
        scene.configuration.clientIDs = [""]
        scene.configuration.appleBundleIDs = []
        #expect(try await scene.verify(claims: ["aud": ""]) == .invalid(.wrongAudience))
        #expect(scene.stub.requests == 0)
    }
}
