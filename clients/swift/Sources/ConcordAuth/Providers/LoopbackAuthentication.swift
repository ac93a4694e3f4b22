public import Foundation

/// Opens pages in the person's browser, and receives the callback on a port of 127.0.0.1 (RFC 8252 §7.3).
///
/// For Linux, command-line tools and tests. The project's `authorizedDomains` must have `127.0.0.1`.
///
/// ```swift
/// let browser = LoopbackAuthentication { url in
///     let process = Process()
///     process.executableURL = URL(fileURLWithPath: "/usr/bin/xdg-open")
///     process.arguments = [url.absoluteString]
///     try process.run()
/// }
/// let credential = try await OAuthProvider(providerID: "github.com").credential(with: browser)
/// ```
///
/// The port is free again when the call ends. The receiver answers requests for its own page only, so a page of
/// another site cannot end the wait: it does not know the event's id.
public struct LoopbackAuthentication: WebAuthenticating {
    private let present: @Sendable (URL) async throws -> Void
    private let port: Int
    private let timeout: TimeInterval

    /// - Parameters:
    ///   - port: The port to listen on; 0 for a free one.
    ///   - timeout: Seconds that the person has. Afterwards the call throws `webContextCancelled`.
    ///   - present: Opens an address in the browser.
    public init(
        port: Int = 0,
        timeout: TimeInterval = 600,
        present: @escaping @Sendable (URL) async throws -> Void
    ) {
        self.port = port
        self.timeout = timeout
        self.present = present
    }

    public func open(
        _ page: WebPage,
        willOpen: @Sendable (WebCallback) throws(AuthError) -> Void
    ) async throws(AuthError) -> URL {
        try await LoopbackReceiver.run(port: port, accepts: page.isCallback) { receiver throws(AuthError) in
            let callback = WebCallback.loopback(port: receiver.port)
            try willOpen(callback)
            do {
                try await present(page.url(callingBack: callback))
            } catch {
                throw AuthError(.webInternalError, "the browser cannot be opened", underlying: error)
            }
            return try await receiver.callback(within: timeout)
        }
    }

    public func resume(_ page: WebPage, at callback: WebCallback) async throws(AuthError) -> URL {
        guard case .loopback(let port) = callback else {
            throw AuthError(.webContextCancelled, "Open the page again: it calls back by a URL scheme.")
        }
        return try await LoopbackReceiver.run(port: port, accepts: page.isCallback) { receiver throws(AuthError) in
            try await receiver.callback(within: timeout)
        }
    }
}
