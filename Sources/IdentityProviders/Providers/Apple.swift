import AccountLinking
import JSON

extension KnownIssuer {
    /// `apple.com`: identity tokens of Sign in with Apple, from apps (audience: the bundle id) and the web (the services
    /// id). The name travels beside the token.
    static let apple = KnownIssuer(
        provider: .apple,
        issuer: "https://appleid.apple.com",
        keySetURL: "https://appleid.apple.com/auth/keys",
        nonceRule: .hashed
    ) { verified, _, credential in
        guard let name = name(in: credential.appleUser) else { return }
        verified.firstName = StandardClaims.bounded(name["firstName"]?.string)
        verified.lastName = StandardClaims.bounded(name["lastName"]?.string)
        guard let full = StandardClaims.joined(verified.firstName, verified.lastName) else { return }
        verified.fullName = full
        verified.incoming.profile.displayName = full
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
