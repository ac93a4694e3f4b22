import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// The cache limits the requests to issuers, and serves cached keys during outages.
struct JWKSCacheTests {
    private func scene(_ limits: JWKSCache.Limits = JWKSCache.Limits()) throws -> Scene {
        try Scene(Scene.openIDConnect, key: .p256("key-1"), limits: limits)
    }

    /// Verifies a token that is valid `seconds` after the start of the scene, at that time.
    private func verify(
        _ scene: Scene,
        after seconds: Int64,
        by key: ProviderKey? = nil
    ) async throws -> CredentialVerification {
        let now = Scene.now.adding(seconds: seconds)
        let claims = scene.claims([
            "iat": .integer(now.secondsSinceEpoch), "exp": .integer(now.secondsSinceEpoch + 300),
        ])
        return try await scene.verify(try (key ?? scene.key).token(claims), at: now)
    }

    private func keyFetches(_ scene: Scene) -> Int { scene.stub.requests(for: scene.keySetURL) }

    @Test
    func `concurrent verifications share one fetch`() async throws {
        let scene = try scene()
        scene.stub.answer(after: .milliseconds(100))
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { try await verify(scene, after: 0).verified != nil } }
            return try await group.reduce(into: 0) { count, isVerified in count += isVerified ? 1 : 0 }
        }
        #expect(verified == 100)
        #expect(scene.stub.requests(for: scene.discoveryURL) == 1)
        #expect(keyFetches(scene) == 1)
    }

    @Test
    func `after a rotation, 100 concurrent verifications cause one more fetch`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        let next = ProviderKey.p256("key-2")
        try scene.stub.publish([scene.key, next], at: scene.keySetURL)
        scene.stub.answer(after: .milliseconds(100))
        let verified = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { try await verify(scene, after: 120, by: next).verified != nil } }
            return try await group.reduce(into: 0) { count, isVerified in count += isVerified ? 1 : 0 }
        }
        #expect(verified == 100)
        #expect(keyFetches(scene) == 2)
    }

    @Test
    func `unknown keys cause at most one fetch a minute`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        for second in 1...300 {
            let stranger = ProviderKey.p256("made-up-\(second)")
            #expect(try await verify(scene, after: Int64(second), by: stranger) == .invalid(.unknownKey))
        }
        #expect(keyFetches(scene) == 1 + 5)
    }

    @Test
    func `a token with an unknown key does not prevent the next valid sign-in`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        #expect(try await verify(scene, after: 1, by: .p256("made-up")) == .invalid(.unknownKey))
        #expect(try await verify(scene, after: 2).verified != nil)
    }

    @Test
    func `keys without a maximum age are cached for an hour`() async throws {
        let scene = try scene()
        for second: Int64 in [0, 1, 3599] { #expect(try await verify(scene, after: second).verified != nil) }
        #expect(keyFetches(scene) == 1)
        #expect(try await verify(scene, after: 3600).verified != nil)
        #expect(keyFetches(scene) == 2)
    }

    @Test(arguments: [(0, 300), (1, 300), (1800, 1800), (86_400, 86_400), (10_000_000, 86_400)] as [(Int64, Int64)])
    func `the maximum age of the issuer is limited to between 5 minutes and a day`(
        said: Int64,
        kept: Int64
    ) async throws {
        let scene = try scene()
        try scene.stub.publish([scene.key], at: scene.keySetURL, maxAgeSeconds: said)
        #expect(try await verify(scene, after: 0).verified != nil)
        #expect(try await verify(scene, after: kept - 1).verified != nil)
        #expect(keyFetches(scene) == 1)
        #expect(try await verify(scene, after: kept).verified != nil)
        #expect(keyFetches(scene) == 2)
    }

    @Test
    func `a withdrawn key is refused once the keys are fetched again`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        try scene.stub.publish([.p256("key-2")], at: scene.keySetURL)
        #expect(try await verify(scene, after: 3599).verified != nil)
        #expect(try await verify(scene, after: 3600) == .invalid(.unknownKey))
    }

    @Test
    func `cached keys are used for a day while the issuer is unavailable`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        scene.stub.fail(.unreachable, at: scene.keySetURL)
        #expect(try await verify(scene, after: 3600).verified != nil)
        #expect(try await verify(scene, after: 86_399).verified != nil)
        await #expect(throws: ProviderUnavailable.unreachable) { try await verify(scene, after: 86_400) }
        // The issuer is available again: the next verification fetches the keys.
        try scene.stub.publish([scene.key], at: scene.keySetURL)
        #expect(try await verify(scene, after: 86_410).verified != nil)
    }

    @Test
    func `a failure is cached for 10 seconds, so that callers do not wait for an unavailable issuer`() async throws {
        let scene = try scene()
        scene.stub.fail(.timedOut, at: scene.discoveryURL)
        for second: Int64 in [0, 1, 9] {
            await #expect(throws: ProviderUnavailable.timedOut) { try await verify(scene, after: second) }
        }
        #expect(scene.stub.requests == 1)
        scene.publishDiscovery()
        #expect(try await verify(scene, after: 10).verified != nil)
    }

    @Test
    func `an unknown key is an outage while the issuer is unavailable`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        scene.stub.fail(.unreachable, at: scene.keySetURL)
        let next = ProviderKey.p256("key-2")
        for second: Int64 in [60, 61, 119] {
            await #expect(throws: ProviderUnavailable.unreachable) { try await verify(scene, after: second, by: next) }
            #expect(try await verify(scene, after: second).verified != nil)
        }
        #expect(keyFetches(scene) == 2)
    }

    @Test
    func `keys are fetched again if the clock was set back`() async throws {
        let scene = try scene()
        #expect(try await verify(scene, after: 0).verified != nil)
        #expect(try await verify(scene, after: -7200).verified != nil)
        #expect(keyFetches(scene) == 2)
    }

    @Test
    func `a cancelled caller fails no other caller`() async throws {
        let scene = try scene()
        scene.stub.answer(after: .milliseconds(200))
        let first = Task { try await verify(scene, after: 0).verified != nil }
        while scene.stub.requests == 0 { await Task.yield() }
        first.cancel()
        #expect(try await verify(scene, after: 0).verified != nil)
        #expect(keyFetches(scene) == 1)
    }

    @Test
    func `a full cache drops the issuer that was fetched longest ago`() async throws {
        var limits = JWKSCache.Limits()
        limits.issuersMax = 2
        var scene = try scene(limits)
        for (second, place) in ["a", "b", "c", "a"].enumerated() {
            let issuer = "https://\(place).example"
            scene.configuration.issuer = issuer
            scene.stub.publish(
                [
                    "issuer": .string(issuer), "jwks_uri": .string(scene.keySetURL),
                    "id_token_signing_alg_values_supported": ["ES256"],
                ],
                at: issuer + "/.well-known/openid-configuration"
            )
            let token = try scene.token(["iss": .string(issuer)])
            #expect(try await scene.verify(token, at: Scene.now.adding(seconds: Int64(second))).verified != nil)
        }
        #expect(keyFetches(scene) == 4)
    }

    // MARK: Documents

    @Test
    func `a discovery document that names another issuer is refused`() async throws {
        for issuer: JSONValue in ["https://issuer.example/tenant/", "https://evil.example", 1, .null] {
            let scene = try scene()
            scene.publishDiscovery(["issuer": issuer])
            await #expect(throws: ProviderUnavailable.issuerMismatch) { try await verify(scene, after: 0) }
            #expect(keyFetches(scene) == 0)
        }
    }

    @Test
    func `a malformed key set or discovery document is refused`() async throws {
        for document: JSONValue in [[], "text", 1, [:], ["keys": "text"], ["keys": [:]]] {
            let scene = try scene()
            scene.stub.publish(document, at: scene.keySetURL)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await verify(scene, after: 0) }
        }
        let empty = try scene()
        empty.stub.publish(["keys": []], at: empty.keySetURL)
        await #expect(throws: ProviderUnavailable.noUsableKeys) { try await verify(empty, after: 0) }
        let lost = try scene()
        lost.publishDiscovery(["jwks_uri": .null])
        await #expect(throws: ProviderUnavailable.malformedAnswer) { try await verify(lost, after: 0) }
    }

    @Test
    func `an issuer without an asymmetric algorithm is unusable`() async throws {
        let scene = try scene()
        scene.publishDiscovery(["id_token_signing_alg_values_supported": ["HS256", "none"]])
        await #expect(throws: ProviderUnavailable.noUsableKeys) { try await verify(scene, after: 0) }
    }

    @Test
    func `only the first 64 keys of a set are read`() async throws {
        let scene = try scene()
        let crowd = (0..<64).map { ProviderKey.p256("crowd-\($0)") }
        try scene.stub.publish(crowd + [scene.key], at: scene.keySetURL)
        #expect(try await verify(scene, after: 0) == .invalid(.unknownKey))
    }
}
