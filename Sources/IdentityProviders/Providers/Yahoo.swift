import AccountLinking

extension KnownVerifier {
    static let yahoo = issuer(.yahoo)
}

extension KnownIssuer {
    /// `yahoo.com`: ID tokens of Sign In with Yahoo (developer.yahoo.com, "OpenID Connect").
    ///
    /// Its discovery document lists no code challenges, and its server refuses clients with a secret that send one.
    static let yahoo = KnownIssuer(
        provider: .yahoo,
        keySetURL: "https://api.login.yahoo.com/openid/v1/certs",
        algorithms: [.es256, .rs256],
        nonceRule: .hashedOrPlain,
        server: AuthorizationServer(
            authorizationURL: "https://api.login.yahoo.com/oauth2/request_auth",
            tokenURL: "https://api.login.yahoo.com/oauth2/get_token",
            scopes: ["openid", "email", "profile"],
            reauthentication: [("prompt", "login")],
            authentication: .basic,
            usesCodeVerifiers: false
        )
    )
}
