import Foundation

extension StoredSession {
    /// A new session.
    init(_ tokens: FreshTokens, scope: String, at now: Date) {
        self.init(tokens, scope: scope, at: now, id: UUID(), user: StoredUser(tokens.claims))
    }

    private init(_ tokens: FreshTokens, scope: String, at now: Date, id: UUID, user: StoredUser) {
        self.id = id
        self.scope = scope
        refreshToken = Secret(tokens.refreshToken)
        idToken = Secret(tokens.idToken)
        receiveTime = now
        lifetime = tokens.lifetime
        self.user = user
    }

    /// The session of a user, with the tokens that an earlier request of it got. A refresh by another process ended it
    /// meanwhile, because the request had ended its old tokens.
    init(reopening user: User, _ tokens: FreshTokens, at now: Date) {
        let scope = user.auth.configuration.scope
        self.init(tokens, scope: scope, at: now, id: user.sessionID, user: user.profile.with { $0 })
    }

    /// Replaces the tokens of the session by newer ones.
    mutating func take(_ tokens: FreshTokens, at now: Date) {
        refreshToken = Secret(tokens.refreshToken)
        idToken = Secret(tokens.idToken)
        receiveTime = now
        lifetime = tokens.lifetime
    }
}

extension StoredState {
    /// Replaces the tokens of a user's session by newer ones, which a request of the session got. Returns false if the
    /// session is not stored: the user signed out, or another one signed in.
    mutating func take(_ tokens: FreshTokens, of user: User, at now: Date) -> Bool {
        if session == nil, endedSession == user.sessionID {
            session = StoredSession(reopening: user, tokens, at: now)
            endedSession = nil
        }
        guard session?.id == user.sessionID else { return false }
        session?.take(tokens, at: now)
        session?.countChange()
        return true
    }
}

extension StoredSession {
    /// Notes that the account changed: lookups that began earlier are old.
    mutating func countChange() { changes = (changes ?? 0) &+ 1 }
}
