/// The facts about a code that hands the session of a resolved conflict over to an app.
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
    /// Open a session that continues the one that resolved the conflict.
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

/// Decides whether a code gives a session (RFC 6749 §4.1.2, RFC 7636 §4.6): rows T15 to T23 and T13.
///
/// A second use ends the session that the code gave only with the right verifier. Otherwise anyone who finds a used
/// code in a log could sign the owner out.
///
/// - `code`: `nil` for an unknown code.
/// - `isVerifierRight`: the verifier's SHA-256 is the challenge of the app.
/// - `isPageAuthorized`: the project still authorizes the page that the code went to.
/// - `session`: the verdict on the session that resolved the conflict (`decideRefresh`).
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
