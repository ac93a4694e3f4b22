/// A link of a provider's credential by a signed-in user: rows L.
package struct LinkWithIdpQuestion {
    /// The account of the session.
    package var target: Account
    /// The account that has the identity of the credential.
    package var identityOwner: Account?
    /// The account that has the address of the credential.
    package var emailOwner: Account?
    package var credential: IncomingCredential
    package var isProviderEnabled: Bool
    /// The target, if the session carries its second factor.
    package var secondFactorProvenBy: UserID?
    /// True if the session signed in recently (`SensitiveOperation.linkProvider`).
    package var isSessionRecent: Bool
    /// True if the credential waits in a conflict that a sign-in opened about the target. A recent session that settles
    /// such a conflict replaces another subject of the provider (`SubjectChange.conflict`).
    package var settlesConflict: Bool
    /// The reservation of the address.
    package var reservation: AddressReservation?

    package init(
        target: Account,
        identityOwner: Account?,
        emailOwner: Account?,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        secondFactorProvenBy: UserID?,
        isSessionRecent: Bool,
        settlesConflict: Bool = false,
        reservation: AddressReservation? = nil
    ) {
        self.target = target
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
        self.credential = credential
        self.isProviderEnabled = isProviderEnabled
        self.secondFactorProvenBy = secondFactorProvenBy
        self.isSessionRecent = isSessionRecent
        self.settlesConflict = settlesConflict
        self.reservation = reservation
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard isProviderEnabled else { return Verdict(.linkProviderNotEnabled, .refuse(.operationNotAllowed)) }
        if target.isDisabled { return Verdict(.linkAccountDisabled, .refuse(.userDisabled)) }
        // Before the owners: a stolen old session must not learn who has an account.
        if policy.linkingNeedsRecentSignIn, !isSessionRecent {
            return Verdict(.linkNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
        let identity = credential.identity
        let claim = addressClaim(policy)

        if let owner = identityOwner {
            if owner.id == target.id {
                return Verdict(.linkIdentityAlreadyLinked, .refuse(.federatedIdentityAlreadyLinked))
            }
            return Verdict(.linkIdentityInUse, .conflict(.credentialAlreadyInUse(account: owner.id)))
        }
        if policy.isOneAccountPerEmail, claim != .absent, let owner = emailOwner, owner.id != target.id {
            return Verdict(.linkEmailInUse, .conflict(.emailAlreadyInUse(account: owner.id)))
        }
        let replacesSubject = target.linkedProviders[identity.provider] != nil
        let isOwnersChoice = settlesConflict && isSessionRecent && policy.subjectChange == .conflict
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
            ? .anonymousUpgradedByProvider
            : policy.isOneAccountPerEmail ? .providerLinked : .providerLinkedDuplicateEmails
        return Verdict(rule, .signIn(target.id, change, emailWasRecycled: false))
    }

    /// The claim of the credential's address. If the project confirms unproven addresses, such an address counts as
    /// absent: anyone can present one, and the answer must not say who has it (L3).
    private func addressClaim(_ policy: LinkPolicy) -> EmailClaim {
        let claim = policy.emailClaim(of: credential, isAddressTaken: emailOwner != nil)
        guard policy.confirmsUnprovenAddresses, case .unverified = claim else { return claim }
        return .absent
    }
}

extension LinkWithIdpQuestion: Question {
    package static let name = "linkWithIdp"

    package enum CodingKeys: String, CodingKey {
        case target, identityOwner, emailOwner, credential, secondFactorProvenBy, settlesConflict
        case isProviderEnabled = "providerEnabled"
        case isSessionRecent = "sessionRecent"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [target, identityOwner, emailOwner].compactMap(\.self) }
    package var presentedCredential: IncomingCredential? { credential }

    package mutating func rename(by names: inout Pseudonyms) {
        target.rename(by: &names)
        identityOwner?.rename(by: &names)
        emailOwner?.rename(by: &names)
        credential.rename(by: &names)
        reservation?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .sessionRecent: isSessionRecent.toggle()
        case .providerEnabled: isProviderEnabled.toggle()
        case .identityLinked: identityOwner = identityOwner == nil ? target : nil
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .accountDisabled: target.isDisabled.toggle()
        case .providerLinked: target.flipLink(to: credential.identity)
        case .emailProven: target.flipEmailProven()
        case .emailTrusted, .emailTaken, .numberTaken, .createsUsers, .passwordRight, .passwordLocked, .proofGiven,
            .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        isProviderEnabled = providers.contains(credential.identity.provider)
    }
}

extension AccountChange {
    /// Links the identity. The credential's address proves the account's own address if the two are equal, and becomes
    /// the address of an account without one. The profile stays.
    ///
    /// An account whose address was removed gets no unproven address. That would be a change of address by another
    /// route (U1, P17), and the next person to prove it would void the code that recovers the first address. A claim
    /// that is trusted for new addresses only (`EmailTrustClass.verifyingNew`) is no proof here, because another proof
    /// overrides it (`isProven`).
    ///
    /// An account with second factors gets no unproven address either, because its mailbox owner could not reclaim it
    /// (U17).
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
