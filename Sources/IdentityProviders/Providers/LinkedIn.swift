import AccountLinking

extension KnownVerifier {
    static let linkedIn = issuer(.linkedIn)
}

extension KnownIssuer {
    /// `linkedin.com`: ID tokens of Sign In with LinkedIn (learn.microsoft.com/linkedin, "Sign In with LinkedIn using
    /// OpenID Connect"). Tokens and the discovery document have not always named the same issuer.
    ///
    /// Its ID tokens have no nonce, and its token endpoint refuses web clients that send a code verifier. So only
    /// `state` and the session bind a code to its flow.
    static let linkedIn = KnownIssuer(
        provider: .linkedIn,
        keySetURL: "https://www.linkedin.com/oauth/openid/jwks",
        nonceRule: .hashedOrPlain,
        server: AuthorizationServer(
            authorizationURL: "https://www.linkedin.com/oauth/v2/authorization",
            tokenURL: "https://www.linkedin.com/oauth/v2/accessToken",
            scopes: ["openid", "email", "profile"],
            // LinkedIn documents no parameter for it.
            reauthentication: [],
            usesCodeVerifiers: false,
            usesNonces: false
        )
    )
}
