package import AccountLinking
import JSON

/// Makes the links in mails (docs/reference/protocol.md, "Mail links").
///
/// The base comes from the configuration, never from a request: a forged `Host` would send codes to a stranger.
package struct MailLinks: Sendable {
    package enum Page: String, Sendable {
        case standard = "/__/auth/action"
        /// Development: the page that existing test suites fetch.
        case emulator = "/emulator/action"
    }

    /// The URL of this service, without a slash at the end.
    package let base: String
    private let page: Page

    /// - `base`: scheme, host and port, without a slash at the end.
    package init(base: String, page: Page) {
        self.base = base
        self.page = page
    }

    func areOn(_ origin: WebOrigin) -> Bool { ContinueURL(base)?.origin == origin }

    /// Returns true if `url` is the account page, with or without a query.
    func isAccountPage(_ url: ContinueURL) -> Bool {
        areOn(url.origin) && ContinueURL(base + "/account")?.path == url.path
    }

    package func page(
        for kind: EmailCodeRecord.Kind,
        code: String,
        apiKey: String,
        locale: String,
        continueURL: String?
    ) -> String {
        var query = [
            ("mode", kind.linkMode), ("oobCode", code), ("apiKey", apiKey), ("lang", locale),
        ]
        if let continueURL { query.append(("continueUrl", continueURL)) }
        return base + page.rawValue + "?" + formatted(query)
    }

    /// The link that proves a conflict from any device. Browsers never send what follows the `#`, so a mail scanner
    /// that opens the link neither learns nor consumes it.
    func conflictPage(handle: String, secret: String) -> String {
        base + "/conflict#" + formatted([("handle", handle), ("proof", secret)])
    }

    /// The page that shows the sign-in methods of a lookup. What follows the `#` stays in the browser, as in
    /// `conflictPage`.
    func lookUpPage(secret: String, locale: String, continueURL: String?) -> String {
        var query = [("lookup", secret), ("lang", locale)]
        if let continueURL { query.append(("continueUrl", continueURL)) }
        return base + "/signin#" + formatted(query)
    }

    /// The same page, which offers one of the methods first, and names the account's address before the press. The link
    /// of another account names another address, or none.
    func lookUpPage(_ page: String, email: String, way: String) -> String {
        page + "&" + formatted([("email", email), ("way", way)])
    }

    /// The page that signs in with `email` by one of the account's methods. The link proves nothing.
    func signInPage(email: String, way: String, locale: String, continueURL: String?) -> String {
        var query = [("email", email), ("lang", locale)]
        if let continueURL { query.append(("continueUrl", continueURL)) }
        return base + "/signin#" + formatted(query + [("way", way)])
    }

    /// The link that continues a sign-up. What follows the `#` stays in the browser, as in `conflictPage`.
    func signInPage(signUp handle: String, secret: String, continueURL: String?) -> String {
        var query = [("signUp", handle), ("proof", secret)]
        if let continueURL { query.append(("continueUrl", continueURL)) }
        return base + "/signin#" + formatted(query)
    }

    /// To the action page, or to a domain that opens the app with the page's link.
    func link(
        for kind: EmailCodeRecord.Kind,
        code: String,
        settings: EmailCodeSettings,
        project: ProjectSettings,
        apiKey: String,
        locale: String
    ) -> String {
        if kind == .lookUp { return lookUpPage(secret: code, locale: locale, continueURL: settings.continueURL) }
        let page = page(for: kind, code: code, apiKey: apiKey, locale: locale, continueURL: settings.continueURL)
        let domain = settings.linkDomain ?? settings.dynamicLinkDomain ?? project.linkDomains.first
        guard settings.handlesCodeInApp, let domain else { return page }
        var query = [("link", page)]
        if let bundle = settings.iOSBundleID { query.append(("ibi", bundle)) }
        let registered = project.apps.first { $0.bundleID != nil && $0.bundleID == settings.iOSBundleID }
        if let app = settings.iOSAppStoreID ?? registered?.appStoreID { query.append(("isi", app)) }
        if let package = settings.androidPackageName { query.append(("apn", package)) }
        if let version = settings.androidMinimumVersion { query.append(("amv", version)) }
        return "https://\(domain.lowercased())/__/auth/links?" + formatted(query)
    }

    /// Replaces links to the page of test suites with links to the page with buttons, also inside a link that opens an
    /// app.
    func forPeople(_ text: String) -> String {
        let fetched = base + Page.emulator.rawValue + "?"
        let shown = base + Page.standard.rawValue + "?"
        return text.replacing(fetched, with: shown)
            .replacing(PercentEncoding.encode(fetched), with: PercentEncoding.encode(shown))
    }

    private func formatted(_ query: [(name: String, value: String)]) -> String {
        query.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}

extension EmailCodeRecord.Kind {
    package var linkMode: String {
        switch self {
        case .passwordReset: "resetPassword"
        case .emailSignIn: "signIn"
        case .verifyEmail: "verifyEmail"
        case .verifyAndChangeEmail: "verifyAndChangeEmail"
        case .recoverEmail: "recoverEmail"
        case .revertSecondFactorAddition: "revertSecondFactorAddition"
        case .revertSignInMethodChange: "revertSignInMethodChange"
        // No link leads to the action page.
        case .lookUp: "lookUp"
        }
    }
}
