/// A sign-in with a provider's credential, without a signed-in user: rows I.
package struct SignInWithIdpQuestion {
    /// The account that has the identity of the credential.
    package var identityOwner: Account?
    /// The account that has the address of the credential, even if the policy does not trust the provider. Addresses in
    /// provider rows do not count.
    package var emailOwner: Account?
    package var credential: IncomingCredential
    package var isProviderEnabled: Bool
    /// False for a reauthentication (`autoCreate:false`), which creates and links nothing.
    package var createsUsers: Bool
    /// True if the client asks the person before an account is created (`asksFirst`).
    package var asksFirst: Bool
    /// The account whose second factor this sign-in has already proven.
    package var secondFactorProvenBy: UserID?
    /// The reservation of the address.
    package var reservation: AddressReservation?
    /// The credential that waits for the account.
    package var waiting: WaitingCredential?

    package init(
        identityOwner: Account?,
        emailOwner: Account?,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        createsUsers: Bool,
        asksFirst: Bool = false,
        secondFactorProvenBy: UserID?,
        reservation: AddressReservation? = nil,
        waiting: WaitingCredential? = nil
    ) {
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
        self.credential = credential
        self.isProviderEnabled = isProviderEnabled
        self.createsUsers = createsUsers
        self.asksFirst = asksFirst
        self.secondFactorProvenBy = secondFactorProvenBy
        self.reservation = reservation
        self.waiting = waiting
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation).asking(asksFirst)
            .linking(waiting, toOneOf: accounts, isSessionRecent: true, policy)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard isProviderEnabled else { return Verdict(.signInProviderNotEnabled, .refuse(.operationNotAllowed)) }
        let identity = credential.identity
        let proof = EmailProof.provider(identity.provider)
        let claim = policy.emailClaim(of: credential, isAddressTaken: emailOwner != nil)

        // A linked identity always wins: the provider vouches for the subject, not for the address.
        if let owner = identityOwner {
            if owner.isDisabled { return Verdict(.identityOwnerDisabled, .refuse(.userDisabled)) }
            if policy.needsSecondFactor(owner, provenBy: secondFactorProvenBy) {
                return Verdict(.identityOwnerNeedsSecondFactor, .secondFactorRequired(owner.id))
            }
            var change = AccountChange()
            if policy.needsProof(owner, of: claim, by: proof) { change.email = .prove(proof) }
            return Verdict(.signInByIdentity, .signIn(owner.id, change, emailWasRecycled: false))
        }

        // If duplicates are allowed, an address in a provider's row identifies no account.
        let addressOwner = policy.isOneAccountPerEmail ? emailOwner : nil
        switch (claim, addressOwner) {
        case (.unverified, .some) where !createsUsers:
            // Never a conflict: a reauthentication must not learn whose address it is.
            return Verdict(.reauthenticationByUntrustedEmail, .refuse(.userNotFound))
        case _ where !createsUsers:
            return Verdict(.reauthenticationOfUnknownIdentity, .refuse(.userNotFound))

        case (.unverified(let address), _) where policy.confirmsUnprovenAddresses:
            // Before the owner, and before a refusal of sign-ups: the answer is the same for every address.
            return Verdict(.untrustedEmailConfirmed, .conflict(.unprovenAddress(address)))
        case (.unverified, .some(let account)):
            let providers = account.linkedProviders.keys
            return Verdict(
                .untrustedEmailConflict,
                .conflict(.accountExistsWithDifferentCredential(account: account.id, verifiedProviders: providers))
            )
        case (.verified, .some(let account)):
            if account.isDisabled { return Verdict(.emailOwnerDisabled, .refuse(.userDisabled)) }
            if policy.needsSecondFactor(account, provenBy: secondFactorProvenBy) {
                return Verdict(.emailOwnerNeedsSecondFactor, .secondFactorRequired(account.id))
            }
            // Before other subjects: an intruder or former holder may have set up any method of an unproven account.
            guard policy.isProven(account) else {
                var change = AccountChange.takeover(of: account, proof: proof)
                change.linkedIdentity = identity
                change.profile = .replace(credential.profile)
                let rule: Rule = account.isEmailVerified ? .takeoverFromFormerHolder : .takeoverByProvider
                return Verdict(rule, .signIn(account.id, change, emailWasRecycled: false))
            }
            if !policy.providersOfAnotherSubject(of: account, than: credential).isEmpty {
                return signInOfAnotherSubject(policy: policy, account: account, credential: credential)
            }
            var change = AccountChange()
            change.linkedIdentity = identity
            change.profile = .fillBlanks(credential.profile)
            return Verdict(.linkByProvenEmail, .signIn(account.id, change, emailWasRecycled: false))

        case _ where !policy.allowsClientSignUp:
            return Verdict(.providerSignUpNotAllowed, .refuse(.signUpDisabled))
        case (.absent, _):
            return Verdict(.signUpWithoutEmail, .createUser(.newAccount(for: credential)))
        case (.unverified(let address), .none), (.verified(let address), .none):
            var change = AccountChange.newAccount(for: credential)
            guard policy.isOneAccountPerEmail else { return Verdict(.signUpWithDuplicateEmail, .createUser(change)) }
            change.email = .set(address, proof: claim.isVerified ? proof : nil)
            return Verdict(.signUpWithEmail, .createUser(change))
        }
    }
}

