/// Defects of requests about numbers. Policy refuses with `Refusal`.
package enum PhoneDenial: Sendable, Hashable {
    case invalidNumber(PhoneNumberDefect)

    // The app.
    case missingAppCredential
    /// The same for an app for iOS.
    case missingClientIdentifier
    case invalidAppCredential
    case captchaCheckFailed
    case invalidRecaptchaToken
    case missingRecaptchaToken
    case appNotVerified

    // The messages.
    /// The number or the caller reached its limit.
    case tooManyMessages
    /// The project reached its limit.
    case quotaExceeded

    // The response. A used session and an unknown one get the same answer.
    case invalidSession
    case sessionExpired
    /// Counted.
    case invalidCode
    /// Five codes were wrong. The user must request a new one.
    case tooManyAttempts
    /// Unknown, used, expired, or for another number.
    case invalidTemporaryProof
}
