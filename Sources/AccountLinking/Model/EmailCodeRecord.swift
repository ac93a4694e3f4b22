/// A code that travels by mail. The code itself is not here, only its hash.
package struct EmailCodeRecord: Sendable, Hashable {
    /// The purpose of a code, by its name on the wire.
    package enum Kind: String, Sendable, CaseIterable {
        case passwordReset = "PASSWORD_RESET"
        case emailSignIn = "EMAIL_SIGNIN"
        case verifyEmail = "VERIFY_EMAIL"
        case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"
        case revertSecondFactorAddition = "REVERT_SECOND_FACTOR_ADDITION"
        /// Brings back the sign-in methods that the account had before a change. Concord's own.
        case revertSignInMethodChange = "REVERT_SIGN_IN_METHOD_CHANGE"

        /// Whether it takes back what an intruder may have done. A refusal leaves such a code usable: it is worth something once
        /// what stands in its way is gone.
        package var takesBack: Bool {
            switch self {
            case .recoverEmail, .revertSecondFactorAddition, .revertSignInMethodChange: true
            case .passwordReset, .emailSignIn, .verifyEmail, .verifyAndChangeEmail: false
            }
        }
    }

    /// What a code is good for at an instant.
    package enum State: Sendable, Hashable {
        case usable
        /// Used or void: the same as unknown to whoever presents it.
        case consumed
        case expired
        /// It came back with other addresses too often.
        case locked
    }

    /// Number of attempts with an address that the code was not sent to, before the code is dead.
    package static let attemptsMax: Int32 = 5

    /// Live codes that bring an address back and are looked at, the oldest first. Nearly every account has one address that
    /// such codes name.
    package static let recoveriesMax: Int64 = 16

    package var tenant: TenantID
    /// SHA-256 of the code.
    package var hash: [UInt8]
    package var kind: Kind
    /// The account at the time; `nil` while nobody has the address.
    package var user: UserID?
    /// The account's epoch at the time, where the code dies with the sessions.
    package var sessionEpoch: Int64?
    /// The account's address at the time: where the code went, unless there is a new one.
    package var email: EmailAddress
    package var newEmail: EmailAddress?
    /// Sign-in of the session that asked for a `VERIFY_EMAIL` code, which names that session among those of the account; `nil`
    /// where no session asked.
    package var requesterAuthTime: Timestamp?
    /// What a code of that kind takes off the account.
    package var secondFactor: SecondFactorID?
    /// Whether whoever reads the mailbox had shown to, by the time the code went there. Of codes that take back what an
    /// intruder did.
    package var addressWasProven: Bool
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var consumedAt: Timestamp?
    package var attempts: Int32

    package init(
        tenant: TenantID,
        hash: [UInt8],
        kind: Kind,
        user: UserID?,
        sessionEpoch: Int64? = nil,
        email: EmailAddress,
        newEmail: EmailAddress? = nil,
        requesterAuthTime: Timestamp? = nil,
        secondFactor: SecondFactorID? = nil,
        addressWasProven: Bool = false,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        consumedAt: Timestamp? = nil
    ) {
        self.tenant = tenant
        self.hash = hash
        self.kind = kind
        self.user = user
        self.sessionEpoch = sessionEpoch
        self.email = email
        self.newEmail = newEmail
        self.requesterAuthTime = requesterAuthTime
        self.secondFactor = secondFactor
        self.addressWasProven = addressWasProven
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.consumedAt = consumedAt
        self.attempts = 0
    }

    package func state(at now: Timestamp) -> State {
        if consumedAt != nil { return .consumed }
        if now >= expiresAt { return .expired }
        return attempts < Self.attemptsMax ? .usable : .locked
    }

    /// Whether a code that brings back an address is about `user`: an account that was made anew under the id of a deleted one
    /// never had that address. A takeover makes an account forget its first address, but not one whose holder had shown to be
    /// that.
    package func bringsBackAddress(of user: UserRecord) -> Bool {
        addressWasProven
            ? user.createdAt <= createdAt : user.initialEmail.flatMap(EmailAddress.init) == email
    }
}
