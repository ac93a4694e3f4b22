/// Facts about the session that links a provider, and about what it links.
package struct LinkRequest: Sendable, Hashable {
    /// True if the session signed in a moment ago (`SensitiveOperation.linkProvider`).
    package var isSessionRecent: Bool
    /// True if a sign-in opened a conflict about the account of the session, and the credential waits in it.
    package var settlesConflict: Bool

    package init(isSessionRecent: Bool, settlesConflict: Bool = false) {
        self.isSessionRecent = isSessionRecent
        self.settlesConflict = settlesConflict
    }
}

/// Decides what happens when a signed-in user presents a provider's credential: rows L.
///
/// Total and pure; the first matching rule wins. Linking never removes anything.
///
/// - `target`: the account of the session.
/// - `accounts`: the owners of the credential's identity and of its address.
/// - `secondFactorProvenBy`: the target when the session carries its second factor.
/// - `request`: a recent session that settles a conflict replaces another subject of the provider
///   (`SubjectChange.conflict`).
package func decideLinkWithIdp(
    policy: LinkPolicy,
    target: Account,
    accounts: MatchingAccounts,
    credential: IncomingCredential,
    isProviderEnabled: Bool,
    secondFactorProvenBy: UserID?,
    request: LinkRequest
) -> Verdict<SignInDecision> {
    guard isProviderEnabled else { return Verdict(.linkProviderNotEnabled, .refuse(.operationNotAllowed)) }
    if target.isDisabled { return Verdict(.linkAccountDisabled, .refuse(.userDisabled)) }
    // Before the owners are looked at: a stolen old session must not find out who has an account.
    if policy.linkingNeedsRecentSignIn, !request.isSessionRecent {
        return Verdict(.linkNeedsRecentSignIn, .refuse(.credentialTooOld))
    }
    let identity = credential.identity
    let claim = policy.emailClaim(of: credential, isAddressTaken: accounts.emailOwner != nil)

    if let owner = accounts.identityOwner {
        if owner.id == target.id {
            return Verdict(.linkIdentityAlreadyLinked, .refuse(.federatedIdentityAlreadyLinked))
        }
        return Verdict(.linkIdentityInUse, .conflict(.credentialAlreadyInUse(account: owner.id)))
    }
    if policy.isOneAccountPerEmail, claim != .absent, let owner = accounts.emailOwner, owner.id != target.id {
        return Verdict(.linkEmailInUse, .conflict(.emailAlreadyInUse(account: owner.id)))
    }
    let replacesSubject = target.linkedProviders[identity.provider] != nil
    let isOwnersChoice = request.settlesConflict && request.isSessionRecent && policy.subjectChange == .conflict
    if replacesSubject, !isOwnersChoice {
        return Verdict(.linkOfSecondSubject, .conflict(.credentialAlreadyInUse(account: target.id)))
    }
    if policy.needsSecondFactor(target, provenBy: secondFactorProvenBy) {
        return Verdict(.linkNeedsSecondFactor, .secondFactorRequired(target.id))
    }

    var change = AccountChange.linking(credential, to: target, claim: claim, policy: policy)
    if replacesSubject {
        change.unlinkedProviders = [identity.provider]
        return Verdict(.subjectReplacedByOwner, .signIn(target.id, change, emailWasRecycled: false))
    }
    let rule: Rule =
        target.isAnonymous
        ? .anonymousUpgradedByProvider : policy.isOneAccountPerEmail ? .providerLinked : .providerLinkedDuplicateEmails
    return Verdict(rule, .signIn(target.id, change, emailWasRecycled: false))
}

extension AccountChange {
    /// The credential's identity becomes one of the account's. Its address is proof of the account's own where it is the
    /// same, and fills the place of one where there is none. The profile stays.
    ///
    /// If an address was taken off, no unproven one takes its place: that is a change of address by another road (U1, P17), and the
    /// person who proves it next would void the code that brings the first one back. A word for new addresses alone
    /// (`EmailTrustClass.verifyingNew`) is no proof here, because that person is a first proof to it as well (`isProven`).
    ///
    /// An account with second factors takes no such address either: the owner of the mailbox could not get it back (U17).
    static func linking(
        _ credential: IncomingCredential,
        to target: Account,
        claim: EmailClaim,
        policy: LinkPolicy
    ) -> Self {
        let provider = credential.identity.provider
        let isProof = claim.isVerified && policy.emailTrust(of: credential) != .verifyingNew
        let mayBeUnproven = !target.hasHadEmail && !(target.hasSecondFactor && policy.secondFactorsNeedProvenAddress)
        var change = AccountChange()
        change.linkedIdentity = credential.identity
        if policy.needsProof(target, of: claim, by: .provider(provider)) {
            change.email = .prove(.provider(provider))
        } else if policy.isOneAccountPerEmail, !target.hasEmail, isProof || mayBeUnproven, let address = claim.address {
            change.email = .set(address, proof: claim.isVerified ? .provider(provider) : nil)
        }
        return change
    }
}
