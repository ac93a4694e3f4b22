/// Decides a direct change of address by the user's own session: rows U1 to U7. Linked providers keep their own
/// addresses (U8).
///
/// - `account`: the account of the session.
/// - `owner`: the account that owns the new address.
/// - `isSessionRecent`: the session may change the address (`reauthentication`).
package func decideChangeEmail(
    policy: LinkPolicy,
    account: Account,
    newAddress: EmailAddress,
    owner: Account?,
    isSessionRecent: Bool
) -> Verdict<UpdateDecision> {
    if account.isDisabled { return Verdict(.changeEmailAccountDisabled, .refuse(.userDisabled)) }
    if policy.protectsEmailEnumeration || policy.signUpRequiresMailbox {
        return Verdict(.changeEmailNeedsVerification, .refuse(.emailChangeNeedsVerification))
    }
    if account.email?.address == newAddress { return Verdict(.emailUnchanged, .unchanged(account.id)) }
    // Before the owner: a stolen old session must not learn who has an account.
    guard isSessionRecent else { return Verdict(.changeEmailNeedsRecentSignIn, .refuse(.credentialTooOld)) }
    // Otherwise the address's owner could never get past the second factor to reclaim it.
    if policy.secondFactorsNeedProvenAddress, account.hasSecondFactor {
        return Verdict(.secondFactorNeedsProvenAddress, .refuse(.unverifiedEmail))
    }
    if let owner, owner.id != account.id {
        return Verdict(
            policy.isOneAccountPerEmail ? .changeEmailExists : .changeEmailExistsDuplicatesAllowed,
            .refuse(.emailExists)
        )
    }
    var change = AccountChange()
    change.email = .set(newAddress, proof: nil)
    change.endsSessions = true
    guard let replaced = account.email else {
        return Verdict(.emailAdded, .apply(account.id, change, issuesTokens: true))
    }
    if !account.hasInitialEmail { change.rememberedInitialEmail = replaced.address }
    return Verdict(.emailChanged, .apply(account.id, change, issuesTokens: true))
}
