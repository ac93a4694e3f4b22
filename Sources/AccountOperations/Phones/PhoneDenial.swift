/// What is wrong with a request about a number, apart from what policy refuses.
package enum PhoneDenial: Sendable, Hashable {
    case invalidNumber(PhoneNumberDefect)

    // The app.
    case missingAppCredential
    /// The same of an app for iOS.
    case missingClientIdentifier
    case invalidAppCredential
    case captchaCheckFailed
    case invalidRecaptchaToken
    case missingRecaptchaToken
    case appNotVerified

    // The messages.
    /// The number, or whoever calls, has had as many as there are.
    case tooManyMessages
    /// The project has.
    case quotaExceeded

    // What came back. A session that is used is the same as an unknown one, to whoever presents it.
    case invalidSession
    case sessionExpired
    /// Counted.
    case invalidCode
    /// Five codes were wrong: the right one counts no more, another may be asked for.
    case tooManyAttempts
    /// Unknown, used, expired, or of another number.
    case invalidTemporaryProof
}
