/// Decides a change of password by the user's own session. Every other session ends.
///
/// - `account`: the account of the session.
/// - `isSessionRecent`: the session may change the password (`reauthentication`), or the request contains the old
///   password.
package func decideChangePassword(
    policy: LinkPolicy,
    account: Account,
    isSessionRecent: Bool
) -> Verdict<UpdateDecision> {
    guard policy.allowsPasswordSignIn else { return Verdict(.changePasswordNotEnabled, .refuse(.operationNotAllowed)) }
    if account.isDisabled { return Verdict(.changePasswordAccountDisabled, .refuse(.userDisabled)) }
    guard isSessionRecent else { return Verdict(.changePasswordNeedsRecentSignIn, .refuse(.credentialTooOld)) }
    var change = AccountChange()
    change.password = .set
    change.endsSessions = true
    return Verdict(.passwordChanged, .apply(account.id, change, issuesTokens: true))
}
