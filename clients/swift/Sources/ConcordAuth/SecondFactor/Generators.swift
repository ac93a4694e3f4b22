public import Foundation

/// Makes assertions of text message codes.
public enum PhoneMultiFactorGenerator {
    /// The assertion of a credential of `PhoneAuthProvider`, for a sign-in or an enrollment.
    public static func assertion(with credential: PhoneAuthCredential) -> MultiFactorAssertion {
        guard case .phone(let verificationID, let code) = credential.kind else {
            return MultiFactorAssertion(kind: .unusable)
        }
        return MultiFactorAssertion(kind: .phone(verificationID: verificationID, code: code))
    }
}

/// Makes secrets and assertions of TOTP apps (RFC 6238).
public enum TOTPMultiFactorGenerator {
    private struct Answer: Decodable, Sendable {
        struct Info: Decodable, Sendable {
            let sharedSecretKey: String
            let verificationCodeLength: Int?
            let hashingAlgorithm: String?
            let periodSec: Int?
            let sessionInfo: String
            let finalizeEnrollmentTime: String?
        }

        let totpSessionInfo: Info
    }

    /// Asks for a secret to enroll, in the ``MultiFactor/session()`` of the user.
    public static func generateSecret(with session: MultiFactorSession) async throws(AuthError) -> TOTPSecret {
        guard case .enrollment(let user) = session.kind else {
            throw AuthError(.invalidArgument, "the session is of a sign-in, not of an enrollment")
        }
        let answer: Answer = try await user.withToken { (token) async throws(AuthError) in
            try await user.auth.backend.call(
                .post("/v2/accounts/mfaEnrollment:start", ["idToken": token.json, "totpEnrollmentInfo": [:]])
            )
        }
        let info = answer.totpSessionInfo
        return TOTPSecret(
            key: Secret(info.sharedSecretKey),
            sessionInfo: Secret(info.sessionInfo),
            codeLength: info.verificationCodeLength,
            hashingAlgorithm: info.hashingAlgorithm,
            period: info.periodSec,
            enrollmentCompletionDeadline: info.finalizeEnrollmentTime.flatMap(HTTPDate.parseTimestamp),
            account: user.email
        )
    }

    /// The assertion for ``MultiFactor/enroll(with:displayName:)``: the secret, and a code that the app shows.
    public static func assertionForEnrollment(
        with secret: TOTPSecret,
        oneTimePassword: String
    ) -> MultiFactorAssertion {
        MultiFactorAssertion(kind: .totpEnrollment(secret, code: Secret(oneTimePassword)))
    }

    /// The assertion for ``MultiFactorResolver/resolveSignIn(with:)``. `enrollmentID` is ``MultiFactorInfo/uid`` of the
    /// hint.
    public static func assertionForSignIn(
        withEnrollmentID enrollmentID: String,
        oneTimePassword: String
    ) -> MultiFactorAssertion {
        MultiFactorAssertion(kind: .totpSignIn(enrollmentID: enrollmentID, code: Secret(oneTimePassword)))
    }
}

/// The secret of a TOTP app that is being enrolled.
public struct TOTPSecret: Sendable, CustomStringConvertible, CustomReflectable {
    let key: Secret
    let sessionInfo: Secret
    let codeLength: Int?
    let hashingAlgorithm: String?
    let period: Int?
    /// The time until which the enrollment must be completed.
    public let enrollmentCompletionDeadline: Date?
    let account: String?

    /// The secret in Base32, for users who type it.
    public func sharedSecretKey() -> String { key.text }

    /// The `otpauth` URL that apps read from a QR code. `accountName` is the user's address by default, `issuer` the
    /// app's name.
    public func generateQRCodeURL(withAccountName accountName: String? = nil, issuer: String) -> String {
        let name = accountName ?? account ?? ""
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~@")
        func escape(_ text: String) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
        var url = "otpauth://totp/\(escape(issuer)):\(escape(name))?secret=\(key.text)&issuer=\(escape(issuer))"
        if let hashingAlgorithm { url += "&algorithm=\(escape(hashingAlgorithm))" }
        if let codeLength { url += "&digits=\(codeLength)" }
        if let period { url += "&period=\(period)" }
        return url
    }

    public var description: String { "TOTPSecret" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
