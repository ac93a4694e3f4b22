/// Credentials of passwords and mailed links.
public enum EmailAuthProvider {
    /// `password`: passwords and mailed links are one provider.
    public static let id = "password"

    public static func credential(withEmail email: String, password: String) -> AuthCredential {
        AuthCredential(id, .password(email: email, password: Secret(password)))
    }

    /// A credential of a mailed link, or of a link that contains it. Without an address, the client takes the one that
    /// it stored when the link was requested on this device.
    public static func credential(withEmail email: String? = nil, link: String) -> AuthCredential {
        AuthCredential(id, .emailLink(email: email, link: Secret(link)))
    }
}

/// Credentials of Google.
public enum GoogleAuthProvider {
    public static let id = "google.com"

    public static func credential(withIDToken idToken: String, accessToken: String? = nil) -> AuthCredential {
        .oauth(id, idToken: idToken, accessToken: accessToken)
    }
}

/// Credentials of GitHub.
public enum GitHubAuthProvider {
    public static let id = "github.com"

    public static func credential(withToken token: String) -> AuthCredential { .oauth(id, accessToken: token) }
}

/// Credentials of Facebook.
public enum FacebookAuthProvider {
    public static let id = "facebook.com"

    public static func credential(withAccessToken accessToken: String) -> AuthCredential {
        .oauth(id, accessToken: accessToken)
    }
}

/// Credentials of Twitter. ``OAuthProvider`` with `twitter.com` runs the whole flow.
public enum TwitterAuthProvider {
    public static let id = "twitter.com"

    public static func credential(withToken token: String, secret: String) -> AuthCredential {
        .oauth(id, accessToken: token, secret: secret)
    }
}

extension AuthCredential {
    static func oauth(
        _ provider: String,
        idToken: String? = nil,
        accessToken: String? = nil,
        secret: String? = nil,
        rawNonce: String? = nil,
        fullName: String? = nil
    ) -> AuthCredential {
        let tokens = OAuthTokens(
            idToken: idToken.map(Secret.init),
            accessToken: accessToken.map(Secret.init),
            secret: secret.map(Secret.init),
            rawNonce: rawNonce.map(Secret.init),
            fullName: fullName
        )
        return AuthCredential(provider, .oauth(tokens))
    }
}
