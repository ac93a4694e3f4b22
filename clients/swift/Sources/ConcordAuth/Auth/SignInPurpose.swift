import Foundation

/// What the tokens of an answer are for.
enum SignInPurpose: Sendable {
    /// A new session, of any account.
    case signIn(provider: String)
    /// The user's session continues with another method.
    case link(User, provider: String)
    /// The user's session continues with a newer sign-in.
    case reauthenticate(User, provider: String)

    var provider: String {
        switch self {
        case .signIn(let provider), .link(_, let provider), .reauthenticate(_, let provider): provider
        }
    }

    var user: User? {
        switch self {
        case .signIn: nil
        case .link(let user, _), .reauthenticate(let user, _): user
        }
    }
}

extension Auth {
    /// Sends a call that signs in, and stores what it returns before anything else can fail.
    ///
    /// - Parameters:
    ///   - call: The call. Members about the device are added.
    ///   - purpose: The session that the tokens are for.
    ///   - handle: The handle of the conflict that success settles.
    /// - Returns: The user, and what the provider said.
    /// - Throws: The failures of ``check(_:for:)`` and of the call. Nothing but a conflict is stored then.
    func signIn(
        _ call: Call<SignInAnswer>,
        for purpose: SignInPurpose,
        settling handle: Secret? = nil
    ) async throws(AuthError) -> AuthDataResult {
        var call = call
        // A store that cannot be read is found out here, before a code or link is used up.
        let deviceToken = try keeper.read().deviceToken
        if case .object(var body)? = call.body {
            if call.path.hasPrefix("/v1/") { body["returnSecureToken"] = true }
            if configuration.remembersDevice {
                body["returnDeviceToken"] = true
                // A repetition by a later process, with the same idempotency key, must send the same body.
                if call.idempotencyKey == nil { body["deviceToken"] = deviceToken?.text.json }
            }
            call.body = .object(body)
        }
        let answered: Answered<SignInAnswer>
        do {
            answered = try await backend.send(call)
        } catch {
            throw mismatch(error, for: purpose)
        }
        return try await finish(answered, for: purpose, settling: handle)
    }

    /// Checks and stores the answer of a call that signs in.
    func finish(
        _ answered: Answered<SignInAnswer>,
        for purpose: SignInPurpose,
        settling handle: Secret? = nil
    ) async throws(AuthError) -> AuthDataResult {
        let answer = answered.value
        do {
            try check(answer, for: purpose)
        } catch {
            var error = mismatch(error, for: purpose)
            error.decision = error.decision ?? answered.decision
            throw error
        }
        guard let idToken = answer.idToken, let refreshToken = answer.refreshToken else {
            throw AuthError(.invalidServerAnswer, "the answer to a sign-in has no tokens")
        }
        let fresh = try FreshTokens(
            idToken: idToken,
            refreshToken: refreshToken,
            expiresIn: answer.expiresIn?.text,
            localID: answer.localId,
            serverTime: answered.serverTime,
            projectID: configuration.projectID
        )
        let user = try store(fresh, for: purpose, deviceToken: answer.deviceToken, settling: handle)
        try await loadProfile(of: user)
        return AuthDataResult(
            user: user,
            additionalUserInfo: AdditionalUserInfo(answer, provider: purpose.provider),
            credential: answer.credential(provider: purpose.provider)
        )
    }

    /// Stores the tokens of a sign-in, or of the user's own session.
    private func store(
        _ fresh: FreshTokens,
        for purpose: SignInPurpose,
        deviceToken: String?,
        settling handle: Secret?
    ) throws(AuthError) -> User {
        if let user = purpose.user, user.uid != fresh.claims.uid {
            if case .reauthenticate = purpose {
                throw AuthError(.userMismatch, "the credential belongs to another account; the session is unchanged")
            }
            throw .tokenOfAnotherAccount
        }
        let now = configuration.now()
        let new = StoredSession(fresh, scope: configuration.scope, at: now)
        let (state, isStored) = try keeper.change { state in
            if let user = purpose.user {
                guard state.session?.id == user.sessionID else { return false }
                state.session?.take(fresh, at: now)
            } else {
                state.session = new
            }
            if let deviceToken { state.deviceToken = Secret(deviceToken) }
            if let handle { state.conflicts.removeAll { $0.handle == handle } }
            return true
        }
        guard isStored else { throw .signedOut }
        tokens.noteArrival(of: Secret(fresh.idToken))
        // Another sign-in may have replaced this one already. The caller gets the user that it signed in all the same.
        let current = publish(state)
        if let user = purpose.user { return user }
        return current.flatMap { $0.sessionID == new.id ? $0 : nil } ?? User(new, auth: self)
    }

    /// Loads the account after its tokens were stored. The sign-in stands if that fails, unless the server says that
    /// the session ended.
    private func loadProfile(of user: User) async throws(AuthError) {
        do {
            try await user.load()
        } catch {
            if error.endsSession { throw error }
        }
    }

    /// A reauthentication with an unknown account is one with another account.
    private func mismatch(_ error: AuthError, for purpose: SignInPurpose) -> AuthError {
        guard case .reauthenticate = purpose, error.code == .userNotFound else { return error }
        return AuthError(
            .userMismatch,
            "the credential belongs to no account; the session is unchanged",
            serverCode: error.serverCode
        )
    }
}
