/// A sign-up whose mailbox was proven, with what it brings: rows P28 to P31, P34 and P35.
///
/// The caller has proven the mailbox, so an answer may say that the address belongs to an account.
package struct CompleteSignUpQuestion {
    package var email: EmailAddress
    /// The account that owns the address.
    package var emailOwner: Account?
    /// The provider's credential; `nil` for a sign-up with a password.
    package var credential: IncomingCredential?
    /// The account that has the identity of the credential.
    package var identityOwner: Account?
    /// True if the provider is enabled, and still has the credential's issuer. Unused without a credential.
    package var isProviderEnabled: Bool
    /// The name of the new account; `nil` for none. Unused with a credential, which names the person.
    package var displayName: DisplayName?
    /// The reservation of the address.
    package var reservation: AddressReservation?

    package init(
        email: EmailAddress,
        emailOwner: Account?,
        credential: IncomingCredential?,
        identityOwner: Account?,
        isProviderEnabled: Bool,
        displayName: String? = nil,
        reservation: AddressReservation? = nil
    ) {
        self.email = email
        self.emailOwner = emailOwner
        self.credential = credential
        self.identityOwner = identityOwner
        self.isProviderEnabled = isProviderEnabled
        self.displayName = displayName.map(DisplayName.init)
        self.reservation = reservation
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard credential == nil ? policy.allowsPasswordSignIn : isProviderEnabled else {
            return Verdict(.provenSignUpNotEnabled, .refuse(.operationNotAllowed))
        }
        if credential != nil, identityOwner != nil {
            return Verdict(.provenSignUpOfTakenIdentity, .refuse(.federatedIdentityAlreadyLinked))
        }
        if emailOwner != nil { return Verdict(.provenSignUpOfTakenAddress, .refuse(.emailExists)) }
        guard policy.allowsClientSignUp else { return Verdict(.provenSignUpNotAllowed, .refuse(.signUpDisabled)) }
        var change = AccountChange()
        change.email = .set(email, proof: .emailCode)
        guard let credential else {
            if let displayName { change.profile = .rename(displayName.text) }
            change.password = .set
            return Verdict(.signUpByProvenMailbox, .createUser(change))
        }
        change.linkedIdentity = credential.identity
        change.profile = .fillBlanks(credential.profile)
        return Verdict(.signUpByConfirmedCredential, .createUser(change))
    }
}

extension CompleteSignUpQuestion: Question {
    package static let name = "completeSignUp"

    package enum CodingKeys: String, CodingKey {
        case email, emailOwner, credential, identityOwner
        case isProviderEnabled = "providerEnabled"
        case displayName = "named"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [identityOwner, emailOwner].compactMap(\.self) }
    package var presentedCredential: IncomingCredential? { credential }

    package mutating func rename(by names: inout Pseudonyms) {
        email.rename(by: &names)
        emailOwner?.rename(by: &names)
        credential?.rename(by: &names)
        identityOwner?.rename(by: &names)
        displayName?.rename()
        reservation?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .providerEnabled where credential != nil: isProviderEnabled.toggle()
        case .identityLinked where identityOwner != nil: identityOwner = nil
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .accountDisabled, .providerLinked, .createsUsers, .sessionRecent, .passwordRight, .passwordLocked,
            .proofGiven, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        if let credential { isProviderEnabled = providers.contains(credential.identity.provider) }
    }
}

/// The decision about a proven credential whose owner wants to link it to the account with its address.
package enum LinkConfirmedDecision: Sendable, Hashable {
    /// The credential becomes a conflict of the account, proven by its mailbox.
    case openConflict(UserID)
    case refuse(PendingSignUpRefusal)
}

/// A proven sign-up whose owner wants to link its credential to the account with the address: rows P32 and P33. Rows J
/// then decide as for every conflict.
package struct LinkConfirmedQuestion {
    /// The address of the sign-up.
    package var email: EmailAddress
    /// The account that owns the address.
    package var emailOwner: Account?
    /// The provider's credential; `nil` for a sign-up with a password.
    package var credential: IncomingCredential?

    package init(email: EmailAddress, emailOwner: Account?, credential: IncomingCredential?) {
        self.email = email
        self.emailOwner = emailOwner
        self.credential = credential
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<LinkConfirmedDecision> {
        guard credential != nil, let emailOwner else {
            return Verdict(.confirmedCredentialWithoutAccount, .refuse(.nothingToLink))
        }
        return Verdict(.confirmedCredentialConflict, .openConflict(emailOwner.id))
    }
}

extension LinkConfirmedQuestion: Question {
    package static let name = "linkConfirmed"

    package enum CodingKeys: String, CodingKey {
        case email, emailOwner, credential
    }

    package var accounts: [Account] { [emailOwner].compactMap(\.self) }
    package var presentedCredential: IncomingCredential? { credential }

    package mutating func rename(by names: inout Pseudonyms) {
        email.rename(by: &names)
        emailOwner?.rename(by: &names)
        credential?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .accountDisabled, .providerLinked, .createsUsers, .sessionRecent, .passwordRight, .passwordLocked,
            .proofGiven, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
