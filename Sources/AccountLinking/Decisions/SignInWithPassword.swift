/// Decides a sign-in with address and password: rows S.
///
/// Total and pure; the first matching rule wins. With enumeration protection an unknown address and a wrong password
/// get the same answer; a disabled account is told so in both modes, before the password (as production does).
///
/// - `owner`: the account that owns the address.
/// - `isLocked`: after too many wrong passwords for this address none is tried now (`PasswordAttempts`).
/// - `passwordMatches`: the outcome of the hash; ignored for an account without a password, and while locked.
/// - `secondFactorProvenBy`: the account whose second factor this sign-in has already proven, if any.
package func decideSignInWithPassword(
    policy: LinkPolicy,
    owner: Account?,
    isLocked: Bool,
    passwordMatches: Bool,
    secondFactorProvenBy: UserID?
) -> Verdict<SignInDecision> {
    guard policy.allowsPasswordSignIn else { return Verdict(.passwordSignInNotEnabled, .refuse(.operationNotAllowed)) }
    guard let owner else {
        // An address that nobody has is locked like any other; only where it may be told, it is told.
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

extension Refusal {
    /// Whether the answer says that a password was wrong, or would have been: what `PasswordAttempts` counts.
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
