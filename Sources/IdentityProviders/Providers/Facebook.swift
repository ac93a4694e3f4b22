import AccountLinking

extension KnownIssuer {
    /// `facebook.com`, Limited Login only: the ID token its iOS SDK receives instead of an access token (`spec/07` §4).
    ///
    /// Classic Facebook access tokens are opaque and would have to be shown to Facebook; they are an unsupported kind.
    static let facebook = KnownIssuer(
        provider: .facebook,
        issuer: "https://www.facebook.com",
        aliases: ["https://limited.facebook.com"],
        keySetURL: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
        nonceRule: .hashed
    )
}
