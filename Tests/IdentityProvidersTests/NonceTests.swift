import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// The binding of tokens to the client that requested them, provider by provider.
struct NonceTests {
    private let raw = "a raw nonce"
    /// The SHA-256 of `raw`, computed by another program.
    private let hashed: JSONValue = "8595ede0f2099687b2e9fc78f23b7ffac44dd62a23cdc332cb8925f592a57cb1"

    @Test(arguments: Scene.verified)
    func `the hash of the raw nonce is accepted`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        #expect(try await scene.verify(claims: ["nonce": hashed], rawNonce: raw).verified != nil)
    }

    @Test(arguments: Scene.verified)
    func `another nonce is refused`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        let result = try await scene.verify(claims: ["nonce": hashed], rawNonce: "another")
        #expect(result == .invalid(.nonceMismatch))
    }

    @Test(arguments: Scene.verified)
    func `a thief who presents the claim itself as the raw nonce is refused`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        #expect(try await scene.verify(claims: ["nonce": hashed], rawNonce: hashed.string) == .invalid(.nonceMismatch))
    }

    @Test(arguments: [ProviderID.apple, .facebook, Scene.openIDConnect])
    func `a bound token without a raw nonce is refused`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        let result = try await scene.verify(claims: ["nonce": hashed])
        #expect(result == .invalid(.missingNonce))
    }

    @Test
    func `Google's bound tokens are accepted without a nonce, which Firebase's clients never send`() async throws {
        #expect(try await Scene(.google).verify(claims: ["nonce": hashed]).verified != nil)
    }

    @Test(arguments: Scene.verified)
    func `a client that asked for a bound token is not satisfied with an unbound one`(
        provider: ProviderID
    ) async throws {
        #expect(try await Scene(provider).verify(claims: [:], rawNonce: raw) == .invalid(.nonceMismatch))
    }

    @Test
    func `Apple says where it cannot bind`() async throws {
        let scene = try Scene(.apple)
        #expect(try await scene.verify(claims: ["nonce_supported": false], rawNonce: raw).verified != nil)
        #expect(try await scene.verify(claims: ["nonce_supported": "false"], rawNonce: raw).verified != nil)
        let supported: [String: JSONValue] = ["nonce_supported": true]
        #expect(try await scene.verify(claims: supported, rawNonce: raw) == .invalid(.nonceMismatch))
    }

    @Test(arguments: [ProviderID.apple, .facebook])
    func `a plain nonce in the token is not enough for native providers`(provider: ProviderID) async throws {
        let claims: [String: JSONValue] = ["nonce": .string(raw)]
        #expect(try await Scene(provider).verify(claims: claims, rawNonce: raw) == .invalid(.nonceMismatch))
    }

    @Test
    func `web flows may send the nonce itself`() async throws {
        let claims: [String: JSONValue] = ["nonce": .string(raw)]
        #expect(try await Scene(Scene.openIDConnect).verify(claims: claims, rawNonce: raw).verified != nil)
        #expect(try await Scene(.google).verify(claims: claims, rawNonce: raw).verified != nil)
    }

    @Test
    func `the session id stands in for the nonce of a redirect flow, for OpenID Connect only`() async throws {
        let plain: [String: JSONValue] = ["nonce": .string(raw)]
        let scene = try Scene(Scene.openIDConnect)
        #expect(try await scene.verify(claims: plain, sessionID: raw).verified != nil)
        #expect(try await scene.verify(claims: ["nonce": hashed], sessionID: raw).verified != nil)
        #expect(try await scene.verify(claims: plain, sessionID: "another") == .invalid(.nonceMismatch))
        // The raw nonce has priority. A session id alone does not require a nonce.
        #expect(
            try await scene.verify(claims: plain, rawNonce: "another", sessionID: raw) == .invalid(.nonceMismatch)
        )
        #expect(try await scene.verify(claims: [:], sessionID: raw).verified != nil)
        #expect(try await Scene(.apple).verify(claims: ["nonce": hashed], sessionID: raw) == .invalid(.missingNonce))
    }

    @Test
    func `an empty nonce is no nonce`() async throws {
        #expect(try await Scene(.apple).verify(claims: ["nonce": hashed], rawNonce: "") == .invalid(.missingNonce))
    }
}
