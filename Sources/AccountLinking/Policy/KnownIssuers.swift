extension ProviderID {
    /// The provider whose own issuer `issuer` is; `nil` for every other issuer.
    ///
    /// Compared character by character (OpenID Connect Discovery 1.0, section 4.3). Microsoft has an issuer for each
    /// directory.
    package static func known(forIssuer issuer: String) -> ProviderID? {
        switch issuer {
        case "https://accounts.google.com", "accounts.google.com": .google
        case "https://appleid.apple.com": .apple
        case "https://www.facebook.com", "https://limited.facebook.com": .facebook
        case "https://www.linkedin.com", "https://www.linkedin.com/oauth": .linkedIn
        case "https://api.login.yahoo.com": .yahoo
        default:
            ["https://login.microsoftonline.com/", "https://sts.windows.net/"].contains(where: issuer.hasPrefix)
                ? .microsoft : nil
        }
    }
}
