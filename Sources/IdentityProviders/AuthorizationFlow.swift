package import AccountLinking

/// A sign-in on a provider's own page, before it begins.
package struct AuthorizationRequest: Sendable, Hashable {
    /// Parameters that belong to the flow. The client that starts it cannot set them.
    package static let reservedParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "scope", "state",
        // What binds the answer to the flow, and who answers how.
        "nonce", "code_challenge", "code_challenge_method", "response_mode", "request", "request_uri",
    ]

    /// The URL to which the provider sends the browser back.
    package var redirectURI: String
    /// Comes back with the browser; unguessable.
    package var state: String
    /// The unguessable value that binds an ID token to this flow.
    package var nonce: String
    /// RFC 7636 §4.1; unguessable.
    package var codeVerifier: String
    /// Beyond those without which there is no sign-in.
    package var scopes: [String]
    /// Forwarded to the consent page as they are.
    package var customParameters: [String: String]
    /// The address the user will probably sign in with.
    package var loginHint: String?
    /// True if the user must sign in at the provider again, even if they have a session there.
    package var reauthenticates: Bool

    package init(
        redirectURI: String,
        state: String,
        nonce: String,
        codeVerifier: String,
        scopes: [String] = [],
        customParameters: [String: String] = [:],
        loginHint: String? = nil,
        reauthenticates: Bool = false
    ) {
        self.redirectURI = redirectURI
        self.state = state
        self.nonce = nonce
        self.codeVerifier = codeVerifier
        self.scopes = scopes
        self.customParameters = customParameters
        self.loginHint = loginHint
        self.reauthenticates = reauthenticates
    }
}

/// The outcome of preparing a sign-in.
package enum AuthorizationPreparation: Sendable, Hashable {
    case prepared(PreparedAuthorization)
    case invalid(InvalidCredential)
}

/// A sign-in that begins when the browser opens `address`.
package struct PreparedAuthorization: Sendable, Hashable {
    package var address: String
    /// The secret facts by which the provider's answer is verified.
    package var flow: AuthorizationFlow

    package init(address: String, flow: AuthorizationFlow) {
        self.address = address
        self.flow = flow
    }
}

/// The facts about a flow that are known when its answer arrives; secret until then, and used once.
package struct AuthorizationFlow: Sendable, Hashable {
    package var redirectURI: String
    package var nonce: String?
    package var codeVerifier: String?
    /// Microsoft: the requested tenant, by its id, its domain or an alias.
    package var tenant: String?
    /// OAuth 1.0a: the temporary credentials (RFC 5849 §2.1).
    package var requestToken: String?
    package var requestTokenSecret: String?
    /// The instant since when the user must have signed in at the provider; `nil` where that may have been at any time.
    package var signedInSince: Timestamp?

    package init(
        redirectURI: String,
        nonce: String? = nil,
        codeVerifier: String? = nil,
        tenant: String? = nil,
        requestToken: String? = nil,
        requestTokenSecret: String? = nil,
        signedInSince: Timestamp? = nil
    ) {
        self.redirectURI = redirectURI
        self.nonce = nonce
        self.codeVerifier = codeVerifier
        self.tenant = tenant
        self.requestToken = requestToken
        self.requestTokenSecret = requestTokenSecret
        self.signedInSince = signedInSince
    }
}
