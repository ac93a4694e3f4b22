public import Foundation

/// Opens pages by a closure of the app, and waits until the app hands the callback to ``Auth/canHandle(_:)``.
///
/// For apps that show pages in their own view, or in another app.
public struct SchemeAuthentication: WebAuthenticating {
    private let auth: Auth
    private let present: @Sendable (URL) async throws -> Void

    /// - Parameters:
    ///   - auth: The client that gets the callback.
    ///   - present: Opens an address in a browser.
    public init(auth: Auth, present: @escaping @Sendable (URL) async throws -> Void) {
        self.auth = auth
        self.present = present
    }

    public func open(
        _ page: WebPage,
        willOpen: @Sendable (WebCallback) throws(AuthError) -> Void
    ) async throws(AuthError) -> URL {
        guard page.callbackScheme != nil else { throw .noCallbackScheme }
        try willOpen(.scheme)
        return try await auth.webFlows.callback(of: page) { () throws(AuthError) in
            do {
                try await present(page.url(callingBack: .scheme))
            } catch {
                throw AuthError(.webInternalError, "the page cannot be opened", underlying: error)
            }
        }
    }
}

extension AuthError {
    static let noCallbackScheme = AuthError(
        .invalidArgument,
        "a page needs a callback: set `appID`, `clientID` or `bundleID` of the configuration"
    )
}
