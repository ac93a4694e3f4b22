public import Foundation

/// A second factor of an account.
public struct MultiFactorInfo: Sendable, Hashable {
    /// The factor's id at the server.
    public let uid: String
    public let displayName: String?
    public let enrollmentDate: Date?
    /// `phone` or `totp`.
    public let factorID: String
    /// The number of a phone factor. While a sign-in is pending it is masked.
    public let phoneNumber: String?

    init(_ factor: StoredUser.Factor) {
        uid = factor.uid
        displayName = factor.displayName
        enrollmentDate = factor.enrollmentDate
        phoneNumber = factor.phoneNumber
        factorID = factor.phoneNumber == nil ? Self.totpFactorID : Self.phoneFactorID
    }

    /// ``factorID`` of a number.
    public static let phoneFactorID = "phone"
    /// ``factorID`` of a TOTP app.
    public static let totpFactorID = "totp"
}

/// FirebaseAuth's names for the kinds of a factor.
public typealias PhoneMultiFactorInfo = MultiFactorInfo
public typealias TOTPMultiFactorInfo = MultiFactorInfo

/// The operation that a second factor is for: an enrollment, or a sign-in that is pending.
public struct MultiFactorSession: Sendable, CustomStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        /// An enrollment in the session of this user.
        case enrollment(User)
        /// A pending sign-in (`mfaPendingCredential`).
        case signIn(Secret)
    }

    let kind: Kind

    public var description: String { "MultiFactorSession" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The proof of a second factor: a code of a text message or of a TOTP app.
public struct MultiFactorAssertion: Sendable, CustomStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        case phone(verificationID: Secret, code: Secret)
        case totpEnrollment(TOTPSecret, code: Secret)
        case totpSignIn(enrollmentID: String, code: Secret)
        /// A credential that is no phone credential.
        case unusable
    }

    let kind: Kind

    /// `phone` or `totp`.
    public var factorID: String {
        switch kind {
        case .phone, .unusable: MultiFactorInfo.phoneFactorID
        case .totpEnrollment, .totpSignIn: MultiFactorInfo.totpFactorID
        }
    }

    public var description: String { "MultiFactorAssertion(\(factorID))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
