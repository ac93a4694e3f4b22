/// A sign-in that waits for its second factor. ``AuthError/resolver`` carries it.
public final class MultiFactorResolver: Sendable {
    /// The pending sign-in. Pass it to `PhoneAuthProvider.verifyPhoneNumber(with:multiFactorSession:)`.
    public let session: MultiFactorSession
    /// The factors of the account, with masked numbers.
    public let hints: [MultiFactorInfo]
    public let auth: Auth

    let pending: Secret
    let purpose: SignInPurpose

    init(auth: Auth, pending: Secret, hints: [MultiFactorInfo], purpose: SignInPurpose) {
        self.auth = auth
        self.pending = pending
        self.hints = hints
        self.purpose = purpose
        session = MultiFactorSession(kind: .signIn(pending))
    }

    /// Completes the sign-in.
    ///
    /// After a wrong code the resolver can be used again.
    ///
    /// - Throws: ``AuthErrorCode/invalidVerificationCode``, ``AuthErrorCode/sessionExpired``,
    ///   ``AuthErrorCode/invalidMultiFactorSession`` if the sign-in has to begin again.
    @discardableResult
    public func resolveSignIn(with assertion: MultiFactorAssertion) async throws(AuthError) -> AuthDataResult {
        var body: [String: JSONValue?] = ["mfaPendingCredential": pending.text.json]
        switch assertion.kind {
        case .phone(let verificationID, let code):
            body["phoneVerificationInfo"] = ["sessionInfo": verificationID.text.json, "code": code.text.json]
        case .totpSignIn(let enrollmentID, let code):
            body["mfaEnrollmentId"] = enrollmentID.json
            body["totpVerificationInfo"] = ["verificationCode": code.text.json]
        case .totpEnrollment, .unusable:
            throw AuthError(.invalidArgument, "the assertion is for an enrollment; use assertionForSignIn")
        }
        return try await auth.signIn(.post("/v2/accounts/mfaSignIn:finalize", body), for: purpose)
    }
}

extension MultiFactorResolver: CustomStringConvertible, CustomReflectable {
    public var description: String { "MultiFactorResolver(\(hints.count) factors)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
