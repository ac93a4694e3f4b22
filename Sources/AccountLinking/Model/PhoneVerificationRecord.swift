/// Somebody shows to hold a telephone number, or has shown it. Neither what a client presents nor the code is here as it
/// is, only digests of the one and the other sealed.
package struct PhoneVerificationRecord: Sendable, Hashable {
    /// What it can be presented for; nothing else takes it.
    package enum Purpose: String, Sendable, CaseIterable {
        case signIn = "sign-in"
        /// Making the number a second factor of an account.
        case enrollment
        /// Signing in with the second factor that the number is.
        case secondFactor = "second-factor"
        /// Signing in, or linking, without another code: one was right before, and the number was somebody else's.
        case temporaryProof = "temporary-proof"
    }

    /// What it is good for at an instant.
    package enum State: Sendable, Hashable {
        case usable
        /// The same as unknown to whoever presents it.
        case consumed
        case expired
        /// Too many wrong codes came back.
        case locked
    }

    /// Number of codes that are compared, the right one included, from all clients together.
    package static let attemptsMax: Int32 = 5
    /// Requests that share one message, each with a session of its own.
    package static let sessionsMax = 10
    package static let codeDigits = 6

    package var tenant: TenantID
    /// 16 random bytes.
    package var id: [UInt8]
    /// SHA-256 of each secret that presents it.
    package var sessionDigests: [[UInt8]]
    package var purpose: Purpose
    /// Whose second factor it is about; `nil` for the other purposes.
    package var user: UserID?
    package var number: PhoneNumber
    /// `nil` where the project's configuration holds the code, or none is asked for.
    package var sealedCode: [UInt8]?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var consumedAt: Timestamp?
    /// Wrong codes.
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

    package func state(at now: Timestamp) -> State {
        if consumedAt != nil { return .consumed }
        if now >= expiresAt { return .expired }
        return attempts < Self.attemptsMax ? .usable : .locked
    }

    /// Returns true if a request at `now` gets another session for the message that is under way, instead of a second
    /// message.
    package func answersRequest(at now: Timestamp, windowSeconds: Int64) -> Bool {
        state(at: now) == .usable && now < createdAt.adding(seconds: windowSeconds)
    }
}
