package import AccountLinking
import AccountStore
import Crypto
import IdentityProviders
import JSON

/// A sign-in on a provider's own page, before it begins (`accounts:createAuthUri` with a provider).
package struct BeginProviderFlow: Sendable {
    package var provider: ProviderID
    /// URL to which the provider sends the browser back.
    package var redirectURI: String
    /// The session id that the client will present with the answer.
    package enum Session: Sendable {
        /// Generated here.
        case new
        case id(String)
        /// SHA-256 of an id that the app keeps secret until then.
        case digest([UInt8])
    }

    package var session: Session
    package var scopes: [String]
    package var customParameters: [String: String]
    package var loginHint: String?
    /// True if the user must sign in at the provider again, for a reauthentication.
    package var reauthenticates: Bool
    /// Network address of the client, if known.
    package var clientAddress: String?

    package init(
        provider: ProviderID,
        redirectURI: String,
        session: Session,
        scopes: [String] = [],
        customParameters: [String: String] = [:],
        loginHint: String? = nil,
        reauthenticates: Bool = false,
        clientAddress: String? = nil
    ) {
        self.provider = provider
        self.redirectURI = redirectURI
        self.session = session
        self.scopes = scopes
        self.customParameters = customParameters
        self.loginHint = loginHint
        self.reauthenticates = reauthenticates
        self.clientAddress = clientAddress
    }

    package struct Result: Sendable {
        /// URL of the provider's page.
        package let authURI: String
        /// The id to present with the answer; `nil` if only its digest is known here.
        package let sessionID: String?
    }
}

extension AccountOperations {
    /// Begins a sign-in on the page of a provider. Its answer is valid for an hour, once, and only with the session id.
    ///
    /// The session id is stored as a digest. Everything else that the answer is checked against is sealed.
    /// - Throws: `ProviderUnavailable` if the provider must be asked first and does not answer, or a database error.
    package func beginProviderFlow(
        _ request: BeginProviderFlow,
        tenant: TenantID
    ) async throws -> BeginProviderFlow.Result {
        guard let redirect = ContinueURL(request.redirectURI), !redirect.text.contains("#") else {
            throw Denial.invalidContinueURI
        }
        guard authorizes(redirect) || mailLinks.areOn(redirect.origin) else {
            throw Denial.unauthorizedDomain
        }
        let reserved = request.customParameters.keys.filter(AuthorizationRequest.reservedParameters.contains)
        if let name = reserved.min() { throw Denial.reservedParameter(name) }
        let texts =
            request.scopes + request.customParameters.flatMap { [$0.key, $0.value] } + [request.loginHint ?? ""]
        guard texts.reduce(0, { $0 + $1.utf8.count }) <= Self.parametersBytesMax else {
            throw Denial.parametersTooLong
        }

        // Check the limits before asking the provider: Twitter gets a request for each flow.
        let limits = limits(on: .providerFlows, from: request.clientAddress)
        let now = effects.now()
        try await requireRoom(for: .providerFlows, within: limits, tenant: tenant, at: now)

        let state = newSecret()
        let sessionID: String?
        let sessionDigest: [UInt8]
        switch request.session {
        case .new:
            let id = newSecret()
            (sessionID, sessionDigest) = (id, Self.digest(id))
        case .id(let id): (sessionID, sessionDigest) = (id, Self.digest(id))
        case .digest(let digest): (sessionID, sessionDigest) = (nil, digest)
        }
        let reauthenticates = request.reauthenticates && policy.countsProviderAuthTime
        let prepared = try await providers.authorization(
            for: AuthorizationRequest(
                redirectURI: redirect.text,
                state: state,
                nonce: newSecret(),
                codeVerifier: newSecret(),
                scopes: request.scopes,
                customParameters: request.customParameters,
                loginHint: request.loginHint,
                reauthenticates: reauthenticates
            ),
            at: request.provider,
            configuration: configurationWithSecrets(of: request.provider),
            at: now
        )
        switch prepared {
        case .invalid(let reason): throw Denial.invalidCredential(reason)
        case .prepared(var authorization):
            if reauthenticates { authorization.flow.signedInSince = now }
            let digest = Self.digest(state)
            let flow = ProviderFlowRecord(
                tenant: tenant,
                stateDigest: digest,
                sessionDigest: sessionDigest,
                provider: request.provider,
                sealedFlow: try sealer.seal(
                    Array(authorization.flow.stored.text.utf8),
                    context: Self.flowContext(digest)
                ),
                expiresAt: now.adding(seconds: Lifetimes.providerFlowSeconds)
            )
            let result = BeginProviderFlow.Result(authURI: authorization.address, sessionID: sessionID)
            return try await retrying(effects) {
                if try await store.begin(flow, counting: limits, at: now) == .applied { return result }
                try await requireRoom(for: .providerFlows, within: limits, tenant: tenant, at: now)
                throw FactsMoved()
            }
        }
    }

    /// The answer of a provider's page, combined with the stored flow. The flow ends even if the answer fails: it holds
    /// a code that may be used once.
    /// - Returns: `nil` if no flow of that session waits for it.
    func answer(
        _ parameters: ProviderParameters,
        toFlow state: String,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> ProviderCredential? {
        guard let sessionID = parameters.sessionID else { return nil }
        let digest = Self.digest(state)
        let taken = try await store.takeFlow(
            state: digest,
            session: Self.digest(sessionID),
            tenant: tenant,
            at: now
        )
        guard let taken else { return nil }
        // If the sealing key is gone, the user must sign in again.
        guard let opened = try? sealer.open(taken.sealedFlow, context: Self.flowContext(digest)),
            let stored = try? JSONValue(parsing: opened), let flow = AuthorizationFlow(stored: stored)
        else { return nil }
        return parameters.credential(of: taken.provider).answering(flow)
    }

    /// Limit of the client's part of a URL. Browsers and providers limit a URL to about 8 KiB.
    private static let parametersBytesMax = 4096

    /// 256 bits, in the letters of RFC 7636 §4.1.
    private func newSecret() -> String { Base64URL.encode(effects.randomBytes(32)) }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    private static func flowContext(_ stateDigest: [UInt8]) -> String {
        SealingContext.providerFlow(stateDigest: stateDigest)
    }
}
