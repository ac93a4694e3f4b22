import AccountLinking
import AccountOperations
import JSON

/// Stands for a hash that is not shown: "REDACTED".
let redactedPasswordHash = "UkVEQUNURUQ="

extension JSONWriter {
    /// The token fields every sign-in answer has; `expiresIn` is a string (`spec/01` §2).
    mutating func tokens(_ tokens: IssuedTokens) {
        field("idToken", tokens.idToken)
        field("refreshToken", tokens.refreshToken)
        field("expiresIn", decimalString: tokens.expiresInSeconds)
    }

    /// A `UserInfo` (`spec/02` §1).
    ///
    /// `passwordHash`: what an export shows; anybody else is only told that there is one.
    mutating func user(_ user: UserRecord, passwordHash: String = redactedPasswordHash) {
        object { writer in
            writer.field("localId", user.id.rawValue)
            if let email = user.email {
                writer.field("email", email.address.lowercased)
                writer.field("emailVerified", email.isVerified)
            }
            writer.field("displayName", user.profile.displayName)
            writer.field("photoUrl", user.profile.photoURL)
            writer.field("phoneNumber", user.phoneNumber?.rawValue)
            writer.field("language", user.profile.language)
            writer.field("timeZone", user.profile.timeZone)
            writer.field("dateOfBirth", user.profile.dateOfBirth)
            writer.field("screenName", user.profile.screenName)
            if let passwordUpdatedAt = user.passwordUpdatedAt {
                writer.field("passwordHash", passwordHash)
                writer.field("passwordUpdatedAt", passwordUpdatedAt.millisecondsSinceEpoch)
            }
            let account = user.account
            if account.hasProviderRows {
                writer.name("providerUserInfo")
                writer.providerUserInfo(of: user)
            }
            if !user.secondFactors.isEmpty {
                writer.name("mfaInfo")
                writer.secondFactors(user.secondFactors)
            }
            writer.field("validSince", decimalString: user.validSince.secondsSinceEpoch)
            writer.field("disabled", user.isDisabled)
            writer.field("lastLoginAt", decimalString: user.lastLoginAt?.millisecondsSinceEpoch)
            writer.field("createdAt", decimalString: user.createdAt.millisecondsSinceEpoch)
            if user.usesCustomTokens { writer.field("customAuth", true) }
            writer.field("customAttributes", user.customAttributes)
            if account.hasEmailLink { writer.field("emailLinkSignin", true) }
            writer.field("initialEmail", user.initialEmail)
            if user.tenant != .project { writer.field("tenantId", user.tenant.rawValue) }
            writer.field("lastRefreshAt", user.lastRefreshAt.map { RFC3339.text($0) })
        }
    }

    /// The tokens, or what stands in their place.
    mutating func ending(_ ending: SignInEnding) {
        switch ending {
        case .signedIn(let signedIn): tokens(signedIn.tokens)
        case .secondFactorRequired(let signIn): pending(signIn)
        }
    }

    /// What a client goes on with in place of tokens (`spec/05` C2). Whoever has shown one factor alone is told no number.
    mutating func pending(_ signIn: PendingSignIn) {
        field("mfaPendingCredential", signIn.credential)
        name("mfaInfo")
        secondFactors(signIn.user.secondFactors, masksNumbers: true)
    }

    /// Second factors (`spec/02` §7); which key an item has tells its kind.
    mutating func secondFactors(_ factors: [SecondFactor], masksNumbers: Bool = false) {
        array(factors) { writer, factor in writer.secondFactor(factor, masksNumber: masksNumbers) }
    }

    mutating func secondFactor(_ factor: SecondFactor, masksNumber: Bool) {
        object { writer in
            writer.field("mfaEnrollmentId", factor.id.rawValue)
            writer.field("displayName", factor.displayName)
            writer.field("enrolledAt", RFC3339.text(factor.enrolledAt))
            switch factor.method {
            case .phone(let number): writer.field("phoneInfo", masksNumber ? number.masked : number.rawValue)
            case .totp: writer.field("totpInfo", object: { _ in })
            }
        }
    }

    /// The rows of `providerUserInfo` (`spec/02` §2): linked identities, then the derived rows of password and phone.
    mutating func providerUserInfo(of user: UserRecord) {
        let account = user.account
        var rows: [ProviderRow] = []
        if let email = user.email?.address.lowercased, account.hasPassword || account.hasEmailLink {
            var row = ProviderRow(providerID: .password, rawID: email)
            row.federatedID = email
            row.email = email
            row.displayName = user.profile.displayName
            row.photoURL = user.profile.photoURL
            rows.append(row)
        }
        for (provider, linked) in user.linkedProviders.sorted(by: { $0.key < $1.key }) {
            var row = ProviderRow(providerID: provider, rawID: linked.identity.subject)
            row.federatedID = linked.identity.subject
            row.email = linked.email?.lowercased
            row.displayName = linked.displayName
            row.photoURL = linked.photoURL
            row.screenName = linked.screenName
            rows.append(row)
        }
        if let number = user.phoneNumber {
            var row = ProviderRow(providerID: .phone, rawID: number.rawValue)
            row.phoneNumber = number.rawValue
            rows.append(row)
        }
        array(rows) { writer, row in
            writer.object { writer in
                writer.field("providerId", row.providerID.rawValue)
                writer.field("rawId", row.rawID)
                writer.field("federatedId", row.federatedID)
                writer.field("email", row.email)
                writer.field("displayName", row.displayName)
                writer.field("photoUrl", row.photoURL)
                writer.field("screenName", row.screenName)
                writer.field("phoneNumber", row.phoneNumber)
            }
        }
    }
}

private struct ProviderRow {
    let providerID: ProviderID
    let rawID: String
    var federatedID: String?
    var email: String?
    var displayName: String?
    var photoURL: String?
    var screenName: String?
    var phoneNumber: String?
}

extension Account {
    fileprivate var hasProviderRows: Bool {
        (email != nil && (hasPassword || hasEmailLink)) || phoneNumber != nil || !linkedProviders.isEmpty
    }
}

extension PhoneNumber {
    /// All digits but the last four as asterisks.
    fileprivate var masked: String {
        let shown = rawValue.suffix(4)
        return String(rawValue.dropLast(4).map { $0.isNumber ? "*" : $0 }) + shown
    }
}
