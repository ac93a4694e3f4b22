import AccountOperations

/// The challenge that people solve in apps which cannot show otherwise that they are genuine.
struct RecaptchaConfiguration: Sendable, Hashable {
    let challenge: AppChallenge
    let secret: String
    /// Where it is asked whether a token is of a challenge that was solved.
    let verifyURL: String
}

extension RecaptchaConfiguration {
    static let entries: [ConfigurationEntry] = [
        siteKeyKey.entry, secretKey.entry, scriptURLKey.entry, verifyURLKey.entry, originsKey.entry,
    ]

    private static let siteKeyKey = ConfigurationKey(
        optional: "recaptcha.site_key",
        .text("the site key of an invisible reCAPTCHA v2"),
        "Site key of the challenge that people solve before codes are sent to their phones; needs recaptcha.secret"
    )
    private static let secretKey = ConfigurationKey(
        optional: "recaptcha.secret",
        .text("the secret that belongs to the site key"),
        secrecy: .hidden,
        "Secret of the site key"
    )
    private static let scriptURLKey = ConfigurationKey(
        "recaptcha.script_url",
        .text("an https URL"),
        default: "https://www.google.com/recaptcha/api.js",
        "Script of the challenge; another one that speaks like it, such as hCaptcha's or Turnstile's, will do"
    )
    private static let verifyURLKey = ConfigurationKey(
        "recaptcha.verify_url",
        .text("an https URL"),
        default: "https://www.google.com/recaptcha/api/siteverify",
        "Where tokens of the challenge are verified"
    )
    private static let originsKey = ConfigurationKey(
        list: "recaptcha.origins",
        .text("an origin such as https://www.gstatic.com"),
        "Where that script takes more from; Google's unless others are given"
    )

    private static let googleOrigins = [
        "https://www.google.com", "https://www.gstatic.com", "https://recaptcha.google.com",
    ]

    /// Reads the `recaptcha` keys; `nil` when none is configured, or when there is a mistake, which is left with the reader.
    static func read(_ reader: inout ConfigurationReader) -> Self? {
        let siteKey = reader.value(siteKeyKey)
        let secret = reader.value(secretKey)
        let scriptURL = reader.value(scriptURLKey)
        let verifyURL = reader.value(verifyURLKey)
        let origins = reader.value(originsKey)
        for (key, url) in [(scriptURLKey, scriptURL), (verifyURLKey, verifyURL)] where !isAddress(url) {
            reader.refuse(key, "give an https URL")
        }
        for origin in origins where !isOrigin(origin) {
            reader.refuse(originsKey, "give origins such as https://www.gstatic.com, without a path")
        }
        switch (siteKey, secret) {
        case (nil, nil): return nil
        case (_?, nil):
            reader.refuse(siteKeyKey, "needs recaptcha.secret")
            return nil
        case (nil, _?):
            reader.refuse(secretKey, "needs recaptcha.site_key")
            return nil
        case (let siteKey?, let secret?):
            let challenge = AppChallenge(
                siteKey: siteKey,
                scriptURL: scriptURL,
                origins: origins.isEmpty ? googleOrigins : origins
            )
            return Self(challenge: challenge, secret: secret, verifyURL: verifyURL)
        }
    }

    /// Plain http for this machine only, where somebody tries it out.
    private static func isAddress(_ text: String) -> Bool {
        isOrigin(
            text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
        )
    }

    /// Also what keeps the text from saying more than one thing in a Content-Security-Policy.
    private static func isOrigin(_ text: String) -> Bool {
        text.wholeMatch(of: #/(https:\/\/[A-Za-z0-9.*-]+|http:\/\/(127\.0\.0\.1|localhost))(:\d{1,5})?/#) != nil
    }
}
