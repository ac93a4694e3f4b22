package import AccountLinking

/// The project's registration of one provider.
package struct ProviderConfiguration: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled: Bool
    /// The accepted audiences of a token: one client id for each platform. An empty list accepts no token.
    package var clientIDs: [String]
    /// The secret of the first client id; the API secret for Twitter. `nil` if there is none or it cannot be decrypted.
    package var clientSecret: String?
    /// `oidc.*` only: the issuer, compared character by character (OpenID Connect Discovery 1.0 §4.3).
    package var issuer: String?
    /// `responseType.idToken`: true if an `oidc.*` provider accepts ID tokens of clients.
    package var acceptsIDTokens: Bool
    /// `responseType.code`: true if an `oidc.*` provider uses the code flow.
    package var acceptsAuthorizationCodes: Bool
    /// Apple only: bundle ids of native apps, which are also audiences.
    package var appleBundleIDs: [String]
    /// Apple only: the key that signs the client secret.
    package var appleKey: AppleKey?
    /// URLs of the provider that replace the usual ones.
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

    /// All accepted audiences of a token. An empty client id is not an audience.
    var audiences: Set<String> { Set(clientIDs + appleBundleIDs).subtracting([""]) }

    /// Returns the registered URL of `address`, otherwise `usual`.
    func address(_ address: ProviderAddress, usual: String) -> String { addresses[address] ?? usual }
}

/// The endpoints of a provider whose URL a project can replace: for a private issuer, a proxy or a simulator.
package enum ProviderAddress: String, Sendable, Hashable, CaseIterable {
    /// OAuth 1.0a: the endpoint for temporary credentials (RFC 5849 §2.1).
    case requestToken
    /// The page on which the user consents.
    case authorization
    /// The endpoint that exchanges codes, or authorized temporary credentials, for access tokens.
    case token
    /// The key set that verifies ID tokens.
    case keySet
    /// The endpoint that names the owner of an access token.
    case profile
    /// GitHub: the endpoint for the e-mail addresses of an access token's owner.
    case emails
    /// The endpoint that names the client of an access token.
    case tokenInfo
    /// The endpoint that revokes tokens (RFC 7009).
    case revocation

    /// Returns the members of `addresses` with known names.
    package static func named(_ addresses: [String: String]) -> [Self: String] {
        Dictionary(addresses.compactMap { name, address in Self(rawValue: name).map { ($0, address) } }) { $1 }
    }
}

/// A project's key from Apple for its services id.
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
