/// The subject of a conflict (docs/reference/decisions.md).
package enum ConflictKind: String, Sendable, Hashable, CaseIterable {
    /// I11: the address a provider names belongs to an account that nothing ties to the provider's user.
    case accountExistsWithDifferentCredential = "account-exists-with-different-credential"
    /// L1, L8: the identity belongs to another account, or the account has another one of the provider.
    case credentialAlreadyInUse = "credential-already-in-use"
    /// L3: the address belongs to an account other than the one being linked to.
    case emailAlreadyInUse = "email-already-in-use"
}

/// What decisions read about a conflict: a credential that was set aside until the owner of the account it concerns has
/// shown who they are.
package struct ConflictFacts: Sendable, Hashable, Codable {
    /// Where a conflict stands in its life. That it has expired follows from the time and is not stored.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case open
        /// The owner of the account has shown who they are; the credential waits to be used.
        case proven
        /// The credential was used by a sign-in or link that succeeded.
        case resolved
        /// Somebody who held the handle turned it down.
        case declined
        /// The account changed hands meanwhile, and the conflict is void.
        case superseded

        /// Whether its credential may still be used.
        package var isLive: Bool { self == .open || self == .proven }
    }

    package var state: State
    package var expiresAt: Timestamp
    package var tenant: TenantID
    /// The account the conflict concerns.
    package var account: UserID
    /// The proof that is under way or was given; `nil` before the first was asked for.
    package var proof: ConflictProofFacts?

    package init(
        state: State,
        expiresAt: Timestamp,
        tenant: TenantID,
        account: UserID,
        proof: ConflictProofFacts? = nil
    ) {
        self.state = state
        self.expiresAt = expiresAt
        self.tenant = tenant
        self.account = account
        self.proof = proof
    }
}

extension ConflictFacts {
    /// A conflict's state as people see it: one whose time is over is expired, and no longer open or proven.
    package enum ShownState: String, Sendable, Hashable, CaseIterable {
        case open
        case proven
        case resolved
        case declined
        case superseded
        case expired
    }

    package func shownState(at now: Timestamp) -> ShownState {
        switch state {
        case .open: expiresAt <= now ? .expired : .open
        case .proven: expiresAt <= now ? .expired : .proven
        case .resolved: .resolved
        case .declined: .declined
        case .superseded: .superseded
        }
    }
}

/// How the owner of an account shows who they are, to settle a conflict.
package enum ConflictProofKind: String, Sendable, Hashable, CaseIterable {
    /// By what was mailed to the account's address: a link, or a short code to be typed in.
    case mailbox
    /// By signing in with a method the account has.
    case session
}

/// What a proof holds for. It is worth nothing for another conflict, which is another row, or once any of this is
/// otherwise than when it was asked for.
package struct ProofBinding: Sendable, Hashable, Codable {
    package var kind: ConflictProofKind
    /// Raised by whatever ends the account's sessions, a change of hands among them.
    package var sessionEpoch: Int64
    /// The version of the project's configuration, which holds the policy.
    package var policyVersion: Int64
    /// The address whose mailbox was written to; `nil` for proofs of another kind.
    package var address: EmailAddress?

    private enum CodingKeys: String, CodingKey {
        case kind, sessionEpoch, policyVersion
        case address = "email"
    }

    package init(kind: ConflictProofKind, sessionEpoch: Int64, policyVersion: Int64, address: EmailAddress?) {
        self.kind = kind
        self.sessionEpoch = sessionEpoch
        self.policyVersion = policyVersion
        self.address = address
    }

    /// What a proof of `kind` would be bound to now.
    package init(_ kind: ConflictProofKind, of account: Account, policyVersion: Int64) {
        self.init(
            kind: kind,
            sessionEpoch: account.sessionEpoch,
            policyVersion: policyVersion,
            address: kind == .mailbox ? account.email?.address : nil
        )
    }
}

/// The proof of a conflict as it stands.
package struct ConflictProofFacts: Sendable, Hashable, Codable {
    package var binding: ProofBinding
    /// Wrong answers so far.
    package var attempts: Int
    package var expiresAt: Timestamp

    private enum CodingKeys: String, CodingKey {
        case binding = "+binding"
        case attempts, expiresAt
    }

    package init(binding: ProofBinding, attempts: Int, expiresAt: Timestamp) {
        self.binding = binding
        self.attempts = attempts
        self.expiresAt = expiresAt
    }

    /// Number of wrong answers to one proof before the proof is dead.
    package static let attemptsMax = 5
    /// Proofs that one conflict may ask for: each sends a mail.
    package static let startsMax = 5
}

/// Why nothing can be done with a conflict now.
package enum ConflictRefusal: Sendable, Hashable {
    /// No such conflict, or one of another tenant: one answer, from which a stranger learns nothing.
    case unknown
    case closed(ConflictFacts.State)
    case expired
    /// Nobody has shown to be the owner of the account, or somebody else has.
    case unproven
    case wrongAnswer
    case tooManyAttempts
    /// The account was sent as many mails as an hour allows; `waitSeconds` from now the next may be asked for.
    case tooManyMails(waitSeconds: Int64)
    case proofExpired
    /// The account or the policy is not what it was when the proof was asked for.
    case proofStale
    case refused(Refusal)
    case secondFactorRequired
    /// The account has another identity of this provider.
    case providerAlreadyLinked
    /// Policy does not let a proof of this kind settle it.
    case proofNotOffered
}
