package import AccountLinking

/// What the project registered about one provider. Passed in with every call: nothing here is loaded or kept.
package struct ProviderConfiguration: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled: Bool
    /// The audiences a token may be made for: one client id per platform. An empty list accepts no token.
    package var clientIDs: [String]
    /// For the exchange of authorization codes; verification of ID tokens never needs it.
    package var clientSecret: String?
    /// `oidc.*` only: the issuer, compared character by character (OpenID Connect Discovery 1.0 §4.3).
    package var issuer: String?
    /// `responseType.idToken`: whether clients of an `oidc.*` provider send ID tokens.
    package var acceptsIDTokens: Bool
    /// `responseType.code`: whether clients of an `oidc.*` provider send authorization codes.
    package var acceptsAuthorizationCodes: Bool
    /// Apple only: bundle ids of native apps, which are audiences beside the services id in `clientIDs`.
    package var appleBundleIDs: [String]
    /// Where the discovery document is, if not at the issuer's well-known place.
    package var discoveryURL: String?
    /// Where the key set is; skips discovery.
    package var keySetURL: String?
    /// How far the provider's clock and ours may differ, in seconds, when times in a token are checked.
    package var clockSkewSeconds: Int64

    package init(
        provider: ProviderID,
        isEnabled: Bool = true,
        clientIDs: [String] = [],
        clientSecret: String? = nil,
        issuer: String? = nil,
        acceptsIDTokens: Bool = true,
        acceptsAuthorizationCodes: Bool = false,
        appleBundleIDs: [String] = [],
        discoveryURL: String? = nil,
        keySetURL: String? = nil,
        clockSkewSeconds: Int64 = 60
    ) {
        self.provider = provider
        self.isEnabled = isEnabled
        self.clientIDs = clientIDs
        self.clientSecret = clientSecret
        self.issuer = issuer
        self.acceptsIDTokens = acceptsIDTokens
        self.acceptsAuthorizationCodes = acceptsAuthorizationCodes
        self.appleBundleIDs = appleBundleIDs
        self.discoveryURL = discoveryURL
        self.keySetURL = keySetURL
        self.clockSkewSeconds = clockSkewSeconds
    }

    /// Every audience a token for this provider may name. An empty client id is no audience.
    var audiences: Set<String> { Set(clientIDs + appleBundleIDs).subtracting([""]) }
}
