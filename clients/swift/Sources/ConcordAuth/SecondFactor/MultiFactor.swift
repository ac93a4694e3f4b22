/// The second factors of a user.
public struct MultiFactor: Sendable {
    let user: User

    /// The enrolled factors.
    public var enrolledFactors: [MultiFactorInfo] { user.profile.with { $0.factors.map(MultiFactorInfo.init) } }

    /// Begins an enrollment. Pass the session to `PhoneAuthProvider` or ``TOTPMultiFactorGenerator``.
    public func session() async throws(AuthError) -> MultiFactorSession {
        _ = try await user.getIDToken()
        return MultiFactorSession(kind: .enrollment(user))
    }

    /// Enrolls a factor. The session continues with both factors shown.
    ///
    /// - Throws: ``AuthErrorCode/invalidVerificationCode``, ``AuthErrorCode/sessionExpired``,
    ///   ``AuthErrorCode/unverifiedEmail``, ``AuthErrorCode/secondFactorAlreadyEnrolled``,
    ///   ``AuthErrorCode/maximumSecondFactorCountExceeded``, ``AuthErrorCode/requiresRecentLogin``.
    public func enroll(with assertion: MultiFactorAssertion, displayName: String?) async throws(AuthError) {
        var body: [String: JSONValue?] = ["displayName": displayName?.json]
        switch assertion.kind {
        case .phone(let verificationID, let code):
            body["phoneVerificationInfo"] = ["sessionInfo": verificationID.text.json, "code": code.text.json]
        case .totpEnrollment(let secret, let code):
            body["totpVerificationInfo"] = [
                "sessionInfo": secret.sessionInfo.text.json, "verificationCode": code.text.json,
            ]
        case .totpSignIn, .unusable:
            throw AuthError(.invalidArgument, "the assertion is for a sign-in; use assertionForEnrollment")
        }
        try await user.change(body, at: "/v2/accounts/mfaEnrollment:finalize")
    }

    /// Removes a factor. A new sign-in may be needed: without the factor, tokens that showed it end.
    public func unenroll(with factor: MultiFactorInfo) async throws(AuthError) {
        try await unenroll(withFactorUID: factor.uid)
    }

    /// Removes a factor by its id, as ``unenroll(with:)`` does.
    public func unenroll(withFactorUID uid: String) async throws(AuthError) {
        try await user.change(["mfaEnrollmentId": uid.json], at: "/v2/accounts/mfaEnrollment:withdraw") { account in
            account.factors.removeAll { $0.uid == uid }
        }
    }
}
