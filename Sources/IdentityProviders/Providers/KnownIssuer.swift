import AccountLinking
import JSON

/// A well-known provider: the values in which its ID tokens differ from those of others.
struct KnownIssuer: Sendable {
    /// The provider's id. `KnownProvider` has its issuers.
    let provider: ProviderID
    let keySetURL: String
    /// The algorithms of its signatures.
    var algorithms: Set<SignatureAlgorithm> = [.rs256]
    /// The names of its issuers, if each tenant is one.
    var tenants: TenantIssuers?
    /// See `IDTokenRequirements`.
    var checksEveryAuthorizedParty = true
    let nonceRule: IDTokenRequirements.NonceRule
    /// The addresses of its consent page and token endpoint.
    let server: AuthorizationServer
    /// Returns the same provider for the users of one tenant, as apps name tenants; `nil` for an invalid name.
    var ofTenant: (@Sendable (_ name: String) -> KnownIssuer?)?
    /// Returns the subject: the claim that identifies the user.
    var subject: @Sendable (JSONValue) -> String? = { $0["sub"]?.string }
    /// Adds claims that only this provider has, or has in its own form.
    var refine: @Sendable (inout VerifiedCredential, StandardClaims, ProviderCredential) -> Void = { _, _, _ in }
    /// Verifies an access token without an ID token; `nil` if that proves nothing.
    var accessTokens: (any AccessTokenVerifying)?

    static let all = KnownVerifier.all.compactMap(\.issuer)

    /// All issuer names in its tokens.
    var issuers: [String] { KnownProvider.byID[provider]?.issuers ?? [] }

    /// The issuer that Concord records.
    var issuer: String { issuers.first ?? "" }

    /// Returns `true` if the provider uses the issuer `name`.
    func isNamed(_ name: String) -> Bool { tenants?.contains(name) ?? issuers.contains(name) }

    /// Returns the verdict for verified claims.
    func verification(of credential: ProviderCredential, claims: JSONValue) -> CredentialVerification {
        .verified(
            of: credential,
            subject: subject(claims),
            claims: claims,
            issuer: tenants.map { $0.issuer(of: claims) } ?? issuer
        ) { refine(&$0, $1, credential) }
    }
}

/// Verifies the credentials of one known issuer: ID tokens, codes, and access tokens if the provider returns the client
/// that they were issued to.
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
        let requests = network.requests(under: configuration, at: now)
        var known = known
        if let tenant = credential.flow?.tenant {
            guard let chosen = known.ofTenant?(tenant) else { return .invalid(.unknownTenant) }
            known = chosen
        }
        if let name = credential.answeringIssuer, !known.isNamed(name) { return .invalid(.wrongIssuer) }
        var credential = credential
        if let code = credential.codeToExchange {
            if let reason = try await known.server.exchange(code, of: &credential, requests) { return .invalid(reason) }
        }
        // An access token cannot prove that it was issued in a flow. An ID token with its nonce can.
        if credential.idToken == nil, credential.accessToken != nil, credential.flow?.nonce == nil,
            let accessTokens = known.accessTokens
        {
            return try await accessTokens.verify(credential, requests)
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
        // Without the secret the flow could not be finished.
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
