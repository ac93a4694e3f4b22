/// Kind of a second factor. Raw values are those of tokens (`sign_in_second_factor`).
package enum SecondFactorKind: String, Sendable, Hashable, CaseIterable {
    /// A code that is sent to a number.
    case phone
    /// A code that an app computes from a shared secret and the time (RFC 6238).
    case totp
}

/// Identifies an enrollment within its account (`mfaEnrollmentId`): 1 to 128 characters, no control characters.
///
/// Compares bytes, as the database does. Swift's strings compare by Unicode equivalence.
package struct SecondFactorID: CheckedText, Sendable, Hashable {
    package let rawValue: String

    package init?(_ rawValue: String) {
        guard !rawValue.isEmpty, rawValue.unicodeScalars.count <= 128,
            !rawValue.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return nil }
        self.rawValue = rawValue
    }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8) }

    package func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }
}

/// A second factor of an account, without the secret that checks it.
package struct SecondFactor: Sendable, Hashable {
    package enum Method: Sendable, Hashable {
        case phone(PhoneNumber)
        case totp
    }

    /// Maximum number of second factors of an account; the table has as many places.
    package static let countMax = 5

    package var id: SecondFactorID
    package var method: Method
    package var displayName: String?
    package var enrolledAt: Timestamp

    package init(id: SecondFactorID, method: Method, displayName: String?, enrolledAt: Timestamp) {
        self.id = id
        self.method = method
        self.displayName = displayName
        self.enrolledAt = enrolledAt
    }

    package var kind: SecondFactorKind {
        switch method {
        case .phone: .phone
        case .totp: .totp
        }
    }

    /// `nil` for `totp`.
    package var number: PhoneNumber? {
        switch method {
        case .phone(let number): number
        case .totp: nil
        }
    }
}

/// A pending enrollment of a second factor, or a sign-in that waits for one.
package struct FactorChallenge: OneTimeRecord, Sendable, Hashable {
    /// The only purpose for which it can be presented.
    package enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// The first factor was right (`mfaPendingCredential`).
        case signIn = "sign-in"
        /// A secret was issued (`sessionInfo` of a TOTP enrollment).
        case enrollment
    }

    /// Number of codes that are compared, the right one included.
    package static let attemptsMax: Int32 = 5

    package var tenant: TenantID
    package var user: UserID
    /// 16 random bytes.
    package var id: [UInt8]
    package var purpose: Purpose
    /// The account's session epoch at creation: the challenge ends with the sessions.
    package var sessionEpoch: Int64
    /// The pending operation, sealed.
    package var sealedContent: [UInt8]
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    package var consumedAt: Timestamp?
    package var attempts: Int32

    package init(
        tenant: TenantID,
        user: UserID,
        id: [UInt8],
        purpose: Purpose,
        sessionEpoch: Int64,
        sealedContent: [UInt8],
        createdAt: Timestamp,
        expiresAt: Timestamp,
        consumedAt: Timestamp? = nil,
        attempts: Int32 = 0
    ) {
        self.tenant = tenant
        self.user = user
        self.id = id
        self.purpose = purpose
        self.sessionEpoch = sessionEpoch
        self.sealedContent = sealedContent
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.consumedAt = consumedAt
        self.attempts = attempts
    }
}
