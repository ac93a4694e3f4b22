/// A credential could not be verified, because its provider gave no usable answer. A retry may succeed.
package enum ProviderUnavailable: String, Error, Sendable, Hashable, CaseIterable {
    /// No connection, a lost connection, or a name that does not resolve.
    case unreachable
    /// No complete answer within the time limit.
    case timedOut = "timed-out"
    /// The address is not an HTTPS URL, or contains credentials.
    case addressNotAllowed = "address-not-allowed"
    /// The name resolves to an address in a forbidden network.
    case networkNotAllowed = "network-not-allowed"
    /// A redirect to another origin, or too many redirects.
    case redirected
    /// The status of the answer is not a success.
    case unexpectedStatus = "unexpected-status"
    case answerTooLarge = "answer-too-large"
    /// The answer is not the expected document.
    case malformedAnswer = "malformed-answer"
    /// The discovery document names another issuer (OpenID Connect Discovery 1.0 §4.3).
    case issuerMismatch = "issuer-mismatch"
    /// The issuer has no acceptable algorithm or key.
    case noUsableKeys = "no-usable-keys"
    /// Too many calls already wait for the provider.
    case tooManyCalls = "too-many-calls"
    /// Calls to the provider are suspended, because several in a row got no answer.
    case suspended
}
