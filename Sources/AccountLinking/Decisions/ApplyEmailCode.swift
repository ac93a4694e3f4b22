/// A mailed code that changes the address of an account, as it was recorded when it was sent.
package enum EmailCodeChange: Sendable, Hashable {
    /// `VERIFY_AND_CHANGE_EMAIL`, sent to `newAddress`.
    ///
    /// - `sentFor`: the address the account had then; `nil` if none.
    /// - `sessionEpoch`: the account's epoch then. What ends sessions also ends a change that one of them prepared: the
    ///   intruder whom a password reset evicts must not come back through an address change begun before.
    case verifyAndChange(to: EmailAddress, sentFor: EmailAddress?, sessionEpoch: Int64)
    /// `RECOVER_EMAIL`, sent to the account's first address when it was replaced.
    ///
    /// - `ownerCameLater`: whether the account that owns the address now was made after the code. Then it has been given the
    ///   address after that, perhaps to keep its owner from coming back.
    case recover(initial: EmailAddress, ownerCameLater: Bool)
}

/// Decides what a mailed code does to the address of an account: rows U9 to U15 (`spec/03` §7).
///
/// Total and pure; the first matching rule wins. A refusal leaves a code usable that brings back an address, so that nobody can
/// make it worthless by being in its way for a moment; any other code is used up by every answer. No tokens are issued.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `owner`: the account that owns the address of the code now.
package func decideApplyEmailCode(
    account: Account?,
    code: EmailCodeChange,
    owner: Account?
) -> Verdict<UpdateDecision> {
    guard let account else { return Verdict(.u12, .refuse(.invalidEmailCode)) }
    if account.isDisabled { return Verdict(.u13, .refuse(.userDisabled)) }
    var change = AccountChange()
    change.endsSessions = true
    switch code {
    case .verifyAndChange(let newAddress, let sentFor, let sessionEpoch):
        guard account.email?.address == sentFor, account.sessionEpoch == sessionEpoch else {
            return Verdict(.u12, .refuse(.invalidEmailCode))
        }
        if let owner, owner.id != account.id { return Verdict(.u9, .refuse(.emailExists)) }
        if let replaced = account.email, replaced.address != newAddress, !account.hasInitialEmail {
            change.rememberedInitialEmail = replaced.address
        }
        change.email = account.email?.address == newAddress ? .prove(.emailCode) : .set(newAddress, proof: .emailCode)
        return Verdict(.u11, .apply(account.id, change, issuesTokens: false))
    case .recover(let initial, let ownerCameLater):
        change.email = account.email?.address == initial ? .prove(.emailCode) : .set(initial, proof: .emailCode)
        guard let owner, owner.id != account.id else {
            return Verdict(.u14, .apply(account.id, change, issuesTokens: false))
        }
        // The code proves the mailbox. An older account is not asked to make room: whoever reads the mailbox may own that one, and
        // be mailed a code about an account that somebody else once registered under the same address.
        guard !owner.isEmailVerified, ownerCameLater else { return Verdict(.u10, .refuse(.emailExists)) }
        return Verdict(.decoyGivesWay, .takeAddress(account.id, change, from: owner.id, .addressGivenUp))
    }
}
