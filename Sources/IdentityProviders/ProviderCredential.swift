package import AccountLinking
import JSON

/// A provider's credential from a client, unverified and never stored.
///
/// Empty texts count as absent, so that `id_token=&access_token=x` is an access token.
package struct ProviderCredential: Sendable, Hashable {
    package var provider: ProviderID
    package var idToken: String?
    package var accessToken: String?
    /// The second half of an OAuth 1.0 access token (Twitter).
    package var tokenSecret: String?
    package var refreshToken: String?
    /// An authorization code that the provider has not exchanged yet.
    package var authorizationCode: String?
    /// Lifetime of the access token in seconds, as the provider reported it to the client.
    package var expiresInSeconds: Int64?
    /// The nonce before hashing.
    package var rawNonce: String?
    /// The `sessionId` of a redirect flow; for `oidc.*` it doubles as the raw nonce.
    package var sessionID: String?
    /// Apple's `user` form field: the name, as JSON, sent by the client on first consent only.
    package var appleUser: String?
    /// The `error` parameter of a redirect in which the provider reports that it has no credential (RFC 6749 §4.1.2.1).
    package var providerError: String?
    /// OAuth 1.0a: the temporary credentials that the user authorized, and their verifier (RFC 5849 §2.2).
    package var requestToken: String?
    package var verifier: String?
    /// Twitter: the temporary credentials that the user refused.
    package var deniedToken: String?
    /// The issuer that the answer names (RFC 9207).
    package var answeringIssuer: String?
    /// The flow of this server that the credential answers; `nil` if the client obtained it itself.
    package var flow: AuthorizationFlow?

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

    /// The code to exchange for tokens, if any. The code of an app that sends an ID token is not exchanged.
    var codeToExchange: String? { flow != nil || idToken == nil ? authorizationCode : nil }

    /// Returns the credential with `tokens` instead of its code.
    func exchanged(for tokens: ProviderTokens) -> Self {
        var copy = self
        copy.idToken = tokens.idToken
        copy.accessToken = tokens.accessToken
        copy.tokenSecret = tokens.tokenSecret
        copy.refreshToken = tokens.refreshToken
        copy.expiresInSeconds = tokens.expiresInSeconds
        copy.authorizationCode = nil
        return copy
    }

    /// Returns the credential as the answer to `flow`.
    package func answering(_ flow: AuthorizationFlow) -> Self {
        var copy = self
        copy.flow = flow
        return copy
    }
}

/// The parameters of a provider in a request to sign in, before the provider is known.
package struct ProviderParameters: Sendable, Hashable {
    private let values: [String: String]
    /// The session that the client presents.
    package let sessionID: String?

    /// Reads the query of `requestURI`, overridden by `postBody`, overridden by the fragment of `requestURI`
    /// (docs/reference/protocol.md, "Provider sign-in").
    package init(requestURI: String, postBody: String?, sessionID: String?) {
        let parts = requestURI.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let address = (parts.first ?? "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = address.count > 1 ? address[1] : ""
        var values = PercentEncoding.pairsAsInBrowsers(Array(query.utf8))
        values.merge(PercentEncoding.pairsAsInBrowsers(Array((postBody ?? "").utf8))) { $1 }
        values.merge(PercentEncoding.pairsAsInBrowsers(Array((parts.count > 1 ? parts[1] : "").utf8))) { $1 }
        self.values = values
        self.sessionID = sessionID
    }

    /// True if a value holds U+0000, so that it could not be stored.
    package var holdsNUL: Bool { values.values.contains { $0.utf8.contains(0) } }

    /// The state of the flow that these parameters answer; `nil` for a credential that the client obtained itself.
    ///
    /// A code is accepted only with its flow, even if the client names the provider. Otherwise the code of another user
    /// would be accepted.
    package var state: String? {
        guard let state = values["state"].nonEmpty else { return nil }
        let isCode = values["code"].nonEmpty != nil || values["oauth_verifier"].nonEmpty != nil
        return isCode || values["providerId"] == nil ? state : nil
    }

    /// The named provider; `nil` if there is none or its name is invalid.
    package var provider: ProviderID? { values["providerId"].flatMap(ProviderID.init) }

    /// Returns the credential of `provider` in these parameters.
    package func credential(of provider: ProviderID) -> ProviderCredential {
        var credential = ProviderCredential(
            provider: provider,
            idToken: values["id_token"],
            accessToken: values["access_token"],
            tokenSecret: values["oauth_token_secret"],
            refreshToken: values["refresh_token"],
            authorizationCode: values["code"],
            expiresInSeconds: values["expires_in"].flatMap { Int64($0) },
            rawNonce: values["nonce"],
            sessionID: sessionID,
            appleUser: values["user"],
            providerError: values["error"]
        )
        credential.requestToken = values["oauth_token"].nonEmpty
        credential.verifier = values["oauth_verifier"].nonEmpty
        credential.deniedToken = values["denied"].nonEmpty
        credential.answeringIssuer = values["iss"].nonEmpty
        return credential
    }
}

extension String? {
    /// The text; `nil` if it is empty.
    var nonEmpty: String? { self?.isEmpty == true ? nil : self }
}
