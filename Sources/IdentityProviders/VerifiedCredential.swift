package import AccountLinking
package import JSON

/// The result of verification. A refusal is a value. Without an answer, `ProviderUnavailable` is thrown.
package enum CredentialVerification: Sendable, Hashable {
    case verified(VerifiedCredential)
    case invalid(InvalidCredential)
}

/// A verified credential, with the fields that the answer to the client repeats.
package struct VerifiedCredential: Sendable, Hashable {
    /// The proven facts, the only part that decisions read.
    package var incoming: IncomingCredential
    /// `federatedId`: a URL for Google, the subject for everyone else.
    package var federatedID: String
    package var tokens: ProviderTokens
    /// The provider's data about the user, as the text of a JSON object.
    package var rawUserInfo: String
    package var firstName: String?
    package var lastName: String?
    package var fullName: String?
    /// The time of the sign-in at the provider from its ID token; `nil` if it names none.
    package var signedInAt: Timestamp?
    /// The time from which the ID token is refused; `nil` if there is no token or no expiry.
    package var expiresAt: Timestamp?
    /// `oidc.*` only: the claims for `sign_in_attributes`, without those of the protocol.
    package var signInAttributes: JSONValue?
}

/// The provider's tokens, which the answer repeats so that the client can resolve a conflict with them.
///
/// Only one of them was verified. The others are unverified values of the client.
package struct ProviderTokens: Sendable, Hashable {
    package var idToken: String?
    package var accessToken: String?
    package var tokenSecret: String?
    package var refreshToken: String?
    package var authorizationCode: String?
    package var expiresInSeconds: Int64?
}

extension ProviderTokens {
    /// The tokens the client sent.
    package init(of credential: ProviderCredential) {
        self.init(
            idToken: credential.idToken,
            accessToken: credential.accessToken,
            tokenSecret: credential.tokenSecret,
            refreshToken: credential.refreshToken,
            authorizationCode: credential.authorizationCode,
            expiresInSeconds: credential.expiresInSeconds
        )
    }
}
