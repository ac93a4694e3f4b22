/// The reason why a credential is refused. No case contains a value that the client sent.
package enum InvalidCredential: Sendable, Hashable {
    /// The project has not registered the provider.
    case providerNotConfigured
    /// The project has disabled the provider.
    case providerDisabled
    /// No verifier exists for the provider.
    case unsupportedProvider
    /// The user refused on the provider's consent page.
    case cancelledByUser
    /// The named tenant of the provider is invalid.
    case unknownTenant
    /// The registration lacks a client id or a secret that this sign-in needs.
    case incompleteConfiguration
    /// The answer belongs to no pending flow of this session: it is forged, used, expired, or of another session.
    case unknownFlow
    /// The provider refuses the project's client id or its secret.
    case clientRefused
    /// The provider reported another error instead of a credential.
    case refusedByProvider
    /// The request contains no credential.
    case missingCredential
    /// A kind of credential that cannot be verified for this provider: an access token alone, or a code.
    case unsupportedKind
    /// The token is longer than the limit.
    case tooLarge
    /// The text is not a token: its parts, encoding or JSON are wrong.
    case malformed
    /// A token made for another purpose, such as an access token, or one with critical extensions.
    case unacceptableType
    /// An unsigned token, or one signed with a shared secret or an algorithm that this provider does not use.
    case algorithmNotAllowed
    /// The provider does not publish the key of the signature.
    case unknownKey
    case badSignature
    case wrongIssuer
    case wrongAudience
    /// The authorized party of the token is not a client of the project (OpenID Connect Core 1.0 §3.1.3.7).
    case wrongAuthorizedParty
    case expired
    /// The token expires more than a day after its time of issue.
    case livesTooLong
    /// The sign-in at the provider is older than the request for reauthentication.
    case staleSignIn
    /// A token that has already started a session cannot reauthenticate.
    case usedBefore
    /// The time of issue, or the start of validity, is in the future.
    case notYetValid
    /// The token is bound to a nonce and the client sent none.
    case missingNonce
    /// The token is bound to another nonce than that of the client.
    case nonceMismatch
    case missingSubject
    /// A required claim is absent or has a wrong type. The name is from the code, not from the token.
    case malformedClaim(String)

    /// An English phrase for developers, which follows the code in an error message. Contains no input.
    package var detail: String {
        switch self {
        case .providerNotConfigured, .providerDisabled: "The identity provider configuration is not found."
        case .unsupportedProvider: "The identity provider is not supported."
        case .incompleteConfiguration: "The identity provider configuration lacks a client id, or a usable secret."
        case .unknownTenant: "The custom parameter tenant names no tenant."
        case .unknownFlow: "The sign-in is unknown to this session, was finished before, or has expired."
        case .clientRefused: "The identity provider refused the configured client id or secret."
        case .cancelledByUser: "The user denied the request."
        case .refusedByProvider: "The identity provider answered with an error."
        case .missingCredential: "The request lacks the tokens of the provider."
        case .unsupportedKind: "This kind of credential is not supported for the provider; send an id_token."
        case .tooLarge: "The token is too large."
        case .malformed: "Unable to parse id_token."
        case .unacceptableType: "The token is not an ID token."
        case .algorithmNotAllowed: "The token is not signed with an algorithm the provider uses."
        case .unknownKey: "The token is signed with an unknown key."
        case .badSignature: "The signature of the token is wrong."
        case .wrongIssuer: "The issuer of the token, or of the answer, is not the configured one."
        case .wrongAudience: "The audience of the token is not a configured client id."
        case .wrongAuthorizedParty: "The authorized party of the token is not a configured client id."
        case .expired: "The token has expired."
        case .livesTooLong: "The token is valid for more than 24 hours."
        case .staleSignIn: "The user has not signed in to the identity provider anew."
        case .usedBefore: "The token was used before; sign in to the identity provider anew."
        case .notYetValid: "The token is not valid yet."
        case .missingNonce: "The token is bound to a nonce and the request holds none."
        case .nonceMismatch: "The nonce does not match the one in the token."
        case .missingSubject: "id_token missing required fields: sub must be a non-empty string."
        case .malformedClaim(let name): "id_token missing required fields: \(name) is absent or of the wrong type."
        }
    }
}
