/// The decision about a sign-in, sign-up or link.
package enum SignInDecision: Sendable, Hashable {
    /// Create an account: the change is applied to a blank one. The answer says `isNewUser`.
    case createUser(AccountChange)
    /// Issue tokens for the account after the change, which can be empty.
    ///
    /// - `emailWasRecycled`: the provider gave the address to another of its users (`emailRecycled` on the wire).
    case signIn(UserID, AccountChange, emailWasRecycled: Bool)
    /// The account's second factor is required first. Nothing about the account is written (ADR 0047).
    case secondFactorRequired(UserID)
    /// Only store the credential as pending.
    case conflict(Conflict)
    case refuse(Refusal)
}

/// The decision about a change of an existing account.
package enum UpdateDecision: Sendable, Hashable {
    /// - `issuesTokens`: the answer carries a new session, because the change ended that of the request.
    case apply(UserID, AccountChange, issuesTokens: Bool)
    /// Change both accounts at once: the first takes an address from the second. No tokens are issued.
    case takeAddress(UserID, AccountChange, from: UserID, AccountChange)
    /// Succeed without a write.
    case unchanged(UserID)
    case refuse(Refusal)
}

/// The decision about an account that an administrator creates. No tokens are issued.
package enum CreationDecision: Sendable, Hashable {
    /// The change is applied to a blank account.
    case create(AccountChange)
    case refuse(Refusal)
}

package enum DeletionDecision: Sendable, Hashable {
    case delete(UserID)
    case refuse(Refusal)
}

/// The decision about a token that verified cryptographically.
package enum AccessDecision: Sendable, Hashable {
    case allow(UserID)
    case refuse(Refusal)
}

/// The decision about the use of a pending credential. One answer for every refusal, so that an anonymous caller learns
/// nothing.
package enum PendingCredentialDecision: Sendable, Hashable {
    case usable
    case invalid
}
