/// The mail that answers a sign-up whose mailbox must be proven first.
package enum SignUpMail: Sendable, Hashable, CaseIterable {
    /// To a free address: the link that continues the sign-up.
    case confirmation
    /// To the address of an account: the ways to sign in to it.
    case rightDoor
}

/// Decides which mail answers a sign-up that needs the mailbox: rows P21 and P22. The caller gets one answer.
///
/// - `hasOwner`: an account owns the address, or a change that can still be undone reserves it.
package func decideMailSignUp(hasOwner: Bool) -> Verdict<SignUpMail> {
    hasOwner ? Verdict(.signUpMailsOwner, .rightDoor) : Verdict(.signUpMailed, .confirmation)
}

/// The facts of a sign-up that waits until its mailbox is proven.
package struct PendingSignUpFacts: Sendable, Hashable {
    package var tenant: TenantID
    package var isUsed: Bool
    /// True if the holder of the handle declined it, which uses it.
    package var isDeclined: Bool
    package var expiresAt: Timestamp
    /// Codes typed so far.
    package var attempts: Int

    package static let attemptsMax = 5

    package init(
        tenant: TenantID,
        isUsed: Bool = false,
        isDeclined: Bool = false,
        expiresAt: Timestamp,
        attempts: Int = 0
    ) {
        self.tenant = tenant
        self.isUsed = isUsed
        self.isDeclined = isDeclined
        self.expiresAt = expiresAt
        self.attempts = attempts
    }

    fileprivate func isUsable(in tenant: TenantID, at now: Timestamp) -> Bool {
        self.tenant == tenant && !isUsed && now < expiresAt
    }
}

/// The reason why a pending sign-up does not continue. Raw values are stored, and never changed.
package enum PendingSignUpRefusal: String, Sendable, Hashable, CaseIterable {
    /// Unknown, used, expired, or of another tenant. One answer, so that a handle says nothing.
    case unusable
    case tooManyAttempts
    case wrongAnswer
    /// The mailbox is not proven.
    case unproven
    /// No account has the address: there is nothing to link to.
    case nothingToLink
    /// The sign-up brings no credential, so it needs a password.
    case passwordMissing
}

/// An answer to the mail of a pending sign-up.
package enum SignUpAnswerKind: Sendable, Hashable, CaseIterable {
    /// Eight digits, which can be guessed.
    case code
    /// The secret of the link, which cannot.
    case link
}

package enum ProveSignUpDecision: Sendable, Hashable {
    case proven
    /// Count a code before the answer.
    case wrong
    case refuse(PendingSignUpRefusal)
}

/// Decides about an answer to the mail of a pending sign-up: rows P23 to P26.
///
/// - `signUp`: `nil` for an unknown handle.
/// - `isRight`: the answer is the mailed one.
/// - `isLimitReached`: the mailbox, the caller or the project has used up its guesses.
package func decideProveSignUp(
    _ signUp: PendingSignUpFacts?,
    handleTenant: TenantID,
    by kind: SignUpAnswerKind,
    isRight: Bool,
    isLimitReached: Bool = false,
    now: Timestamp
) -> Verdict<ProveSignUpDecision> {
    guard let signUp, signUp.isUsable(in: handleTenant, at: now) else {
        return Verdict(.pendingSignUpUnusable, .refuse(.unusable))
    }
    if kind == .code, isLimitReached || signUp.attempts >= PendingSignUpFacts.attemptsMax {
        return Verdict(.pendingSignUpLocked, .refuse(.tooManyAttempts))
    }
    return isRight ? Verdict(.pendingSignUpProven, .proven) : Verdict(.pendingSignUpWrongAnswer, .wrong)
}

/// Decides whether a pending sign-up can be continued: rows P23 and P27.
///
/// - `isProver`: the caller presents the token of the proof of this sign-up.
/// - Returns: the refusal; `nil` if it can.
package func refusalOfContinuing(
    _ signUp: PendingSignUpFacts?,
    handleTenant: TenantID,
    isProver: Bool,
    now: Timestamp
) -> Verdict<PendingSignUpRefusal>? {
    guard let signUp, signUp.isUsable(in: handleTenant, at: now) else {
        return Verdict(.pendingSignUpUnusable, .unusable)
    }
    return isProver ? nil : Verdict(.pendingSignUpUnproven, .unproven)
}

/// Decides whether a pending sign-up is declined: rows P23 and P36. A declined one is declined again.
///
/// - Returns: the refusal; `nil` if it is declined.
package func decideDeclineSignUp(
    _ signUp: PendingSignUpFacts?,
    handleTenant: TenantID,
    now: Timestamp
) -> Verdict<PendingSignUpRefusal?> {
    guard let signUp, signUp.isUsable(in: handleTenant, at: now) || signUp.tenant == handleTenant && signUp.isDeclined
    else {
        return Verdict(.pendingSignUpUnusable, .unusable)
    }
    return Verdict(.pendingSignUpDeclined, nil)
}
