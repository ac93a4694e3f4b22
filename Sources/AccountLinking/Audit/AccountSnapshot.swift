/// Everything that an audit reads of one account, as of one instant of the database.
///
/// It includes contradictions, because an audit must find them. Rows may name an account that does not exist, and
/// columns may hold values that no version of Concord writes.
package struct AccountSnapshot: Sendable {
    /// One row of `linked_providers`.
    package struct LinkedProvider: Sendable, Hashable {
        package var identity: ProviderIdentity
        package var issuer: String?
        package var email: EmailAddress?
        package var linkedAt: Timestamp

        package init(identity: ProviderIdentity, issuer: String?, email: EmailAddress?, linkedAt: Timestamp) {
            self.identity = identity
            self.issuer = issuer
            self.email = email
            self.linkedAt = linkedAt
        }
    }

    /// The sessions of one epoch that began with the same sign-in method.
    package struct Sessions: Sendable, Hashable {
        package var epoch: Int64
        /// `sign_in_provider` of their tokens.
        package var signInProvider: String
        package var count: Int64
        package var lastAuthTime: Timestamp

        package init(epoch: Int64, signInProvider: String, count: Int64, lastAuthTime: Timestamp) {
            self.epoch = epoch
            self.signInProvider = signInProvider
            self.count = count
            self.lastAuthTime = lastAuthTime
        }
    }

    /// The mailed codes of one kind.
    package struct Codes: Sendable, Hashable {
        package var kind: EmailCodeRecord.Kind
        package var count: Int64
        /// When the oldest unused code was made; `nil` if all were used.
        package var waitingSince: Timestamp?
        package var firstExpiry: Timestamp

        package init(kind: EmailCodeRecord.Kind, count: Int64, waitingSince: Timestamp?, firstExpiry: Timestamp) {
            self.kind = kind
            self.count = count
            self.waitingSince = waitingSince
            self.firstExpiry = firstExpiry
        }
    }

    /// The conflicts of one kind about one provider.
    package struct Conflicts: Sendable, Hashable {
        package var kind: ConflictKind
        package var provider: ProviderID
        package var count: Int64
        /// Number of conflicts that can still be resolved.
        package var liveCount: Int64
        /// Number of conflicts that were not resolved by linking, so that their owner is not proven.
        package var unresolvedCount: Int64
        /// The time of the last conflict that was not resolved by linking; `nil` if there is none.
        package var lastOpenedAt: Timestamp?
        package var firstExpiry: Timestamp

        package init(
            kind: ConflictKind,
            provider: ProviderID,
            count: Int64,
            liveCount: Int64,
            unresolvedCount: Int64,
            lastOpenedAt: Timestamp?,
            firstExpiry: Timestamp
        ) {
            self.kind = kind
            self.provider = provider
            self.count = count
            self.liveCount = liveCount
            self.unresolvedCount = unresolvedCount
            self.lastOpenedAt = lastOpenedAt
            self.firstExpiry = firstExpiry
        }
    }

    package var tenant: TenantID
    package var id: UserID
    /// The facts that decisions read; `nil` if rows name an account that does not exist.
    package var account: Account?
    package var emailProvenAt: Timestamp?
    package var unprovenPhoneNumber: PhoneNumber?
    /// When its sessions were last ended, if ever.
    package var validSince: Timestamp
    package var createdAt: Timestamp
    package var lastLoginAt: Timestamp?
    package var passwordUpdatedAt: Timestamp?
    /// The beginning of the password's hash, with its algorithm and parameters.
    package var passwordScheme: String?
    package var linkedProviders: [LinkedProvider]
    package var methodProofs: [SignInMethod: UserRecord.MethodProof]
    /// The numbers of second factors.
    package var secondFactorNumbers: [PhoneNumber]
    package var sessions: [Sessions]
    package var codes: [Codes]
    package var conflicts: [Conflicts]
    /// The identifiers that the account has but that are not reserved for it.
    package var unclaimed: [Unclaimed]
    /// Stored claims of this account that may be for identifiers it does not have.
    package var orphanedIdentifiers: [OrphanedIdentifier]
    /// The columns with unreadable values.
    package var unreadable: [String]

    /// An identifier that an account has, but that is reserved for another account or for none.
    package struct Unclaimed: Sendable, Hashable {
        package var identifier: Identifier
        package var owner: UserID?

        package init(identifier: Identifier, owner: UserID?) {
            self.identifier = identifier
            self.owner = owner
        }
    }

    /// A row of `identifiers` that may belong to no account.
    package struct OrphanedIdentifier: Sendable, Hashable {
        package var kind: String
        package var value: String

        package init(kind: String, value: String) {
            self.kind = kind
            self.value = value
        }
    }

    /// An empty snapshot: no row was read yet.
    package init(tenant: TenantID, id: UserID, createdAt: Timestamp = Timestamp(secondsSinceEpoch: 0)) {
        self.tenant = tenant
        self.id = id
        self.createdAt = createdAt
        validSince = createdAt
        linkedProviders = []
        methodProofs = [:]
        secondFactorNumbers = []
        sessions = []
        codes = []
        conflicts = []
        unclaimed = []
        orphanedIdentifiers = []
        unreadable = []
    }

    /// Adds the linked providers to the account, if it exists.
    package mutating func linkAccount() {
        account?.linkedProviders = LinkedSubjects(linkedProviders.lazy.map { ($0.identity, $0.issuer) })
    }

    /// The last known use: a sign-in, or the creation.
    package var lastUsedAt: Timestamp { max(lastLoginAt ?? createdAt, createdAt) }
}
