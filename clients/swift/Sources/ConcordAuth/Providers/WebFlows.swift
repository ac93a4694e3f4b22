import Crypto
public import Foundation

/// The page that is open now, and the addresses that the system delivers to the app.
///
/// One page is open at a time: two sign-in sheets at once confuse people.
final class WebFlows: Sendable {
    private struct State {
        var isOpen = false
        /// The pages that wait for an address from the system, by event.
        var receivers: [String: Receiver] = [:]
    }

    struct Receiver: Sendable {
        let page: WebPage
        let callback: Promise<URL>
    }

    private let state = Locked(State())

    /// Runs `body` while no other page is open.
    func alone<Result>(_ body: () async throws(AuthError) -> Result) async throws(AuthError) -> Result {
        let isFree = state.with { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        guard isFree else {
            throw AuthError(.webContextAlreadyPresented, "another page is open. Close it, or wait for it")
        }
        defer { state.with { $0.isOpen = false } }
        return try await body()
    }

    /// Returns the address with which `page` calls back, from ``deliver(_:)``.
    func callback(of page: WebPage, opening open: () async throws(AuthError) -> Void) async throws(AuthError) -> URL {
        let callback = Promise<URL>()
        state.with { $0.receivers[page.eventID] = Receiver(page: page, callback: callback) }
        defer { _ = state.with { $0.receivers.removeValue(forKey: page.eventID) } }
        try await open()
        return try await callback.value()
    }

    /// Delivers an address. Returns false if no open page expects it.
    func deliver(_ url: URL) -> Bool {
        let receiver = state.with { state in state.receivers.values.first { $0.page.isCallback(url) } }
        receiver?.callback.settle(.success(url))
        return receiver != nil
    }
}

extension AuthConfiguration {
    /// The URL scheme by which pages call the app back, and the parameters that name the app to them.
    ///
    /// The reversed ``clientID``; otherwise the encoded ``appID``; otherwise the bundle id.
    var pageCallback: (scheme: String, app: [URLQueryItem])? {
        let bundle = bundleID.map { [URLQueryItem(name: "ibi", value: $0)] } ?? []
        if let clientID {
            let scheme = clientID.split(separator: ".").reversed().joined(separator: ".")
            return (scheme, bundle + [URLQueryItem(name: "clientId", value: clientID)])
        }
        if let appID {
            let scheme = "app-" + appID.replacingOccurrences(of: ":", with: "-")
            return (scheme, bundle + [URLQueryItem(name: "appId", value: appID)])
        }
        return bundleID.map { ($0, bundle) }
    }
}

extension Auth {
    /// A page of this server: `/__/auth/handler`.
    func page(_ authType: String, event: String, _ parameters: [(String, String?)] = []) -> WebPage {
        let callback = configuration.pageCallback
        let common: [(String, String?)] = [
            ("apiKey", configuration.apiKey), ("authType", authType), ("eventId", event),
            ("hl", backend.language.with { $0 }), ("v", "ConcordAuth/\(Backend.version)"),
        ]
        return WebPage(
            callbackScheme: callback?.scheme,
            base: configuration.server.appendingPathComponent("__/auth/handler"),
            parameters: (common + parameters).compactMap { name, value in
                value.map { URLQueryItem(name: name, value: $0) }
            },
            app: callback?.app ?? [],
            authType: authType,
            eventID: event
        )
    }

    /// The way to open pages: the app's, or the system's.
    func opener(_ given: (any WebAuthenticating)?) throws(AuthError) -> any WebAuthenticating {
        if let given { return given }
        #if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
        return AppleWebAuthentication()
        #else
        throw AuthError(
            .webInternalError,
            "This system has no sign-in sheet. Pass `uiDelegate`, for example LoopbackAuthentication."
        )
        #endif
    }

    /// Handles an address that the system delivers to the app: from `onOpenURL`, `application(_:open:options:)` or
    /// `scene(_:openURLContexts:)`.
    ///
    /// If a page is open in this process, its call continues. If an earlier process opened the page, the answer is
    /// stored for ``resumeRedirect(uiDelegate:)``.
    ///
    /// - Returns: False if the address is not for this client.
    public func canHandle(_ url: URL) -> Bool {
        guard let scheme = configuration.pageCallback?.scheme, url.scheme?.lowercased() == scheme.lowercased() else {
            return false
        }
        if webFlows.deliver(url) { return true }
        return (try? storeAnswer(url)) ?? false
    }
}

extension WebResult {
    /// The failure of the page as an error; `nil` if it succeeded.
    func error(verifiesApp: Bool) -> AuthError? {
        guard let failure else { return nil }
        let members = JSONValue.parse(Data(failure.utf8))
        let name = members?["code"]?.stringValue ?? ""
        let code: AuthErrorCode =
            switch name {
            case "auth/app-not-authorized": .appNotAuthorized
            case "auth/invalid-api-key": .invalidAPIKey
            case "auth/invalid-oauth-client-id": .invalidClientID
            case "auth/network-request-failed": .webNetworkRequestFailed
            case "auth/operation-not-allowed": .operationNotAllowed
            case "auth/unauthorized-domain": .unauthorizedDomain
            case "auth/user-cancelled": .webContextCancelled
            case "auth/argument-error", "auth/internal-error": .webInternalError
            default: verifiesApp ? .appVerificationUserInteractionFailure : .webSignInUserInteractionFailure
            }
        return AuthError(code, members?["message"]?.stringValue ?? "the page failed", serverCode: name)
    }
}
