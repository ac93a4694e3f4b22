/// Decides what a `VERIFY_EMAIL` code that came back does (`spec/02` §5, `spec/05` A2). Sessions stay.
///
/// Total and pure; the first matching rule wins. The code is used up by every answer.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `address`: the address the code was sent to.
package func decideVerifyEmail(account: Account?, address: EmailAddress) -> Verdict<UpdateDecision> {
    guard let account, let email = account.email, email.address == address else {
        return Verdict(.v1, .refuse(.invalidEmailCode))
    }
    if account.isDisabled { return Verdict(.v2, .refuse(.userDisabled)) }
    if email.isVerified { return Verdict(.v3, .unchanged(account.id)) }
    var change = AccountChange()
    change.email = .prove(.emailCode)
    return Verdict(.v4, .apply(account.id, change, issuesTokens: false))
}
