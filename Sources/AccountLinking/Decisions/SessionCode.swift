/// The facts about a code that hands a session of Concord's pages over to an app.
package struct SessionCodeFacts: Sendable, Hashable {
    package var expiresAt: Timestamp
    /// Wrong verifiers so far.
    package var attempts: Int
    /// True if the code has given a session.
    package var isUsed: Bool

    /// A verifier that is too short for RFC 7636 must not be guessed.
    package static let attemptsMax = 5

    package init(expiresAt: Timestamp, attempts: Int, isUsed: Bool) {
        self.expiresAt = expiresAt
        self.attempts = attempts
        self.isUsed = isUsed
    }
}

package enum SessionCodeRefusal: Sendable, Hashable, CaseIterable {
    /// One answer for most reasons, so that the holder of a stolen code learns nothing.
    case unusable
    case wrongVerifier
    case tooManyAttempts
    case userDisabled
}

package enum SessionCodeDecision: Sendable, Hashable {
    /// Open a session that continues the one that requested the code.
    case exchange
    /// A wrong verifier; it counts against the code.
    case wrong
    /// End the session that the code gave, and refuse.
    case endGivenSession
    case refuse(SessionCodeRefusal)
}

/// Decides whether the page of a conflict gets a code for the app: rows T11 to T14.
///
/// The handle alone gets none, because its holder may be a stranger to the account.
///
/// - `isOffered`: the app sent a challenge, and the session of the request is the one that resolved the conflict.
/// - `isUsed`: an earlier code has given a session.
/// - `isPageAuthorized`: the project authorizes the page that the code goes to.
/// - Returns: `nil` as decision if the code is issued.
package func decideIssueSessionCode(
    isOffered: Bool,
    isUsed: Bool,
    isPageAuthorized: Bool
) -> Verdict<SessionCodeRefusal?> {
    guard isOffered else { return Verdict(.sessionCodeNotOffered, .unusable) }
    guard !isUsed else { return Verdict(.sessionCodeGiven, .unusable) }
    guard isPageAuthorized else { return Verdict(.sessionCodePageNotAuthorized, .unusable) }
    return Verdict(.sessionCodeIssued, nil)
}

/// The reason why the sign-in page gets no code.
package enum SignInCodeRefusal: Sendable, Hashable {
    /// The session cannot be refreshed.
    case session(Refusal)
    case pageNotAuthorized
    /// The app sent no challenge, or an earlier code has given a session.
    case unusable
}

/// Decides whether the sign-in page gets a code for the app: the rows of a refresh, then T11 to T14.
///
/// The page shows its refresh token. With an ID token, the thief of one hour's access would get an endless session.
///
/// - `session`: the verdict on the session of the refresh token (`decideRefresh`).
/// - `hasChallenge`: the app sent a challenge.
/// - `isPageAuthorized`: the project authorizes the page that the code goes to.
/// - `isUsed`: an earlier code of the session has given a session.
/// - Returns: `nil` as decision if the code is issued.
package func decideIssueSignInCode(
    session: Verdict<AccessDecision>,
    hasChallenge: Bool,
    isPageAuthorized: Bool,
    isUsed: Bool
) -> Verdict<SignInCodeRefusal?> {
    switch session.decision {
    case .refuse(let refusal): return Verdict(session.rule, .session(refusal))
    case .allow: break
    }
    guard hasChallenge else { return Verdict(.sessionCodeNotOffered, .unusable) }
    guard isPageAuthorized else { return Verdict(.sessionCodePageNotAuthorized, .pageNotAuthorized) }
    guard !isUsed else { return Verdict(.sessionCodeGiven, .unusable) }
    return Verdict(.sessionCodeIssued, nil)
}

/// Decides whether a code gives a session (RFC 6749 §4.1.2, RFC 7636 §4.6): rows T15 to T23 and T13.
///
/// A second use ends the session that the code gave only with the right verifier. Otherwise anyone who finds a used
/// code in a log could sign the owner out.
///
/// - `code`: `nil` for an unknown code.
/// - `isVerifierRight`: the verifier's SHA-256 is the challenge of the app.
/// - `isPageAuthorized`: the project still authorizes the page that the code went to.
/// - `session`: the verdict on the session that requested the code (`decideRefresh`).
package func decideExchangeSessionCode(
    _ code: SessionCodeFacts?,
    isVerifierRight: Bool,
    isPageAuthorized: Bool,
    session: AccessDecision,
    now: Timestamp
) -> Verdict<SessionCodeDecision> {
    guard let code else { return Verdict(.sessionCodeUnknown, .refuse(.unusable)) }
    if code.isUsed {
        return isVerifierRight
            ? Verdict(.sessionCodeReplayed, .endGivenSession) : Verdict(.sessionCodeUsed, .refuse(.unusable))
    }
    guard now < code.expiresAt else { return Verdict(.sessionCodeExpired, .refuse(.unusable)) }
    guard code.attempts < SessionCodeFacts.attemptsMax else {
        return Verdict(.sessionCodeLocked, .refuse(.tooManyAttempts))
    }
    guard isVerifierRight else { return Verdict(.sessionCodeWrongVerifier, .wrong) }
    guard isPageAuthorized else { return Verdict(.sessionCodePageNotAuthorized, .refuse(.unusable)) }
    switch session {
    case .refuse(.userDisabled): return Verdict(.sessionCodeAccountDisabled, .refuse(.userDisabled))
    case .refuse: return Verdict(.sessionCodeSessionEnded, .refuse(.unusable))
    case .allow: return Verdict(.sessionCodeExchanged, .exchange)
    }
}
