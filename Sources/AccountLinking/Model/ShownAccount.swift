/// The account as answers and exports show it, so that its form is defined once.
package struct ShownAccount: Sendable {
    /// The account's own address.
    package struct Email: Sendable {
        /// In lower case (`EmailAddress.lowercased`).
        package var address: String
        package var isVerified: Bool

        package init(address: String, isVerified: Bool) {
            self.address = address
            self.isVerified = isVerified
        }
    }

    /// A linked identity.
    package struct Provider: Sendable {
        package var id: String
        package var subject: String
        /// In lower case.
        package var email: String?
        package var displayName: String?
        package var photoURL: String?
        package var screenName: String?

        package init(
            id: String,
            subject: String,
            email: String?,
            displayName: String?,
            photoURL: String?,
            screenName: String?
        ) {
            self.id = id
            self.subject = subject
            self.email = email
            self.displayName = displayName
            self.photoURL = photoURL
            self.screenName = screenName
        }
    }

    package var tenant: TenantID
    package var id: String
    package var email: Email?
    package var initialEmail: String?
    package var phoneNumber: String?
    package var profile = Profile()
    package var isDisabled = false
    package var usesCustomTokens = false
    package var customAttributes: String?
    package var validSince: Timestamp
    package var createdAt: Timestamp
    package var lastLoginAt: Timestamp?
    package var lastRefreshAt: Timestamp?
    /// Time of the last password change; `nil` without a password.
    package var passwordUpdatedAt: Timestamp?
    package var hasEmailLink = false
    /// Sorted by id.
    package var providers: [Provider] = []
    package var secondFactors: [SecondFactor] = []

    /// An account without any optional field.
    package init(tenant: TenantID, id: String, validSince: Timestamp, createdAt: Timestamp) {
        self.tenant = tenant
        self.id = id
        self.validSince = validSince
        self.createdAt = createdAt
    }
}

extension ShownAccount {
    package init(_ user: UserRecord) {
        self.init(
            tenant: user.tenant,
            id: user.id.rawValue,
            validSince: user.validSince,
            createdAt: user.createdAt
        )
        email = user.email.map { Email(address: $0.address.lowercased, isVerified: $0.isVerified) }
        initialEmail = user.initialEmail
        phoneNumber = user.phoneNumber?.rawValue
        profile = user.profile
        isDisabled = user.isDisabled
        usesCustomTokens = user.usesCustomTokens
        customAttributes = user.customAttributes
        lastLoginAt = user.lastLoginAt
        lastRefreshAt = user.lastRefreshAt
        passwordUpdatedAt = user.passwordUpdatedAt
        hasEmailLink = user.methodProofs[.emailLink] != nil
        secondFactors = user.secondFactors
        providers = user.linkedProviders.sorted { $0.key < $1.key }.map { id, linked in
            Provider(
                id: id.rawValue,
                subject: linked.identity.subject,
                email: linked.email?.lowercased,
                displayName: linked.displayName,
                photoURL: linked.photoURL,
                screenName: linked.screenName
            )
        }
    }
}
