/// A sign-in with address and password: rows S.
///
/// With enumeration protection an unknown address and a wrong password get the same answer. A disabled account is
/// refused as disabled in both modes before the password is compared, as in production.
package struct SignInWithPasswordQuestion {
    /// The account that owns the address.
    package var owner: Account?
    /// True after too many wrong passwords for the address (`PasswordThrottling`).
    package var isLocked: Bool
    /// True if the hash matches; unused for an account without a password, and while locked.
    package var passwordMatches: Bool
    /// The account whose second factor this sign-in has already proven.
    package var secondFactorProvenBy: UserID?
    /// The credential that waits for the account.
    package var waiting: WaitingCredential?

    package init(
        owner: Account?,
        isLocked: Bool,
        passwordMatches: Bool,
        secondFactorProvenBy: UserID?,
        waiting: WaitingCredential? = nil
    ) {
        self.owner = owner
        self.isLocked = isLocked
        self.passwordMatches = passwordMatches
        self.secondFactorProvenBy = secondFactorProvenBy
        self.waiting = waiting
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideAlone(policy).linking(waiting, toOneOf: accounts, isSessionRecent: true, policy)
    }

    /// The refusal of every sign-in with a password; `nil` if policy allows them. Known before the password is
    /// compared.
    package static func refusal(under policy: LinkPolicy) -> Verdict<Refusal>? {
        policy.allowsPasswordSignIn ? nil : Verdict(.passwordSignInNotEnabled, .operationNotAllowed)
    }

    private func decideAlone(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        if let refusal = Self.refusal(under: policy) { return Verdict(refusal.rule, .refuse(refusal.decision)) }
        guard let owner else {
            // An unknown address is locked like any other. Only enumeration protection needs to show it.
            if isLocked, policy.protectsEmailEnumeration {
                return Verdict(.tooManyWrongPasswords, .refuse(.tooManyAttempts))
            }
            return Verdict(
                .passwordSignInUnknownEmail,
                .refuse(policy.protectsEmailEnumeration ? .invalidLoginCredentials : .emailNotFound)
            )
        }
        if owner.isDisabled { return Verdict(.passwordSignInAccountDisabled, .refuse(.userDisabled)) }
        if isLocked { return Verdict(.tooManyWrongPasswords, .refuse(.tooManyAttempts)) }
        guard owner.hasPassword, passwordMatches else {
            return Verdict(
                .wrongPassword,
                .refuse(policy.protectsEmailEnumeration ? .invalidLoginCredentials : .invalidPassword)
            )
        }
        if policy.needsSecondFactor(owner, provenBy: secondFactorProvenBy) {
            return Verdict(.passwordSignInNeedsSecondFactor, .secondFactorRequired(owner.id))
        }
        return Verdict(.signInByPassword, .signIn(owner.id, AccountChange(), emailWasRecycled: false))
    }
}

extension SignInWithPasswordQuestion: SettlingQuestion {
    package static let name = "signInWithPassword"

    package enum CodingKeys: String, CodingKey {
        case owner, passwordMatches, secondFactorProvenBy, waiting
        case isLocked = "locked"
    }

    package var accounts: [Account] { [owner].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        owner?.rename(by: &names)
        waiting?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where owner != nil: owner = nil
        case .accountDisabled: owner?.isDisabled.toggle()
        case .passwordRight: passwordMatches.toggle()
        case .passwordLocked: isLocked.toggle()
        case .providerEnabled, .proofGiven: return waiting?.flip(fact) ?? false
        case .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked, .providerLinked, .createsUsers,
            .sessionRecent, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) { waiting?.enable(providers) }
}

extension Refusal {
    /// Returns true if the answer says that the password was, or would have been, wrong. `PasswordThrottling` counts
    /// these.
    package var saysPasswordIsWrong: Bool {
        switch self {
        case .invalidPassword, .invalidLoginCredentials: true
        case .operationNotAllowed, .signUpDisabled, .anonymousSignUpDisabled, .selfDeletionDisabled, .userDisabled,
            .userNotFound, .accountMerged, .emailNotFound, .emailExists, .phoneNumberExists, .unsupportedFirstFactor,
            .messageRegionNotAllowed, .federatedIdentityAlreadyLinked, .firstFactorNotEligible, .unverifiedEmail,
            .secondFactorExists, .secondFactorLimitExceeded, .secondFactorNotFound, .messageFactorsDisabled,
            .totpFactorsDisabled, .invalidPendingSignIn,
            .duplicateLocalID, .credentialTooOld, .emailChangeNeedsVerification, .tokenExpired, .lastSignInMethod,
            .methodNotQuarantined, .invalidEmailCode, .tooManyAttempts:
            false
        }
    }
}
