/// The account as answers and exports show it, so that its form is defined once. `Text` is a string of a record, or
/// bytes of a stored row.
package struct ShownAccount<Text> {
    /// The account's own address.
    package struct Email {
        /// In lower case (`EmailAddress.lowercased`).
        package var address: String
        package var isVerified: Bool

        @inlinable
        package init(address: String, isVerified: Bool) {
            self.address = address
            self.isVerified = isVerified
        }
    }

    /// A linked identity.
    package struct Provider {
        package var id: Text
        package var subject: Text
        /// In lower case.
        package var email: String?
        package var displayName: Text?
        package var photoURL: Text?
        package var screenName: Text?

        // Inlinable, as below: another target cannot specialize code that it does not see.
        @inlinable
        package init(
            id: Text,
            subject: Text,
            email: String?,
            displayName: Text?,
            photoURL: Text?,
            screenName: Text?
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
    package var id: Text
    package var email: Email?
    package var initialEmail: Text?
    package var phoneNumber: Text?
    package var displayName: Text?
    package var photoURL: Text?
    package var screenName: Text?
    package var language: Text?
    package var timeZone: Text?
    package var dateOfBirth: Text?
    package var isDisabled = false
    package var usesCustomTokens = false
    package var customAttributes: Text?
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
    @inlinable
    package init(tenant: TenantID, id: Text, validSince: Timestamp, createdAt: Timestamp) {
        self.tenant = tenant
        self.id = id
        self.validSince = validSince
        self.createdAt = createdAt
    }
}

extension ShownAccount<String> {
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
        displayName = user.profile.displayName
        photoURL = user.profile.photoURL
        screenName = user.profile.screenName
        language = user.profile.language
        timeZone = user.profile.timeZone
        dateOfBirth = user.profile.dateOfBirth
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
