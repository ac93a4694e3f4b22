import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:update`: by a session, by a mailed code, or by an administrator.
    static let update = Route(
        .post,
        "/v1/accounts:update",
        legacyName: "setAccountInfo",
        aliases: projectPaths("accounts:update"),
        access: .client,
        hidesAccounts: true
    ) { request in
        if request.actsOnAnyAccount(sessionFields: ["idToken", "oobCode"]) { return try await updateByAdmin(request) }
        let body = request.body
        let idToken = try body.nonEmptyString("idToken")
        let oobCode = try body.nonEmptyString("oobCode")
        guard idToken != nil || oobCode != nil else {
            throw APIError.code(.invalidReqType, "Unsupported request parameters.")
        }
        // Only administrators may send these. Ignoring them would let a client assume success.
        guard body.value("customAttributes") == nil else { throw APIError.code(.insufficientPermission) }
        for field in ["disableUser", "mfa", "linkProviderUserInfo"] where body.value(field) != nil {
            throw APIError.code(.operationNotAllowed)
        }
        if let oobCode {
            let applied = try await request.operations
                .applyEmailCode(oobCode, tenant: request.tenant, idToken: idToken, locale: request.locale)
            return answer(
                applied.user,
                newEmail: applied.newEmail,
                suspended: applied.suspended,
                reversal: applied.reversal,
                tokens: applied.tokens,
                endedSessions: applied.endedSessions
            )
        }
        let attributes = try body.deletedAttributes()
        var update = UpdateAccount()
        update.email = try body.nonEmptyString("email")
        update.password = try body.nonEmptyString("password")
        update.profile = try body.profileEdit(deleting: attributes)
        update.removal = try body.removal(deleting: attributes)
        let updated = try await request.operations
            .updateAccount(
                update,
                idToken: request.requiredIDToken(),
                continueURL: body.nonEmptyString("continueUrl"),
                from: request.passwordClient(),
                tenant: request.tenant,
                locale: request.locale
            )
        return answer(updated.user, tokens: updated.tokens)
    }

    private static func updateByAdmin(_ request: APIRequest) async throws -> APIResponse {
        let body = request.body
        let id = try request.requiredLocalID()
        var update = AdminUpdateAccount()
        if let claims = try body.string("customAttributes") {
            if let defect = CustomClaims.defect(of: claims) { throw defect.apiError }
            update.customAttributes = claims
        }
        let attributes = try body.deletedAttributes()
        update.profile = try body.profileEdit(deleting: attributes)
        update.removal = try body.removal(deleting: attributes)
        update.email = try body.nonEmptyString("email")
        update.isEmailVerified = try body.bool("emailVerified")
        update.password = try body.nonEmptyString("password")
        update.phoneNumber = try body.nonEmptyString("phoneNumber")
        update.isDisabled = try body.bool("disableUser")
        update.validSince = try body.instant("validSince", unitsPerSecond: 1)
        update.createdAt = try body.instant("createdAt", unitsPerSecond: 1000)
        update.lastLoginAt = try body.instant("lastLoginAt", unitsPerSecond: 1000)
        update.link = try body.linkedProvider()
        update.secondFactors = try body.object("mfa")?.objects("enrollments").map(FactorDescription.init(reading:))
        let updated = try await request.operations.updateAccount(update, of: id, tenant: request.tenant)
        return answer(updated.user, tokens: updated.tokens)
    }

    private static func answer(
        _ user: UserRecord,
        newEmail: String? = nil,
        suspended: [MethodSuspension] = [],
        reversal: MethodReversal? = nil,
        tokens: IssuedTokens? = nil,
        endedSessions: Bool = false
    ) -> APIResponse {
        .object { writer in
            writer.field("kind", "identitytoolkit#SetAccountInfoResponse")
            writer.field("localId", user.id.rawValue)
            if let email = user.email {
                writer.field("email", email.address.lowercased)
                writer.field("emailVerified", email.isVerified)
            }
            writer.field("displayName", user.profile.displayName)
            writer.field("photoUrl", user.profile.photoURL)
            // Present also if empty, because web clients read the remaining providers from it after unlinking.
            writer.name("providerUserInfo")
            writer.providerUserInfo(of: ShownAccount(user))
            if user.passwordUpdatedAt != nil { writer.field("passwordHash", redactedPasswordHash) }
            writer.field("newEmail", newEmail)
            // Concord's own, for its page: the methods that restoring the address suspended.
            if !suspended.isEmpty {
                writer.field("concord") { writer in writer.suspensions(suspended) }
            }
            // Concord's own, for its page.
            if let reversal { writer.field("concord") { writer in writer.reversal(reversal) } }
            if let tokens { writer.tokens(tokens) }
            // Concord's own, for its page.
            if endedSessions { writer.field("concord") { writer in writer.field("endedSessions", true) } }
        }
    }
}

extension CustomClaims.Defect {
    fileprivate var apiError: APIError {
        switch self {
        case .tooLarge: .code(.claimsTooLarge)
        case .notAnObject: .code(.invalidClaims)
        case .reservedName(let name): .code(.forbiddenClaim, name)
        }
    }
}

extension RequestBody {
    private static let attributeNames = [
        "USER_ATTRIBUTE_NAME_UNSPECIFIED", "EMAIL", "DISPLAY_NAME", "PROVIDER", "PHOTO_URL", "PASSWORD",
        "RAW_USER_INFO",
    ]

    fileprivate func deletedAttributes() throws(APIError) -> [String] {
        let attributes = try enumerations("deleteAttribute", Self.attributeNames)
        for attribute in ["PROVIDER", "RAW_USER_INFO"] where attributes.contains(attribute) {
            throw .unimplemented("Deleting the attribute \(attribute)")
        }
        return attributes
    }

    fileprivate func removal(deleting attributes: [String]) throws(APIError) -> Removal {
        var removal = Removal(email: attributes.contains("EMAIL"), password: attributes.contains("PASSWORD"))
        // A text that cannot be a provider is linked to no account.
        for name in try strings("deleteProvider") {
            if let provider = ProviderID(name) { removal.providers.insert(provider) }
        }
        return removal
    }

    /// An instant of the years 1970 to 9999.
    fileprivate func instant(_ name: String, unitsPerSecond: Int64) throws(APIError) -> Timestamp? {
        guard let value = try integer(name) else { return nil }
        guard (0..<253_402_300_800 * unitsPerSecond).contains(value) else {
            throw .invalidValue(at: name, expected: "an instant of the years 1970 to 9999")
        }
        return Timestamp(microsecondsSinceEpoch: value * (1_000_000 / unitsPerSecond))
    }

    fileprivate func linkedProvider() throws(APIError) -> AdminUpdateAccount.Link? {
        guard let info = try object("linkProviderUserInfo") else { return nil }
        guard let name = try info.nonEmptyString("providerId") else { throw .code(.missingProviderID) }
        guard let subject = try info.nonEmptyString("rawId") else { throw .code(.missingRawID) }
        // The rows of these providers are derived, and some are names of kinds of sessions.
        let reserved = ["password", "phone", "email", "emaillink", "anonymous", "custom", "passkey"]
        guard let provider = ProviderID(name), !reserved.contains(provider.rawValue) else {
            throw .code(.invalidProviderID)
        }
        guard let identity = ProviderIdentity(provider: provider, subject: subject) else {
            throw .invalidValue(at: "linkProviderUserInfo.rawId", expected: "1 to 255 characters")
        }
        var link = AdminUpdateAccount.Link(identity: identity)
        link.email = try info.nonEmptyString("email").flatMap(EmailAddress.init)
        link.displayName = try info.nonEmptyString("displayName", lengthMax: Profile.displayNameLengthMax)
        link.photoURL = try info.photoURL().flatMap { $0.isEmpty ? nil : $0 }
        link.screenName = try info.nonEmptyString("screenName", lengthMax: Profile.displayNameLengthMax)
        return link
    }
}
