// Steps of an owner who can still sign in to the account.

extension AuthConflict {
    /// Signs in with a method that the account already has, and links the credential that waits.
    ///
    /// If the app is killed between both, the session and the conflict are stored: continue with ``link(to:)``.
    ///
    /// - Throws: The errors of ``Auth/signIn(with:)``. After `secondFactorRequired`, resolve the sign-in, then
    ///   ``link(to:)``.
    @discardableResult
    public func settle(with credential: AuthCredential, in auth: Auth) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            _ = try auth.newest(self)
            let result = try await auth.signIn(with: credential)
            return try await link(to: result.user)
        }
    }

    /// Links the credential that waits to a signed-in user.
    ///
    /// If the conflict was settled before and the user has the provider, that is a success: the answer to an earlier
    /// link was lost, or the sign-in settled it, as the first one after ``prove(code:in:)`` does.
    ///
    /// - Throws: `requiresRecentLogin` if the sign-in is too old; `credentialAlreadyInUse` if another account has the
    ///   identity meanwhile; `invalidCredential` if the conflict has ended: sign in with the provider again.
    @discardableResult
    public func link(to user: User) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(user.auth.configuration.requestTimeout) { () throws(AuthError) in
            let conflict = try user.auth.newest(self)
            do throws(AuthError) {
                let result = try await user.link(with: conflict.credential)
                try user.auth.forget(conflict)
                return result
            } catch {
                guard error.serverCode == "INVALID_PENDING_TOKEN", try await conflict.isSettled(in: user.auth) else {
                    throw error
                }
                try await user.reload()
                guard user.providerData.contains(where: { $0.providerID == providerID }) else { throw error }
                return AuthDataResult(user: user, additionalUserInfo: nil, credential: nil)
            }
        }
    }

    /// Returns true if the conflict is resolved. A conflict that has ended in any way leaves the store.
    private func isSettled(in auth: Auth) async throws(AuthError) -> Bool {
        // A sign-up that waits for its mailbox is not readable. What the account has decides alone.
        if kind == .unprovenAddress {
            try auth.forget(self)
            return true
        }
        do {
            return try await read(in: auth).state == .resolved
        } catch {
            guard [.conflictClosed, .conflictExpired, .conflictUnknown].contains(error.code) else { throw error }
            return false
        }
    }
}
