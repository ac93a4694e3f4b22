/// The decision about a guess of a short code.
package enum ShortCodeDecision: Sendable, Hashable {
    /// Exchange it, if its mail's link can be used (`refusalOfShortCode`).
    ///
    /// - `linkHash`: hash of the code in the link.
    case exchange(linkHash: [UInt8])
    /// A wrong guess; it counts against the code.
    case wrong
    case refuse(EmailCodeRefusal)
}

/// Decides about a guess of the short code in the newest mail: rows M26 to M28 and M30.
///
/// - `code`: the live code; one without a link if there is no mail, so that the answer does not depend on it.
/// - `isRight`: the guess is the code of the mail. Unused while the code is locked.
/// - `isLimitReached`: the mailbox, the caller or the project has used up its guesses.
package func decideGuessShortCode(
    _ code: ShortCodeRecord,
    isRight: Bool,
    isLimitReached: Bool
) -> Verdict<ShortCodeDecision> {
    if isLimitReached { return Verdict(.tooManyShortCodeGuesses, .refuse(.tooManyAttempts)) }
    if code.isLocked { return Verdict(.shortCodeLocked, .refuse(.tooManyAttempts)) }
    guard isRight, let linkHash = code.linkHash else { return Verdict(.shortCodeWrong, .wrong) }
    return Verdict(.shortCodeExchanged, .exchange(linkHash: linkHash))
}

/// The refusal of a right short code whose mail's link cannot be used: row M29; `nil` if it can.
///
/// - `link`: the code of the link; `nil` if it is deleted.
package func refusalOfShortCode(linkedTo link: EmailCodeRecord?, now: Timestamp) -> Verdict<EmailCodeRefusal>? {
    switch link?.state(at: now) {
    case .usable: nil
    case nil, .consumed, .expired, .locked: Verdict(.shortCodeLinkUnusable, .refused(.invalidEmailCode))
    }
}
