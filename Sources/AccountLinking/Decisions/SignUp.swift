/// A client's sign-up without a session and without a password: rows P.
package struct SignUpAnonymouslyQuestion {
    /// The name of the new account; `nil` for none.
    package var displayName: DisplayName?

    package init(displayName: String? = nil) {
        self.displayName = displayName.map(DisplayName.init)
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard policy.allowsAnonymousSignUp else {
            return Verdict(.anonymousSignUpNotEnabled, .refuse(.anonymousSignUpDisabled))
        }
        guard policy.allowsClientSignUp else { return Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)) }
        return Verdict(.anonymousSignUp, .createUser(.naming(displayName)))
    }
}

/// A client's sign-up with address and password, without a session: rows P. A taken address is reported even with
/// enumeration protection (P1), unless the project requires the mailbox first (P19).
package struct SignUpQuestion {
    package var email: EmailAddress
    /// The account that owns the address.
    package var emailOwner: Account?
    /// The name of the new account; `nil` for none.
    package var displayName: DisplayName?
    /// The reservation of the address.
    package var reservation: AddressReservation?

    package init(
        email: EmailAddress,
        emailOwner: Account?,
        displayName: String? = nil,
        reservation: AddressReservation? = nil
    ) {
        self.email = email
        self.emailOwner = emailOwner
        self.displayName = displayName.map(DisplayName.init)
        self.reservation = reservation
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard policy.allowsPasswordSignIn else {
            return Verdict(.signUpPasswordNotEnabled, .refuse(.operationNotAllowed))
        }
        guard policy.allowsClientSignUp else { return Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)) }
        // Before the owner: the answer is the same for every address.
        if policy.signUpRequiresMailbox { return Verdict(.signUpNeedsMailbox, .refuse(.mailboxUnproven)) }
        if let emailOwner {
            // Three rules for one answer, because support needs the reason.
            let isWithoutPassword = !emailOwner.hasPassword && !emailOwner.hasEmailLink
            let rule: Rule =
                isWithoutPassword
                ? (emailOwner.linkedProviders.isEmpty ? .signUpEmailOfBareAccount : .signUpEmailOfProviderAccount)
                : .signUpEmailExists
            return Verdict(rule, .refuse(.emailExists))
        }
        var change = AccountChange.naming(displayName)
        change.email = .set(email, proof: nil)
        change.password = .set
        return Verdict(
            policy.isOneAccountPerEmail ? .signUpByPassword : .signUpDuplicateEmailsAllowed,
            .createUser(change)
        )
    }
}

/// A change that sets address and password of the session's account (`accounts:signUp`, and `accounts:update` with
/// both): rows P.
package struct LinkPasswordQuestion {
    package var email: EmailAddress
    /// The account of the session.
    package var target: Account
    /// True if the session may change address and password (`reauthentication`).
    package var isSessionRecent: Bool
    /// The account that owns the address.
    package var emailOwner: Account?
    /// The new name of the account; `nil` keeps the name.
    package var displayName: DisplayName?
    /// The reservation of the address.
    package var reservation: AddressReservation?

    package init(
        email: EmailAddress,
        target: Account,
        isSessionRecent: Bool,
        emailOwner: Account?,
        displayName: String? = nil,
        reservation: AddressReservation? = nil
    ) {
        self.email = email
        self.target = target
        self.isSessionRecent = isSessionRecent
        self.emailOwner = emailOwner
        self.displayName = displayName.map(DisplayName.init)
        self.reservation = reservation
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        guard policy.allowsPasswordSignIn else {
            return Verdict(.signUpPasswordNotEnabled, .refuse(.operationNotAllowed))
        }
        if target.isDisabled { return Verdict(.passwordLinkAccountDisabled, .refuse(.userDisabled)) }
        guard isSessionRecent else { return Verdict(.passwordLinkNeedsRecentSignIn, .refuse(.credentialTooOld)) }
        if policy.signUpRequiresMailbox, emailOwner?.id != target.id {
            return Verdict(.passwordLinkNeedsMailbox, .refuse(.mailboxUnproven))
        }
        var change = AccountChange.naming(displayName)
        change.password = .set
        change.endsSessions = true
        guard let emailOwner else {
            change.email = .set(email, proof: nil)
            // This is a change of address by another route, so U1 applies, even if the address was removed first.
            if target.hasHadEmail, policy.protectsEmailEnumeration {
                return Verdict(.passwordLinkNeedsVerifiedEmail, .refuse(.emailChangeNeedsVerification))
            }
            if policy.secondFactorsNeedProvenAddress, target.hasSecondFactor {
                return Verdict(.passwordNeedsProvenAddress, .refuse(.unverifiedEmail))
            }
            if !target.hasInitialEmail { change.rememberedInitialEmail = target.email?.address }
            return Verdict(.emailAndPasswordLinked, .signIn(target.id, change, emailWasRecycled: false))
        }
        if emailOwner.id != target.id { return Verdict(.passwordLinkEmailInUse, .refuse(.emailExists)) }
        return Verdict(.passwordAddedToOwnEmail, .signIn(target.id, change, emailWasRecycled: false))
    }
}

extension AccountChange {
    fileprivate static func naming(_ name: DisplayName?) -> Self {
        var change = AccountChange()
        if let name { change.profile = .rename(name.text) }
        return change
    }
}

/// The display name in a sign-up. A stored decision records only its presence.
package struct DisplayName: Sendable, Hashable {
    package var text: String
}

extension DisplayName: Codable {
    private static let pseudonym = Self(text: "name")

    package init(from decoder: any Decoder) throws { self = .pseudonym }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(true)
    }

    mutating func rename() { self = .pseudonym }
}

extension SignUpAnonymouslyQuestion: Question {
    package static let name = "signUpAnonymously"

    package enum CodingKeys: String, CodingKey {
        case displayName = "named"
    }

    package var accounts: [Account] { [] }

    package mutating func rename(by names: inout Pseudonyms) { displayName?.rename() }

    package mutating func flip(_ fact: DecidingFact) -> Bool { false }
}

extension SignUpQuestion: Question {
    package static let name = "signUp"

    package enum CodingKeys: String, CodingKey {
        case email, emailOwner
        case displayName = "named"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [emailOwner].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        email.rename(by: &names)
        emailOwner?.rename(by: &names)
        displayName?.rename()
        reservation?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .accountDisabled, .providerLinked, .createsUsers, .sessionRecent, .passwordRight, .passwordLocked,
            .proofGiven, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}

extension LinkPasswordQuestion: Question {
    package static let name = "linkPassword"

    package enum CodingKeys: String, CodingKey {
        case email, target, emailOwner
        case isSessionRecent = "sessionRecent"
        case displayName = "named"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [emailOwner].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        email.rename(by: &names)
        target.rename(by: &names)
        emailOwner?.rename(by: &names)
        displayName?.rename()
        reservation?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .sessionRecent: isSessionRecent.toggle()
        case .accountDisabled: target.isDisabled.toggle()
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .providerLinked, .createsUsers, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
