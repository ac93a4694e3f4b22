/// A way in, without the names that operators give to providers: what can be counted by without end.
package enum MethodClass: String, Sendable, Hashable, CaseIterable {
    case google = "google.com"
    case apple = "apple.com"
    case facebook = "facebook.com"
    case twitter = "twitter.com"
    case gitHub = "github.com"
    case microsoft = "microsoft.com"
    case yahoo = "yahoo.com"
    case linkedIn = "linkedin.com"
    case playGames = "playgames.google.com"
    case gameCenter = "gc.apple.com"
    /// Any `oidc.*`.
    case openIDConnect = "oidc"
    /// Any `saml.*`.
    case saml
    case password
    case emailLink
    case phone
    /// More than one.
    case several
    case none
    case other

    package init(_ provider: ProviderID) {
        self =
            if provider.isOpenIDConnect {
                .openIDConnect
            } else if provider.isSAML {
                .saml
            } else {
                Self.providers.first { $0.rawValue == provider.rawValue } ?? .other
            }
    }

    /// What an account can be signed in with.
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

    /// What a provider can be.
    package static let providers = allCases.filter {
        ![.password, .emailLink, .phone, .several, .none].contains($0)
    }
}
