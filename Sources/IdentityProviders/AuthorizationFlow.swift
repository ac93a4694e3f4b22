package import AccountLinking

/// The request for a sign-in on a provider's page.
package struct AuthorizationRequest: Sendable, Hashable {
    /// Parameters that the flow sets. The client that starts it cannot set them.
    package static let reservedParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "scope", "state",
        // The parameters that bind the answer to the flow, and the form of the answer.
        "nonce", "code_challenge", "code_challenge_method", "response_mode", "request", "request_uri",
    ]

    /// The URL to which the provider sends the browser back.
    package var redirectURI: String
    /// The unguessable value that the provider returns with its answer.
    package var state: String
    /// The unguessable value that binds an ID token to this flow.
    package var nonce: String
    /// The unguessable code verifier (RFC 7636 §4.1).
    package var codeVerifier: String
    /// Scopes beside the default ones of the provider.
    package var scopes: [String]
    /// Parameters that are forwarded unchanged to the consent page.
    package var customParameters: [String: String]
    /// The address with which the user probably signs in.
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
    /// The secret values that verify the provider's answer.
    package var flow: AuthorizationFlow
}

/// The values of a flow that verify its answer. They are secret until the answer, and used once.
package struct AuthorizationFlow: Sendable, Hashable {
    package var redirectURI: String
    package var nonce: String?
    package var codeVerifier: String?
    /// Microsoft only: the requested tenant, as id, domain or alias.
    package var tenant: String?
    /// OAuth 1.0a: the temporary credentials (RFC 5849 §2.1).
    package var requestToken: String?
    package var requestTokenSecret: String?
    /// The earliest allowed time of the sign-in at the provider; `nil` allows any time.
    package var signedInSince: Timestamp?
}
