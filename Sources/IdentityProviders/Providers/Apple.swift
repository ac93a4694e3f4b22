import AccountLinking
import JSON

/// `apple.com`: identity tokens of Sign in with Apple, from apps (audience: the bundle id) and the web (the services id).
struct Apple: IdentityProvider {
    static let issuer = "https://appleid.apple.com"

    let verifier: IDTokenVerifier

    func speaks(for provider: ProviderID) -> Bool { provider == .apple }

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
                keySetURL: "https://appleid.apple.com/auth/keys",
                algorithms: [.rs256]
            ),
            requirements: IDTokenRequirements(
                issuers: [Self.issuer],
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: true,
                nonceRule: .hashed,
                clockSkewSeconds: configuration.clockSkewSeconds
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims): return Self.verification(of: credential, claims: claims)
        }
    }

    /// What claims that are believed say, with the name that travels outside the token.
    static func verification(of credential: ProviderCredential, claims: JSONValue) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { verified, _ in
            guard let name = name(in: credential.appleUser) else { return }
            verified.firstName = StandardClaims.bounded(name["firstName"]?.string)
            verified.lastName = StandardClaims.bounded(name["lastName"]?.string)
            guard let full = StandardClaims.joined(verified.firstName, verified.lastName) else { return }
            verified.fullName = full
            verified.incoming.profile.displayName = full
        }
    }

    /// The name the client says Apple gave it. Nothing signs it, so nothing but the name is taken from there (not its
    /// `email`), and a text that cannot be read is no reason to refuse the sign-in.
    private static func name(in user: String?) -> JSONValue? {
        guard let user, user.utf8.count <= 4096,
            let document = try? JSONValue(parsing: Array(user.utf8), depthMax: 4)
        else { return nil }
        return document["name"]
    }
}
