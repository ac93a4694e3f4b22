import AccountLinking
import JSON

/// Any `oidc.*` provider: an issuer the project registered, found by discovery (OpenID Connect Core and Discovery 1.0).
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
        let inquiry = network.inquiry(under: configuration, at: now)
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
            if let reason = try await server.exchange(code, of: &credential, inquiry) { return .invalid(reason) }
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
            // Many issuers put nothing about the user into the ID tokens that codes are exchanged for.
            if claims["email"] == nil, let profileURL, let token = credential.accessToken {
                guard let completed = try await complete(claims, with: token, at: profileURL, inquiry) else {
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

    /// The issuer as an authorization server: asked for codes where the project takes them, else for ID tokens.
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

    /// `claims` with what the issuer's profile says besides; `nil` when it is somebody else's (OpenID Connect Core 1.0
    /// §5.3.2) or the token is refused.
    private func complete(
        _ claims: JSONValue,
        with token: String,
        at address: String,
        _ inquiry: ProviderInquiry
    ) async throws(ProviderUnavailable) -> JSONValue? {
        let answer = try await inquiry.answer(to: ProviderRequest(.get, address, fields: [.bearer(token)]))
        guard answer.status != 401, answer.status != 403 else { return nil }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let profile = answer.json?.object else { throw .malformedAnswer }
        guard profile["sub"] == claims["sub"] else { return nil }
        return .object(profile.merging(claims.object ?? [:]) { $1 })
    }

    /// What sign-in attributes may take as JSON. They are in every ID token of the session, and a token goes into a field of a
    /// request's head.
    static let attributesBytesMax = 12_288

    /// What claims that are believed say; everything the issuer says about the user becomes a sign-in attribute, unless it is
    /// too much: then nothing does, for half of somebody's groups would be a lie.
    static func verification(
        of credential: ProviderCredential,
        claims: JSONValue,
        issuer: String
    ) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { verified, standard in
            // Google's rules of trust look at the Workspace domain, whatever the provider is called.
            if ProviderID.known(forIssuer: issuer) == .google {
                verified.incoming.email = standard.email(hostedDomain: claims["hd"]?.string.nonEmpty)
            }
            let attributes = (claims.object ?? [:]).filter { !protocolClaims.contains($0.key) }
            if JSONValue.object(attributes).text.utf8.count <= attributesBytesMax {
                verified.signInAttributes = .object(attributes)
            }
        }
    }

    /// Claims about the token, not about the user. `sub` is left out too: it is in `firebase.identities` already.
    private static let protocolClaims: Set<String> = [
        "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash",
    ]
}
