import AccountLinking
import JSON

/// `facebook.com`, Limited Login only: the ID token its iOS SDK receives instead of an access token (`spec/07` §4).
///
/// Classic Facebook access tokens are opaque and would have to be shown to Facebook; they are an unsupported kind.
struct FacebookLimitedLogin: IdentityProvider {
    static let issuer = "https://www.facebook.com"

    let verifier: IDTokenVerifier

    func speaks(for provider: ProviderID) -> Bool { provider == .facebook }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let outcome = try await verifier.verify(
            credential,
            against: KeySource(
                issuer: Self.issuer,
                configuration: configuration,
                keySetURL: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
                algorithms: [.rs256]
            ),
            requirements: IDTokenRequirements(
                issuers: [Self.issuer, "https://limited.facebook.com"],
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: true,
                nonceRule: .hashed,
                clockSkewSeconds: configuration.clockSkewSeconds
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims):
            return .verified(of: credential, claims: claims, issuer: Self.issuer) { _, _ in }
        }
    }
}
