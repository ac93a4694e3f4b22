/// A sign-in by a link that was mailed to `email`: rows M. Every answer uses the code.
package struct SignInWithEmailLinkQuestion {
    package var email: EmailAddress
    /// The account that owns the address.
    package var owner: Account?
    /// The account of the session that the link is added to; `nil` without a session.
    package var target: Account?
    /// True if that session signed in recently; unused without a target. A link that changes the address needs it under
    /// every policy.
    package var isSessionRecent: Bool
    /// The account whose second factor this sign-in or its session has already proven.
    package var secondFactorProvenBy: UserID?
    /// The reservation of the address.
    package var reservation: AddressReservation?
    /// The credential that waits for the account.
    package var waiting: WaitingCredential?

    package init(
        email: EmailAddress,
        owner: Account?,
        target: Account?,
        isSessionRecent: Bool,
        secondFactorProvenBy: UserID?,
        reservation: AddressReservation? = nil,
        waiting: WaitingCredential? = nil
    ) {
        self.email = email
        self.owner = owner
        self.target = target
        self.isSessionRecent = isSessionRecent
        self.secondFactorProvenBy = secondFactorProvenBy
        self.reservation = reservation
        self.waiting = waiting
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
            .linking(waiting, toOneOf: accounts, isSessionRecent: target == nil || isSessionRecent, policy)
    }

    /// The refusal of every sign-in by a mailed link; `nil` if policy allows them. Known before the code is read.
    package static func refusal(under policy: LinkPolicy) -> Verdict<Refusal>? {
        policy.allowsEmailLinkSignIn ? nil : Verdict(.emailLinkNotEnabled, .operationNotAllowed)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        if let refusal = Self.refusal(under: policy) { return Verdict(refusal.rule, .refuse(refusal.decision)) }
        if owner?.isDisabled ?? false || target?.isDisabled ?? false {
            return Verdict(.emailLinkAccountDisabled, .refuse(.userDisabled))
        }
        // Before the owner: a stolen old session must not learn who has the address.
        if policy.linkingNeedsRecentSignIn, let target, !target.isAnonymous, owner?.id != target.id, !isSessionRecent {
            return Verdict(.mailedLinkNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
        if let owner, let target, owner.id != target.id {
            return Verdict(.emailLinkAddressInUse, .refuse(.emailExists))
        }
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
                .signIn(target.id, change.droppingNoChange(for: target), emailWasRecycled: false)
            )
        case (.some(let target), .none):
            change.email = .set(email, proof: .emailLink)
            if target.isAnonymous {
                return Verdict(.anonymousUpgradedByEmailLink, .signIn(target.id, change, emailWasRecycled: false))
            }
            if target.hasHadEmail {
                // This is a change of address by another route, with the same conditions and effects.
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
                    .signIn(owner.id, change.droppingNoChange(for: owner), emailWasRecycled: false)
                )
            }
            change = .takeover(of: owner, proof: .emailLink)
            change.emailLink = true
            let rule: Rule = owner.isEmailVerified ? .mailedLinkFromFormerHolder : .takeoverByEmailLink
            return Verdict(rule, .signIn(owner.id, change, emailWasRecycled: false))
        case (.none, .none):
            guard policy.allowsClientSignUp else {
                return Verdict(.emailLinkSignUpNotAllowed, .refuse(.signUpDisabled))
            }
            change.email = .set(email, proof: .emailLink)
            return Verdict(.signUpByEmailLink, .createUser(change))
        }
    }
}

extension SignInWithEmailLinkQuestion: SettlingQuestion {
    package static let name = "signInWithEmailLink"

    package enum CodingKeys: String, CodingKey {
        case email, owner, target, secondFactorProvenBy, waiting
        case isSessionRecent = "sessionRecent"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [owner, target].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        email.rename(by: &names)
        owner?.rename(by: &names)
        target?.rename(by: &names)
        reservation?.rename(by: &names)
        waiting?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where owner != nil: owner = nil
        case .emailProven:
            owner?.flipEmailProven()
            target?.flipEmailProven()
        case .accountDisabled:
            owner?.isDisabled.toggle()
            target?.isDisabled.toggle()
        case .sessionRecent: isSessionRecent.toggle()
        case .providerEnabled, .proofGiven: return waiting?.flip(fact) ?? false
        case .emailTrusted, .emailTaken, .numberTaken, .identityLinked, .providerLinked, .createsUsers, .passwordRight,
            .passwordLocked, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) { waiting?.enable(providers) }
}

extension AccountChange {
    /// Omits the link flag if the account has it, so that an ordinary sign-in changes no fact.
    fileprivate func droppingNoChange(for account: Account) -> Self {
        var change = self
        if account.hasEmailLink { change.emailLink = nil }
        return change
    }
}
