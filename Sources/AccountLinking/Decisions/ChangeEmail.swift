/// Decides a direct change of address by the user's own session: rows U1 to U7.
///
/// Total and pure; the first matching rule wins. Rows of linked providers keep their own addresses (U8).
///
/// - `account`: the account of the session.
/// - `owner`: the account that owns the new address.
/// - `isSessionRecent`: whether the session may change the address (`reauthentication`).
package func decideChangeEmail(
    policy: LinkPolicy,
    account: Account,
    newAddress: EmailAddress,
    owner: Account?,
    isSessionRecent: Bool
) -> Verdict<UpdateDecision> {
    if account.isDisabled { return Verdict(.changeEmailAccountDisabled, .refuse(.userDisabled)) }
    if policy.protectsEmailEnumeration {
        return Verdict(.changeEmailNeedsVerification, .refuse(.emailChangeNeedsVerification))
    }
    if account.email?.address == newAddress { return Verdict(.emailUnchanged, .unchanged(account.id)) }
    // Before the owner is looked at: a stolen old session must not find out who has an account.
    guard isSessionRecent else { return Verdict(.changeEmailNeedsRecentSignIn, .refuse(.credentialTooOld)) }
    // The owner of the address could not get past the second factor: the account would keep the address for good.
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
