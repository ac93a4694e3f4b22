package import AccountLinking
package import IdentityProviders

/// The refusal of an operation: by policy, or for a defect of what was presented.
///
/// Operations throw it. Every other error that they throw is a `Failure`: no answer was found.
package enum Denial: Error, Sendable, Hashable {
    case refusal(Refusal)
    case invalidIDToken
    case invalidRefreshToken
    /// Unknown, used, expired, or of another tenant. The answer is the same, so that a stranger learns nothing.
    case invalidPendingToken
    /// The conflict does not allow this action now.
    case conflict(ConflictRefusal)
    /// The code does not hand a session over. Only on Concord's own routes.
    case sessionCode(SessionCodeRefusal)
    /// The sign-up that waits for its mailbox does not continue. Only on Concord's own routes.
    case pendingSignUp(PendingSignUpRefusal)
    /// The caller has seen another version of what the request changes.
    case versionMismatch
    /// The session's sign-in is too old for the operation. Only on Concord's own routes.
    case reauthenticationRequired(ReauthenticationChallenge)
    /// The request was applied before, with this answer.
    case answeredBefore([UInt8])
    /// Another request used the same key.
    case idempotencyKeyReused
    case providerNotRegistered
    /// These users would have no other working method.
    case usersLockedOut(LockedOutUsers)
    case webhook(WebhookDenial)
    case merge(MergeDenial)
    case emailCode(EmailCodeDenial)
    case phone(PhoneDenial)
    /// The provider's credential proves nothing.
    case invalidCredential(InvalidCredential)
    /// The browser cannot be sent back to this address.
    case invalidContinueURI
    /// The project does not authorize redirects to this host.
    case unauthorizedDomain
    /// The parameters for a provider's page do not fit into a URL.
    case parametersTooLong
    /// A custom parameter of the consent page that Concord itself sets, by name.
    case reservedParameter(String)
    case tenantMismatch
    case invalidEmail
    case invalidPhoneNumber
    case secondFactor(SecondFactorDenial)
    case claimsTooLarge
    case invalidClaims
    /// A claim has a name that only the service may set.
    case forbiddenClaim(String)
    /// `reason` is for developers. It quotes nothing that was sent.
    case invalidCustomToken(reason: String)
    /// The custom token belongs to another project.
    case credentialMismatch
    /// The custom token names no user.
    case missingIdentifier
    case passwordPolicy(missing: [PasswordPolicy.Requirement])
    /// The password is shorter than the project requires.
    case weakPassword(lengthMin: Int)
    /// The password is one of the first that attackers guess.
    case commonPassword
    /// The password is longer than `WeakPassword.lengthMax`.
    case passwordTooLong
    /// The project's limits allow no more of these rows for now.
    case limitReached(LimitedResource)
}

extension AccountOperations {
    /// Counts a rule's refusal and returns it. Every refusal leaves the operations through here, once.
    func refused(_ denial: Denial, by rule: Rule) -> Denial {
        metrics.decided(rule)
        return denial
    }

    func refused(_ refusal: Verdict<Refusal>) -> Denial { refused(.refusal(refusal.decision), by: refusal.rule) }

    func refused(_ refusal: Verdict<ConflictRefusal>) -> Denial {
        refused(.conflict(refusal.decision), by: refusal.rule)
    }

    func refused(_ refusal: Verdict<EmailCodeRefusal>) -> Denial {
        refused(Denial(refusal.decision), by: refusal.rule)
    }

    /// The fact that a request names.
    /// - Throws: the refusal of the rule if there is none.
    func fact<Fact>(_ lookup: Lookup<Fact, Refusal>) throws(Denial) -> Fact {
        switch lookup {
        case .found(let fact): return fact
        case .refused(let refusal): throw refused(refusal)
        }
    }

    /// The fact about a mailed code.
    /// - Throws: the refusal of the rule if there is none.
    func fact<Fact>(_ lookup: Lookup<Fact, EmailCodeRefusal>) throws(Denial) -> Fact {
        switch lookup {
        case .found(let fact): return fact
        case .refused(let refusal): throw refused(refusal)
        }
    }

    /// The fact that a request about a conflict names.
    /// - Throws: the refusal of the rule if there is none.
    func fact<Fact>(_ lookup: Lookup<Fact, ConflictRefusal>) throws(Denial) -> Fact {
        switch lookup {
        case .found(let fact): return fact
        case .refused(let refusal): throw refused(refusal)
        }
    }
}
