/// Decides an edit of the profile by the user's own session. Sign-in methods and sessions stay.
///
/// - `current`: the account's profile.
/// - `edited`: the profile after the edit.
package func decideEditProfile(account: Account, current: Profile, edited: Profile) -> Verdict<UpdateDecision> {
    if account.isDisabled { return Verdict(.editProfileAccountDisabled, .refuse(.userDisabled)) }
    if current == edited { return Verdict(.profileUnchanged, .unchanged(account.id)) }
    var change = AccountChange()
    change.profile = .replace(edited)
    return Verdict(.profileEdited, .apply(account.id, change, issuesTokens: false))
}