extension Verdict<SignInDecision> {
    /// The verdict, unless it creates an account and the client asks first (I23). Every other verdict stands.
    fileprivate func asking(_ asksFirst: Bool) -> Self {
        guard asksFirst, case .createUser = decision else { return self }
        return Self(.firstSignInAsks, .conflict(.firstSignIn))
    }
}

extension SignInWithIdpQuestion: SettlingQuestion {
    package static let name = "signInWithIdp"

    package enum CodingKeys: String, CodingKey {
        case identityOwner, emailOwner, credential, createsUsers, asksFirst, secondFactorProvenBy, waiting
        case isProviderEnabled = "providerEnabled"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [identityOwner, emailOwner].compactMap(\.self) }
    package var presentedCredential: IncomingCredential? { credential }

    package mutating func rename(by names: inout Pseudonyms) {
        identityOwner?.rename(by: &names)
        emailOwner?.rename(by: &names)
        credential.rename(by: &names)
        reservation?.rename(by: &names)
        waiting?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .providerEnabled: isProviderEnabled.toggle()
        case .createsUsers: createsUsers.toggle()
        case .identityLinked: identityOwner = identityOwner == nil ? emailOwner : nil
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .emailProven: emailOwner?.flipEmailProven()
        case .accountDisabled:
            identityOwner?.isDisabled.toggle()
            emailOwner?.isDisabled.toggle()
        case .providerLinked:
            identityOwner?.flipLink(to: credential.identity)
            emailOwner?.flipLink(to: credential.identity)
        case .proofGiven: return waiting?.flip(fact) ?? false
        case .emailTrusted, .emailTaken, .numberTaken, .sessionRecent, .passwordRight, .passwordLocked,
            .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        isProviderEnabled = providers.contains(credential.identity.provider)
        waiting?.enable(providers)
    }
}

/// Decides if the provider names the proven address of `account` for a subject other than the linked one: rows I8 and
/// I16 to I18. The linked subject can be of the same party under another provider id. The provider says that they are
/// different persons.
private func signInOfAnotherSubject(
    policy: LinkPolicy,
    account: Account,
    credential: IncomingCredential
) -> Verdict<SignInDecision> {
    let identity = credential.identity
    var change = AccountChange()
    switch policy.subjectChange {
    case .conflict:
        let providers = account.linkedProviders.keys
        return Verdict(
            .subjectDiffers,
            .conflict(.accountExistsWithDifferentCredential(account: account.id, verifiedProviders: providers))
        )
    case .takeover:
        change = .takeover(of: account, proof: .provider(identity.provider))
        change.linkedIdentity = identity
        change.profile = .replace(credential.profile)
        return Verdict(.takeoverBySubject, .signIn(account.id, change, emailWasRecycled: true))
    case .replace, .move:
        change.linkedIdentity = identity
        change.unlinkedProviders = [identity.provider]
        let rule: Rule = policy.subjectChange == .move ? .subjectMoved : .subjectReplaced
        return Verdict(rule, .signIn(account.id, change, emailWasRecycled: true))
    }
}

extension AccountChange {
    fileprivate static func newAccount(for credential: IncomingCredential) -> Self {
        var change = AccountChange()
        change.linkedIdentity = credential.identity
        change.profile = .fillBlanks(credential.profile)
        return change
    }
}
