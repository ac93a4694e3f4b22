/// A sign-in method without operator-chosen provider names, so that the values can label metrics.
package struct MethodClass: Sendable, Hashable {
    package let rawValue: String

    /// Any `oidc.*`.
    package static let openIDConnect = Self("oidc")
    /// Any `saml.*`.
    package static let saml = Self("saml")
    package static let password = Self("password")
    package static let emailLink = Self("emailLink")
    package static let phone = Self("phone")
    /// More than one.
    package static let several = Self("several")
    package static let none = Self("none")
    package static let other = Self("other")

    package static let allCases =
        KnownProvider.all.map { Self($0.id.rawValue) }
        + [.openIDConnect, .saml, .password, .emailLink, .phone, .several, .none, .other]
    /// Classes of providers.
    package static let providers = allCases.filter {
        ![.password, .emailLink, .phone, .several, .none].contains($0)
    }

    private init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// `nil` unless `rawValue` belongs to one of `allCases`.
    package init?(rawValue: String) {
        guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = known
    }

    package init(_ provider: ProviderID) {
        self =
            if provider.isOpenIDConnect {
                .openIDConnect
            } else if provider.isSAML {
                .saml
            } else {
                KnownProvider.byID[provider].map { Self($0.id.rawValue) } ?? .other
            }
    }

    /// The class of an account's only method, `several`, or `none`.
    package init(of account: Account) {
        let methods = account.signInMethods
        guard methods.count < 2 else {
            self = .several
            return
        }
        switch methods.first {
        case nil: self = .none
        case .password: self = .password
        case .emailLink: self = .emailLink
        case .phone: self = .phone
        case .provider(let provider): self = MethodClass(provider)
        }
    }
}
