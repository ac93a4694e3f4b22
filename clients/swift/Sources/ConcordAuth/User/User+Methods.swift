import Foundation

extension User {
    /// Adds a sign-in method to the account.
    ///
    /// - Throws: ``AuthErrorCode/providerAlreadyLinked``; ``AuthErrorCode/credentialAlreadyInUse`` or
    ///   ``AuthErrorCode/emailAlreadyInUse`` with ``AuthError/updatedCredential`` and, if the server kept the
    ///   credential, ``AuthError/conflict``; ``AuthErrorCode/requiresRecentLogin``.
    @discardableResult
    public func link(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        let isLinked = profile.with { profile in
            switch credential.kind {
            case .password: profile.hasPassword
            case .emailLink: false
            // The server decides which identity of the provider stays when a conflict is settled.
            case .oauth(let tokens) where tokens.pendingToken != nil: false
            default: profile.providers.contains { $0.providerID == credential.provider }
            }
        }
        if isLinked {
            throw AuthError(.providerAlreadyLinked, "the account already has \(credential.provider)")
        }
        return try await auth.signIn(with: credential, for: .link(self, provider: credential.provider))
    }

    /// Signs in again, before an operation that needs a recent sign-in.
    ///
    /// - Throws: ``AuthErrorCode/userMismatch`` if the credential belongs to another account. The session is unchanged
    ///   then.
    @discardableResult
    public func reauthenticate(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        guard try auth.keeper.read().session?.id == sessionID else { throw .signedOut }
        return try await auth.signIn(with: credential, for: .reauthenticate(self, provider: credential.provider))
    }

    /// Removes a sign-in method.
    ///
    /// - Throws: ``AuthErrorCode/noSuchProvider``, ``AuthErrorCode/requiresRecentLogin``.
    @discardableResult
    public func unlink(fromProvider provider: String) async throws(AuthError) -> User {
        guard profile.with({ $0.providers.contains { $0.providerID == provider } }) else {
            throw AuthError(.noSuchProvider, "the account does not have \(provider)")
        }
        try await change(["deleteProvider": [provider.json]])
        return self
    }

    /// Sets a new password. Other sessions of the account end; this one goes on.
    ///
    /// - Throws: ``AuthErrorCode/weakPassword``, ``AuthErrorCode/requiresRecentLogin``.
    public func updatePassword(to password: String) async throws(AuthError) {
        try await change(["password": password.json])
    }

    /// Sets a new address, without a proof of it. Projects that protect addresses refuse:
    /// ``sendEmailVerification(beforeUpdatingEmail:actionCodeSettings:)`` works there too.
    ///
    /// - Throws: ``AuthErrorCode/emailAlreadyInUse``, ``AuthErrorCode/requiresRecentLogin``,
    ///   ``AuthErrorCode/operationNotAllowed``, ``AuthErrorCode/emailChangeNeedsVerification``.
    public func updateEmail(to email: String) async throws(AuthError) { try await change(["email": email.json]) }

    /// Sets or replaces the number.
    public func updatePhoneNumber(_ credential: PhoneAuthCredential) async throws(AuthError) {
        guard credential.provider == AuthProviderID.phone.rawValue else {
            throw AuthError(.invalidArgument, "the credential is of no phone number")
        }
        _ = try await auth.signIn(with: credential, for: .link(self, provider: credential.provider))
    }

    /// Mails a link that verifies the address.
    public func sendEmailVerification(
        with settings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        try await withToken { (token) async throws(AuthError) in
            try await auth.sendOobCode("VERIFY_EMAIL", ["idToken": token.json], settings)
        }
    }

    /// Mails a link to the new address. The address changes when its owner opens the link.
    ///
    /// - Throws: ``AuthErrorCode/emailAlreadyInUse``, ``AuthErrorCode/requiresRecentLogin``.
    public func sendEmailVerification(
        beforeUpdatingEmail email: String,
        actionCodeSettings settings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        try await withToken { (token) async throws(AuthError) in
            try await auth.sendOobCode(
                "VERIFY_AND_CHANGE_EMAIL",
                ["idToken": token.json, "newEmail": email.json],
                settings
            )
        }
    }

    /// Deletes the account, and signs out.
    ///
    /// - Throws: ``AuthErrorCode/requiresRecentLogin``, ``AuthErrorCode/adminRestrictedOperation``.
    public func delete() async throws(AuthError) {
        let _: Nothing = try await withToken { (token) async throws(AuthError) in
            try await auth.backend.call(.post("/v1/accounts:delete", ["idToken": token.json]))
        }
        try forgetSession()
    }

    /// Revokes a token of Sign in with Apple at Apple, for example before ``delete()``.
    public func revokeToken(withAuthorizationCode code: String) async throws(AuthError) {
        let _: Nothing = try await withToken { (token) async throws(AuthError) in
            try await auth.backend.call(
                .post(
                    "/v2/accounts:revokeToken",
                    ["providerId": "apple.com", "tokenType": "CODE", "token": code.json, "idToken": token.json]
                )
            )
        }
    }

    /// Begins a change of name and picture.
    public func createProfileChangeRequest() -> UserProfileChangeRequest { UserProfileChangeRequest(self) }
}
