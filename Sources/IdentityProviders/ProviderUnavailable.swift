/// A credential could not be judged: its provider gives no usable answer. The same credential may hold a moment later.
package enum ProviderUnavailable: String, Error, Sendable, Hashable, CaseIterable {
    /// No connection, a broken one, or a name that does not resolve.
    case unreachable
    /// No complete answer within the time allowed.
    case timedOut = "timed-out"
    /// The address is no URL, is not HTTPS, or carries credentials.
    case addressNotAllowed = "address-not-allowed"
    /// The name resolves into a network that must not be reached from here.
    case networkNotAllowed = "network-not-allowed"
    /// Redirected to another origin, or too often.
    case redirected
    /// An answer that is not a success.
    case unexpectedStatus = "unexpected-status"
    case answerTooLarge = "answer-too-large"
    /// Not the document it should be.
    case malformedAnswer = "malformed-answer"
    /// The discovery document names another issuer (OpenID Connect Discovery 1.0 §4.3).
    case issuerMismatch = "issuer-mismatch"
    /// The issuer offers no algorithm or no key that is acceptable here.
    case noUsableKeys = "no-usable-keys"
    /// Too many calls wait for the provider already.
    case tooManyCalls = "too-many-calls"
    /// The provider has not answered several times in a row and is left alone for a while.
    case suspended
}
