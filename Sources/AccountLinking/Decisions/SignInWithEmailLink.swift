/// Decides what happens when a sign-in link comes back from `email`: rows M.
///
/// Total and pure; the first matching rule wins. The code of the link is used up whatever the answer, unless it did not
/// match in the first place.
///
/// - `owner`: the account that owns the address.
/// - `target`: the account of the session, when the link is to be attached to it.
/// - `isSessionRecent`: true if that session signed in a moment ago; unused without a target. A link that changes the address
///   needs that under every policy.
/// - `secondFactorProvenBy`: the account whose second factor this sign-in or its session has already proven, if any.
package func decideSignInWithEmailLink(
    policy: LinkPolicy,
    email: EmailAddress,
    owner: Account?,
    target: Account?,
    isSessionRecent: Bool,
    secondFactorProvenBy: UserID?
) -> Verdict<SignInDecision> {
    guard policy.allowsEmailLinkSignIn else { return Verdict(.emailLinkNotEnabled, .refuse(.operationNotAllowed)) }
    if owner?.isDisabled ?? false || target?.isDisabled ?? false {
        return Verdict(.emailLinkAccountDisabled, .refuse(.userDisabled))
    }
    // Before the owner is looked at: a stolen old session must not find out who has the address.
    if policy.linkingNeedsRecentSignIn, let target, !target.isAnonymous, owner?.id != target.id, !isSessionRecent {
        return Verdict(.mailedLinkNeedsRecentSignIn, .refuse(.credentialTooOld))
    }
    if let owner, let target, owner.id != target.id { return Verdict(.emailLinkAddressInUse, .refuse(.emailExists)) }
    if let account = target ?? owner, policy.needsSecondFactor(account, provenBy: secondFactorProvenBy) {
        return Verdict(.emailLinkNeedsSecondFactor, .secondFactorRequired(account.id))
    }

    var change = AccountChange()
    change.emailLink = true
    switch (target, owner) {
    case (.some(let target), .some):
        if !policy.isProven(target) { change.email = .prove(.emailLink) }
        return Verdict(
            .emailSetByEmailLink,
            .signIn(target.id, change.unlessVain(for: target), emailWasRecycled: false)
        )
    case (.some(let target), .none):
        change.email = .set(email, proof: .emailLink)
        if target.isAnonymous {
            return Verdict(.anonymousUpgradedByEmailLink, .signIn(target.id, change, emailWasRecycled: false))
        }
        if target.hasHadEmail {
            // This is a change of address by another road, so it asks for and ends what such a change does.
            guard isSessionRecent else {
                return Verdict(.emailLinkReplacementNeedsRecentSignIn, .refuse(.credentialTooOld))
            }
            if !target.hasInitialEmail { change.rememberedInitialEmail = target.email?.address }
            change.endsSessions = true
        }
        return Verdict(.emailSetByEmailLink, .signIn(target.id, change, emailWasRecycled: false))
    case (.none, .some(let owner)):
        if policy.isProven(owner) {
            return Verdict(
                .signInByEmailLink,
                .signIn(owner.id, change.unlessVain(for: owner), emailWasRecycled: false)
            )
        }
        change = .takeover(of: owner, proof: .emailLink)
        change.emailLink = true
        let rule: Rule = owner.isEmailVerified ? .mailedLinkFromFormerHolder : .takeoverByEmailLink
        return Verdict(rule, .signIn(owner.id, change, emailWasRecycled: false))
    case (.none, .none):
        guard policy.allowsClientSignUp else { return Verdict(.emailLinkSignUpNotAllowed, .refuse(.signUpDisabled)) }
        change.email = .set(email, proof: .emailLink)
        return Verdict(.signUpByEmailLink, .createUser(change))
    }
}

extension AccountChange {
    /// Leaves out the link flag where the account has it already, so that an ordinary sign-in writes no fact.
    fileprivate func unlessVain(for account: Account) -> Self {
        var change = self
        if account.hasEmailLink { change.emailLink = nil }
        return change
    }
}
