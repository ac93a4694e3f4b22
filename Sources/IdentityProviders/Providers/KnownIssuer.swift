import AccountLinking
import JSON

/// A provider that everybody knows: the values in which its ID tokens differ from those of its like.
struct KnownIssuer: Sendable {
    /// Names its issuers in `KnownProvider`.
    let provider: ProviderID
    let keySetURL: String
    /// How it signs.
    var algorithms: Set<SignatureAlgorithm> = [.rs256]
    /// Where every tenant of it is an issuer: how they are named.
    var tenants: TenantIssuers?
    /// See `IDTokenRequirements`.
    var checksEveryAuthorizedParty = true
    let nonceRule: IDTokenRequirements.NonceRule
    /// Its consent page and token endpoint.
    let server: AuthorizationServer
    /// The same provider for the users of one tenant, as apps name tenants; `nil` for what cannot be one.
    var ofTenant: (@Sendable (_ name: String) -> KnownIssuer?)?
    /// By which of its claims a user is known.
    var subject: @Sendable (JSONValue) -> String? = { $0["sub"]?.string }
    /// Takes over what only this provider says, or says in a form of its own.
    var refine: @Sendable (inout VerifiedCredential, StandardClaims, ProviderCredential) -> Void = { _, _, _ in }
    /// Judges an access token that comes without an ID token; `nil` where that proves nothing.
    var accessTokens: (any AccessTokenVerifying)?

    static let all: [KnownIssuer] = [
        .google, .apple, .facebook, .microsoft, .yahoo, .linkedIn,
        // The next one goes here.
    ]

    /// Every name that its tokens give it.
    var issuers: [String] { KnownProvider.byID[provider]?.issuers ?? [] }

    /// The issuer as Concord records it.
    var issuer: String { issuers.first ?? "" }

    /// Whether it is the one that calls itself `name` in an answer.
    func isNamed(_ name: String) -> Bool { tenants?.contains(name) ?? issuers.contains(name) }

    /// What claims that are believed say.
    func verification(of credential: ProviderCredential, claims: JSONValue) -> CredentialVerification {
        .verified(
            of: credential,
            subject: subject(claims),
            claims: claims,
            issuer: tenants.map { $0.issuer(of: claims) } ?? issuer
        ) { refine(&$0, $1, credential) }
    }
}

/// Verifies the credentials of one known issuer: ID tokens, codes, and access tokens where it tells whom it gave them to.
struct KnownIssuerProvider: IdentityProvider {
    let known: KnownIssuer
    let verifier: IDTokenVerifier
    let network: ProviderNetwork

    func speaks(for provider: ProviderID) -> Bool { provider == known.provider }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let inquiry = network.inquiry(under: configuration, at: now)
        var known = known
        if let tenant = credential.flow?.tenant {
            guard let chosen = known.ofTenant?(tenant) else { return .invalid(.unknownTenant) }
            known = chosen
        }
        if let name = credential.answeringIssuer, !known.isNamed(name) { return .invalid(.wrongIssuer) }
        var credential = credential
        if let code = credential.codeToExchange {
            if let reason = try await known.server.exchange(code, of: &credential, inquiry) { return .invalid(reason) }
        }
        // An access token cannot show that it was given out in a flow; an ID token with its nonce can.
        if credential.idToken == nil, credential.accessToken != nil, credential.flow?.nonce == nil,
            let accessTokens = known.accessTokens
        {
            return try await accessTokens.verify(credential, inquiry)
        }
        let outcome = try await verifier.verify(
            credential,
            against: KeySource(
                issuer: known.issuer,
                keySetURL: configuration.address(.keySet, usual: known.keySetURL),
                algorithms: known.algorithms
            ),
            requirements: IDTokenRequirements(
                issuers: Set(known.issuers),
                tenants: known.tenants,
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: known.checksEveryAuthorizedParty,
                nonceRule: credential.nonceRule(usual: known.nonceRule)
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims): return known.verification(of: credential, claims: claims)
        }
    }

    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        // Without the secret nobody would come back from there.
        guard known.server.clientSecret(configuration, now) != nil else { return .invalid(.incompleteConfiguration) }
        guard let ofTenant = known.ofTenant, let tenant = request.customParameters["tenant"] else {
            return known.server.authorization(for: request, configuration: configuration)
        }
        guard let chosen = ofTenant(tenant) else { return .invalid(.unknownTenant) }
        var request = request
        request.customParameters["tenant"] = nil
        switch chosen.server.authorization(for: request, configuration: configuration) {
        case .invalid(let reason): return .invalid(reason)
        case .prepared(var prepared):
            prepared.flow.tenant = tenant
            return .prepared(prepared)
        }
    }
}
