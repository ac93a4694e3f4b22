/// Decides what happens when a signed-in user presents a provider's credential: rows L (`spec/03` §3).
///
/// Total and pure; the first matching rule wins. Linking never removes anything.
///
/// - `target`: the account of the session.
/// - `accounts`: the owners of the credential's identity and of its address.
/// - `secondFactorProvenBy`: the target when the session carries its second factor.
package func decideLinkWithIdp(
    policy: LinkPolicy,
    target: Account,
    accounts: MatchingAccounts,
    credential: IncomingCredential,
    isProviderEnabled: Bool,
    secondFactorProvenBy: UserID?
) -> Verdict<SignInDecision> {
    guard isProviderEnabled else { return Verdict(.l9, .refuse(.operationNotAllowed)) }
    if target.isDisabled { return Verdict(.l0, .refuse(.userDisabled)) }
    let identity = credential.identity
    let claim = policy.emailClaim(of: credential)

    if let owner = accounts.identityOwner {
        if owner.id == target.id { return Verdict(.l2, .refuse(.federatedIdentityAlreadyLinked)) }
        return Verdict(.l1, .conflict(.credentialAlreadyInUse(account: owner.id)))
    }
    if policy.isOneAccountPerEmail, claim != .absent, let owner = accounts.emailOwner, owner.id != target.id {
        return Verdict(.l3, .conflict(.emailAlreadyInUse(account: owner.id)))
    }
    if target.linkedProviders[identity.provider] != nil {
        return Verdict(.l8, .conflict(.credentialAlreadyInUse(account: target.id)))
    }
    if policy.needsSecondFactor(target, provenBy: secondFactorProvenBy) {
        return Verdict(.l6, .secondFactorRequired(target.id))
    }

    let rule: Rule = target.isAnonymous ? .l7 : policy.isOneAccountPerEmail ? .l4 : .l5
    let change = AccountChange.linking(credential, to: target, policy: policy)
    return Verdict(rule, .signIn(target.id, change, emailWasRecycled: false))
}

extension AccountChange {
    /// The credential's identity becomes one of the account's. Its address is proof of the account's own where it is the
    /// same, and fills the place of one where there is none. The profile stays.
    ///
    /// One that nobody has proven fills no place where an address was taken off: that is a change of address by another road
    /// (U1, P17), and whoever proved it next would void what brings the first one back.
    static func linking(_ credential: IncomingCredential, to target: Account, policy: LinkPolicy) -> Self {
        let provider = credential.identity.provider
        let claim = policy.emailClaim(of: credential)
        var change = AccountChange()
        change.linkedIdentity = credential.identity
        if target.needsProof(of: claim) {
            change.email = .prove(.provider(provider))
        } else if policy.isOneAccountPerEmail, !target.hasEmail, claim.isVerified || !target.hasHadEmail,
            let address = claim.address
        {
            change.email = .set(address, proof: claim.isVerified ? .provider(provider) : nil)
        }
        return change
    }
}
