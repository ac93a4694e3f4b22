/// The kind of a conflict (docs/reference/decisions.md).
package enum ConflictKind: String, Sendable, Hashable, CaseIterable {
    /// I11, I16: the provider names the address of an account that its user has not shown to own.
    case accountExistsWithDifferentCredential = "account-exists-with-different-credential"
    /// L1, L8: the identity belongs to another account, or the account has another subject of the provider.
    case credentialAlreadyInUse = "credential-already-in-use"
    /// L3: the address belongs to another account than the one to link to.
    case emailAlreadyInUse = "email-already-in-use"
}

/// The facts of a conflict that decisions read. A conflict holds a credential until the owner of an account proves the
/// account.
package struct ConflictFacts: Sendable, Hashable, Codable {
    /// The stored state of a conflict. Expiry follows from the time and is not stored.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case open
        /// The owner has proven the account; the credential can be used.
        case proven
        /// A sign-in or a link used the credential.
        case resolved
        /// The handle's holder or an administrator declined it.
        case declined
        /// Void since a change of the account, such as a takeover.
        case superseded

        /// True while the credential may be used.
        package var isLive: Bool { self == .open || self == .proven }
    }

    package var state: State
    package var expiresAt: Timestamp
    package var tenant: TenantID
    /// The account that the conflict is about.
    package var account: UserID
    /// The latest proof, pending or given; `nil` before the first is requested.
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
    /// The state that people see. An open or proven conflict whose time is over is expired.
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

/// The kind of proof that settles a conflict.
package enum ConflictProofKind: String, Sendable, Hashable, CaseIterable {
    /// A link or short code from a mail to the account's address.
    case mailbox
    /// A sign-in with a method of the account.
    case session
}

/// Values that a proof is bound to. The proof is void for another conflict, and once one of these values changes.
package struct ProofBinding: Sendable, Hashable, Codable {
    package var kind: ConflictProofKind
    /// Raised by every operation that ends all sessions, takeovers included.
    package var sessionEpoch: Int64
    /// Version of the project's configuration, which contains the policy.
    package var policyVersion: Int64
    /// The mailed address; `nil` for other kinds of proof.
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

    /// The binding of a proof of `kind` that is requested now.
    package init(_ kind: ConflictProofKind, of account: Account, policyVersion: Int64) {
        self.init(
            kind: kind,
            sessionEpoch: account.sessionEpoch,
            policyVersion: policyVersion,
            address: kind == .mailbox ? account.email?.address : nil
        )
    }
}

/// The current proof of a conflict.
package struct ConflictProofFacts: Sendable, Hashable, Codable {
    package var binding: ProofBinding
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

    /// Number of wrong answers before a proof is dead.
    package static let attemptsMax = 5
    /// Number of proofs for one conflict. Each sends a mail.
    package static let startsMax = 5
}

/// The reason why a conflict cannot be used.
package enum ConflictRefusal: Sendable, Hashable {
    /// No such conflict, or one of another tenant. One answer for both reveals nothing to anonymous callers.
    case unknown
    case closed(ConflictFacts.State)
    case expired
    /// The account is not proven, or not by the caller.
    case unproven
    case wrongAnswer
    case tooManyAttempts
    /// The account was sent the maximum of mails within an hour. The next is possible in `waitSeconds`.
    case tooManyMails(waitSeconds: Int64)
    case proofExpired
    /// The account or the policy has changed since the proof was requested.
    case proofStale
    case refused(Refusal)
    case secondFactorRequired
    /// The account has another subject of this provider.
    case providerAlreadyLinked
    /// Policy does not accept this kind of proof for the conflict.
    case proofNotOffered
}
