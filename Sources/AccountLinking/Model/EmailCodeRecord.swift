/// A mailed code, stored as a hash only.
package struct EmailCodeRecord: OneTimeRecord, Sendable, Hashable {
    /// The purpose of a code, by its name on the wire.
    package enum Kind: String, Sendable, CaseIterable {
        case passwordReset = "PASSWORD_RESET"
        case emailSignIn = "EMAIL_SIGNIN"
        case verifyEmail = "VERIFY_EMAIL"
        case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"
        case revertSecondFactorAddition = "REVERT_SECOND_FACTOR_ADDITION"
        /// Restores the sign-in methods from before a change. Only Concord has this kind.
        case revertSignInMethodChange = "REVERT_SIGN_IN_METHOD_CHANGE"
        /// Proves a mailbox, and shows its reader the sign-in methods of the account. Only Concord has this kind.
        case lookUp = "LOOKUP"
        // The next one goes here.

        /// True for codes that undo an intruder's changes. A refusal leaves such a code usable, because the obstacle
        /// may disappear.
        package var takesBack: Bool {
            switch self {
            case .recoverEmail, .revertSecondFactorAddition, .revertSignInMethodChange: true
            case .passwordReset, .emailSignIn, .verifyEmail, .verifyAndChangeEmail, .lookUp: false
            }
        }

        /// True for codes of the action page and the compatible routes. Only the lookup's own routes take the others.
        package var isForActionPage: Bool { self != .lookUp }
    }

    /// Number of attempts with an address that the code was not sent to, before the code is dead.
    package static let attemptsMax: Int32 = 5

    /// Number of live recovery codes that are read, the oldest first. Nearly every account has codes for one address
    /// only.
    package static let recoveriesMax: Int64 = 16

    package var tenant: TenantID
    package var hash: [UInt8]
    package var kind: Kind
    /// The account when the code was sent; `nil` if no account had the address.
    package var user: UserID?
    /// The account's session epoch when the code was sent, for codes that end with the sessions.
    package var sessionEpoch: Int64?
    /// The account's address when the code was sent, and its recipient unless there is a `newEmail`.
    package var email: EmailAddress
    package var newEmail: EmailAddress?
    /// Sign-in time of the session that requested a `VERIFY_EMAIL` code. It identifies that session within the account.
    /// `nil` if no session requested the code.
    package var requesterAuthTime: Timestamp?
    /// The factor that a `REVERT_SECOND_FACTOR_ADDITION` code removes.
    package var secondFactor: SecondFactorID?
    /// True if the recipient's address was proven when the code was sent. For codes that undo an intruder's changes
    /// (`takesBack`).
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

    /// Returns true if a recovery code belongs to `user`. An account created again under a deleted account's id never
    /// had the address. A takeover deletes the first address of an account, unless that was proven.
    package func bringsBackAddress(of user: UserRecord) -> Bool {
        addressWasProven
            ? user.createdAt <= createdAt : user.initialEmail.flatMap(EmailAddress.init) == email
    }
}
