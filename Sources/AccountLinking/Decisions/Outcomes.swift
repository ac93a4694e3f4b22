/// What a decision that may end in tokens says.
package enum SignInDecision: Sendable, Hashable {
    /// A new account: the change applied to a blank one. The answer says `isNewUser`.
    case createUser(AccountChange)
    /// Tokens for the account once the change is applied; the change may be empty.
    ///
    /// `emailWasRecycled`: the provider gave the address to another of its users (`emailRecycled` on the wire).
    case signIn(UserID, AccountChange, emailWasRecycled: Bool)
    /// The account asks for its second factor first. Nothing about the account is written (ADR 0047).
    case secondFactorRequired(UserID)
    /// The credential is kept as pending; nothing else happens.
    case conflict(Conflict)
    case refuse(Refusal)
}

/// What a decision about an existing account says.
package enum UpdateDecision: Sendable, Hashable {
    /// `issuesTokens`: the answer carries a new session, because the change ended the one that asked for it.
    case apply(UserID, AccountChange, issuesTokens: Bool)
    /// The first account takes an address from the second: both changes, at once. No tokens are issued.
    case takeAddress(UserID, AccountChange, from: UserID, AccountChange)
    /// Success that writes nothing.
    case unchanged(UserID)
    case refuse(Refusal)
}

/// What a decision about a new account made by an administrator says. No tokens are issued.
package enum CreationDecision: Sendable, Hashable {
    /// The change applied to a blank account.
    case create(AccountChange)
    case refuse(Refusal)
}

/// Whether an account is deleted.
package enum DeletionDecision: Sendable, Hashable {
    case delete(UserID)
    case refuse(Refusal)
}

/// Whether a token that verified cryptographically still stands for its account.
package enum AccessDecision: Sendable, Hashable {
    case allow(UserID)
    case refuse(Refusal)
}

/// Whether a pending credential may be used. `invalid` is one answer on purpose: a stranger learns nothing from it.
package enum PendingCredentialDecision: Sendable, Hashable {
    case usable
    case invalid
}
