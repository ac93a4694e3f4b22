/// Everything stored about one account, loaded together: the facts decisions read, and the data answers show.
///
/// A value: a change is made by computing the record that should be and saving the difference under the version that
/// was read (`AccountStore.apply`).
package struct UserRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var id: UserID
    /// The version that was read; saving expects the database still to hold it.
    package var version: Int64
    package var sessionEpoch: Int64
    package var email: AccountEmail?
    package var emailProvenAt: Timestamp?
    /// The address before its first change, as it was written; set once (`initialEmail` on the wire), and forgotten when
    /// the account's owner takes it over from somebody else.
    package var initialEmail: String?
    package var phoneNumber: PhoneNumber?
    /// A number that no longer signs in, stored as unproven data (rule R4).
    package var unprovenPhoneNumber: PhoneNumber?
    package var profile: Profile
    package var isDisabled: Bool
    package var usesCustomTokens: Bool
    /// The text of a JSON object, at most 1,000 characters, as the administrator gave it. `noClaims` once an administrator
    /// has cleared them.
    package var customAttributes: String?
    /// Tokens issued earlier are revoked. Whole seconds on the wire.
    package var validSince: Timestamp
    /// When sessions of the account were last ended that others outlived; `nil`: never. Until the ID tokens from before
    /// have expired, each is good only while its session is there.
    package var sessionEndedAt: Timestamp?
    package var createdAt: Timestamp
    /// Written behind; may lose the last second in a crash.
    package var lastLoginAt: Timestamp?
    /// Written behind; may lose the last second in a crash.
    package var lastRefreshAt: Timestamp?
    /// When the password was last set; `nil` when there is none.
    package var passwordUpdatedAt: Timestamp?
    package var linkedProviders: [ProviderID: LinkedProvider]
    /// How each way in was proven, by method.
    package var methodProofs: [SignInMethod: MethodProof]
    /// In the order in which they are shown, at most `SecondFactor.countMax`.
    package var secondFactors: [SecondFactor]

    /// `customAttributes` of an account whose claims were cleared.
    package static let noClaims = "{}"

    /// `customAttributes`, unless there are none in it.
    package var claims: String? { customAttributes == Self.noClaims ? nil : customAttributes }

    /// The profile of one linked identity. An e-mail in here owns nothing.
    package struct LinkedProvider: Sendable, Hashable {
        package var identity: ProviderIdentity
        /// The issuer whose word linked it, where the provider has one.
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

    /// How and when a method was proven.
    package struct MethodProof: Sendable, Hashable {
        package var proof: Proof
        package var provenAt: Timestamp

        package init(proof: Proof, provenAt: Timestamp) {
            self.proof = proof
            self.provenAt = provenAt
        }
    }

    /// What stood behind a method when it was added.
    package enum Proof: String, Sendable, Hashable, CaseIterable {
        /// Chosen at sign-up; says nothing about the address.
        case signUp = "sign-up"
        /// Added within a signed-in session.
        case session
        /// A message sent to the address or number came back.
        case message
        /// A credential of the provider was verified.
        case providerCredential = "provider-credential"
        case administrator
        case imported
    }

    /// A new account without anything in it.
    ///
    /// `sessionEpoch`: random, so that nothing issued to an earlier account of the same id revives.
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

    /// The facts decisions read.
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
