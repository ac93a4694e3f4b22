/// All stored data of one account, loaded together: the facts that decisions read, and the data that answers show.
///
/// To change an account, compute its new record and save the difference under the version that was read
/// (`AccountStore.apply`).
package struct UserRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var id: UserID
    /// The version that was read. Saving fails if the database has another.
    package var version: Int64
    package var sessionEpoch: Int64
    package var email: AccountEmail?
    package var emailProvenAt: Timestamp?
    /// The account's first address, as typed; set once (`initialEmail` on the wire). A takeover deletes it.
    package var initialEmail: String?
    package var phoneNumber: PhoneNumber?
    /// A number that no longer signs in, stored as unproven data (rule R4).
    package var unprovenPhoneNumber: PhoneNumber?
    package var profile: Profile
    package var isDisabled: Bool
    package var usesCustomTokens: Bool
    /// The text of a JSON object, at most 1,000 characters, set by an administrator. `noClaims` after an administrator
    /// has cleared it.
    package var customAttributes: String?
    /// Tokens issued earlier are revoked. Whole seconds on the wire.
    package var validSince: Timestamp
    /// Last time at which some sessions ended and others stayed; `nil`: never. Until ID tokens from before expire, each
    /// is valid only while its session exists.
    package var sessionEndedAt: Timestamp?
    package var createdAt: Timestamp
    /// Written later; a crash can lose the last second.
    package var lastLoginAt: Timestamp?
    /// Written later; a crash can lose the last second.
    package var lastRefreshAt: Timestamp?
    /// Time of the last password change; `nil` without a password.
    package var passwordUpdatedAt: Timestamp?
    package var linkedProviders: [ProviderID: LinkedProvider]
    /// Proof of each sign-in method.
    package var methodProofs: [SignInMethod: MethodProof]
    /// In display order, at most `SecondFactor.countMax`.
    package var secondFactors: [SecondFactor]

    /// `customAttributes` of an account whose claims were cleared.
    package static let noClaims = "{}"

    /// `customAttributes`; `nil` if they are empty.
    package var claims: String? { customAttributes == Self.noClaims ? nil : customAttributes }

    /// The profile of one linked identity. Its e-mail owns nothing.
    package struct LinkedProvider: Sendable, Hashable {
        package var identity: ProviderIdentity
        /// The issuer that linked it, if the provider has one.
        package var issuer: String?
        package var email: EmailAddress?
        package var displayName: String?
        package var photoURL: String?
        package var screenName: String?
        package var linkedAt: Timestamp
        package var updatedAt: Timestamp

        package init(
            identity: ProviderIdentity,
            issuer: String?,
            email: EmailAddress?,
            displayName: String?,
            photoURL: String?,
            screenName: String?,
            linkedAt: Timestamp,
            updatedAt: Timestamp
        ) {
            self.identity = identity
            self.issuer = issuer
            self.email = email
            self.displayName = displayName
            self.photoURL = photoURL
            self.screenName = screenName
            self.linkedAt = linkedAt
            self.updatedAt = updatedAt
        }
    }

    package struct MethodProof: Sendable, Hashable {
        package var proof: Proof
        package var provenAt: Timestamp

        package init(proof: Proof, provenAt: Timestamp) {
            self.proof = proof
            self.provenAt = provenAt
        }
    }

    /// Evidence by which a method was added.
    package enum Proof: String, Sendable, Hashable, CaseIterable {
        /// Chosen at sign-up; does not prove the address.
        case signUp = "sign-up"
        /// Added within a session.
        case session
        /// A message sent to the address or number was answered.
        case message
        /// A credential of the provider was verified.
        case providerCredential = "provider-credential"
        case administrator
        case imported
    }

    /// A new, empty account.
    ///
    /// `sessionEpoch`: random, so that tokens of an earlier account with the same id stay invalid.
    package init(tenant: TenantID, id: UserID, sessionEpoch: Int64, createdAt: Timestamp) {
        self.tenant = tenant
        self.id = id
        self.version = 1
        self.sessionEpoch = sessionEpoch
        self.profile = Profile()
        self.isDisabled = false
        self.usesCustomTokens = false
        self.validSince = Timestamp(secondsSinceEpoch: createdAt.secondsSinceEpoch)
        self.createdAt = createdAt
        self.linkedProviders = [:]
        self.methodProofs = [:]
        self.secondFactors = []
    }

    /// The facts that decisions read.
    package var account: Account {
        Account(
            id: id,
            version: version,
            sessionEpoch: sessionEpoch,
            isDisabled: isDisabled,
            email: email,
            hasInitialEmail: initialEmail != nil,
            hasPassword: passwordUpdatedAt != nil,
            hasEmailLink: methodProofs[.emailLink] != nil,
            phoneNumber: phoneNumber,
            linkedProviders: LinkedSubjects(linkedProviders.values.lazy.map { ($0.identity, $0.issuer) }),
            hasSecondFactor: !secondFactors.isEmpty,
            usesCustomTokens: usesCustomTokens
        )
    }
}
