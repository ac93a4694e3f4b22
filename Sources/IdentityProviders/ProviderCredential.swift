package import AccountLinking
import JSON

/// What a client sent to prove who it is with a provider, unverified and never stored (`spec/01` §2.4).
///
/// Empty texts count as absent, so that `id_token=&access_token=x` is an access token.
package struct ProviderCredential: Sendable, Hashable {
    package var provider: ProviderID
    package var idToken: String?
    package var accessToken: String?
    /// The second half of an OAuth 1.0 access token (Twitter).
    package var tokenSecret: String?
    package var refreshToken: String?
    /// An authorization code still to be exchanged at the provider.
    package var authorizationCode: String?
    /// Seconds the access token lives, as the provider told the client.
    package var expiresInSeconds: Int64?
    /// The nonce before hashing.
    package var rawNonce: String?
    /// The `sessionId` of a redirect flow; for `oidc.*` it doubles as the raw nonce.
    package var sessionID: String?
    /// Apple's `user` form field: the name, as JSON, sent by the client on first consent only.
    package var appleUser: String?
    /// The `error` parameter of a redirect in which the provider reports that it has no credential (RFC 6749 §4.1.2.1).
    package var providerError: String?

    package init(
        provider: ProviderID,
        idToken: String? = nil,
        accessToken: String? = nil,
        tokenSecret: String? = nil,
        refreshToken: String? = nil,
        authorizationCode: String? = nil,
        expiresInSeconds: Int64? = nil,
        rawNonce: String? = nil,
        sessionID: String? = nil,
        appleUser: String? = nil,
        providerError: String? = nil
    ) {
        self.provider = provider
        self.idToken = idToken.nonEmpty
        self.accessToken = accessToken.nonEmpty
        self.tokenSecret = tokenSecret.nonEmpty
        self.refreshToken = refreshToken.nonEmpty
        self.authorizationCode = authorizationCode.nonEmpty
        self.expiresInSeconds = expiresInSeconds
        self.rawNonce = rawNonce.nonEmpty
        self.sessionID = sessionID.nonEmpty
        self.appleUser = appleUser.nonEmpty
        self.providerError = providerError.nonEmpty
    }

    /// Reads the parameters of `signInWithIdp`: the query of `requestURI`, overridden by `postBody`, overridden by the
    /// fragment of `requestURI` (`spec/01` §2.4, "Parameter merging").
    ///
    /// - Returns: `nil` when no parameter names a provider, or names it in characters no provider has.
    package init?(requestURI: String, postBody: String?, sessionID: String?) {
        let parts = requestURI.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = (parts.first ?? "").split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        var parameters = PercentEncoding.pairsAsInBrowsers(Array(query.utf8))
        parameters.merge(PercentEncoding.pairsAsInBrowsers(Array((postBody ?? "").utf8))) { _, later in later }
        parameters.merge(PercentEncoding.pairsAsInBrowsers(Array((parts.count > 1 ? parts[1] : "").utf8))) { _, later in
            later
        }
        guard let name = parameters["providerId"], let provider = ProviderID(name) else { return nil }
        self.init(
            provider: provider,
            idToken: parameters["id_token"],
            accessToken: parameters["access_token"],
            tokenSecret: parameters["oauth_token_secret"],
            refreshToken: parameters["refresh_token"],
            authorizationCode: parameters["code"],
            expiresInSeconds: parameters["expires_in"].flatMap { Int64($0) },
            rawNonce: parameters["nonce"],
            sessionID: sessionID,
            appleUser: parameters["user"],
            providerError: parameters["error"]
        )
    }
}

extension String? {
    /// The text, unless it is empty.
    var nonEmpty: String? { self?.isEmpty == true ? nil : self }
}
