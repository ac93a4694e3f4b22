/// Decides a sign-in by a custom token that verified: rows C.
///
/// Total and pure; the first matching rule wins. The backend that signed the token answers for the user, so neither
/// sign-up policy nor second factors are asked, and no address is ever matched.
///
/// - `existing`: the account with the token's `uid`.
/// - `isMergedAway`: whether there was one that is another now: a new one would be taken for it.
package func decideSignInWithCustomToken(existing: Account?, isMergedAway: Bool) -> Verdict<SignInDecision> {
    var change = AccountChange()
    guard let existing else {
        if isMergedAway { return Verdict(.customTokenAccountMerged, .refuse(.accountMerged)) }
        change.usesCustomTokens = true
        return Verdict(.signUpByCustomToken, .createUser(change))
    }
    if existing.isDisabled { return Verdict(.customTokenAccountDisabled, .refuse(.userDisabled)) }
    if !existing.usesCustomTokens { change.usesCustomTokens = true }
    return Verdict(.signInByCustomToken, .signIn(existing.id, change, emailWasRecycled: false))
}
