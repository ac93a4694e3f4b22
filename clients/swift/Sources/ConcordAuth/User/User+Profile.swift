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
    private static let mostLookups = 3

    /// Loads the account with a fresh token, and stores it in the session.
    ///
    /// An answer that is older than a change, or than the answer of a later lookup, is dropped; after a change, the
    /// account is loaded again.
    func load() async throws(AuthError) {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            for _ in 0..<Self.mostLookups {
                let start = auth.lookups.with { lookups in
                    lookups.started += 1
                    return lookups.started
                }
                let changes = try auth.keeper.read().session?.changes
                let new = try await lookup()
                if try store(new, start: start, ifChanges: changes) { return }
            }
        }
    }

    private func lookup() async throws(AuthError) -> StoredUser {
        let (account, token) = try await withToken { (token) async throws(AuthError) in
            var call = Call<LookupAnswer>.post("/v1/accounts:lookup", ["idToken": token.json])
            call.isRepeatable = true
            let users: [LookupAnswer.Account]
            do throws(AuthError) {
                users = try await auth.backend.call(call).users ?? []
            } catch {
                try auth.endSession(of: self, afterLookupWith: token, error)
                throw error
            }
            guard users.count == 1 else {
                throw AuthError(.invalidServerAnswer, "the answer has \(users.count) accounts instead of one")
            }
            return (users[0], token)
        }
        guard account.localId == uid else {
            throw AuthError(.tokenOfAnotherAccount, "the answer describes another account; it was discarded")
        }
        return StoredUser(account, signInProvider: try IDToken(token).signInProvider)
    }

    /// Stores the answer of a lookup. Returns false if the account changed meanwhile.
    private func store(_ new: StoredUser, start: Int, ifChanges changes: Int?) throws(AuthError) -> Bool {
        let changed = try auth.keeper.changeInMemory { state in
            guard state.session?.id == sessionID else { return true }
            guard state.session?.changes == changes else { return false }
            let isNewest = auth.lookups.with { lookups in
                guard start >= lookups.stored else { return false }
                lookups.stored = start
                return true
            }
            if isNewest { state.session?.user = new }
            return true
        }
        show(changed.state)
        return changed.result
    }

    /// Publishes a state, and shows its account in this object, also if the client has another object of the session.
    private func show(_ state: StoredState) {
        auth.publish(state, keeping: self)
        guard auth.state.with({ $0.user }) !== self else { return }
        profile.with { profile in
            if let session = try? auth.keeper.read().session, session.id == sessionID { profile = session.user }
        }
    }

    /// Changes the account, and takes over the answer: the account and new tokens. No refresh runs meanwhile.
    ///
    /// - Parameters:
    ///   - body: The request without the ID token.
    ///   - path: The route.
    ///   - adjust: Changes the stored account as the answer does not say; `nil` to load the account instead. The change
    ///     stands if loading fails, so that failure is not an error unless the session ended.
    /// - Throws: The refusal. The account is unchanged then. ``AuthErrorCode/storeNotWritable`` after a change whose
    ///   result is in memory alone.
    func change(
        _ body: [String: JSONValue?],
        at path: String = "/v1/accounts:update",
        adjust: (@Sendable (inout StoredUser) -> Void)? = nil
    ) async throws(AuthError) {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let (isLoaded, failure) = try await withToken { (token) async throws(AuthError) in
                var all = body
                all["idToken"] = token.json
                all["returnSecureToken"] = true
                return try await change(.post(path, all), adjust)
            }
            if !isLoaded {
                do throws(AuthError) { try await load() } catch { if error.endsSession, !isCurrent { throw error } }
            }
            if let failure { throw failure }
        }
    }

    private func change(
        _ call: Call<AccountChange>,
        _ adjust: (@Sendable (inout StoredUser) -> Void)?
    ) async throws(AuthError) -> (isLoaded: Bool, failure: AuthError?) {
        try await auth.tokens.replacingTokens(ofSession: sessionID) { () throws(AuthError) in
            try take(try await auth.backend.send(call), adjust)
        }
    }

    /// Takes over the tokens and the account of an answer. Returns false if it has no account.
    private func take(
        _ answered: Answered<AccountChange>,
        _ adjust: ((inout StoredUser) -> Void)?
    ) throws(AuthError) -> (isLoaded: Bool, failure: AuthError?) {
        let answer = answered.value
        let fresh = try tokens(of: answered)
        let now = auth.configuration.now()
        let changed = try auth.keeper.changeInMemory { state in
            if let fresh {
                guard state.take(fresh, of: self, at: now) else { return false }
            } else {
                guard state.session?.id == sessionID else { return false }
                state.session?.countChange()
            }
            state.session?.user.take(answer)
            if let adjust, var user = state.session?.user {
                adjust(&user)
                state.session?.user = user
            }
            return true
        }
        if let fresh {
            guard changed.result else { throw .signedOut }
            auth.tokens.noteArrival(of: Secret(fresh.idToken))
        }
        show(changed.state)
        return (answer.providerUserInfo != nil || adjust != nil, changed.failure?.ofSignIn)
    }

    private func tokens(of answered: Answered<AccountChange>) throws(AuthError) -> FreshTokens? {
        let answer = answered.value
        guard let idToken = answer.idToken, let refreshToken = answer.refreshToken else { return nil }
        let fresh = try FreshTokens(
            idToken: idToken,
            refreshToken: refreshToken,
            expiresIn: answer.expiresIn?.text,
            localID: answer.localId,
            serverTime: answered.serverTime,
            projectID: auth.configuration.projectID
        )
        guard fresh.claims.uid == uid else { throw .tokenOfAnotherAccount }
        return fresh
    }
}
