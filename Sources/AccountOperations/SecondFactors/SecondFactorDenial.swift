/// Defects of requests about second factors. Policy refuses with `Refusal`.
package enum SecondFactorDenial: Sendable, Hashable {
    /// Unknown, used, expired, for another purpose, or of an account whose sessions have ended since.
    case invalidPendingCredential
    /// Five codes were wrong. The user must sign in again.
    case tooManyAttempts
    /// The response is for another kind of factor.
    case unsupportedKind
    /// An administrator sent an invalid number.
    case invalidPhoneNumber
    /// An administrator sent one enrollment id twice.
    case duplicateID
    /// Only its user can enroll an app, which must have the secret.
    case notForAdministrators
}
