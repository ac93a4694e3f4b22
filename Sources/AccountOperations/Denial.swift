package import AccountLinking
package import IdentityProviders

/// The "no" of an operation: a refusal by policy, or a defect of what was presented.
///
/// Operations throw it. Everything else that they throw is a `Failure`: no answer was found.
package enum Denial: Error, Sendable, Hashable {
    case refusal(Refusal)
    case invalidIDToken
    case invalidRefreshToken
    /// Unknown, used, expired, or of another tenant: one answer, from which a stranger learns nothing.
    case invalidPendingToken
    /// Nothing can be done with the conflict now.
    case conflict(ConflictRefusal)
    /// The caller has seen another version of what is to be changed.
    case versionMismatch
    /// The sign-in of the session is too old for what is asked, on Concord's own routes.
    case reauthenticationRequired(ReauthenticationChallenge)
    /// Not again: the request was applied, and this was its answer.
    case answeredBefore([UInt8])
    /// Something else was asked under the same key.
    case idempotencyKeyReused
    case providerNotRegistered
    /// No other method that works would be left to these.
    case usersLockedOut(LockedOutUsers)
    case webhook(WebhookDenial)
    case merge(MergeDenial)
    case emailCode(EmailCodeDenial)
    case phone(PhoneDenial)
    /// The provider's credential proves nothing.
    case invalidCredential(InvalidCredential)
    /// Not an address that a browser can be sent back to.
    case invalidContinueURI
    /// Browsers are not sent to that host.
    case unauthorizedDomain
    /// More is to be told to a provider's page than fits into an address.
    case parametersTooLong
    /// A parameter of the consent page that belongs to the flow; one of ours by name.
    case reservedParameter(String)
    case tenantMismatch
    case invalidEmail
    case invalidPhoneNumber
    case secondFactor(SecondFactorDenial)
    case claimsTooLarge
    case invalidClaims
    /// A claim has a name that only the service itself may set.
    case forbiddenClaim(String)
    /// `reason` is for developers and quotes nothing that was sent.
    case invalidCustomToken(reason: String)
    /// The custom token is of another project.
    case credentialMismatch
    /// The custom token names no user.
    case missingIdentifier
    /// The password does not meet the project's policy.
    case passwordPolicy(missing: [PasswordPolicy.Requirement])
    /// The password is shorter than the project wants it.
    case weakPassword(lengthMin: Int)
    /// The password is one of the first that a guesser tries.
    case commonPassword
    /// The password is longer than `WeakPassword.lengthMax`.
    case passwordTooLong
    /// The project's limits allow no more of these for now.
    case limitReached(LimitedResource)
}

extension AccountOperations {
    /// The "no" of a rule, counted. Every such "no" leaves the operations through here, once.
    func refused(_ denial: Denial, by rule: Rule) -> Denial {
        metrics.decided(rule)
        return denial
    }
}
