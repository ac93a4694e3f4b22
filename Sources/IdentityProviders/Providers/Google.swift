import AccountLinking
import JSON

extension KnownIssuer {
    /// `google.com`: ID tokens of Google Sign-In (developers.google.com/identity, "Validating an ID token"). Older tokens
    /// name the issuer without the scheme.
    static let google = KnownIssuer(
        provider: .google,
        issuer: "https://accounts.google.com",
        aliases: ["accounts.google.com"],
        keySetURL: "https://www.googleapis.com/oauth2/v3/certs",
        checksEveryAuthorizedParty: false,
        nonceRule: .optional
    ) { verified, standard, _ in
        let claims = standard.claims
        let subject = verified.incoming.identity.subject
        verified.incoming.email = standard.email(hostedDomain: claims["hd"]?.string.nonEmpty)
        verified.federatedID = "https://accounts.google.com/" + subject
        verified.rawUserInfo = rawUserInfo(subject: subject, claims: claims, email: verified.incoming.email)
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
