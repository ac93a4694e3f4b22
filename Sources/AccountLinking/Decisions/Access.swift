/// The session of an ID token, if it was read.
package enum PresentedSession: Sendable, Hashable {
    /// Only the account's row can have ended it.
    case notRead
    case gone
    case found(SessionTimes)
}

/// Decides whether an ID token with a valid signature, audience and expiry is still good for its account: rows A.
///
/// Compares `iat` and `validSince` in whole seconds, as third parties do. The epoch is exact, and covers the rest of
/// that second.
///
/// - `account`: the account that the token names; `nil` if it is gone.
/// - `tokenEpoch`: the session epoch in the token.
/// - `tokenIssuedAt`: the token's `iat`.
/// - `validSince`: the account's; `nil` if it was never set.
/// - `session`: the session of the token.
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
    // Disabling also ends the sessions. The token's owner learns the reason only if this comes first.
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

/// The refusal of a session whose account was deleted after the token was accepted; `nil` while the account exists.
package func refusalOfSession(isAccountGone: Bool) -> Verdict<Refusal>? { isAccountGone ? .accountGone : nil }

/// The refusal of a sign-out that names another user than the session has; `nil` if they agree.
///
/// - `named`: the user in the request; `nil` if it names none.
package func refusalOfSignOut(of user: UserID, named: String?) -> Verdict<Refusal>? {
    named.map { $0 != user.rawValue } ?? false ? .accountGone : nil
}

/// Decides whether a session with a valid refresh token gets another ID token: rows T.
///
/// - `account`: the account of the session; `nil` if it is gone.
/// - `sessionEpoch`: the epoch in which the session started; `nil` if the session is gone.
/// - `sessionStartedAt`: `nil` if the session is gone.
/// - `validSince`: the account's; `nil` if it was never set.
/// - `times`: the times that `lifetimes` limits at `now`; `nil` if the session is gone.
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
