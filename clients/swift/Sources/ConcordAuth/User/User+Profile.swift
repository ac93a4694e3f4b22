import Foundation

/// The answer of `accounts:lookup`.
private struct LookupAnswer: Decodable, Sendable {
    struct Account: Decodable, Sendable {
        let localId: String
        let email: String?
        let emailVerified: Bool?
        let displayName: String?
        let photoUrl: String?
        let phoneNumber: String?
        let passwordHash: String?
        let createdAt: LooseNumber?
        let lastLoginAt: LooseNumber?
        let providerUserInfo: [ProviderRow]?
        let mfaInfo: [SignInAnswer.Factor]?
        let tenantId: String?
        let customAuth: Bool?
    }

    let users: [Account]?
}

extension StoredUser {
    fileprivate init(_ account: LookupAnswer.Account, signInProvider: String?) {
        func date(_ milliseconds: LooseNumber?) -> Date? {
            milliseconds.flatMap { Double($0.text) }.map { Date(timeIntervalSince1970: $0 / 1_000) }
        }
        uid = account.localId
        email = account.email
        isEmailVerified = account.emailVerified ?? false
        displayName = account.displayName
        photoURL = account.photoUrl
        phoneNumber = account.phoneNumber
        hasPassword = account.passwordHash?.isEmpty == false
        creationDate = date(account.createdAt)
        lastSignInDate = date(account.lastLoginAt)
        providers = (account.providerUserInfo ?? []).map(Provider.init)
        factors = (account.mfaInfo ?? []).map(Factor.init)
        tenantID = account.tenantId
        isAnonymous =
            providers.isEmpty && email == nil && phoneNumber == nil && !hasPassword && signInProvider == "anonymous"
    }
}

/// A method of an account, in answers.
struct ProviderRow: Decodable, Sendable {
    let providerId: String
    let rawId: String?
    let federatedId: String?
    let email: String?
    let displayName: String?
    let photoUrl: String?
    let phoneNumber: String?
}

extension StoredUser.Provider {
    fileprivate init(_ row: ProviderRow) {
        providerID = row.providerId
        uid = row.rawId ?? row.federatedId ?? ""
        email = row.email
        displayName = row.displayName
        photoURL = row.photoUrl
        phoneNumber = row.phoneNumber
    }
}

/// The answer of `accounts:update`: the account after the change, and tokens if the change ended sessions. Routes of
/// second factors answer tokens alone.
struct AccountChange: Decodable, Sendable {
    let localId: String?
    let email: String?
    let emailVerified: Bool?
    let displayName: String?
    let photoUrl: String?
    let passwordHash: String?
    let providerUserInfo: [ProviderRow]?
    let idToken: String?
    let refreshToken: String?
    let expiresIn: LooseNumber?
}

extension StoredUser {
    /// Takes over the account of an answer, if it has one.
    fileprivate mutating func take(_ answer: AccountChange) {
        guard let rows = answer.providerUserInfo else { return }
        providers = rows.map(Provider.init)
        email = answer.email
        isEmailVerified = answer.emailVerified ?? false
        displayName = answer.displayName
        photoURL = answer.photoUrl
        hasPassword = answer.passwordHash?.isEmpty == false
        phoneNumber = providers.first { $0.providerID == "phone" }.flatMap { $0.phoneNumber ?? $0.uid }
    }
}

extension User {
    /// Loads the account with a fresh token, and stores it in the session.
    func load() async throws(AuthError) {
        let (account, token) = try await withToken { (token) async throws(AuthError) in
            var call = Call<LookupAnswer>.post("/v1/accounts:lookup", ["idToken": token.json])
            call.isRepeatable = true
            let users = try await auth.backend.call(call).users ?? []
            guard users.count == 1 else {
                throw AuthError(.invalidServerAnswer, "the answer has \(users.count) accounts instead of one")
            }
            return (users[0], token)
        }
        guard account.localId == uid else {
            throw AuthError(.tokenOfAnotherAccount, "the answer describes another account; it was discarded")
        }
        let new = StoredUser(account, signInProvider: try IDToken(token).signInProvider)
        let (state, isStored) = try auth.keeper.change { state in
            guard state.session?.id == sessionID else { return false }
            state.session?.user = new
            return true
        }
        auth.publish(state)
        if isStored { profile.with { $0 = new } }
    }

    /// Changes the account, and takes over the answer: the account and new tokens.
    ///
    /// - Parameters:
    ///   - body: The request without the ID token.
    ///   - path: The route.
    ///   - adjust: Changes the stored account as the answer does not say; `nil` to load the account instead. The change
    ///     stands if loading fails, so that failure is not an error unless the session ended.
    /// - Throws: The refusal. The account is unchanged then.
    func change(
        _ body: [String: JSONValue?],
        at path: String = "/v1/accounts:update",
        adjust: (@Sendable (inout StoredUser) -> Void)? = nil
    ) async throws(AuthError) {
        let answered = try await withToken { (token) async throws(AuthError) in
            var all = body
            all["idToken"] = token.json
            all["returnSecureToken"] = true
            return try await auth.backend.send(Call<AccountChange>.post(path, all))
        }
        try take(answered)
        let answer = answered.value
        guard answer.providerUserInfo != nil || adjust != nil else {
            do { try await load() } catch { if error.endsSession { throw error } }
            return
        }
        let (state, isStored) = try auth.keeper.change { state in
            guard state.session?.id == sessionID, var user = state.session?.user else { return false }
            user.take(answer)
            adjust?(&user)
            state.session?.user = user
            return true
        }
        auth.publish(state)
        if isStored, let user = state.session?.user { profile.with { $0 = user } }
    }

    /// Takes over the tokens of an answer, if it has any.
    private func take(_ answered: Answered<AccountChange>) throws(AuthError) {
        let answer = answered.value
        guard let idToken = answer.idToken, let refreshToken = answer.refreshToken else { return }
        let fresh = try FreshTokens(
            idToken: idToken,
            refreshToken: refreshToken,
            expiresIn: answer.expiresIn?.text,
            localID: answer.localId,
            serverTime: answered.serverTime,
            projectID: auth.configuration.projectID
        )
        guard fresh.claims.uid == uid else { throw .tokenOfAnotherAccount }
        let now = auth.configuration.now()
        let (state, isStored) = try auth.keeper.change { state in
            guard state.session?.id == sessionID else { return false }
            state.session?.take(fresh, at: now)
            return true
        }
        guard isStored else { throw .signedOut }
        auth.tokens.noteArrival(of: Secret(idToken))
        auth.publish(state)
    }
}
