import AccountLinking
import JSON

/// An `oidc.*` provider: an issuer that the project registered, found by discovery (OpenID Connect Core and Discovery
/// 1.0).
struct OpenIDConnect: IdentityProvider {
    let verifier: IDTokenVerifier
    let network: ProviderNetwork

    func speaks(for provider: ProviderID) -> Bool { provider.isOpenIDConnect }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        guard let issuer = configuration.issuer.nonEmpty else { return .invalid(.providerNotConfigured) }
        let requests = network.requests(under: configuration, at: now)
        let source = Self.source(of: issuer, configuration)
        if let answering = credential.answeringIssuer, answering != issuer { return .invalid(.wrongIssuer) }
        var metadata: IssuerMetadata?
        if credential.flow != nil {
            metadata = try await statement(from: source, at: now)
            if metadata?.isNamedInAnswers == true, credential.answeringIssuer == nil { return .invalid(.wrongIssuer) }
        }
        var credential = credential
        var profileURL: String?
        if let code = credential.codeToExchange {
            guard configuration.acceptsAuthorizationCodes else { return .invalid(.unsupportedKind) }
            let said: IssuerMetadata
            if let metadata { said = metadata } else { said = try await statement(from: source, at: now) }
            let server = Self.server(said, configuration)
            if let reason = try await server.exchange(code, of: &credential, requests) { return .invalid(reason) }
            profileURL = configuration.addresses[.profile] ?? said.profileURL
        } else if !configuration.acceptsIDTokens {
            return .invalid(.unsupportedKind)
        }
        let outcome = try await verifier.verify(
            credential,
            against: source,
            requirements: IDTokenRequirements(
                issuers: [issuer],
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: true,
                nonceRule: credential.nonceRule(usual: .hashedOrPlain)
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(var claims):
            // Many issuers put no claims about the user into the ID tokens of code exchanges.
            if claims["email"] == nil, let profileURL, let token = credential.accessToken {
                guard let completed = try await complete(claims, with: token, at: profileURL, requests) else {
                    return .invalid(.refusedByProvider)
                }
                claims = completed
            }
            return Self.verification(of: credential, claims: claims, issuer: issuer)
        }
    }

    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        guard let issuer = configuration.issuer.nonEmpty else { return .invalid(.providerNotConfigured) }
        guard configuration.acceptsAuthorizationCodes || configuration.acceptsIDTokens else {
            return .invalid(.unsupportedKind)
        }
        if configuration.acceptsAuthorizationCodes, configuration.clientSecret == nil {
            return .invalid(.incompleteConfiguration)
        }
        let metadata = try await statement(from: Self.source(of: issuer, configuration), at: now)
        let server = Self.server(metadata, configuration)
        guard configuration.addresses[.authorization] != nil || !server.authorizationURL.isEmpty else {
            throw .malformedAnswer
        }
        return server.authorization(for: request, configuration: configuration)
    }

    private static func source(of issuer: String, _ configuration: ProviderConfiguration) -> KeySource {
        KeySource(discovering: issuer, keySetURL: configuration.addresses[.keySet])
    }

    private func statement(
        from source: KeySource,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> IssuerMetadata {
        guard let metadata = try await verifier.keys.metadata(from: source, at: now) else { throw .malformedAnswer }
        return metadata
    }

    /// Returns the issuer's authorization server. Its consent page returns codes if the project accepts them, otherwise
    /// ID tokens.
    private static func server(
        _ metadata: IssuerMetadata,
        _ configuration: ProviderConfiguration
    ) -> AuthorizationServer {
        let asksForCodes = configuration.acceptsAuthorizationCodes
        return AuthorizationServer(
            authorizationURL: metadata.authorizationURL ?? "",
            tokenURL: metadata.tokenURL ?? "",
            scopes: ["openid", "email", "profile"].filter { $0 == "openid" || metadata.scopes?.contains($0) != false },
            responseType: asksForCodes ? "code" : "id_token",
            authentication: metadata.authentication,
            usesCodeVerifiers: asksForCodes
        )
    }

    /// Returns `claims` with those of the issuer's profile; `nil` if the profile belongs to another user (OpenID
    /// Connect Core 1.0 §5.3.2) or the token is refused.
    private func complete(
        _ claims: JSONValue,
        with token: String,
        at address: String,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> JSONValue? {
        let answer = try await requests.answer(to: ProviderRequest(.get, address, fields: [.bearer(token)]))
        guard answer.status != 401, answer.status != 403 else { return nil }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let profile = answer.json?.object else { throw .malformedAnswer }
        guard profile["sub"] == claims["sub"] else { return nil }
        return .object(profile.merging(claims.object ?? [:]) { $1 })
    }

    /// Most bytes of sign-in attributes as JSON. They are in every ID token of the session, which has to fit into a
    /// request's header.
    static let attributesBytesMax = 12_288

    /// Returns the verdict for verified claims. All claims about the user become sign-in attributes. If they are too
    /// large, none does: an incomplete list of groups would be wrong.
    static func verification(
        of credential: ProviderCredential,
        claims: JSONValue,
        issuer: String
    ) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { verified, standard in
            // Google's rules of trust use the Workspace domain, under every name of the provider.
            if ProviderID.known(forIssuer: issuer) == .google {
                verified.incoming.email = standard.email(hostedDomain: claims["hd"]?.string.nonEmpty)
            }
            let attributes = (claims.object ?? [:]).filter { !protocolClaims.contains($0.key) }
            if JSONValue.object(attributes).text.utf8.count <= attributesBytesMax {
                verified.signInAttributes = .object(attributes)
            }
        }
    }

    /// Claims about the token, not about the user. `sub` is already in `firebase.identities`.
    private static let protocolClaims: Set<String> = [
        "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash",
    ]
}
