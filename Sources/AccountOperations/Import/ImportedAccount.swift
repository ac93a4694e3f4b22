package import AccountLinking

/// One account of an import, as sent and not yet validated.
package struct ImportedAccount: Sendable {
    package enum Password: Sendable {
        case hash([UInt8], salt: [UInt8])
        case plain(String)
    }

    package struct Identity: Sendable {
        package var provider: String?
        package var subject: String?
        package var email: String?
        package var displayName: String?
        package var photoURL: String?
        package var screenName: String?

        package init(provider: String?, subject: String?) {
            self.provider = provider
            self.subject = subject
        }
    }

    package struct Factor: Sendable {
        package enum Method: Sendable {
            case phone(String)
            case totp
            case unknown
        }

        package var id: String?
        package var method: Method
        package var displayName: String?
        package var enrolledAt: Timestamp?

        package init(id: String?, method: Method) {
            self.id = id
            self.method = method
        }
    }

    package var id: String?
    package var tenant: String?
    package var email: String?
    package var isEmailVerified = false
    package var profile = Profile()
    package var phoneNumber: String?
    package var isDisabled = false
    package var password: Password?
    package var customAttributes: String?
    package var createdAt: Timestamp?
    package var lastLoginAt: Timestamp?
    package var lastRefreshAt: Timestamp?
    package var validSince: Timestamp?
    package var passwordUpdatedAt: Timestamp?
    package var initialEmail: String?
    package var usesCustomTokens: Bool?
    package var hasEmailLink: Bool?
    package var identities: [Identity] = []
    package var secondFactors: [Factor] = []
    /// Name on the wire of a field with a value that cannot be parsed.
    package var unusableField: String?

    package init() {}
}

extension ImportedAccount {
    /// The account without pictures that have no web URL. An invalid picture does not refuse the row.
    fileprivate var withoutForeignPictures: ImportedAccount {
        func kept(_ address: String?) -> String? { address.flatMap { Profile.isPhotoURL($0) ? $0 : nil } }
        var account = self
        account.profile.photoURL = kept(profile.photoURL)
        for index in account.identities.indices {
            account.identities[index].photoURL = kept(identities[index].photoURL)
        }
        return account
    }
}

/// A parsed row, in the model's types.
struct ImportCandidate: Sendable {
    struct Factor: Sendable, Hashable {
        var id: SecondFactorID?
        var method: SecondFactor.Method
        var displayName: String?
        var enrolledAt: Timestamp?
    }

    var account: ImportedAccount
    var id: UserID
    var email: EmailAddress?
    var phoneNumber: PhoneNumber?
    var identities: [(identity: ProviderIdentity, described: ImportedAccount.Identity)]
    var factors: [Factor]
    /// `nil` for no password, or for a plain one.
    var hash: PasswordHash?

    var facts: ImportedFacts {
        ImportedFacts(
            id: id,
            email: email,
            isEmailVerified: account.isEmailVerified,
            phoneNumber: phoneNumber,
            identities: identities.map(\.identity),
            hasSecondFactor: !factors.isEmpty
        )
    }

    var identifiers: [Identifier] {
        var identifiers = identities.map { Identifier.federated($0.identity) }
        if let email { identifiers.append(.email(email)) }
        if let phoneNumber { identifiers.append(.phone(phoneNumber)) }
        return identifiers
    }

    /// - Throws: the first mistake that is visible without the database, in the order of the checks below.
    init(
        reading account: ImportedAccount,
        tenant: TenantID,
        hashing: ImportedHashing?
    ) throws(ImportRefusal) {
        self.account = account.withoutForeignPictures
        guard let text = account.id, !text.isEmpty else { throw .missingLocalID }
        guard let id = UserID(text) else { throw .invalidLocalID }
        self.id = id
        if let given = account.tenant, !given.isEmpty, given != tenant.rawValue { throw .tenantMismatch }
        if let field = account.unusableField { throw .unusableField(field) }
        switch account.customAttributes.flatMap(CustomClaims.defect) {
        case nil: break
        case .tooLarge: throw .claimsTooLarge
        case .notAnObject: throw .invalidClaims
        case .reservedName: throw .reservedClaim
        }
        identities = try Self.identities(self.account.identities)
        phoneNumber = try Self.given(account.phoneNumber, PhoneNumber.init, or: .invalidPhoneNumber)
        email = try Self.given(account.email, EmailAddress.init, or: .invalidEmail)
        factors = try Self.factors(account.secondFactors)
        try Self.bound(self.account)
        hash = try Self.hash(account.password, hashing)
    }

