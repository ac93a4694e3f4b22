/// Decides a change of password by the user's own session. Every other session ends.
///
/// Total and pure; the first matching rule wins.
///
/// - `account`: the account of the session.
/// - `isSessionRecent`: whether the session may change the password (`reauthentication`), or the old password was
///   shown with this very request.
package func decideChangePassword(
    policy: LinkPolicy,
    account: Account,
    isSessionRecent: Bool
) -> Verdict<UpdateDecision> {
    guard policy.allowsPasswordSignIn else { return Verdict(.w1, .refuse(.operationNotAllowed)) }
    if account.isDisabled { return Verdict(.w2, .refuse(.userDisabled)) }
    guard isSessionRecent else { return Verdict(.w3, .refuse(.credentialTooOld)) }
    var change = AccountChange()
    change.password = .set
    change.endsSessions = true
    return Verdict(.w4, .apply(account.id, change, issuesTokens: true))
}
