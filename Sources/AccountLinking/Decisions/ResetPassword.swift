/// Decides the completion of a password reset by a mailed code: rows R.
///
/// Total and pure; the first matching rule wins. By default the owner evicts whoever else got in: other providers are
/// unlinked, into quarantine, and the number's claim is released. No tokens are issued.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `address`: the address the code was sent to.
package func decideResetPassword(
    policy: LinkPolicy,
    account: Account?,
    address: EmailAddress
) -> Verdict<UpdateDecision> {
    guard policy.allowsPasswordSignIn else { return Verdict(.resetPasswordNotEnabled, .refuse(.operationNotAllowed)) }
    guard let account, let email = account.email, email.address == address else {
        return Verdict(.resetCodeStale, .refuse(.invalidEmailCode))
    }
    if account.isDisabled { return Verdict(.resetAccountDisabled, .refuse(.userDisabled)) }

    var change = AccountChange()
    change.password = .set
    change.endsSessions = true
    let wasProven = policy.isProven(account)
    if !wasProven {
        // The first proof of this address. Whoever held the account before has no claim on what was under way.
        change.email = .prove(.passwordReset)
        change.voidsOutstandingProofs = true
    }
    if account.linkedProviders.isEmpty, account.phoneNumber == nil {
        return Verdict(.passwordReset, .apply(account.id, change, issuesTokens: false))
    }
    // The policy is for accounts whose owner is known. What was linked before the first proof may be an intruder's, who
    // registered the address.
    guard policy.passwordResetUnlinksProviders || !wasProven else {
        return Verdict(.resetKeepsProviders, .apply(account.id, change, issuesTokens: false))
    }
    change.unlinkedProviders = Set(account.linkedProviders.keys)
    if account.phoneNumber != nil { change.phone = .release }
    change.quarantinesRemovals = true
    let rule: Rule =
        account.linkedProviders.isEmpty
        ? .resetReleasesNumber : account.hasPassword ? .resetUnlinksProviders : .resetSetsFirstPassword
    return Verdict(rule, .apply(account.id, change, issuesTokens: false))
}
