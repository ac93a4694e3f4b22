import AccountLinking
import AccountOperations
import JSON

/// The base64 of "REDACTED", which replaces a hash that is not shown.
let redactedPasswordHash = "UkVEQUNURUQ="

extension JSONWriter {
    /// The token fields every sign-in answer has; `expiresIn` is a string.
    mutating func tokens(_ tokens: IssuedTokens) {
        field("idToken", tokens.idToken)
        field("refreshToken", tokens.refreshToken)
        field("expiresIn", decimalString: tokens.expiresInSeconds)
    }

    /// A `UserInfo` (docs/reference/protocol.md, "User record").
    ///
    /// `passwordHash`: the hash in an export; all other answers show at most that there is one. `showsNumbers`: adds
    /// `unobfuscatedPhoneInfo` to second factors, for administrators.
    mutating func user(_ user: UserRecord, passwordHash: String = redactedPasswordHash, showsNumbers: Bool) {
        self.user(ShownAccount(user), passwordHash: passwordHash, showsNumbers: showsNumbers)
    }

    mutating func user(_ user: ShownAccount, passwordHash: String?, showsNumbers: Bool) {
        object { writer in
            writer.field("localId", user.id)
            if let email = user.email {
                writer.field("email", email.address)
                writer.field("emailVerified", email.isVerified)
            }
            writer.field("displayName", user.profile.displayName)
            writer.field("photoUrl", user.profile.photoURL)
            writer.field("phoneNumber", user.phoneNumber)
            writer.field("language", user.profile.language)
            writer.field("timeZone", user.profile.timeZone)
            writer.field("dateOfBirth", user.profile.dateOfBirth)
            writer.field("screenName", user.profile.screenName)
            if let passwordUpdatedAt = user.passwordUpdatedAt {
                writer.field("passwordHash", passwordHash)
                writer.field("passwordUpdatedAt", passwordUpdatedAt.millisecondsSinceEpoch)
            }
            if user.hasProviderRows {
                writer.name("providerUserInfo")
                writer.providerUserInfo(of: user)
            }
            if !user.secondFactors.isEmpty {
                writer.name("mfaInfo")
                writer.secondFactors(user.secondFactors, numbers: showsNumbers ? .twice : .once)
            }
            writer.field("validSince", decimalString: user.validSince.secondsSinceEpoch)
            writer.field("disabled", user.isDisabled)
            writer.field("lastLoginAt", decimalString: user.lastLoginAt?.millisecondsSinceEpoch)
            writer.field("createdAt", decimalString: user.createdAt.millisecondsSinceEpoch)
            if user.usesCustomTokens { writer.field("customAuth", true) }
            writer.field("customAttributes", user.customAttributes)
            if user.hasEmailLink { writer.field("emailLinkSignin", true) }
            writer.field("initialEmail", user.initialEmail)
            if user.tenant != .project { writer.field("tenantId", user.tenant.rawValue) }
            writer.field("lastRefreshAt", user.lastRefreshAt.map { RFC3339.text($0) })
        }
    }

    /// The tokens, or the pending sign-in that replaces them.
    mutating func ending(_ ending: SignInOutcome) {
        switch ending {
        case .signedIn(let signedIn): tokens(signedIn.tokens)
        case .secondFactorRequired(let signIn): pending(signIn)
        }
    }

    /// The pending sign-in that replaces tokens. A client that has proven only one factor sees masked numbers.
    mutating func pending(_ signIn: PendingSignIn) {
        field("mfaPendingCredential", signIn.credential)
        name("mfaInfo")
        secondFactors(signIn.user.secondFactors, numbers: .masked)
    }

    /// Second factors. The key of an item, `phoneInfo` or `totpInfo`, names its kind.
    mutating func secondFactors(_ factors: [SecondFactor], numbers: ShownNumbers) {
        array(factors) { writer, factor in writer.secondFactor(factor, number: numbers) }
    }

    mutating func secondFactor(_ factor: SecondFactor, number shown: ShownNumbers) {
        object { writer in
            writer.field("mfaEnrollmentId", factor.id.rawValue)
            writer.field("displayName", factor.displayName)
            writer.field("enrolledAt", RFC3339.text(factor.enrolledAt))
            switch factor.method {
            case .phone(let number):
                switch shown {
                case .masked: writer.field("phoneInfo", number.masked)
                case .once: writer.field("phoneInfo", number.rawValue)
                case .twice:
                    writer.field("phoneInfo", number.rawValue)
                    writer.field("unobfuscatedPhoneInfo", number.rawValue)
                }
            case .totp: writer.field("totpInfo") { _ in }
            }
        }
    }

    /// The rows of `providerUserInfo`: the derived row of the password, linked identities, the row of the number.
    mutating func providerUserInfo(of user: ShownAccount) {
        array { writer in
            if let address = user.passwordRowAddress {
                writer.object { writer in
                    writer.field("providerId", ProviderID.password.rawValue)
                    writer.field("rawId", address)
                    writer.field("federatedId", address)
                    writer.field("email", address)
                    writer.field("displayName", user.profile.displayName)
                    writer.field("photoUrl", user.profile.photoURL)
                }
            }
            for linked in user.providers {
                writer.object { writer in
                    writer.field("providerId", linked.id)
                    writer.field("rawId", linked.subject)
                    writer.field("federatedId", linked.subject)
                    writer.field("email", linked.email)
                    writer.field("displayName", linked.displayName)
                    writer.field("photoUrl", linked.photoURL)
                    writer.field("screenName", linked.screenName)
                }
            }
            if let number = user.phoneNumber {
                writer.object { writer in
                    writer.field("providerId", ProviderID.phone.rawValue)
                    writer.field("rawId", number)
                    writer.field("phoneNumber", number)
                }
            }
        }
    }
}

/// The numbers of second factors in an answer.
enum ShownNumbers {
    /// The last four digits.
    case masked
    case once
    /// Masked, and as `unobfuscatedPhoneInfo`, for administrators.
    case twice
}

extension ShownAccount {
    /// The address, if the account can sign in with it.
    fileprivate var passwordRowAddress: String? {
        passwordUpdatedAt != nil || hasEmailLink ? email?.address : nil
    }

    fileprivate var hasProviderRows: Bool { passwordRowAddress != nil || phoneNumber != nil || !providers.isEmpty }
}

extension PhoneNumber {
    /// All digits but the last four as asterisks.
    var masked: String {
        let shown = rawValue.suffix(4)
        return String(rawValue.dropLast(4).map { $0.isNumber ? "*" : $0 }) + shown
    }
}
