import AccountOperations

/// The challenge that people solve in apps that cannot prove otherwise that they are genuine.
struct RecaptchaConfiguration: Sendable, Hashable {
    let challenge: AppChallenge
    let secret: String
    /// The URL that verifies the token of a solved challenge.
    let verifyURL: String
}

extension RecaptchaConfiguration {
    static let entries: [ConfigurationEntry] = [
        siteKeyKey.entry, secretKey.entry, scriptURLKey.entry, verifyURLKey.entry, originsKey.entry,
    ]

    private static let siteKeyKey = ConfigurationKey(
        optional: "recaptcha.site_key",
        .text("the site key of an invisible reCAPTCHA v2"),
        "Site key of the challenge before a code is sent to a phone; needs recaptcha.secret"
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
        "Script of the challenge; hCaptcha's or Turnstile's also works"
    )
    private static let verifyURLKey = ConfigurationKey(
        "recaptcha.verify_url",
        .text("an https URL"),
        default: "https://www.google.com/recaptcha/api/siteverify",
        "URL that verifies tokens of the challenge"
    )
    private static let originsKey = ConfigurationKey(
        list: "recaptcha.origins",
        .text("an origin such as https://www.gstatic.com"),
        "Origins from which that script loads more; Google's by default"
    )

    private static let googleOrigins = [
        "https://www.google.com", "https://www.gstatic.com", "https://recaptcha.google.com",
    ]

    /// Reads the `recaptcha` keys; `nil` if none is configured or there is a mistake, which the reader records.
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

    /// Returns true for an https URL, or a plain http URL of this machine for tests.
    private static func isAddress(_ text: String) -> Bool {
        isOrigin(
            text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
        )
    }

    /// The allowed characters also prevent injection into the Content-Security-Policy.
    private static func isOrigin(_ text: String) -> Bool {
        text.wholeMatch(of: #/(https:\/\/[A-Za-z0-9.*-]+|http:\/\/(127\.0\.0\.1|localhost))(:\d{1,5})?/#) != nil
    }
}

/// Assessments by reCAPTCHA Enterprise, which people do not see.
struct AssessmentConfiguration: Sendable {
    let keys: AssessmentKeys
    let apiKey: String
    let url: String
    let scoreMin: Double
}

extension AssessmentConfiguration {
    static let entries: [ConfigurationEntry] = [
        projectKey.entry, apiKeyKey.entry, webKey.entry, iOSKey.entry, androidKey.entry, scoreKey.entry, urlKey.entry,
    ]

    private static let projectKey = ConfigurationKey(
        optional: "recaptcha.enterprise_project",
        .projectID,
        "Project whose reCAPTCHA Enterprise assesses requests for codes; needs an API key and a site key"
    )
    private static let apiKeyKey = ConfigurationKey(
        optional: "recaptcha.enterprise_api_key",
        .text("an API key of that project"),
        secrecy: .hidden,
        "API key for assessments"
    )
    private static let webKey = ConfigurationKey(
        optional: "recaptcha.enterprise_web_key",
        .siteKey,
        "Site key of web apps"
    )
    private static let iOSKey = ConfigurationKey(
        optional: "recaptcha.enterprise_ios_key",
        .siteKey,
        "Site key of apps for iOS"
    )
    private static let androidKey = ConfigurationKey(
        optional: "recaptcha.enterprise_android_key",
        .siteKey,
        "Site key of apps for Android"
    )
    private static let scoreKey = ConfigurationKey(
        "recaptcha.enterprise_score_min",
        .score,
        default: 0.5,
        "Lowest accepted score: 0.0 is a robot, 1.0 a person"
    )
    private static let urlKey = ConfigurationKey(
        "recaptcha.enterprise_url",
        .gatewayURL,
        default: "https://recaptchaenterprise.googleapis.com",
        "URL of the assessments API"
    )

    /// Reads the keys; `nil` if none is configured or there is a mistake, which the reader records.
    static func read(_ reader: inout ConfigurationReader) -> Self? {
        let project = reader.value(projectKey)
        let apiKey = reader.value(apiKeyKey)
        let keys = AssessmentKeys(
            project: project ?? "",
            web: reader.value(webKey),
            iOS: reader.value(iOSKey),
            android: reader.value(androidKey)
        )
        let scoreMin = reader.value(scoreKey)
        let url = reader.value(urlKey)
        let hasSiteKey = keys.web != nil || keys.iOS != nil || keys.android != nil
        guard project != nil else {
            if apiKey != nil || hasSiteKey {
                reader.refuse(projectKey, "required beside recaptcha.enterprise_api_key and site keys")
            }
            return nil
        }
        guard let apiKey else {
            reader.refuse(apiKeyKey, "required beside recaptcha.enterprise_project")
            return nil
        }
        guard hasSiteKey else {
            reader.refuse(
                webKey,
                "required beside recaptcha.enterprise_project, unless there is one for iOS or Android"
            )
            return nil
        }
        return Self(keys: keys, apiKey: apiKey, url: url, scoreMin: scoreMin)
    }
}

extension ConfigurationForm where Value == String {
    /// A site key that can be part of a path.
    fileprivate static let siteKey = Self(
        allowed: "a site key: letters, digits, - and _",
        parse: { $0.wholeMatch(of: #/[A-Za-z0-9_-]{1,128}/#) != nil ? $0 : nil },
        format: { $0 }
    )

    fileprivate static let projectID = Self(
        allowed: "the ID of a Google Cloud project",
        parse: { $0.wholeMatch(of: #/[a-z0-9-]{1,64}/#) != nil ? $0 : nil },
        format: { $0 }
    )
}

extension ConfigurationForm where Value == Double {
    fileprivate static let score = Self(
        allowed: "a number from 0.0 to 1.0",
        parse: { text in
            text.wholeMatch(of: #/[01]\.[0-9]{1,3}/#).flatMap { Double($0.output) }.flatMap { $0 <= 1 ? $0 : nil }
        },
        format: { "\($0)" }
    )
}
