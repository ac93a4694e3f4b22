/// What is wrong with a request for a code, or with a code that came back, apart from what policy refuses.
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
    /// The mailbox, or whoever calls, has had as many mails as there are. `forReset`: clients know another name for it.
    case tooManyMails(forReset: Bool)
    /// The project has.
    case quotaExceeded

    // The code. An unknown, used or void one is `Refusal.invalidEmailCode`.
    case expired
    /// Right code, wrong address. Counted.
    case wrongAddress
    /// No short code of the newest mail, or there is no mail. Counted.
    case wrongCode
    /// Too many wrong addresses, or too many wrong short codes: it is dead, a new one may be asked for.
    case tooManyAttempts
}
