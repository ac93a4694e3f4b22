/// Why a credential proves nothing. A closed set: no case carries anything the client sent.
package enum InvalidCredential: Sendable, Hashable {
    /// The project never registered the provider.
    case providerNotConfigured
    /// The project switched the provider off.
    case providerDisabled
    /// No verifier exists for the provider.
    case unsupportedProvider
    /// The user turned the provider's consent page down.
    case cancelledByUser
    /// The named tenant of the provider is invalid.
    case unknownTenant
    /// The registration lacks what this sign-in needs: a client id, or a secret that opens.
    case incompleteConfiguration
    /// No flow of this server waits for this answer in this session: made up, used, expired, or another session's.
    case unknownFlow
    /// The provider does not know the project's client, or not by this secret.
    case clientRefused
    /// The provider reported some other error instead of a credential.
    case refusedByProvider
    /// Nothing in the request is a credential.
    case missingCredential
    /// The credential is of a kind that cannot be verified for this provider: an access token alone, or a code.
    case unsupportedKind
    /// Longer than a token may be.
    case tooLarge
    /// Not a signed token: parts, encoding or JSON are wrong.
    case malformed
    /// A token made for another purpose, such as an access token, or one with critical extensions.
    case unacceptableType
    /// Unsigned, signed with a shared secret, or with an algorithm this provider does not use.
    case algorithmNotAllowed
    /// Signed with a key the provider does not publish.
    case unknownKey
    case badSignature
    case wrongIssuer
    case wrongAudience
    /// Made for several clients, and handed to none of ours (OpenID Connect Core 1.0 §3.1.3.7).
    case wrongAuthorizedParty
    case expired
    /// Its end is more than a day after it was issued.
    case livesTooLong
    /// A flow for a reauthentication was answered with a sign-in from before it began.
    case staleSignIn
    /// A reauthentication with a token that opened a session before.
    case usedBefore
    /// Issued, or valid, only from an instant in the future.
    case notYetValid
    /// The token is bound to a nonce and the client sent none.
    case missingNonce
    /// The client's nonce is not the one the token is bound to.
    case nonceMismatch
    case missingSubject
    /// A required claim is absent, or of another type than the standard says. The name is one of ours.
    case malformedClaim(String)

    /// One English phrase for developers, for the part of an error message after its code. Holds no input.
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
