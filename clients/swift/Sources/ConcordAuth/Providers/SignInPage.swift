import Crypto
public import Foundation

// Concord's own pages, `/signin` and `/conflict`, for apps without a form. They lead back to a universal link of the
// app with a one-time code for the session (PKCE, RFC 7636).

/// A page of Concord that was opened on this device.
struct PendingPage: Sendable, Codable, Equatable {
    let scope: String
    let verifier: Secret
    let state: String
    /// The conflict that the page was opened for.
    let conflict: String?
    let startTime: Date
}

extension Auth {
    /// Returns the address of the sign-in page, which has every method of the project and returns to the app.
    ///
    /// The app shows the address in a browser, and hands the universal link with which the person comes back to
    /// ``signIn(withReturnURL:)``. The verifier is in the session store, so the app may be killed meanwhile.
    ///
    /// - Parameters:
    ///   - continueURL: A universal link of the app, on a host in `authorizedDomains`. Pages refuse URL schemes of
    ///     apps.
    ///   - email: Fills in the address.
    /// - Returns: The address of the page.
    /// - Throws: `storeNotWritable`.
    public func signInPage(continueURL: URL, email: String? = nil) throws(AuthError) -> URL {
        let parameters = try openPage(continueURL, conflict: nil)
        let address = email.map { [URLQueryItem(name: "email", value: $0)] } ?? []
        return ownPage("signin", parameters + address)
    }

    /// Signs in with the link by which a page of Concord returned to the app.
    ///
    /// A repetition after a lost answer, also by a later process, gets the answer of the first request.
    ///
    /// - Throws: `webContextCancelled` if this device opened no page, or the link has no code: the person finished on
    ///   another device, and can sign in. `codeUnusable` after 60 seconds.
    @discardableResult
    public func signIn(withReturnURL url: URL) async throws(AuthError) -> AuthDataResult {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        func parameter(_ name: String) -> String? { items.first { $0.name == name }?.value }
        guard let page = try keeper.read().page, page.scope == configuration.scope, parameter("state") == page.state
        else { throw AuthError(.webContextCancelled, "this device opened no such page. Sign in again") }
        let conflict = page.conflict.flatMap { id in try? keeper.read().conflicts.first { $0.id == id } }
        guard let code = parameter("concordCode") else {
            if parameter("concordConflict") == "declined", let conflict { try forget(conflict) }
            throw AuthError(.webContextCancelled, "the page returned without a session. Sign in again")
        }
        let body: [String: JSONValue?] = ["code": code.json, "codeVerifier": page.verifier.text.json]
        let call = Call<SignInAnswer>.post("/concord/v1/session:exchange", body).once(page.state)
        let result = try await signIn(call, for: .signIn(provider: "page"), settling: conflict?.handle)
        _ = try? keeper.change { state in
            if state.page == page { state.page = nil }
        }
        return result
    }

    fileprivate func openPage(_ continueURL: URL, conflict: String?) throws(AuthError) -> [URLQueryItem] {
        let page = PendingPage(
            scope: configuration.scope,
            verifier: Secret(Digest.random()),
            state: Digest.random(),
            conflict: conflict,
            startTime: configuration.now()
        )
        _ = try keeper.change { state in state.page = page }
        return [
            URLQueryItem(name: "continueUrl", value: continueURL.absoluteString),
            URLQueryItem(name: "state", value: page.state),
            URLQueryItem(name: "codeChallenge", value: Digest.base64URL(of: page.verifier.text)),
        ]
    }

    /// The parameters stand behind the `#`, so they reach no log and no proxy.
    fileprivate func ownPage(_ name: String, handle: String? = nil, _ parameters: [URLQueryItem]) -> URL {
        let page = configuration.server.appendingPathComponent(name)
        var components = URLComponents()
        components.queryItems = parameters
        let query = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B") ?? ""
        let fragment = [handle, query].compactMap { $0 }.joined(separator: "&")
        return URL(string: page.absoluteString + "#" + fragment) ?? page
    }
}

extension AuthConflict {
    /// Returns the address of the page that settles the conflict, for apps without a form.
    ///
    /// The address has the handle: show it in a browser, and store or send it nowhere. The person comes back by a
    /// universal link, for ``Auth/signIn(withReturnURL:)``.
    ///
    /// - Parameters:
    ///   - continueURL: A universal link of the app, on a host in `authorizedDomains`.
    ///   - auth: The client that has the conflict.
    /// - Returns: The address of the page.
    /// - Throws: `conflictUnknown` if the conflict belongs to another server or project; `storeNotWritable`.
    public func page(continueURL: URL, in auth: Auth) throws(AuthError) -> URL {
        let conflict = try auth.newest(self)
        let parameters = try auth.openPage(continueURL, conflict: id)
        return auth.ownPage("conflict", handle: conflict.handle.text, parameters)
    }
}

extension Digest {
    /// Returns the SHA-256 of `text` in base64url without padding (RFC 7636 §4.2).
    static func base64URL(of text: String) -> String {
        Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
