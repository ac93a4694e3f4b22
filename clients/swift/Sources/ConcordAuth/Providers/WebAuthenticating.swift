public import Foundation

/// Opens pages of Concord for a person, and receives the address with which a page calls the app back.
///
/// ``AppleWebAuthentication`` uses the system's sign-in sheet, ``LoopbackAuthentication`` the browser. An app with its
/// own window implements this protocol.
public protocol WebAuthenticating: Sendable {
    /// Opens `page` and returns the first address for which ``WebPage/isCallback(_:)`` is true.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - willOpen: Call it with the callback before the page opens. It stores what a restarted app needs.
    /// - Returns: The address with which the page called back.
    /// - Throws: ``AuthError`` of code `webContextCancelled` if the person closes the page. A cancelled task closes the
    ///   page and throws `taskCancelled`.
    func open(
        _ page: WebPage,
        willOpen: @Sendable (WebCallback) throws(AuthError) -> Void
    ) async throws(AuthError) -> URL

    /// Waits again for a page that an earlier process opened, and opens nothing.
    ///
    /// The default implementation throws ``AuthError`` of code `webContextCancelled`: a custom scheme needs no
    /// receiver, because the system delivers the address to ``Auth/canHandle(_:)``.
    func resume(_ page: WebPage, at callback: WebCallback) async throws(AuthError) -> URL
}

extension WebAuthenticating {
    public func resume(_ page: WebPage, at callback: WebCallback) async throws(AuthError) -> URL {
        throw AuthError(.webContextCancelled, "Open the page again: this process did not open it.")
    }
}

/// The address form by which a page calls an app back.
public enum WebCallback: Sendable, Hashable, Codable {
    /// A URL scheme of the app: `app-1-1234-ios-abcd://firebaseauth/link`.
    case scheme
    /// A port on 127.0.0.1 (RFC 8252 §7.3). The project's `authorizedDomains` must have `127.0.0.1`.
    case loopback(port: Int)
}

/// A page of Concord that calls the app back: a provider's sign-in, or the challenge before a text message.
public struct WebPage: Sendable {
    /// The URL scheme of the callback; `nil` if the configuration names no app.
    public let callbackScheme: String?

    let base: URL
    /// Query parameters, without those of the callback.
    let parameters: [URLQueryItem]
    /// The parameters that name the app, for a callback by scheme.
    let app: [URLQueryItem]
    let authType: String
    let eventID: String

    /// Returns the page's address, for a callback of this form.
    public func url(callingBack callback: WebCallback) -> URL {
        var components = URLComponents(url: base, resolvingAgainstBaseURL: false) ?? URLComponents()
        let receiver: [URLQueryItem] =
            switch callback {
            case .scheme: app
            case .loopback(let port): [URLQueryItem(name: "loopback", value: String(port))]
            }
        components.queryItems = parameters + receiver
        // Servers read `+` in a query as a blank.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return components.url ?? base
    }

    /// Returns true if `url` is the answer of this page. Other programs and pages can open addresses of the app too.
    public func isCallback(_ url: URL) -> Bool {
        guard let result = WebResult(url) else { return false }
        return result.authType == authType && result.eventID == eventID
    }
}

/// The answer of a page, from the address with which it called the app back.
struct WebResult: Sendable {
    let authType: String?
    let eventID: String?
    /// The address to which the provider sent the browser.
    let link: String?
    /// The token of a solved challenge.
    let challengeToken: String?
    /// The failure, as JSON with `code` and `message`.
    let failure: String?

    /// Returns `nil` if `url` is no callback: `…/link?deep_link_id=…`.
    init?(_ url: URL) {
        let outer = Self.parameters(of: url.absoluteString)
        guard url.path == "/link", let inner = outer["deep_link_id"] else { return nil }
        let values = Self.parameters(of: inner)
        authType = values["authType"]
        eventID = values["eventId"]
        link = values["link"]
        challengeToken = values["recaptchaToken"]
        failure = values["firebaseError"]
    }

    /// Reads the query of an address as browsers write it (application/x-www-form-urlencoded).
    private static func parameters(of address: String) -> [String: String] {
        let text = address.prefix { $0 != "#" }
        guard let mark = text.firstIndex(of: "?") else { return [:] }
        var values: [String: String] = [:]
        for pair in text[text.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.replacingOccurrences(of: "+", with: " ").removingPercentEncoding ?? "" }
            guard let name = parts.first, values[name] == nil else { continue }
            values[name] = parts.count == 2 ? parts[1] : ""
        }
        return values
    }
}
