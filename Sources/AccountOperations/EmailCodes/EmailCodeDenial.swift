import AccountLinking

/// Defects of requests for codes and of presented codes. The rules refuse codes with `EmailCodeRefusal`.
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
    /// The mailbox or the caller reached its limit. Clients expect a separate code for resets.
    case tooManyMails(forReset: Bool)
    /// The project reached its limit.
    case quotaExceeded

    // The code. An unknown, consumed or void code is `Refusal.invalidEmailCode`.
    case expired
    /// Correct code with a wrong address. Counted.
    case wrongAddress
    /// Another short code than the newest mail's, or there is no mail. Counted.
    case wrongCode
    /// Too many wrong addresses or short codes. The user must request a new code.
    case tooManyAttempts
}

extension Denial {
    init(_ refusal: EmailCodeRefusal) {
        self =
            switch refusal {
            case .refused(let refusal): .refusal(refusal)
            case .noAddress: .emailCode(.missingEmail)
            case .expired: .emailCode(.expired)
            case .wrongAddress: .emailCode(.wrongAddress)
            case .wrongCode: .emailCode(.wrongCode)
            case .tooManyAttempts: .emailCode(.tooManyAttempts)
            }
    }
}
