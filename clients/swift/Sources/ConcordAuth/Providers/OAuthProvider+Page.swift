import Foundation

// Sign-in on a provider's own page, through `/__/auth/handler` of the server.

extension OAuthProvider {
    /// Opens the provider's page, and returns the credential that it answers.
    ///
    /// The page gets the digest of a secret, and the sign-in presents the secret: an answer that another program
    /// catches is worthless to it. The secret is in the session store while the page is open, so an app that is killed
    /// meanwhile continues with ``Auth/resumeRedirect(uiDelegate:)``.
    ///
    /// - Parameter uiDelegate: Opens the page. `nil` on Apple's systems is the system's sign-in sheet.
    /// - Returns: The credential. It signs in once.
    /// - Throws: `webContextCancelled` if the person closes the page; `webContextAlreadyPresented` if another page is
    ///   open; `unauthorizedDomain` if a loopback callback needs `127.0.0.1` in `authorizedDomains`; `appNotAuthorized`
    ///   if the project does not have the app.
    public func credential(with uiDelegate: (any WebAuthenticating)? = nil) async throws(AuthError) -> AuthCredential {
        try await credential(operation: "signIn", uid: nil, uiDelegate)
    }

    func credential(
        operation: String,
        uid: String?,
        _ uiDelegate: (any WebAuthenticating)?
    ) async throws(AuthError) -> AuthCredential {
        let opener = try auth.opener(uiDelegate)
        let secret = Secret(Digest.random())
        let event = Digest.random()
        let page = auth.page(
            "signInWithRedirect",
            event: event,
            [
                ("providerId", providerID), ("sessionId", Digest.hex(of: secret.text)),
                ("scopes", scopes.flatMap { $0.isEmpty ? nil : $0.joined(separator: ",") }),
                ("customParameters", try customParametersText()),
            ]
        )
        let (auth, providerID) = (auth, providerID)
        return try await auth.webFlows.alone { () throws(AuthError) in
            let url = try await opener.open(page) { callback throws(AuthError) in
                try auth.storeRedirect(
                    PendingRedirect(
                        scope: auth.configuration.scope,
                        operation: operation,
                        eventID: event,
                        sessionSecret: secret,
                        providerID: providerID,
                        uid: uid,
                        startTime: auth.configuration.now(),
                        callback: callback.text
                    )
                )
            }
            return try auth.takeAnswer(url)
        }
    }

    private func customParametersText() throws(AuthError) -> String? {
        guard let customParameters, !customParameters.isEmpty else { return nil }
        do {
            return String(decoding: try JSONEncoder().encode(customParameters), as: UTF8.self)
        } catch {
            throw AuthError(.invalidArgument, "`customParameters` cannot be encoded", underlying: error)
        }
    }
}

extension Auth {
    /// Signs in on a provider's page.
    ///
    /// - Throws: The errors of ``OAuthProvider/credential(with:)`` and ``signIn(with:)``.
    @discardableResult
    public func signIn(
        with provider: OAuthProvider,
        uiDelegate: (any WebAuthenticating)? = nil
    ) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: provider.credential(with: uiDelegate))
    }
}

extension User {
    /// Links a provider to this account on the provider's page.
    @discardableResult
    public func link(
        with provider: OAuthProvider,
        uiDelegate: (any WebAuthenticating)? = nil
    ) async throws(AuthError) -> AuthDataResult {
        try await link(with: provider.credential(operation: "link", uid: uid, uiDelegate))
    }

    /// Signs in again on a provider's page, before a sensitive operation.
    ///
    /// - Throws: `userMismatch` if the person signs in to another account.
    @discardableResult
    public func reauthenticate(
        with provider: OAuthProvider,
        uiDelegate: (any WebAuthenticating)? = nil
    ) async throws(AuthError) -> AuthDataResult {
        try await reauthenticate(with: provider.credential(operation: "reauthenticate", uid: uid, uiDelegate))
    }
}
