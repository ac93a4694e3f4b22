/// The short code of the newest mail of a kind to a mailbox. Without a mail it counts guesses only.
package struct ShortCodeRecord: Sendable, Hashable {
    /// Number of wrong guesses, by any client, before the code is dead.
    package static let attemptsMax: Int32 = 5

    package var tenant: TenantID
    package var kind: EmailCodeRecord.Kind
    /// The recipient.
    package var mailbox: EmailAddress
    /// SHA-256 of the code in the same mail's link; `nil` without a mail.
    package var linkHash: [UInt8]?
    package var sealedCode: [UInt8]?
    package var attempts: Int32
    package var expiresAt: Timestamp

    package init(
        tenant: TenantID,
        kind: EmailCodeRecord.Kind,
        mailbox: EmailAddress,
        linkHash: [UInt8]? = nil,
        sealedCode: [UInt8]? = nil,
        attempts: Int32 = 0,
        expiresAt: Timestamp
    ) {
        self.tenant = tenant
        self.kind = kind
        self.mailbox = mailbox
        self.linkHash = linkHash
        self.sealedCode = sealedCode
        self.attempts = attempts
        self.expiresAt = expiresAt
    }

    /// True after too many wrong guesses. The right code is refused too, until another mail is requested.
    package var isLocked: Bool { attempts >= Self.attemptsMax }
}

extension EmailCodeRecord.Kind {
    /// True if mails of this kind contain a short code.
    package var hasShortCode: Bool {
        switch self {
        case .passwordReset, .emailSignIn, .verifyEmail, .verifyAndChangeEmail, .lookUp: true
        // These mails are notices, not answers to a request that waits on another device.
        case .recoverEmail, .revertSecondFactorAddition, .revertSignInMethodChange: false
        }
    }
}
