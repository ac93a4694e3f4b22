/// What is wrong with a request about a second factor, apart from what policy refuses.
package enum SecondFactorDenial: Sendable, Hashable {
    /// Unknown, used, expired, of another purpose, or of an account whose sessions have ended since.
    case invalidPendingCredential
    /// Five codes were wrong: sign in anew.
    case tooManyAttempts
    /// The factor is of another kind than what was sent for it.
    case unsupportedKind
    /// An administrator gives a number that is none.
    case invalidPhoneNumber
    /// An administrator names one enrolment twice.
    case duplicateID
    /// An administrator enrols what only its user can: a secret has two ends.
    case notForAdministrators
}
