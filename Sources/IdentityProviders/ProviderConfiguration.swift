package import AccountLinking

/// The project's registration of one provider. Passed in with every call: nothing here is loaded or stored.
package struct ProviderConfiguration: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled: Bool
    /// The audiences a token may be made for: one client id per platform. An empty list accepts no token.
    package var clientIDs: [String]
    /// The secret of the first client id; the API secret for Twitter. `nil` where none was registered or it does not open.
    package var clientSecret: String?
    /// `oidc.*` only: the issuer, compared character by character (OpenID Connect Discovery 1.0 §4.3).
    package var issuer: String?
    /// `responseType.idToken`: whether clients of an `oidc.*` provider send ID tokens.
    package var acceptsIDTokens: Bool
    /// `responseType.code`: whether an `oidc.*` provider is asked for codes.
    package var acceptsAuthorizationCodes: Bool
    /// Apple only: bundle ids of native apps, which are audiences beside the services id in `clientIDs`.
    package var appleBundleIDs: [String]
    /// Apple only: what its client secret is made with.
    package var appleKey: AppleKey?
    /// The provider's addresses that differ from its usual ones.
    package var addresses: [ProviderAddress: String]

    package init(
        provider: ProviderID,
        isEnabled: Bool = true,
        clientIDs: [String] = [],
        clientSecret: String? = nil,
        issuer: String? = nil,
        acceptsIDTokens: Bool = true,
        acceptsAuthorizationCodes: Bool = false,
        appleBundleIDs: [String] = [],
        appleKey: AppleKey? = nil,
        addresses: [ProviderAddress: String] = [:]
    ) {
        self.provider = provider
        self.isEnabled = isEnabled
        self.clientIDs = clientIDs
        self.clientSecret = clientSecret
        self.issuer = issuer
        self.acceptsIDTokens = acceptsIDTokens
        self.acceptsAuthorizationCodes = acceptsAuthorizationCodes
        self.appleBundleIDs = appleBundleIDs
        self.appleKey = appleKey
        self.addresses = addresses
    }

    /// Every audience a token for this provider may name. An empty client id is no audience.
    var audiences: Set<String> { Set(clientIDs + appleBundleIDs).subtracting([""]) }

    /// The URL of `address`: `usual`, unless the project registered another one.
    func address(_ address: ProviderAddress, usual: String) -> String { addresses[address] ?? usual }
}

/// The parts of a provider that a project can reach elsewhere than everybody does: a private issuer, a proxy, a simulator.
package enum ProviderAddress: String, Sendable, Hashable, CaseIterable {
    /// OAuth 1.0a: where a flow's temporary credentials come from (RFC 5849 §2.1).
    case requestToken
    /// The page on which the user consents.
    case authorization
    /// The endpoint that exchanges codes, or authorized temporary credentials, for access tokens.
    case token
    /// The keys ID tokens are signed with.
    case keySet
    /// The endpoint that names the owner of an access token.
    case profile
    /// GitHub: the endpoint for the e-mail addresses of an access token's owner.
    case emails
    /// Whom an access token was issued to.
    case tokenInfo
    /// The endpoint that revokes tokens (RFC 7009).
    case revocation

    /// The members of `addresses` that have known names.
    package static func named(_ addresses: [String: String]) -> [Self: String] {
        Dictionary(addresses.compactMap { name, address in Self(rawValue: name).map { ($0, address) } }) { $1 }
    }
}

/// The key that a project was given at Apple for its services id.
package struct AppleKey: Sendable, Hashable {
    package var teamID: String
    package var keyID: String
    /// P-256, PKCS #8 in PEM.
    package var privateKey: String

    package init(teamID: String, keyID: String, privateKey: String) {
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }
}
