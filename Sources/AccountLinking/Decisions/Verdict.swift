/// A decision and the rule that made it (docs/reference/decisions.md). The rule is recorded with every applied
/// decision.
package struct Verdict<Decision: Sendable & Hashable>: Sendable, Hashable {
    package let rule: Rule
    package let decision: Decision

    package init(_ rule: Rule, _ decision: Decision) {
        self.rule = rule
        self.decision = decision
    }
}

/// A fact that a request names, or the refusal if there is no such fact.
package enum Lookup<Fact: Sendable, Refusal: Sendable & Hashable>: Sendable {
    case found(Fact)
    case refused(Verdict<Refusal>)
}

/// The reason of a refusal, which is final; a `Conflict` can be settled. Names are stored with decisions.
package enum Refusal: String, Sendable, Hashable, CaseIterable {
    case operationNotAllowed
    case signUpDisabled
    case anonymousSignUpDisabled
    case userDisabled
    case userNotFound
    /// The account was merged into another.
    case accountMerged
    case emailNotFound
    case invalidPassword
    case invalidLoginCredentials
    case emailExists
    case phoneNumberExists
    /// The account has a second factor, which cannot follow a number (rule N5).
    case unsupportedFirstFactor
    /// No second factor can follow the sign-in of the session.
    case firstFactorNotEligible
    /// A second factor needs a proven address for recovery.
    case unverifiedEmail
    case secondFactorExists
    case secondFactorLimitExceeded
    case secondFactorNotFound
    /// The project does not allow numbers as second factors.
    case messageFactorsDisabled
    /// The project does not allow apps as second factors.
    case totpFactorsDisabled
    /// The first step of the sign-in is no longer valid.
    case invalidPendingSignIn
    /// The project sends no messages to the number's region.
    case messageRegionNotAllowed
    case federatedIdentityAlreadyLinked
    case duplicateLocalID
    case credentialTooOld
    case emailChangeNeedsVerification
    case tokenExpired
    case lastSignInMethod
    /// The named method is not suspended, or no longer.
    case methodNotQuarantined
    /// Too many wrong passwords; this one was not compared.
    case tooManyAttempts
    case selfDeletionDisabled
    /// The project requires proof of the mailbox first.
    case mailboxUnproven
    /// The code is unknown or used (M20 and M21), or its account, address or session epoch is no longer current (R5 and
    /// U12).
    case invalidEmailCode
}

/// The reason why a credential is stored as pending instead of applied, with the account that it concerns.
package enum Conflict: Sendable, Hashable {
    /// I11: the address belongs to `account`, and nothing proves that it is the same person.
    case accountExistsWithDifferentCredential(account: UserID, verifiedProviders: [ProviderID])
    /// L1, L8: the identity belongs to another account, or `account` has another identity of this provider.
    case credentialAlreadyInUse(account: UserID)
    /// L3: the address belongs to another account.
    case emailAlreadyInUse(account: UserID)
    /// I22: the mailbox must be proven first, whether or not an account has the address.
    case unprovenAddress(EmailAddress)
    /// I23: the credential would create an account, and the client asks the person first.
    case firstSignIn
}
