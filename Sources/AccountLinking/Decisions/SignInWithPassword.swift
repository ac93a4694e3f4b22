/// A sign-in with address and password: rows S.
///
/// With enumeration protection an unknown address and a wrong password get the same answer. Production refuses a disabled
/// account as disabled before the password is compared, also with protection. The preset `strict` then says so only to
/// a caller who knows the password.
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

    /// Decides about a new password in place of the one that was presented, without a session: rows S1 to S5, S7 and S8,
    /// then rows W.
    ///
    /// No second factor can be presented here. An account that needs one signs in, then changes its password.
    package func decideReplacement(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        switch firstFactor(policy) {
        case .refused(let refusal): return Verdict(refusal.rule, .refuse(refusal.decision))
        case .found(let owner):
            if policy.needsSecondFactor(owner, provenBy: secondFactorProvenBy) {
                return Verdict(.passwordSignInNeedsSecondFactor, .refuse(.credentialTooOld))
            }
            return decideChangePassword(policy: policy, account: owner, isSessionRecent: true)
        }
    }

    private func decideAlone(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        switch firstFactor(policy) {
        case .refused(let refusal): return Verdict(refusal.rule, .refuse(refusal.decision))
        case .found(let owner):
            if policy.needsSecondFactor(owner, provenBy: secondFactorProvenBy) {
                return Verdict(.passwordSignInNeedsSecondFactor, .secondFactorRequired(owner.id))
            }
            return Verdict(.signInByPassword, .signIn(owner.id, AccountChange(), emailWasRecycled: false))
        }
    }

    /// The account whose password was presented.
    private func firstFactor(_ policy: LinkPolicy) -> Lookup<Account, Refusal> {
        if let refusal = Self.refusal(under: policy) { return .refused(refusal) }
        guard let owner else {
            // An unknown address is locked like any other. Only enumeration protection needs to show it.
            if isLocked, policy.protectsEmailEnumeration {
                return .refused(Verdict(.tooManyWrongPasswords, .tooManyAttempts))
            }
            return .refused(
                Verdict(
                    .passwordSignInUnknownEmail,
                    policy.protectsEmailEnumeration ? .invalidLoginCredentials : .emailNotFound
                )
            )
        }
        if owner.isDisabled, !policy.hidesDisabledAccounts {
            return .refused(Verdict(.passwordSignInAccountDisabled, .userDisabled))
        }
        if isLocked { return .refused(Verdict(.tooManyWrongPasswords, .tooManyAttempts)) }
        guard owner.hasPassword, passwordMatches else {
            return .refused(
                Verdict(
                    .wrongPassword,
                    policy.protectsEmailEnumeration ? .invalidLoginCredentials : .invalidPassword
                )
            )
        }
        if owner.isDisabled { return .refused(Verdict(.passwordOfDisabledAccount, .userDisabled)) }
        return .found(owner)
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
            .methodNotQuarantined, .invalidEmailCode, .tooManyAttempts, .mailboxUnproven:
            false
        }
    }
}
