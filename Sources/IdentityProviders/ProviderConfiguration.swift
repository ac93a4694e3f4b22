package import AccountLinking

/// What the project registered about one provider. Passed in with every call: nothing here is loaded or kept.
package struct ProviderConfiguration: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled: Bool
    /// The audiences a token may be made for: one client id per platform. An empty list accepts no token.
    package var clientIDs: [String]
    /// `oidc.*` only: the issuer, compared character by character (OpenID Connect Discovery 1.0 §4.3).
    package var issuer: String?
    /// `responseType.idToken`: whether clients of an `oidc.*` provider send ID tokens.
    package var acceptsIDTokens: Bool
    /// Apple only: bundle ids of native apps, which are audiences beside the services id in `clientIDs`.
    package var appleBundleIDs: [String]

    package init(
        provider: ProviderID,
        isEnabled: Bool = true,
        clientIDs: [String] = [],
        issuer: String? = nil,
        acceptsIDTokens: Bool = true,
        appleBundleIDs: [String] = []
    ) {
        self.provider = provider
        self.isEnabled = isEnabled
        self.clientIDs = clientIDs
        self.issuer = issuer
        self.acceptsIDTokens = acceptsIDTokens
        self.appleBundleIDs = appleBundleIDs
    }

    /// Every audience a token for this provider may name. An empty client id is no audience.
    var audiences: Set<String> { Set(clientIDs + appleBundleIDs).subtracting([""]) }
}
