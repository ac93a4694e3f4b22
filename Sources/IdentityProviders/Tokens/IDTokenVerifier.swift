import AccountLinking
import JSON

/// Verifies ID tokens against the keys of their issuer.
struct IDTokenVerifier: Sendable {
    let keys: JWKSCache

    enum Outcome: Sendable {
        /// Returns the claims of a token that meets every requirement.
        case claims(JSONValue)
        case invalid(InvalidCredential)
    }

    /// Verifies the ID token of `credential`: structure and size, algorithm, key, signature, then the claims.
    ///
    /// Checks that need no key come before the request to the issuer.
    /// - Throws: `ProviderUnavailable` if the issuer's keys cannot be fetched.
    func verify(
        _ credential: ProviderCredential,
        against source: KeySource,
        requirements: IDTokenRequirements,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> Outcome {
        guard let text = credential.idToken else {
            let hasOther = credential.accessToken != nil || credential.authorizationCode != nil
            return .invalid(hasOther ? .unsupportedKind : .missingCredential)
        }
        guard !requirements.audiences.isEmpty else { return .invalid(.wrongAudience) }
        let token: JSONWebToken
        switch JSONWebToken.parse(text) {
        case .token(let parsed): token = parsed
        case .invalid(let reason): return .invalid(reason)
        }
        guard let algorithm = SignatureAlgorithm(rawValue: token.algorithmName) else {
            return .invalid(.algorithmNotAllowed)
        }
        switch try await keys.lookUp(keyID: token.keyID, algorithm: algorithm, from: source, at: now) {
        case .algorithmNotAllowed: return .invalid(.algorithmNotAllowed)
        case .unknownKey: return .invalid(.unknownKey)
        case .found(let key):
            guard key.isSignature(token.signature, over: token.signingInput, by: algorithm) else {
                return .invalid(.badSignature)
            }
        }
        if let reason = requirements.violation(by: token.claims, of: credential, at: now) { return .invalid(reason) }
        return .claims(token.claims)
    }
}
