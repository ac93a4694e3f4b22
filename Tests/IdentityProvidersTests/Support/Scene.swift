import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Logging

/// A provider with its keys published, a project that registered it, and a registry as production builds it.
struct Scene: Sendable {
    static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    static let openIDConnect = ProviderID("oidc.example") ?? .google
    /// The providers whose tokens are verified, except Microsoft, whose claims differ.
    static let verified = SimulatedIssuer.all.filter(\.hasCommonClaims).map(\.provider) + [openIDConnect]

    /// A tenant of Microsoft, and the object id of a user.
    static let tenant = "11111111-2222-3333-4444-555555555555"
    static let object = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

    let provider: ProviderID
    let issuer: String
    let keySetURL: String
    let stub = StubIssuers()
    let key: ProviderKey
    let registry: ProviderRegistry
    var configuration: ProviderConfiguration

    init(
        _ provider: ProviderID,
        key: ProviderKey? = nil,
        limits: JWKSCache.Limits = JWKSCache.Limits(),
        fakes: FakeProvider? = nil
    ) throws {
        self.provider = provider
        self.key = try key ?? SharedKeys.rsa()
        self.registry = ProviderRegistry(
            keys: JWKSCache(
                http: stub,
                limits: limits,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            ),
            network: ProviderNetwork(http: stub),
            fakes: fakes
        )
        self.configuration = ProviderConfiguration(provider: provider, clientIDs: ["client-1", "client-2"])
        if let known = SimulatedIssuer.of(provider) {
            self.issuer = known.issuer
            self.keySetURL = known.keySetURL
            known.register(&configuration)
        } else {
            self.issuer = "https://issuer.example/tenant"
            self.keySetURL = "https://keys.issuer.example/keys"
            configuration.issuer = issuer
            publishDiscovery()
        }
        try stub.publish([self.key], at: keySetURL)
    }

    var discoveryURL: String { issuer + "/.well-known/openid-configuration" }

    /// Publishes the issuer's discovery document with `changes`.
    func publishDiscovery(_ changes: [String: JSONValue] = [:]) {
        var document: [String: JSONValue] = [
            "issuer": .string(issuer), "jwks_uri": .string(keySetURL),
            "id_token_signing_alg_values_supported": [
                "RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "HS256", "none",
            ],
        ]
        document.merge(changes) { $1 }
        stub.publish(.object(document), at: discoveryURL)
    }

    /// Returns the claims of a valid token with `changes`. JSON `null` removes a claim.
    func claims(_ changes: [String: JSONValue] = [:]) -> [String: JSONValue] {
        var claims: [String: JSONValue] = [
            "iss": .string(issuer), "aud": "client-1", "sub": "subject-1",
            "iat": .integer(Scene.now.secondsSinceEpoch - 10), "exp": .integer(Scene.now.secondsSinceEpoch + 3590),
            "email": "Ada@example.com", "email_verified": true, "name": "Ada Lovelace",
        ]
        if provider == .microsoft {
            claims["tid"] = .string(Self.tenant)
            claims["oid"] = .string(Self.object)
        }
        claims.merge(changes) { $1 }
        return claims.filter { $0.value != .null }
    }

    func token(_ changes: [String: JSONValue] = [:], header: [String: JSONValue] = [:]) throws -> String {
        try key.token(claims(changes), header: header)
    }

    /// Verifies `credential` against this scene's configuration.
    func verify(_ credential: ProviderCredential, at now: Timestamp = Scene.now) async throws -> CredentialVerification
    {
        try await registry.verify(credential, configuration: configuration, at: now)
    }

    func verify(_ idToken: String, at now: Timestamp = Scene.now) async throws -> CredentialVerification {
        try await verify(ProviderCredential(provider: provider, idToken: idToken), at: now)
    }

    func verify(
        claims changes: [String: JSONValue],
        rawNonce: String? = nil,
        sessionID: String? = nil
    ) async throws -> CredentialVerification {
        let token = try token(changes)
        return try await verify(
            ProviderCredential(provider: provider, idToken: token, rawNonce: rawNonce, sessionID: sessionID)
        )
    }
}

/// RSA keys, which tests share because their generation is slow.
enum SharedKeys {
    private static let first = Result { try ProviderKey.rsa("key-1") }
    private static let second = Result { try ProviderKey.rsa("key-2") }

    static func rsa() throws -> ProviderKey { try first.get() }
    static func otherRSA() throws -> ProviderKey { try second.get() }
}

extension CredentialVerification {
    var verified: VerifiedCredential? { if case .verified(let credential) = self { credential } else { nil } }
    var invalid: InvalidCredential? { if case .invalid(let reason) = self { reason } else { nil } }
}
