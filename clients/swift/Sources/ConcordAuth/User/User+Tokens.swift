public import Foundation

extension User {
    /// An ID token that is valid for 5 more minutes at least.
    ///
    /// Any number of tasks may ask at once: one refresh serves all.
    ///
    /// - Parameter forcingRefresh: True for a token that the server issues after the call began, for example with new
    ///   claims.
    /// - Returns: The token.
    /// - Throws: ``AuthErrorCode/userTokenExpired``, ``AuthErrorCode/userNotFound`` or ``AuthErrorCode/userDisabled``
    ///   if the session ended (the user is signed out then), ``AuthErrorCode/nullUser`` if the user signed out,
    ///   ``AuthErrorCode/networkError`` otherwise (the session stays).
    public func getIDToken(forcingRefresh: Bool = false) async throws(AuthError) -> String {
        try await idToken(forcingRefresh ? .new : .fresh)
    }

    func idToken(_ need: TokenNeed) async throws(AuthError) -> String {
        do throws(AuthError) {
            let state = try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
                try await auth.tokens.freshState(ofSession: sessionID, need)
            }
            auth.publish(state)
            guard let session = state.session, session.id == sessionID else { throw .signedOut }
            return session.idToken.text
        } catch {
            if error.endsSession { auth.publishStored() }
            throw error
        }
    }

    /// FirebaseAuth's second name of ``getIDToken(forcingRefresh:)``.
    public func idTokenForcingRefresh(_ forcingRefresh: Bool) async throws(AuthError) -> String {
        try await getIDToken(forcingRefresh: forcingRefresh)
    }

    /// An ID token with its claims.
    public func getIDTokenResult(forcingRefresh: Bool = false) async throws(AuthError) -> AuthTokenResult {
        try AuthTokenResult(await getIDToken(forcingRefresh: forcingRefresh))
    }

    /// Runs an operation with a fresh ID token.
    ///
    /// If the server refuses the token, the client refreshes it and runs the operation once more: the clock of this
    /// machine may be wrong, or another task may have set a new password. If the session ended, the refresh is refused
    /// too, and the user is signed out. No other refusal ends the session: it may be about another account, or one
    /// server may not know the newest token yet.
    func withToken<Result: Sendable>(
        _ operation: (_ token: String) async throws(AuthError) -> Result
    ) async throws(AuthError) -> Result {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let token = try await getIDToken()
            do throws(AuthError) {
                return try await operation(token)
            } catch {
                guard error.refusesToken else { throw error }
            }
            return try await operation(try await idToken(.other(than: token)))
        }
    }

    /// True if the session is stored.
    var isCurrent: Bool { (try? auth.keeper.read())?.session?.id == sessionID }
}

/// An ID token and its claims.
public struct AuthTokenResult: Sendable {
    public let token: String
    public let expirationDate: Date
    /// The time of the sign-in. A refresh does not change it.
    public let authDate: Date
    public let issuedAtDate: Date
    /// `password`, `phone`, `anonymous`, `custom`, or the provider's id.
    public let signInProvider: String
    /// `phone` or `totp`; empty without a second factor.
    public let signInSecondFactor: String
    /// All claims, with those of the app (`customAttributes`).
    public let claims: [String: JSONValue]

    init(_ token: String) throws(AuthError) {
        let parsed = try IDToken(token)
        guard let expiration = parsed.expiration, let issued = parsed.date("iat") else {
            throw AuthError(.malformedJWT, "the ID token has no times")
        }
        self.token = token
        expirationDate = expiration
        issuedAtDate = issued
        authDate = parsed.date("auth_time") ?? issued
        signInProvider = parsed.signInProvider ?? ""
        signInSecondFactor = parsed.claims["firebase"]?["sign_in_second_factor"]?.stringValue ?? ""
        claims = parsed.claims
    }
}

extension AuthTokenResult: CustomStringConvertible, CustomReflectable {
    public var description: String { "AuthTokenResult(\(signInProvider))" }
    public var customMirror: Mirror { Mirror(self, children: ["signInProvider": signInProvider]) }
}

extension Auth {
    /// Publishes what is stored, after a session ended.
    func publishStored() {
        if let state = try? keeper.read() { publish(state) }
    }

    /// Signs the user out if the answer to a lookup of the session's own account says that the account is gone or
    /// disabled, and the session still has the token of the lookup.
    func endSession(of user: User, afterLookupWith token: String, _ error: AuthError) throws(AuthError) {
        guard error.endsSession, !error.refusesToken else { return }
        let changed = try keeper.changeInMemory { state in
            if state.session?.id == user.sessionID, state.session?.idToken.text == token { state.session = nil }
        }
        publish(changed.state)
    }
}
