/// Session that a `VERIFY_EMAIL` code came back with. Raw values are kept with decisions.
package enum ProvingSession: String, Sendable, Hashable, CaseIterable {
    /// None of the account.
    case absent
    /// One of the account, which did not ask for the code.
    case other
    /// The one that asked for the code.
    case asking
}

/// Answer of the person who reads the mailbox to a `VERIFY_EMAIL` code.
package enum VerifyEmailAnswer: Sendable, Hashable {
    /// The account is theirs.
    case confirm(from: ProvingSession)
    /// They did not make the account.
    case disown
}

/// Decides the effect of a `VERIFY_EMAIL` code that came back: rows V.
///
/// Total and pure; the first matching rule wins. The code is used up by every answer.
///
/// A code shows that its holder reads the mailbox, and nothing about who made the account: an intruder may have registered
/// the address and asked for the mail. So the first proof of an address ends the sessions that may be the intruder's, unless
/// it comes from the session that asked, and the reader of the mailbox can disown the account.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `address`: the address the code was sent to.
package func decideVerifyEmail(
    policy: LinkPolicy,
    account: Account?,
    address: EmailAddress,
    answer: VerifyEmailAnswer
) -> Verdict<UpdateDecision> {
    guard let account, let email = account.email, email.address == address else {
        return Verdict(.verifyCodeStale, .refuse(.invalidEmailCode))
    }
    if account.isDisabled { return Verdict(.verifyAccountDisabled, .refuse(.userDisabled)) }
    switch answer {
    case .confirm(let session):
        // A word for new addresses gives way to a mailed code, but not by the click of the present holder in a former one's account.
        if policy.isProven(account) || email.isVerified && session != .asking {
            return Verdict(.emailAlreadyVerified, .unchanged(account.id))
        }
        var change = AccountChange()
        change.email = .prove(.emailCode)
        guard policy.firstProofEndsSessions else {
            return Verdict(.emailVerified, .apply(account.id, change, issuesTokens: false))
        }
        if session == .asking { return Verdict(.firstProofBySession, .apply(account.id, change, issuesTokens: false)) }
        change.endsSessions = true
        return Verdict(.firstProofElsewhere, .apply(account.id, change, issuesTokens: session == .other))
    case .disown:
        // Whoever proved the address before is the account's owner, and has a password reset to get rid of others.
        if email.isVerified { return Verdict(.disownedTooLate, .refuse(.invalidEmailCode)) }
        // A takeover would leave the owner of the mailbox before a factor that is not theirs, and the address with it.
        if policy.needsSecondFactor(account, provenBy: nil) {
            return Verdict(.disownedBehindFactor, .apply(account.id, .addressGivenUp, issuesTokens: false))
        }
        return Verdict(.disowned, .apply(account.id, .takeover(of: account, proof: .emailCode), issuesTokens: false))
    }
}
