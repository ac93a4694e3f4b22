import AccountLinking
import JSON

/// Any `oidc.*` provider: an issuer the project registered, found by discovery (OpenID Connect Core and Discovery 1.0).
struct OpenIDConnect: IdentityProvider {
    let verifier: IDTokenVerifier

    func speaks(for provider: ProviderID) -> Bool { provider.isOpenIDConnect }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        guard let issuer = configuration.issuer.nonEmpty else { return .invalid(.providerNotConfigured) }
        guard configuration.acceptsIDTokens else { return .invalid(.unsupportedKind) }
        let outcome = try await verifier.verify(
            credential,
            against: KeySource(discovering: issuer),
            requirements: IDTokenRequirements(
                issuers: [issuer],
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: true,
                nonceRule: .hashedOrPlain
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims): return Self.verification(of: credential, claims: claims, issuer: issuer)
        }
    }

    /// What claims that are believed say; everything the issuer says about the user becomes a sign-in attribute.
    static func verification(
        of credential: ProviderCredential,
        claims: JSONValue,
        issuer: String
    ) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { verified, _ in
            let attributes = (claims.object ?? [:]).filter { !protocolClaims.contains($0.key) }
            verified.signInAttributes = .object(attributes)
        }
    }

    /// Claims about the token, not about the user. `sub` is left out too: it is in `firebase.identities` already.
    private static let protocolClaims: Set<String> = [
        "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash",
    ]
}
