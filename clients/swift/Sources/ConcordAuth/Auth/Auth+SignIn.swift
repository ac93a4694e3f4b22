import Foundation

extension Auth {
    /// Signs in with a password.
    ///
    /// - Throws: ``AuthErrorCode/wrongPassword`` and ``AuthErrorCode/userNotFound``, or, if the project protects
    ///   addresses, ``AuthErrorCode/invalidCredential`` for both; ``AuthErrorCode/userDisabled``,
    ///   ``AuthErrorCode/tooManyRequests``, ``AuthErrorCode/secondFactorRequired``,
    ///   ``AuthErrorCode/operationNotAllowed``.
    @discardableResult
    public func signIn(withEmail email: String, password: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: EmailAuthProvider.credential(withEmail: email, password: password))
    }

    /// Signs in with a mailed link.
    ///
    /// - Parameters:
    ///   - email: The address that the link was mailed to. Without it the client takes the addresses that it stored
    ///     when links were requested on this device, newest first. After a link that was opened on another device, ask
    ///     the user: the link does not reveal the address.
    ///   - link: The whole link.
    /// - Returns: The user.
    /// - Throws: ``AuthErrorCode/invalidEmail`` if the address is another one (the link stays usable),
    ///   ``AuthErrorCode/missingEmail`` if none is stored, ``AuthErrorCode/invalidActionCode``,
    ///   ``AuthErrorCode/expiredActionCode``.
    @discardableResult
    public func signIn(withEmail email: String? = nil, link: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: EmailAuthProvider.credential(withEmail: email, link: link))
    }

    /// Signs in with a credential of any method.
    ///
    /// - Throws: ``AuthErrorCode/accountExistsWithDifferentCredential`` with a conflict, a credential to link and the
    ///   address; ``AuthErrorCode/secondFactorRequired`` with a resolver; ``AuthErrorCode/invalidCredential``;
    ///   ``AuthErrorCode/userDisabled``.
    @discardableResult
    public func signIn(with credential: AuthCredential) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: credential, for: .signIn(provider: credential.provider))
    }

    /// Creates an account without any method. A later `link(with:)` keeps it.
    ///
    /// If the current user is anonymous, it is returned and nothing is sent.
    @discardableResult
    public func signInAnonymously() async throws(AuthError) -> AuthDataResult {
        if let user = try storedUser(), user.isAnonymous {
            return AuthDataResult(user: user, additionalUserInfo: nil, credential: nil)
        }
        return try await signIn(.post("/v1/accounts:signUp"), for: .signIn(provider: "anonymous"))
    }

    /// Signs in with a token that the app's own server signed.
    ///
    /// - Throws: ``AuthErrorCode/invalidCustomToken``, ``AuthErrorCode/customTokenMismatch``.
    @discardableResult
    public func signIn(withCustomToken token: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(
            .post("/v1/accounts:signInWithCustomToken", ["token": token.json]),
            for: .signIn(provider: "custom")
        )
    }

    /// Creates an account with a password, and signs in.
    ///
    /// - Throws: ``AuthErrorCode/emailAlreadyInUse``, ``AuthErrorCode/weakPassword``,
    ///   ``AuthErrorCode/passwordDoesNotMeetRequirements``, ``AuthErrorCode/operationNotAllowed``.
    @discardableResult
    public func createUser(withEmail email: String, password: String) async throws(AuthError) -> AuthDataResult {
        try await signIn(
            .post("/v1/accounts:signUp", ["email": email.json, "password": password.json]),
            for: .signIn(provider: EmailAuthProvider.id)
        )
    }

    /// Sends a credential, for any purpose.
    ///
    /// - Parameters:
    ///   - credential: The proof.
    ///   - purpose: The session that it is for.
    ///   - pendingToken: The handle of a conflict that the sign-in settles too.
    ///   - asksFirst: True if a sign-in that would create an account must fail with ``AuthErrorCode/asksFirst``.
    /// - Returns: The user, and what the provider said.
    /// - Throws: As ``signIn(with:)``, ``User/link(with:)`` or ``User/reauthenticate(with:)``.
    func signIn(
        with credential: AuthCredential,
        for purpose: SignInPurpose,
        settling pendingToken: Secret? = nil,
        asksFirst: Bool = false
    ) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(configuration.requestTimeout) { () throws(AuthError) in
            guard case .link(let user, _) = purpose else {
                return try await send(credential, [:], for: purpose, settling: pendingToken, asksFirst: asksFirst)
            }
            return try await user.withToken { (token) async throws(AuthError) in
                try await send(
                    credential,
                    ["idToken": token.json],
                    for: purpose,
                    settling: pendingToken,
                    asksFirst: false
                )
            }
        }
    }

    private func send(
        _ credential: AuthCredential,
        _ body: [String: JSONValue?],
        for purpose: SignInPurpose,
        settling pendingToken: Secret?,
        asksFirst: Bool
    ) async throws(AuthError) -> AuthDataResult {
        if case .emailLink(nil, let link) = credential.kind {
            return try await signInWithStoredAddress(link: link, body, for: purpose, settling: pendingToken)
        }
        do throws(AuthError) {
            let result = try await signIn(
                call(for: credential, body, purpose, pendingToken, asksFirst: asksFirst),
                for: purpose,
                settling: pendingToken ?? credential.pendingToken
            )
            forgetUsed(credential)
            return result
        } catch {
            // The server takes the answer of a page once.
            if case .redirect = credential.kind, error.isVerdict { forgetUsed(credential) }
            throw error
        }
    }

    /// The call that sends a credential.
    private func call(
        for credential: AuthCredential,
        _ start: [String: JSONValue?],
        _ purpose: SignInPurpose,
        _ pendingToken: Secret?,
        asksFirst: Bool
    ) throws(AuthError) -> Call<SignInAnswer> {
        var body = start
        if let pendingToken { body["pendingToken"] = pendingToken.text.json }
        switch credential.kind {
        case .password(let email, let password):
            body["email"] = email.json
            body["password"] = password.text.json
            if case .link = purpose { return .post("/v1/accounts:signUp", body) }
            return .post("/v1/accounts:signInWithPassword", body)
        case .emailLink(let email, let link):
            body["email"] = email?.json
            body["oobCode"] = try ActionCodeURL.signInCode(of: link.text).json
            return .post("/v1/accounts:signInWithEmailLink", body)
        case .phone(let verificationID, let code):
            body["sessionInfo"] = verificationID.text.json
            body["code"] = code.text.json
            if case .reauthenticate = purpose { body["operation"] = "REAUTH" }
            return .post("/v1/accounts:signInWithPhoneNumber", body)
        case .phoneProof(let number, let proof):
            body["phoneNumber"] = number.json
            body["temporaryProof"] = proof.text.json
            return .post("/v1/accounts:signInWithPhoneNumber", body)
        case .oauth(let tokens):
            if let handle = tokens.pendingToken {
                body["pendingToken"] = handle.text.json
            } else {
                body["postBody"] = tokens.form(provider: credential.provider).json
            }
            body["requestUri"] = "http://localhost"
        case .redirect(let requestURI, let sessionID):
            body["requestUri"] = requestURI.text.json
            body["sessionId"] = sessionID.text.json
        }
        body["returnIdpCredential"] = true
        if case .reauthenticate = purpose { body["autoCreate"] = false } else { body["autoCreate"] = true }
        if asksFirst { body["asksFirst"] = true }
        return .post("/v1/accounts:signInWithIdp", body)
    }
}
