import AccountLinking
import JSON

/// A provider with one issuer for everybody: the values in which its ID tokens differ from those of its like.
struct KnownIssuer: Sendable {
    let provider: ProviderID
    /// The issuer as Concord records it.
    let issuer: String
    /// Other names that tokens give the issuer.
    var aliases: Set<String> = []
    let keySetURL: String
    /// See `IDTokenRequirements`.
    var checksEveryAuthorizedParty = true
    let nonceRule: IDTokenRequirements.NonceRule
    /// Takes over what only this provider says, or says in a form of its own.
    var refine: @Sendable (inout VerifiedCredential, StandardClaims, ProviderCredential) -> Void = { _, _, _ in }

    static let all: [KnownIssuer] = [
        .google, .apple, .facebook,
        // The next one goes here.
    ]

    /// What claims that are believed say.
    func verification(of credential: ProviderCredential, claims: JSONValue) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { refine(&$0, $1, credential) }
    }
}

/// Verifies the ID tokens of one known issuer.
struct KnownIssuerProvider: IdentityProvider {
    let known: KnownIssuer
    let verifier: IDTokenVerifier

    func speaks(for provider: ProviderID) -> Bool { provider == known.provider }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let outcome = try await verifier.verify(
            credential,
            against: KeySource(issuer: known.issuer, keySetURL: known.keySetURL, algorithms: [.rs256]),
            requirements: IDTokenRequirements(
                issuers: known.aliases.union([known.issuer]),
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: known.checksEveryAuthorizedParty,
                nonceRule: known.nonceRule
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims): return known.verification(of: credential, claims: claims)
        }
    }
}
