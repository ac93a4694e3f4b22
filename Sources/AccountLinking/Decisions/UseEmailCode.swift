/// The reason why Concord mails no code, or does not accept one.
package enum EmailCodeRefusal: Sendable, Hashable {
    case refused(Refusal)
    /// The account has no address.
    case noAddress
    case expired
    /// The sign-in link was mailed to another address. Counted.
    case wrongAddress
    /// Not the short code of the newest mail, or there is no mail. Counted.
    case wrongCode
    /// Too many wrong addresses or short codes. The user must request a new code.
    case tooManyAttempts
}

/// Decides whether a mailed code can be used: rows M20 to M23. The rules for its purpose follow.
///
/// A used code gets the answer of an unknown one.
///
/// - `code`: the code as stored; `nil` if there is none.
/// - `kinds`: the purposes for which the caller presents it.
package func decideUseEmailCode(
    _ code: EmailCodeRecord?,
    as kinds: [EmailCodeRecord.Kind],
    now: Timestamp
) -> Lookup<EmailCodeRecord, EmailCodeRefusal> {
    guard let code, kinds.contains(code.kind) else {
        return .refused(Verdict(.emailCodeUnknown, .refused(.invalidEmailCode)))
    }
    switch code.state(at: now) {
    case .usable: return .found(code)
    case .consumed: return .refused(Verdict(.emailCodeUsed, .refused(.invalidEmailCode)))
    case .expired: return .refused(Verdict(.emailCodeExpired, .expired))
    case .locked: return .refused(Verdict(.emailCodeLocked, .tooManyAttempts))
    }
}

/// The refusal of a usable sign-in link that is opened for another address than it was mailed to: row M24; `nil` if the
/// address is right.
///
/// - `named`: the address that the client remembers; `nil` if it is malformed.
package func refusalOfSignInLink(
    mailedTo recipient: EmailAddress,
    named: EmailAddress?
) -> Verdict<EmailCodeRefusal>? {
    named == recipient ? nil : Verdict(.signInLinkWrongAddress, .wrongAddress)
}

/// The refusal of a sign-in link that may have reached a stranger: row M25; `nil` if the owner of the address reads the
/// mailbox.
///
/// The link was mailed before the account existed, to another spelling of its address. Some mail hosts deliver that to
/// another mailbox.
///
/// - `owner`: the account that owns the address now.
package func refusalOfSignInLink(
    mailedTo recipient: EmailAddress,
    owner: Account?
) -> Verdict<EmailCodeRefusal>? {
    guard let mailbox = owner?.email?.address, !mailbox.isSameMailbox(as: recipient) else { return nil }
    return Verdict(.signInLinkOfOtherMailbox, .refused(.invalidEmailCode))
}
