import Foundation

/// The use of the tokens of an answer.
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
    ///   - signOuts: The count of sign-outs when the sign-in began; `nil` if it begins now.
    /// - Returns: The user, and what the provider said.
    /// - Throws: The failures of ``check(_:for:)`` and of the call. Nothing but a conflict is stored then.
    ///   ``AuthErrorCode/nullUser`` if the user signed out meanwhile. ``AuthErrorCode/storeNotWritable`` if the session
    ///   is in memory alone.
    func signIn(
        _ call: Call<SignInAnswer>,
        for purpose: SignInPurpose,
        settling handle: Secret? = nil,
        since signOuts: UInt64? = nil
    ) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(configuration.requestTimeout) { () throws(AuthError) in
            try await signInWithinDeadline(call, for: purpose, settling: handle, since: signOuts)
        }
    }

    private func signInWithinDeadline(
        _ call: Call<SignInAnswer>,
        for purpose: SignInPurpose,
        settling handle: Secret?,
        since signOuts: UInt64?
    ) async throws(AuthError) -> AuthDataResult {
        var call = call
        // A store that cannot be read is found out here, before a code or link is used up.
        let stored = try keeper.read()
        let signOuts = signOuts ?? stored.signOuts
        let deviceToken = stored.deviceToken
        if case .object(var body)? = call.body {
            if call.path.hasPrefix("/v1/") { body["returnSecureToken"] = true }
            if configuration.remembersDevice {
                body["returnDeviceToken"] = true
                // A repetition by a later process, with the same idempotency key, must send the same body.
                if call.idempotencyKey == nil { body["deviceToken"] = deviceToken?.text.json }
            }
            call.body = .object(body)
        }
        let finished: Finished
        if let user = purpose.user {
            finished = try await tokens.replacingTokens(ofSession: user.sessionID) { () throws(AuthError) in
                try await send(call, for: purpose, settling: handle, since: signOuts)
            }
        } else {
            finished = try await send(call, for: purpose, settling: handle, since: signOuts)
        }
        try await loadProfile(of: finished.user)
        if let failure = finished.failure { throw failure }
        return AuthDataResult(
            user: finished.user,
            additionalUserInfo: AdditionalUserInfo(finished.answer, provider: purpose.provider),
            credential: finished.answer.credential(provider: purpose.provider)
        )
    }

    /// A sign-in whose tokens are stored, or in memory alone after a failure.
    private struct Finished {
        let answer: SignInAnswer
        let user: User
        let failure: AuthError?
    }

    /// Sends the call, and checks and stores its answer.
    private func send(
        _ call: Call<SignInAnswer>,
        for purpose: SignInPurpose,
        settling handle: Secret?,
        since signOuts: UInt64
    ) async throws(AuthError) -> Finished {
        let answered: Answered<SignInAnswer>
        do {
            answered = try await backend.send(call)
        } catch {
            throw mismatch(error, for: purpose)
        }
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
        return try store(fresh, of: answer, for: purpose, settling: handle, since: signOuts)
    }

    /// Stores the tokens of a sign-in, or of the user's own session.
    private func store(
        _ fresh: FreshTokens,
        of answer: SignInAnswer,
        for purpose: SignInPurpose,
        settling handle: Secret?,
        since signOuts: UInt64
    ) throws(AuthError) -> Finished {
        if let user = purpose.user, user.uid != fresh.claims.uid {
            if case .reauthenticate = purpose {
                throw AuthError(.userMismatch, "the credential belongs to another account; the session is unchanged")
            }
            throw .tokenOfAnotherAccount
        }
        let now = configuration.now()
        let new = StoredSession(fresh, scope: configuration.scope, at: now)
        let changed = try keeper.changeInMemory { state in
            if let user = purpose.user {
                guard state.take(fresh, of: user, at: now) else { return false }
            } else {
                guard state.signOuts == signOuts else { return false }
                state.session = new
            }
            if let deviceToken = answer.deviceToken { state.deviceToken = Secret(deviceToken) }
            if let handle { state.conflicts.removeAll { $0.handle == handle } }
            return true
        }
        guard changed.result else { throw .signedOut }
        tokens.noteArrival(of: Secret(fresh.idToken))
        // Another sign-in may have replaced this one already. The caller gets the user that it signed in all the same.
        let current = publish(changed.state, keeping: purpose.user)
        let own = current.flatMap { $0.sessionID == new.id ? $0 : nil }
        return Finished(
            answer: answer,
            user: purpose.user ?? own ?? User(new, auth: self),
            failure: changed.failure?.ofSignIn
        )
    }

    /// Loads the account after its tokens were stored. The sign-in stands if that fails, unless the server says that
    /// the session ended.
    private func loadProfile(of user: User) async throws(AuthError) {
        do {
            try await user.load()
        } catch {
            if error.endsSession, !user.isCurrent { throw error }
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
