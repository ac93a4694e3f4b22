package import AccountLinking
import AccountStore
import Crypto
import JSON

/// Tokens a client receives for an account.
package struct IssuedTokens: Sendable {
    package let idToken: String
    package let refreshToken: String
    /// Seconds until the ID token expires.
    package let expiresInSeconds: Int64
}

/// A session that an operation is about to open, with the refresh token that names it. Made once per request.
struct NewSession: Sendable {
    private let id: [UInt8]
    private let secret: [UInt8]
    private let signInProvider: String
    private let secondFactor: SessionRecord.SecondFactor?
    /// Time of the sign-in, where that was not now. A session that goes on after a link is as old as the one that linked:
    /// otherwise a stolen old session would make itself recent by linking a provider of its own.
    var authTime: Timestamp?
    /// When the user signed in at the provider; `nil` where no provider says so, or where it does not count.
    private let signedInAt: Timestamp?
    private let claims: JSONValue?
    private let signInAttributes: JSONValue?

    init(
        effects: Effects,
        signInProvider: String,
        secondFactor: SessionRecord.SecondFactor? = nil,
        signedInAt: Timestamp? = nil,
        claims: JSONValue? = nil,
        signInAttributes: JSONValue? = nil
    ) {
        self.id = effects.randomBytes(RefreshToken.sessionBytes)
        self.secret = effects.randomBytes(RefreshToken.secretBytes)
        self.signInProvider = signInProvider
        self.secondFactor = secondFactor
        self.signedInAt = signedInAt
        self.claims = claims
        self.signInAttributes = signInAttributes
    }

    /// Takes over from the session of a caller what its second factor has shown, and when it signed in.
    init(
        effects: Effects,
        signInProvider: String,
        after caller: AuthenticatedSession?,
        signInAttributes: JSONValue? = nil
    ) {
        self.init(
            effects: effects,
            signInProvider: signInProvider,
            secondFactor: caller?.token.secondFactor,
            signInAttributes: signInAttributes
        )
        authTime = caller?.token.authTime
    }

    /// The session's row for `user`, under the epoch the record has.
    func record(for user: UserRecord, at now: Timestamp) -> SessionRecord {
        let authTime = authTime ?? min(signedInAt ?? now, now)
        return SessionRecord(
            tenant: user.tenant,
            user: user.id,
            id: id,
            secretHash: Array(SHA256.hash(data: secret)),
            epoch: user.sessionEpoch,
            authTime: authTime,
            startedAt: authTime < now ? now : nil,
            signInProvider: signInProvider,
            secondFactor: secondFactor,
            claims: claims,
            signInAttributes: signInAttributes
        )
    }

    func refreshToken(for user: UserRecord) -> String {
        RefreshToken(tenant: user.tenant, user: user.id, session: id, secret: secret).encoded
    }
}

extension AccountOperations {
    /// Mints the tokens of a session that is being stored.
    func issueTokens(
        for user: UserRecord,
        session: NewSession,
        at now: Timestamp
    ) throws -> IssuedTokens {
        let idToken = try tokens.mintIDToken(for: user, session: session.record(for: user, at: now), at: now)
        return IssuedTokens(
            idToken: idToken,
            refreshToken: session.refreshToken(for: user),
            expiresInSeconds: Lifetimes.idTokenSeconds
        )
    }
}

/// A caller that proved a live session.
package struct AuthenticatedSession: Sendable {
    package let token: VerifiedIDToken
    package let user: UserRecord

    /// Whether the sign-in behind the session is recent enough for `operation`.
    func isRecent(for operation: SensitiveOperation, policy: LinkPolicy, now: Timestamp) -> Bool {
        isRecent(for: operation, onAccount: user.account, policy: policy, now: now)
    }

    /// The same for the account as it was loaded since.
    func isRecent(
        for operation: SensitiveOperation,
        onAccount account: Account,
        policy: LinkPolicy,
        now: Timestamp
    ) -> Bool {
        reauthentication(
            policy: policy,
            operation: operation,
            account: account,
            isSessionAnonymous: token.isAnonymous
        )
        .isMet(authTime: token.authTime, now: now)
    }

    /// Returns true if the session signed in a moment ago, whatever the policy asks for: a fact for rules that ask by policy.
    /// Sessions of anonymous accounts have nothing to sign in again with.
    func isRecent(onAccount account: Account, policy: LinkPolicy, now: Timestamp) -> Bool {
        isRecent(for: .mergeAccounts, onAccount: account, policy: policy, now: now)
    }
}

extension AccountOperations {
    /// The account as it is now, if `session` still lives: whatever ended it since is seen here, so that nothing a
    /// session began outlives a takeover.
    func account(of session: AuthenticatedSession, asItIs current: UserRecord?) -> Outcome<UserRecord> {
        account(of: session.token, asItIs: current, isExpired: false)
    }

    /// `isExpired`: whether the token's hour is over. It says so before anything about the account but its absence
    /// (`spec/01` §1.6).
    private func account(
        of token: VerifiedIDToken,
        asItIs current: UserRecord?,
        isExpired: Bool
    ) -> Outcome<UserRecord> {
        guard let current else { return refused(.refusal(.userNotFound), by: .a1) }
        if isExpired { return .denied(.refusal(.tokenExpired)) }
        let access = decideAccess(
            account: current.account,
            tokenEpoch: token.sessionEpoch,
            tokenIssuedAt: token.issuedAt,
            validSince: current.validSince
        )
        switch access.decision {
        case .refuse(let refusal): return refused(.refusal(refusal), by: access.rule)
        case .allow: return .success(current)
        }
    }
}

extension AccountOperations {
    /// Verifies an ID token and that its session still lives (`spec/01` §1.6, in that order).
    ///
    /// One round trip after the signature. The signature may come from the cache of verified tokens; expiry, epoch and
    /// the state of the account are judged anew each time.
    func authenticate(
        idToken: String,
        tenant: TenantID
    ) async throws -> Outcome<AuthenticatedSession> {
        let now = effects.now()
        let token: VerifiedIDToken
        var isExpired = false
        do {
            token = try tokens.verifyIDToken(idToken, at: now)
        } catch {
            switch error {
            case .invalid: return .denied(.invalidIDToken)
            case .expired(let expired):
                token = expired
                isExpired = true
            }
        }
        guard token.tenant == tenant else { return .denied(.tenantMismatch) }
        let current = try await store.user(token.user, tenant: tenant)
        switch account(of: token, asItIs: current, isExpired: isExpired) {
        case .denied(let denial): return .denied(denial)
        case .success(let user): return .success(AuthenticatedSession(token: token, user: user))
        }
    }
}
