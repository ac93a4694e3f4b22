/// A verification of a telephone number, pending or done. The client's secrets are stored as digests, the code is
/// sealed.
package struct PhoneVerificationRecord: OneTimeRecord, Sendable, Hashable {
    /// The only purpose for which it can be presented.
    package enum Purpose: String, Sendable, CaseIterable {
        case signIn = "sign-in"
        /// Enrolls the number as a second factor.
        case enrollment
        /// Signs in with the number as second factor.
        case secondFactor = "second-factor"
        /// Signs in or links without another code, after a right code for a number that another account owns.
        case temporaryProof = "temporary-proof"
    }

    /// Number of codes that are compared, the right one included, from all clients together.
    package static let attemptsMax: Int32 = 5
    /// Requests that share one message, each with its own session.
    package static let sessionsMax = 10
    package static let codeDigits = 6

    package var tenant: TenantID
    /// 16 random bytes.
    package var id: [UInt8]
    /// SHA-256 of each secret that presents it.
    package var sessionDigests: [[UInt8]]
    package var purpose: Purpose
    /// The owner of the second factor; `nil` for other purposes.
    package var user: UserID?
    package var number: PhoneNumber
    /// `nil` if the project's configuration contains the code, or no code is used.
    package var sealedCode: [UInt8]?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var consumedAt: Timestamp?
    package var attempts: Int32

    package init(
        tenant: TenantID,
        id: [UInt8],
        sessionDigests: [[UInt8]],
        purpose: Purpose,
        user: UserID? = nil,
        number: PhoneNumber,
        sealedCode: [UInt8]?,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        consumedAt: Timestamp? = nil,
        attempts: Int32 = 0
    ) {
        self.tenant = tenant
        self.id = id
        self.sessionDigests = sessionDigests
        self.purpose = purpose
        self.user = user
        self.number = number
        self.sealedCode = sealedCode
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.consumedAt = consumedAt
        self.attempts = attempts
    }

    /// Returns true if a request at `now` shares the message under way and gets its own session, instead of a second
    /// message.
    package func answersRequest(at now: Timestamp, windowSeconds: Int64) -> Bool {
        state(at: now) == .usable && now < createdAt.adding(seconds: windowSeconds)
    }
}
