/// A sign-in method of an account. `password` and `emailLink` are two methods of one provider, `password`.
package enum SignInMethod: Sendable, Hashable {
    case password
    case emailLink
    case phone
    case provider(ProviderID)

    /// The name `createAuthUri` reports and `sign_in_methods.method` stores.
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

/// How control of an e-mail address was shown. "Verified" belongs to an (address, proof) pair, never to a side effect.
package enum EmailProof: Sendable, Hashable {
    /// A code sent to the address came back (`VERIFY_EMAIL`, `VERIFY_AND_CHANGE_EMAIL`, `RECOVER_EMAIL`).
    case emailCode
    /// A sign-in link sent to the address was followed.
    case emailLink
    /// A password reset sent to the address was completed.
    case passwordReset
    /// A provider whose word policy accepts for this address vouched for it.
    case provider(ProviderID)
    /// An administrator or an import said so.
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

    /// The inverse of `name`; `nil` for text this version does not know.
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
    /// `nil`: nobody has shown control of the address yet.
    package var proof: EmailProof?

    package init(address: EmailAddress, proof: EmailProof?) {
        self.address = address
        self.proof = proof
    }

    package var isVerified: Bool { proof != nil }
}

/// What decisions read about one account: facts as of `version`, loaded together, complete by type.
///
/// Every change to any of these raises `version` in the database, so a decision taken on stale facts cannot be applied.
package struct Account: Sendable, Hashable {
    package var id: UserID
    /// Raised by every change to a fact below; the guard of every write.
    package var version: Int64
    /// Raised by whatever ends sessions. A session or ID token that carries another value is dead.
    package var sessionEpoch: Int64
    package var isDisabled: Bool
    package var email: AccountEmail?
    /// Whether the address the account had before its first change is already remembered.
    package var hasInitialEmail: Bool
    package var hasPassword: Bool
    /// Whether a sign-in link was ever followed. Survives a change of address: the link goes wherever the address does.
    package var hasEmailLink: Bool
    /// The number the account owns; `nil` also when a number is kept only as unproven data (rule R4).
    package var phoneNumber: PhoneNumber?
    /// Linked providers and the subject of each: at most one subject per provider.
    package var linkedProviders: LinkedSubjects
    /// Whether at least one second factor is enrolled.
    package var hasSecondFactor: Bool
    /// Whether the account was ever signed in to by a custom token.
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

    /// Whether it has an address. To compare that with `nil` would copy it.
    package var hasEmail: Bool { if case .some = email { true } else { false } }

    package var isEmailVerified: Bool { email?.isVerified ?? false }

    /// Has an address, or had one that is remembered.
    package var hasHadEmail: Bool { hasEmail || hasInitialEmail }

    /// Nothing but the account itself: no number, provider or custom token identifies it, and no address ever did.
    package var isAnonymous: Bool {
        !hasPassword && linkedProviders.isEmpty && !hasHadEmail && phoneNumber == nil && !usesCustomTokens
    }

    /// The methods that would let somebody in now, in the order `createAuthUri` lists them.
    package var signInMethods: [SignInMethod] {
        var methods: [SignInMethod] = []
        if hasEmail, hasPassword { methods.append(.password) }
        if hasEmail, hasEmailLink { methods.append(.emailLink) }
        if phoneNumber != nil { methods.append(.phone) }
        methods += linkedProviders.map { .provider($0.key) }
        return methods
    }
}
