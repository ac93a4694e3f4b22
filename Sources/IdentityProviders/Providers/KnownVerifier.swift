import AccountLinking

/// The verifier of one known provider's credentials, declared in the provider's file.
enum KnownVerifier: KnownProviderValues, Sendable {
    /// Verifies ID tokens, and codes that it exchanges for them.
    case issuer(KnownIssuer)
    /// A separate verification, for a provider without ID tokens.
    case separate(@Sendable (ProviderNetwork) -> any IdentityProvider)

    var issuer: KnownIssuer? {
        switch self {
        case .issuer(let known): known
        case .separate: nil
        }
    }

    func provider(verifier: IDTokenVerifier, network: ProviderNetwork) -> any IdentityProvider {
        switch self {
        case .issuer(let known): KnownIssuerProvider(known: known, verifier: verifier, network: network)
        case .separate(let provider): provider(network)
        }
    }
}
