/// Decides a sign-in by a custom token that verified (`spec/03` §9).
///
/// Total and pure; the first matching rule wins. The backend that signed the token answers for the user, so neither
/// sign-up policy nor second factors are asked, and no address is ever matched.
///
/// - `existing`: the account with the token's `uid`.
package func decideSignInWithCustomToken(existing: Account?) -> Verdict<SignInDecision> {
    var change = AccountChange()
    guard let existing else {
        change.usesCustomTokens = true
        return Verdict(.c1, .createUser(change))
    }
    if existing.isDisabled { return Verdict(.c2, .refuse(.userDisabled)) }
    if !existing.usesCustomTokens { change.usesCustomTokens = true }
    return Verdict(.c3, .signIn(existing.id, change, emailWasRecycled: false))
}
