import AccountLinking
import JSON

/// `google.com`: ID tokens of Google Sign-In (developers.google.com/identity, "Validating an ID token").
struct Google: IdentityProvider {
    /// The issuer as Concord records it; older tokens name it without the scheme.
    static let issuer = "https://accounts.google.com"

    let verifier: IDTokenVerifier

    func speaks(for provider: ProviderID) -> Bool { provider == .google }

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
                keySetURL: "https://www.googleapis.com/oauth2/v3/certs",
                algorithms: [.rs256]
            ),
            requirements: IDTokenRequirements(
                issuers: [Self.issuer, "accounts.google.com"],
                audiences: configuration.audiences,
                checksEveryAuthorizedParty: false,
                nonceRule: .optional,
                clockSkewSeconds: configuration.clockSkewSeconds
            ),
            at: now
        )
        switch outcome {
        case .invalid(let reason): return .invalid(reason)
        case .claims(let claims): return Self.verification(of: credential, claims: claims)
        }
    }

    /// What claims that are believed say, in Google's own form.
    static func verification(of credential: ProviderCredential, claims: JSONValue) -> CredentialVerification {
        .verified(of: credential, claims: claims, issuer: issuer) { verified, standard in
            let subject = verified.incoming.identity.subject
            verified.incoming.email = standard.email(hostedDomain: claims["hd"]?.string.nonEmpty)
            verified.federatedID = issuer + "/" + subject
            verified.rawUserInfo = rawUserInfo(subject: subject, claims: claims, email: verified.incoming.email)
        }
    }

    /// The keys Google's own profile answer has (`spec/01` §2.4). The scopes are those the claims give away.
    private static func rawUserInfo(subject: String, claims: JSONValue, email: EmailAssertion) -> String {
        var scopes = ["openid", "https://www.googleapis.com/auth/userinfo.profile"]
        var isVerified: Bool?
        if case .present(_, let flaggedVerified, _) = email {
            scopes.append("https://www.googleapis.com/auth/userinfo.email")
            isVerified = flaggedVerified
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("granted_scopes", scopes.joined(separator: " "))
            writer.field("id", subject)
            writer.field("name", claims["name"]?.string)
            writer.field("given_name", claims["given_name"]?.string)
            writer.field("family_name", claims["family_name"]?.string)
            writer.field("verified_email", isVerified)
            writer.field("locale", claims["locale"]?.string)
            writer.field("email", claims["email"]?.string)
            writer.field("picture", claims["picture"]?.string)
            writer.field("hd", claims["hd"]?.string)
        }
        return writer.text
    }
}
