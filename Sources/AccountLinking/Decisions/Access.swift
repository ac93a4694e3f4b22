/// The session of an ID token, as far as it was read.
package enum PresentedSession: Sendable, Hashable {
    /// Nothing could have ended it but what the account's row tells.
    case notRead
    case gone
    case found(SessionTimes)
}

/// Decides whether an ID token whose signature, audience and expiry hold still stands for its account: rows A.
///
/// Total and pure; the first matching rule wins. `iat` and `validSince` are compared in whole seconds, as third parties
/// do; the epoch is exact and closes the second in between.
///
/// - `account`: the account named by the token; `nil` when it is gone.
/// - `tokenEpoch`: the session epoch that the token carries.
/// - `tokenIssuedAt`: the token's `iat`.
/// - `validSince`: the account's; `nil` when never set.
/// - `session`: the session the token was issued to.
/// - `lifetimes`: the project's, asked at `now`.
package func decideAccess(
    account: Account?,
    tokenEpoch: Int64,
    tokenIssuedAt: Timestamp,
    validSince: Timestamp?,
    session: PresentedSession,
    lifetimes: SessionLifetimes,
    now: Timestamp
) -> Verdict<AccessDecision> {
    guard let account else { return Verdict(Verdict.accountGone.rule, .refuse(Verdict.accountGone.decision)) }
    // Disabling ends the sessions as well: asked later, nobody would be told why.
    if account.isDisabled { return Verdict(.tokenAccountDisabled, .refuse(.userDisabled)) }
    if tokenEpoch != account.sessionEpoch { return Verdict(.tokenEpochStale, .refuse(.tokenExpired)) }
    if let validSince, tokenIssuedAt.secondsSinceEpoch < validSince.secondsSinceEpoch {
        return Verdict(.tokenIssuedBeforeValidSince, .refuse(.tokenExpired))
    }
    switch session {
    case .notRead: break
    case .gone: return Verdict(.sessionEnded, .refuse(.tokenExpired))
    case .found(let times):
        if let rule = lifetimes.ending(of: times, at: now) { return Verdict(rule, .refuse(.tokenExpired)) }
    }
    return Verdict(.tokenAccepted, .allow(account.id))
}

extension Verdict<Refusal> {
    fileprivate static let accountGone = Self(.tokenAccountGone, .userNotFound)
}

/// The refusal of a session whose account was deleted after the token was accepted; `nil` while the account exists: row A1.
package func refusalOfSession(isAccountGone: Bool) -> Verdict<Refusal>? { isAccountGone ? .accountGone : nil }

/// The refusal of a sign-out that names another user than the session has; `nil` if the two agree: row A1.
///
/// - `named`: the user as the client names it; `nil` if it names none.
package func refusalOfSignOut(of user: UserID, named: String?) -> Verdict<Refusal>? {
    named.map { $0 != user.rawValue } ?? false ? .accountGone : nil
}

/// Decides whether a session whose refresh token matched may have another ID token: rows T.
///
/// Total and pure; the first matching rule wins.
///
/// - `account`: the account of the session; `nil` when it is gone.
/// - `sessionEpoch`: the epoch that the session was started under; `nil` when the session itself is gone.
/// - `sessionStartedAt`: when the session was issued; `nil` when it is gone.
/// - `validSince`: the account's; `nil` when never set.
/// - `times`: those that the project's `lifetimes` are compared with, at `now`; `nil` when the session is gone.
package func decideRefresh(
    account: Account?,
    sessionEpoch: Int64?,
    sessionStartedAt: Timestamp?,
    validSince: Timestamp?,
    times: SessionTimes?,
    lifetimes: SessionLifetimes,
    now: Timestamp
) -> Verdict<AccessDecision> {
    guard let account else { return Verdict(.refreshAccountGone, .refuse(.userNotFound)) }
    if account.isDisabled { return Verdict(.refreshAccountDisabled, .refuse(.userDisabled)) }
    guard let sessionStartedAt, sessionEpoch == account.sessionEpoch else {
        return Verdict(.refreshSessionGone, .refuse(.tokenExpired))
    }
    if let validSince, sessionStartedAt.secondsSinceEpoch < validSince.secondsSinceEpoch {
        return Verdict(.refreshBeforeValidSince, .refuse(.tokenExpired))
    }
    if let times, let rule = lifetimes.ending(of: times, at: now) { return Verdict(rule, .refuse(.tokenExpired)) }
    return Verdict(.refreshAccepted, .allow(account.id))
}
