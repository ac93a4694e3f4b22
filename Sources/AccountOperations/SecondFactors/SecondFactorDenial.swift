/// A defect of a request about a second factor. Refusals by policy are `Refusal`.
package enum SecondFactorDenial: Sendable, Hashable {
    /// Unknown, used, expired, for another purpose, or of an account whose sessions have ended since.
    case invalidPendingCredential
    /// Five codes were wrong. The user must sign in again.
    case tooManyAttempts
    /// The response has another kind than the factor.
    case unsupportedKind
    /// An administrator sent an invalid number.
    case invalidPhoneNumber
    /// An administrator sent the same enrollment id twice.
    case duplicateID
    /// An administrator tried to enroll an app, which only its user can: the app must have the secret.
    case notForAdministrators
}
