/// A decision together with the row of the decision tables that made it (docs/reference/decisions.md).
///
/// The rule is recorded with every applied decision, so that an operator can be told why.
package struct Verdict<Decision: Sendable & Hashable>: Sendable, Hashable {
    package let rule: Rule
    package let decision: Decision

    package init(_ rule: Rule, _ decision: Decision) {
        self.rule = rule
        self.decision = decision
    }
}

/// The fact that a request names, or the refusal of the request because there is no such fact.
package enum Lookup<Fact: Sendable, Refusal: Sendable & Hashable>: Sendable {
    case found(Fact)
    case refused(Verdict<Refusal>)
}

/// Why policy says no. There is no way round a refusal; a `Conflict` has one. The names are kept with decisions.
package enum Refusal: String, Sendable, Hashable, CaseIterable {
    case operationNotAllowed
    case signUpDisabled
    case anonymousSignUpDisabled
    case userDisabled
    case userNotFound
    /// The account is another one now.
    case accountMerged
    case emailNotFound
    case invalidPassword
    case invalidLoginCredentials
    case emailExists
    case phoneNumberExists
    /// The account has a second factor, which a number cannot come before (rule N5).
    case unsupportedFirstFactor
    /// No second factor can follow the sign-in of the session.
    case firstFactorNotEligible
    /// A second factor needs an address that is proven, as the way back.
    case unverifiedEmail
    case secondFactorExists
    case secondFactorLimitExceeded
    case secondFactorNotFound
    /// The project lets nobody enrol a number as a second factor.
    case messageFactorsDisabled
    /// The project lets nobody enrol an app as a second factor.
    case totpFactorsDisabled
    /// Whatever the sign-in began with is over.
    case invalidPendingSignIn
    /// The project sends no messages to where the number is.
    case messageRegionNotAllowed
    case federatedIdentityAlreadyLinked
    case duplicateLocalID
    case credentialTooOld
    case emailChangeNeedsVerification
    case tokenExpired
    case lastSignInMethod
    /// Nothing is suspended, or no longer, under the method that was named.
    case methodNotQuarantined
    /// Too many wrong passwords; this one was not looked at.
    case tooManyAttempts
    case selfDeletionDisabled
    /// The code was made for an account, an address or a session epoch that is no longer current (rules R5 and U12).
    case invalidEmailCode
}

/// Why a credential was set aside instead of applied, and to whom it concerns. The credential is kept as pending.
package enum Conflict: Sendable, Hashable {
    /// I11: the address belongs to `account`, and nothing presented proves that both are one person.
    case accountExistsWithDifferentCredential(account: UserID, verifiedProviders: [ProviderID])
    /// L1, L8: the identity belongs to another account, or `account` has another identity of this provider.
    case credentialAlreadyInUse(account: UserID)
    /// L3: the address belongs to an account other than the one being linked to.
    case emailAlreadyInUse(account: UserID)
}
