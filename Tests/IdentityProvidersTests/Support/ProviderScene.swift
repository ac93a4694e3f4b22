import AccountLinking
import AccountTestSupport
import IdentityProviders
import Logging

/// A project that registered a simulated provider, and a registry as production builds it, over real sockets.
struct ProviderScene: Sendable {
    static let redirectURI = "http://localhost/__/auth/handler"

    var configuration: ProviderConfiguration
    private let registry: ProviderRegistry

    init<Provider>(
        _ simulator: ProviderSimulator<Provider>,
        _ provider: ProviderID,
        clientID: String,
        secret: String?,
        timeout: Duration = .seconds(120)
    ) {
        configuration = ProviderConfiguration(
            provider: provider,
            clientIDs: [clientID],
            clientSecret: secret,
            addresses: simulator.addresses
        )
        let http = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
        registry = ProviderRegistry(
            keys: JWKSCache(http: http, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })),
            network: ProviderNetwork(http: http, timeout: timeout)
        )
    }

    func prepare(
        _ parameters: [String: String] = [:],
        scopes: [String] = [],
        redirectURI: String = redirectURI
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        try await registry.authorization(
            for: AuthorizationRequest(
                redirectURI: redirectURI,
                state: "state/of+flow",
                nonce: "nonce-of-flow",
                codeVerifier: "verifier-of-flow-verifier-of-flow-verifier-of-flow",
                scopes: scopes,
                customParameters: parameters
            ),
            at: configuration.provider,
            configuration: configuration,
            at: Scene.now
        )
    }

    func begin(_ parameters: [String: String] = [:], scopes: [String] = []) async throws -> PreparedAuthorization {
        let preparation = try await prepare(parameters, scopes: scopes)
        guard case .prepared(let begun) = preparation else { throw NotPrepared(preparation: preparation) }
        return begun
    }

    struct NotPrepared: Error {
        let preparation: AuthorizationPreparation
    }

    func verify(_ credential: ProviderCredential) async throws(ProviderUnavailable) -> CredentialVerification {
        try await registry.verify(credential, configuration: configuration, at: Scene.now)
    }

    /// The credential of a client that was sent back to `callback`.
    func credential(_ callback: String, answering flow: AuthorizationFlow) -> ProviderCredential {
        ProviderParameters(requestURI: callback, postBody: nil, sessionID: nil)
            .credential(of: configuration.provider).answering(flow)
    }
}
