/// A defect of a request for a code, or of a presented code. Refusals by policy are `Refusal`.
package enum EmailCodeDenial: Sendable, Hashable {
    // The settings of the link.
    case invalidContinueURL
    case missingContinueURL
    case unauthorizedDomain
    case missingAndroidPackageName
    case missingIOSBundleID
    case invalidDynamicLinkDomain
    case invalidHostingLinkDomain

    // The request.
    case missingEmail
    case missingCode
    /// The mailbox or the caller reached its limit. Clients expect another error code for `forReset`.
    case tooManyMails(forReset: Bool)
    /// The project reached its limit.
    case quotaExceeded

    // The code. An unknown, consumed or void code is `Refusal.invalidEmailCode`.
    case expired
    /// Correct code with a wrong address. Counted.
    case wrongAddress
    /// The short code does not match the newest mail, or there is no mail. Counted.
    case wrongCode
    /// Too many wrong addresses or short codes. The code is dead; the user must request a new one.
    case tooManyAttempts
}
