import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Logging

/// A simulated provider on this machine, a project that registered it, and a registry as production builds it.
struct SimulatedScene: Sendable {
    static let redirectURI = "https://auth.example/__/auth/handler"

    let provider: ProviderID
    let simulator: OIDCSimulator
    let registry: ProviderRegistry
    var configuration: ProviderConfiguration
    /// The time of Concord's clock. The provider's clock is fixed.
    var now = Scene.now

    /// Runs `body` with a simulation of `provider`, modified by `change`.
    static func run(
        _ provider: ProviderID,
        timeout: Duration = .seconds(300),
        _ change: @Sendable (inout OIDCSimulator.Character) -> Void = { _ in },
        _ body: (inout SimulatedScene) async throws -> Void
    ) async throws {
        var character = OIDCSimulator.Character()
        var configuration = ProviderConfiguration(
            provider: provider,
            clientIDs: ["client-1", "client-2"],
            clientSecret: "secret-1"
        )
        try dress(&character, &configuration)
        change(&character)
        try await OIDCSimulator.run(character, now: Scene.now.secondsSinceEpoch) { simulator in
            let http = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
            var limits = JWKSCache.Limits()
            limits.refreshTimeout = timeout
            configuration.addresses = ProviderAddress.named(simulator.addresses)
            if provider.isOpenIDConnect {
                configuration.issuer = simulator.issuer
                configuration.addresses = [:]
            }
            var scene = SimulatedScene(
                provider: provider,
                simulator: simulator,
                registry: ProviderRegistry(
                    keys: JWKSCache(
                        http: http,
                        limits: limits,
                        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
                    ),
                    network: ProviderNetwork(http: http, timeout: timeout)
                ),
                configuration: configuration
            )
            try await body(&scene)
        }
    }

    /// Adds the peculiarities of the real providers.
    private static func dress(
        _ character: inout OIDCSimulator.Character,
        _ configuration: inout ProviderConfiguration
    ) throws {
        guard let known = SimulatedIssuer.of(configuration.provider) else {
            character.authentication = .basic
            configuration.acceptsAuthorizationCodes = true
            return
        }
        character.issuer = known.issuer
        known.register(&configuration)
        try known.adapt(&character, &configuration)
    }

    /// The subject that the provider reports.
    var subject: String { provider == .microsoft ? Scene.object : simulator.subject }

    /// Begins a sign-in at the provider.
    func begin(
        scopes: [String] = [],
        customParameters: [String: String] = [:],
        loginHint: String? = nil,
        reauthenticates: Bool = false
    ) async throws -> AuthorizationPreparation {
        try await registry.authorization(
            for: AuthorizationRequest(
                redirectURI: Self.redirectURI,
                state: "state-1",
                nonce: "nonce-1",
                codeVerifier: String(repeating: "v", count: 43),
                scopes: scopes,
                customParameters: customParameters,
                loginHint: loginHint,
                reauthenticates: reauthenticates
            ),
            at: provider,
            configuration: configuration,
            at: now
        )
    }

    /// Verifies the answer of the provider's page as the answer to `flow`.
    func finish(_ callback: OIDCSimulator.Callback, _ flow: AuthorizationFlow) async throws -> CredentialVerification {
        let parameters = ProviderParameters(
            requestURI: callback.requestURI,
            postBody: callback.postBody,
            sessionID: "session-1"
        )
        return try await verify(parameters.credential(of: provider).answering(flow))
    }

    func verify(_ credential: ProviderCredential) async throws -> CredentialVerification {
        try await registry.verify(credential, configuration: configuration, at: now)
    }

    /// Does a whole sign-in on the provider's page.
    func signIn(customParameters: [String: String] = [:]) async throws -> CredentialVerification {
        switch try await begin(customParameters: customParameters) {
        case .invalid(let reason): return .invalid(reason)
        case .prepared(let prepared):
            return try await finish(simulator.consent(to: prepared.address), prepared.flow)
        }
    }
}

extension AuthorizationPreparation {
    var prepared: PreparedAuthorization? { if case .prepared(let prepared) = self { prepared } else { nil } }
    var invalid: InvalidCredential? { if case .invalid(let reason) = self { reason } else { nil } }
}
