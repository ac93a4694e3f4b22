/// Value of a provider's `email_verified` claim (OpenID Connect Core 1.0, section 5.1).
///
/// An absent claim and a false one differ: an authoritative provider proves an address without the claim, never against
/// it.
package enum VerifiedFlag: Sendable, Hashable, CaseIterable {
    case absent
    case isFalse
    case isTrue

    /// - Parameter value: `nil` for an absent claim.
    package init(_ value: Bool?) {
        self =
            switch value {
            case nil: .absent
            case false?: .isFalse
            case true?: .isTrue
            }
    }

    /// The claim as a Boolean; `nil` if it is absent.
    package var value: Bool? {
        switch self {
        case .absent: nil
        case .isFalse: false
        case .isTrue: true
        }
    }
}

/// A provider's statement about an e-mail address, before policy decides how far to trust it.
package enum EmailAssertion: Sendable, Hashable {
    case absent
    /// - `flag`: the provider's own `email_verified`.
    /// - `hostedDomain`: Google's `hd` claim: the Workspace domain that owns the account.
    case present(EmailAddress, flag: VerifiedFlag, hostedDomain: String?)

    package var address: EmailAddress? {
        switch self {
        case .absent: nil
        case .present(let address, _, _): address
        }
    }
}

/// The verified content of a provider's credential.
///
/// INVARIANT: made only by `IdentityProviders` (after verification), by `AccountStore` (reading back a sealed pending
/// credential) and by tests; a repository test checks where its initializer is called.
package struct IncomingCredential: Sendable, Hashable {
    package var identity: ProviderIdentity
    /// The verified issuer, if the provider has one (`iss` of OpenID Connect).
    package var issuer: String?
    package var email: EmailAssertion
    package var profile: Profile

    package init(identity: ProviderIdentity, issuer: String?, email: EmailAssertion, profile: Profile) {
        self.identity = identity
        self.issuer = issuer
        self.email = email
        self.profile = profile
    }
}

extension IncomingCredential {
    /// Returns true if the credential was verified under the issuer in the provider's registration. Only `oidc.*`
    /// registrations can change their issuer.
    package func isOf(issuer registered: String?) -> Bool { !identity.provider.isOpenIDConnect || issuer == registered }
}

/// A credential's address after policy: proven or not. Made by `LinkPolicy.emailClaim(of:isAddressTaken:)`.
package enum EmailClaim: Sendable, Hashable {
    case absent
    case unverified(EmailAddress)
    case verified(EmailAddress)

    package var address: EmailAddress? {
        switch self {
        case .absent: nil
        case .unverified(let address), .verified(let address): address
        }
    }

    package var isVerified: Bool {
        switch self {
        case .absent, .unverified: false
        case .verified: true
        }
    }
}
