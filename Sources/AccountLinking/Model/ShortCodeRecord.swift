/// The short code of the newest mail of a kind to a mailbox, or how often somebody guessed at one where there is none.
package struct ShortCodeRecord: Sendable, Hashable {
    /// Number of wrong guesses, by any client, before the code is dead.
    package static let attemptsMax: Int32 = 5

    package var tenant: TenantID
    package var kind: EmailCodeRecord.Kind
    /// Where the mail went.
    package var mailbox: EmailAddress
    /// SHA-256 of the code in the link of the same mail; `nil` where there is no mail.
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

    /// Whether it was guessed at too often: the right code counts no more either, until another mail is asked for.
    package var isLocked: Bool { attempts >= Self.attemptsMax }
}

extension EmailCodeRecord.Kind {
    /// Whether its mails carry a short code. What takes an address back has time for the link.
    package var hasShortCode: Bool {
        switch self {
        case .passwordReset, .emailSignIn, .verifyEmail, .verifyAndChangeEmail: true
        // What tells an owner of something is no answer to a request that goes on elsewhere.
        case .recoverEmail, .revertSecondFactorAddition, .revertSignInMethodChange: false
        }
    }
}
