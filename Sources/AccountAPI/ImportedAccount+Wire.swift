package import AccountLinking
package import AccountOperations
package import JSON

extension ImportedAccount {
    /// A user of `accounts:batchCreate`, of an export of Concord or of the Firebase CLI, or of the emulator's, with the
    /// field names of all. A field of a wrong type makes only this row unusable.
    package init(json: [String: JSONValue]) {
        self.init(reading: RequestBody(members: json))
    }

    init(reading body: RequestBody) {
        self.init()
        var fields = ImportedFields(body)
        id = fields.string("localId")
        tenant = fields.string("tenantId")
        email = fields.string("email")
        isEmailVerified = fields.bool("emailVerified") ?? false
        for field in ProfileField.allCases { profile[field] = fields.string(field.name) }
        phoneNumber = fields.string("phoneNumber")
        isDisabled = fields.bool("disabled") ?? false
        customAttributes = fields.string("customAttributes")
        createdAt = fields.milliseconds("createdAt")
        lastLoginAt = fields.milliseconds("lastLoginAt") ?? fields.milliseconds("lastSignedInAt")
        lastRefreshAt = fields.instant("lastRefreshAt")
        validSince = fields.seconds("validSince")
        passwordUpdatedAt = fields.milliseconds("passwordUpdatedAt")
        initialEmail = fields.string("initialEmail")
        usesCustomTokens = fields.bool("customAuth")
        hasEmailLink = fields.bool("emailLinkSignin")
        password = fields.password()
        for row in fields.objects("providerUserInfo") {
            var row = ImportedFields(row)
            var identity = Identity(
                provider: row.string("providerId"),
                subject: row.string("rawId") ?? row.string("federatedId")
            )
            identity.email = row.string("email")
            identity.displayName = row.string("displayName")
            identity.photoURL = row.string("photoUrl")
            identity.screenName = row.string("screenName")
            identities.append(identity)
            fields.unusable = fields.unusable ?? row.unusable.map { "providerUserInfo.\($0)" }
        }
        for row in fields.objects("mfaInfo") {
            var row = ImportedFields(row)
            let number = row.string("phoneInfo")
            let isTOTP = row.isObject("totpInfo")
            var factor = Factor(
                id: row.string("mfaEnrollmentId"),
                method: number.map(Factor.Method.phone) ?? (isTOTP ? .totp : .unknown)
            )
            factor.displayName = row.string("displayName")
            factor.enrolledAt = row.instant("enrolledAt")
            secondFactors.append(factor)
            fields.unusable = fields.unusable ?? row.unusable.map { "mfaInfo.\($0)" }
        }
        unusableField = fields.unusable
    }
}

/// The fields of one row, read in turn, and the first unusable field.
private struct ImportedFields {
    private let body: RequestBody
    var unusable: String?

    init(_ body: RequestBody) {
        self.body = body
    }

    private mutating func read<Value>(
        _ name: String,
        _ value: (String) throws(APIError) -> Value?
    ) -> Value? {
        do throws(APIError) {
            return try value(name)
        } catch {
            unusable = unusable ?? name
            return nil
        }
    }

    /// The empty text counts as absent.
    mutating func string(_ name: String) -> String? { read(name, body.nonEmptyString) }

    mutating func bool(_ name: String) -> Bool? { read(name, body.bool) }

    mutating func objects(_ name: String) -> [RequestBody] { read(name, body.objects) ?? [] }

    mutating func isObject(_ name: String) -> Bool { read(name, body.object) != nil }

    /// The last second of the year 9999.
    private static let secondsMax: Int64 = 253_402_300_799

    private mutating func number(_ name: String, max: Int64) -> Int64? {
        guard let number = read(name, body.integer) else { return nil }
        guard (0...max).contains(number) else {
            unusable = unusable ?? name
            return nil
        }
        return number
    }

    mutating func seconds(_ name: String) -> Timestamp? {
        number(name, max: Self.secondsMax).map(Timestamp.init(secondsSinceEpoch:))
    }

    mutating func milliseconds(_ name: String) -> Timestamp? {
        number(name, max: Self.secondsMax * 1000).map(Timestamp.init(millisecondsSinceEpoch:))
    }

    mutating func instant(_ name: String) -> Timestamp? {
        guard let text = string(name) else { return nil }
        guard let instant = RFC3339.instant(text) else {
            unusable = unusable ?? name
            return nil
        }
        return instant
    }

    private mutating func bytes(_ name: String) -> [UInt8]? {
        guard let text = string(name) else { return nil }
        guard let bytes = Base64URL.decodeEitherAlphabet(text) else {
            unusable = unusable ?? name
            return nil
        }
        return bytes
    }

    /// The text that the emulator writes instead of hashes; no base64 has a colon.
    private static let fakeHash = "fakeHash:salt="

    mutating func password() -> ImportedAccount.Password? {
        if let text = string("rawPassword") { return .plain(text) }
        if let text = string("passwordHash"), text.hasPrefix(Self.fakeHash),
            let start = text.firstRange(of: ":password=")
        {
            return .plain(String(text[start.upperBound...]))
        }
        guard let hash = bytes("passwordHash") else { return nil }
        return .hash(hash, salt: bytes("salt") ?? [])
    }
}

extension ImportRefusal {
    /// The reason, as Admin SDKs show it.
    package var message: String {
        switch self {
        case .missingLocalID: "localId is missing"
        case .invalidLocalID: "localId must have 1 to 128 characters"
        case .tenantMismatch: "Tenant id in userInfo does not match the tenant id in request."
        case .invalidClaims: "Invalid custom claims provided."
        case .claimsTooLarge: "Custom claims provided are too large."
        case .reservedClaim: "Custom claims provided include a reserved claim."
        case .incompleteIdentity: "federatedId or (providerId & rawId) is required"
        case .repeatedProvider: "an account may have only one identity of each provider"
        case .invalidPhoneNumber: "phone number format is invalid"
        case .invalidEmail: "email is invalid"
        case .unsupportedSecondFactor: "Second factor not supported."
        case .invalidSecondFactorNumber: "Phone number format is invalid"
        case .repeatedSecondFactor: "Enrollment id already exists."
        case .tooManySecondFactors: "an account may have at most \(SecondFactor.countMax) second factors"
        case .unusableField(let name): "\(name) has the wrong type, is too long or is out of range"
        case .invalidPasswordHash: "passwordHash does not match the hash algorithm"
        case .weakPassword: "password must have \(WeakPassword.lengthMin) to \(WeakPassword.lengthMax) characters"
        case .repeatedLocalID: "localId occurs more than once"
        case .secondFactorNeedsEmail: "Second factor account requires email to be presented."
        case .secondFactorNeedsVerifiedEmail: "Second factor account requires email to be verified."
        case .identityTaken: "raw id exists in other account in database"
        case .phoneNumberTaken: "phone number exists in other account in database"
        case .emailTaken: "email exists in other account in database"
        case .accountMerged: "localId belongs to an account that was merged into another account."
        case .accountExists: "localId belongs to an existing account - can not overwrite."
        }
    }
}
