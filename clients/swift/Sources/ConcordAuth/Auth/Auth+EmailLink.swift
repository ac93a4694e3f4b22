import Foundation

extension Auth {
    /// The most stored addresses that are tried for one link. The server counts wrong ones.
    private static let mostAddresses = 3

    /// Mails a sign-in link, and stores the address before that, so that the link signs in after a restart of the app.
    ///
    /// - Parameters:
    ///   - email: The address. It needs no account.
    ///   - settings: ``ActionCodeSettings/handleCodeInApp`` must be true.
    /// - Throws: ``AuthErrorCode/unauthorizedDomain``, ``AuthErrorCode/invalidEmail``,
    ///   ``AuthErrorCode/operationNotAllowed``, ``AuthErrorCode/tooManyRequests``.
    public func sendSignInLink(
        toEmail email: String,
        actionCodeSettings settings: ActionCodeSettings
    ) async throws(AuthError) {
        guard settings.handleCodeInApp else {
            throw AuthError(.invalidArgument, "`handleCodeInApp` must be true for a sign-in link")
        }
        let pending = PendingEmailLink(
            scope: configuration.scope,
            email: email,
            continueURL: settings.url?.absoluteString,
            requestTime: configuration.now()
        )
        let (_, replaced) = try keeper.change { state in
            let before = state.emailLinks
            state.emailLinks.removeAll {
                $0.scope == pending.scope && $0.email == email && $0.continueURL == pending.continueURL
            }
            state.emailLinks = (state.emailLinks + [pending]).suffix(StoredState.mostPending)
            return before.filter { !state.emailLinks.contains($0) }
        }
        do throws(AuthError) {
            try await sendOobCode("EMAIL_SIGNIN", ["email": email.json], settings)
        } catch {
            // Without an answer the mail may be on its way, so the address stays.
            if error.serverCode != nil {
                // The links of earlier mails stay usable.
                _ = try keeper.change { state in
                    let others = state.emailLinks.filter { $0 != pending && !replaced.contains($0) }
                    state.emailLinks = (replaced + others).sorted { $0.requestTime < $1.requestTime }
                        .suffix(StoredState.mostPending)
                }
            }
            throw error
        }
    }

    /// Returns true if `link` is a sign-in link.
    public func isSignIn(withEmailLink link: String) -> Bool {
        (try? ActionCodeURL.signInCode(of: link)) != nil
    }

    /// Signs in with a link and the addresses that were stored for it: those of the same continue URL first, the newest
    /// first. A wrong address leaves the link usable.
    func signInWithStoredAddress(
        link: Secret,
        _ start: [String: JSONValue?],
        for purpose: SignInPurpose,
        settling pendingToken: Secret?
    ) async throws(AuthError) -> AuthDataResult {
        let code = try ActionCodeURL.signInCode(of: link.text)
        let continueURL = ActionCodeURL(link: link.text)?.continueURL?.absoluteString
        let state = try keeper.read()
        let stored = state.emailLinks.reversed().filter { $0.scope == configuration.scope }
        let candidates =
            stored.filter { $0.continueURL == continueURL } + stored.filter { $0.continueURL != continueURL }
        var tried: [String] = []
        var failure = AuthError(
            .missingEmail,
            "no link was requested on this device; ask the user for the address that the link was mailed to"
        )
        for candidate in candidates where !tried.contains(candidate.email) && tried.count < Self.mostAddresses {
            tried.append(candidate.email)
            var body = start
            body["email"] = candidate.email.json
            body["oobCode"] = code.json
            if let pendingToken { body["pendingToken"] = pendingToken.text.json }
            do throws(AuthError) {
                let result = try await signIn(
                    .post("/v1/accounts:signInWithEmailLink", body),
                    for: purpose,
                    settling: pendingToken,
                    since: state.signOuts
                )
                forget(candidate.email)
                return result
            } catch {
                guard error.serverCode == "INVALID_EMAIL" else {
                    if error.code == .secondFactorRequired { forget(candidate.email) }
                    throw error
                }
                failure = error
            }
        }
        throw failure
    }

    /// Removes the stored links of an address. If that fails they stay, and the oldest makes room later.
    private func forget(_ email: String) {
        let scope = configuration.scope
        _ = try? keeper.change { state in state.emailLinks.removeAll { $0.scope == scope && $0.email == email } }
    }
}