    /// Returns `nil` for absent or empty text.
    private static func given<Value>(
        _ text: String?,
        _ parse: (String) -> Value?,
        or refusal: ImportRefusal
    ) throws(ImportRefusal) -> Value? {
        guard let text, !text.isEmpty else { return nil }
        guard let value = parse(text) else { throw refusal }
        return value
    }

    private static func identities(
        _ described: [ImportedAccount.Identity]
    ) throws(ImportRefusal) -> [(identity: ProviderIdentity, described: ImportedAccount.Identity)] {
        var identities: [(identity: ProviderIdentity, described: ImportedAccount.Identity)] = []
        for row in described {
            guard let provider = row.provider.flatMap(ProviderID.init) else { throw .incompleteIdentity }
            // Password and phone have no provider rows: the account's fields define them.
            if provider == .password || provider == .phone { continue }
            guard let subject = row.subject, let identity = ProviderIdentity(provider: provider, subject: subject)
            else {
                throw .incompleteIdentity
            }
            guard !identities.contains(where: { $0.identity.provider == provider }) else { throw .repeatedProvider }
            try bound("providerUserInfo.displayName", row.displayName, Profile.displayNameLengthMax)
            try bound("providerUserInfo.photoUrl", row.photoURL, Profile.photoURLLengthMax)
            try bound("providerUserInfo.screenName", row.screenName, Profile.displayNameLengthMax)
            identities.append((identity, row))
        }
        return identities
    }

    private static func factors(_ described: [ImportedAccount.Factor]) throws(ImportRefusal) -> [Factor] {
        var factors: [Factor] = []
        for row in described {
            let method: SecondFactor.Method
            switch row.method {
            case .unknown: throw .unsupportedSecondFactor
            case .totp: method = .totp
            case .phone(let text):
                guard let number = PhoneNumber(text) else { throw .invalidSecondFactorNumber }
                method = .phone(number)
            }
            let id = try given(row.id, SecondFactorID.init, or: .unusableField("mfaInfo.mfaEnrollmentId"))
            if let id, factors.contains(where: { $0.id == id }) { throw .repeatedSecondFactor }
            // The first of several factors with the same number counts.
            if method != .totp, factors.contains(where: { $0.method == method }) { continue }
            try bound("mfaInfo.displayName", row.displayName, Profile.displayNameLengthMax)
            factors.append(
                Factor(
                    id: id,
                    method: method,
                    displayName: row.displayName == "" ? nil : row.displayName,
                    enrolledAt: row.enrolledAt
                )
            )
            if factors.count > SecondFactor.countMax { throw .tooManySecondFactors }
        }
        return factors
    }

    /// The limits of the table's columns, with the field names of the wire.
    private static func bound(_ account: ImportedAccount) throws(ImportRefusal) {
        for field in ProfileField.allCases { try bound(field.name, account.profile[field], field.lengthMax) }
        if let initial = account.initialEmail, EmailAddress(initial) == nil { throw .unusableField("initialEmail") }
    }

    private static func bound(_ field: String, _ text: String?, _ lengthMax: Int) throws(ImportRefusal) {
        guard (text?.unicodeScalars.count ?? 0) <= lengthMax else { throw .unusableField(field) }
    }

    private static func hash(
        _ password: ImportedAccount.Password?,
        _ hashing: ImportedHashing?
    ) throws(ImportRefusal) -> PasswordHash? {
        switch password {
        case nil: return nil
        case .plain(let text):
            if WeakPassword.applies(to: text) { throw .weakPassword }
            return nil
        case .hash(let bytes, let salt):
            guard let hash = hashing?.stored(bytes, salt: salt) else { throw .invalidPasswordHash }
            return hash
        }
    }
}
