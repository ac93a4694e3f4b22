/// A sign-in method of an account. `password` and `emailLink` are two methods of one provider, `password`.
package enum SignInMethod: Sendable, Hashable {
    case password
    case emailLink
    case phone
    case provider(ProviderID)

    /// The name in answers of `createAuthUri` and in `sign_in_methods.method`.
    package var name: String {
        switch self {
        case .password: "password"
        case .emailLink: "emailLink"
        case .phone: "phone"
        case .provider(let provider): provider.rawValue
        }
    }
}

extension SignInMethod {
    /// The inverse of `name`; `nil` for text that names no method.
    package init?(name: String) {
        switch name {
        case "password": self = .password
        case "emailLink": self = .emailLink
        case "phone": self = .phone
        default:
            guard let provider = ProviderID(name) else { return nil }
            self = .provider(provider)
        }
    }
}

/// Proof of control of an e-mail address. An address is verified only together with its proof.
package enum EmailProof: Sendable, Hashable {
    /// A code sent to the address was returned (`VERIFY_EMAIL`, `VERIFY_AND_CHANGE_EMAIL`, `RECOVER_EMAIL`).
    case emailCode
    /// A sign-in link sent to the address was followed.
    case emailLink
    /// A password reset sent to the address was completed.
    case passwordReset
    /// A provider that policy trusts for this address vouched for it.
    case provider(ProviderID)
    /// An administrator or an import set the address as verified.
    case administrator

    package var name: String {
        switch self {
        case .emailCode: "mailed-code"
        case .emailLink: "email-link"
        case .passwordReset: "password-reset"
        case .provider(let provider): "provider:" + provider.rawValue
        case .administrator: "administrator"
        }
    }

    /// The inverse of `name`; `nil` for text that this version does not define.
    package init?(name: String) {
        switch name {
        case "mailed-code": self = .emailCode
        case "email-link": self = .emailLink
        case "password-reset": self = .passwordReset
        case "administrator": self = .administrator
        default:
            guard name.hasPrefix("provider:"), let provider = ProviderID(String(name.dropFirst("provider:".count)))
            else { return nil }
            self = .provider(provider)
        }
    }
}

/// The top-level e-mail of an account, with the proof that makes it verified.
package struct AccountEmail: Sendable, Hashable {
    package var address: EmailAddress
    /// `nil` while control of the address is not proven.
    package var proof: EmailProof?

    package init(address: EmailAddress, proof: EmailProof?) {
        self.address = address
        self.proof = proof
    }

    package var isVerified: Bool { proof != nil }
}

/// The facts of one account that decisions read: complete, as of `version`, loaded together.
///
/// Every change of a fact raises `version` in the database, so a decision on stale facts cannot be applied.
package struct Account: Sendable, Hashable {
    package var id: UserID
    /// Raised by every change of a fact below; the guard of every write.
    package var version: Int64
    /// Raised by every operation that ends all sessions. A session or ID token with another value is invalid.
    package var sessionEpoch: Int64
    package var isDisabled: Bool
    package var email: AccountEmail?
    /// True if the account's first address is already stored (`initialEmail` on the wire).
    package var hasInitialEmail: Bool
    package var hasPassword: Bool
    /// True if a sign-in link was ever followed. Stays true when the address changes, because links go to the current
    /// address.
    package var hasEmailLink: Bool
    /// The number that the account owns; `nil` if the number is only unproven data (rule R4).
    package var phoneNumber: PhoneNumber?
    /// Subjects of the linked providers, at most one for each.
    package var linkedProviders: LinkedSubjects
    package var hasSecondFactor: Bool
    /// True if a custom token ever signed in to the account.
    package var usesCustomTokens: Bool

    package init(
        id: UserID,
        version: Int64,
        sessionEpoch: Int64,
        isDisabled: Bool = false,
        email: AccountEmail? = nil,
        hasInitialEmail: Bool = false,
        hasPassword: Bool = false,
        hasEmailLink: Bool = false,
        phoneNumber: PhoneNumber? = nil,
        linkedProviders: LinkedSubjects = [:],
        hasSecondFactor: Bool = false,
        usesCustomTokens: Bool = false
    ) {
        self.id = id
        self.version = version
        self.sessionEpoch = sessionEpoch
        self.isDisabled = isDisabled
        self.email = email
        self.hasInitialEmail = hasInitialEmail
        self.hasPassword = hasPassword
        self.hasEmailLink = hasEmailLink
        self.phoneNumber = phoneNumber
        self.linkedProviders = linkedProviders
        self.hasSecondFactor = hasSecondFactor
        self.usesCustomTokens = usesCustomTokens
    }

    /// True if the account has an address. Comparing `email` with `nil` would copy it.
    package var hasEmail: Bool { if case .some = email { true } else { false } }

    package var isEmailVerified: Bool { email?.isVerified ?? false }

    /// True if the account has an address, or had one that is stored.
    package var hasHadEmail: Bool { hasEmail || hasInitialEmail }

    /// True if the account has no password, number, provider or custom token, and had no address that is stored.
    package var isAnonymous: Bool {
        !hasPassword && linkedProviders.isEmpty && !hasHadEmail && phoneNumber == nil && !usesCustomTokens
    }

    /// The methods that can sign in now, in the order of `createAuthUri`.
    package var signInMethods: [SignInMethod] {
        var methods: [SignInMethod] = []
        if hasEmail, hasPassword { methods.append(.password) }
        if hasEmail, hasEmailLink { methods.append(.emailLink) }
        if phoneNumber != nil { methods.append(.phone) }
        methods += linkedProviders.map { .provider($0.key) }
        return methods
    }
}
