import Foundation

/// Sends codes to telephone numbers, and makes credentials of them.
///
/// Before a text is sent, the server wants proof that the request comes from the app. On iOS it is a silent push, which
/// needs no permission; everywhere else, and if no push comes, it is a challenge on a page of the server.
///
/// ```swift
/// let id = try await PhoneAuthProvider.provider().verifyPhoneNumber("+16505550100")
/// let credential = PhoneAuthProvider.provider().credential(withVerificationID: id, verificationCode: code)
/// try await Auth.auth().signIn(with: credential)
/// ```
///
/// Verification IDs are in the session store before they are returned: an app that was killed while the person reads
/// the text finds them in ``Auth/pendingPhoneVerifications()``.
public final class PhoneAuthProvider: Sendable {
    /// `phone`.
    public static let id = "phone"

    let auth: Auth
    private let pushes: (any AppPushRegistering)?

    init(auth: Auth, pushes: (any AppPushRegistering)?) {
        self.auth = auth
        self.pushes = pushes
    }

    /// - Parameters:
    ///   - auth: The client.
    ///   - pushes: Registers the app for silent pushes. `nil` is the system's on iOS, and none elsewhere.
    /// - Returns: The provider.
    public static func provider(
        auth: Auth = Auth.auth(),
        pushes: (any AppPushRegistering)? = nil
    ) -> PhoneAuthProvider {
        #if os(iOS)
        PhoneAuthProvider(auth: auth, pushes: pushes ?? AppleAppPushes())
        #else
        PhoneAuthProvider(auth: auth, pushes: pushes)
        #endif
    }

    /// Sends a code to a number.
    ///
    /// Within 30 seconds, another call for the number sends no second text: both verification IDs take the same code.
    ///
    /// - Parameters:
    ///   - phoneNumber: The number with its country code, `+` first.
    ///   - uiDelegate: Opens the challenge. `nil` on Apple's systems is the system's sign-in sheet.
    ///   - multiFactorSession: The operation that the number is a second factor for; `nil` for a sign-in.
    /// - Returns: The verification ID.
    /// - Throws: `missingPhoneNumber`, `invalidPhoneNumber`; `captchaCheckFailed`; `quotaExceeded` and
    ///   `tooManyRequests`; `missingAppCredential` or `missingClientIdentifier` for a real number while
    ///   ``AuthSettings/isAppVerificationDisabledForTesting`` is on.
    public func verifyPhoneNumber(
        _ phoneNumber: String,
        uiDelegate: (any WebAuthenticating)? = nil,
        multiFactorSession: MultiFactorSession? = nil
    ) async throws(AuthError) -> String {
        guard !phoneNumber.isEmpty else { throw AuthError(.missingPhoneNumber, "the number is empty") }
        return try await verify(.number(phoneNumber, multiFactorSession), uiDelegate)
    }

    /// Sends a code to a second factor of a pending sign-in. The client does not know the whole number.
    ///
    /// - Parameters:
    ///   - multiFactorInfo: One of ``MultiFactorResolver/hints``.
    ///   - uiDelegate: Opens the challenge. `nil` on Apple's systems is the system's sign-in sheet.
    ///   - multiFactorSession: ``MultiFactorResolver/session``.
    /// - Returns: The verification ID.
    /// - Throws: `missingMultiFactorSession` for a session of an enrollment; the errors of
    ///   ``verifyPhoneNumber(_:uiDelegate:multiFactorSession:)``.
    public func verifyPhoneNumber(
        with multiFactorInfo: PhoneMultiFactorInfo,
        uiDelegate: (any WebAuthenticating)? = nil,
        multiFactorSession: MultiFactorSession?
    ) async throws(AuthError) -> String {
        guard case .signIn(let pending) = multiFactorSession?.kind else {
            throw AuthError(.missingMultiFactorSession, "pass the session of the resolver")
        }
        return try await verify(.factor(multiFactorInfo, pending), uiDelegate)
    }

    /// Makes a credential of the code that the person typed.
    public func credential(withVerificationID verificationID: String, verificationCode: String) -> PhoneAuthCredential {
        AuthCredential(
            Self.id,
            .phone(verificationID: Secret(verificationID), code: Secret(verificationCode))
        )
    }

    private func verify(
        _ request: PhoneCodeRequest,
        _ uiDelegate: (any WebAuthenticating)?
    ) async throws(AuthError) -> String {
        let (credential, isPush) = try await appCredential(uiDelegate)
        let verificationID: String
        do {
            verificationID = try await request.send(credential, in: auth)
        } catch  where isPush && error.code == .invalidAppCredential {
            // The receipt is a week old, or another app's: get another one, once.
            try auth.store(pushCredential: nil)
            let (credential, _) = try await appCredential(uiDelegate)
            verificationID = try await request.send(credential, in: auth)
        }
        try auth.add(
            PendingPhoneVerification(
                scope: auth.configuration.scope,
                verificationID: Secret(verificationID),
                phoneNumber: request.phoneNumber,
                requestTime: auth.configuration.now()
            )
        )
        return verificationID
    }

    /// The members that prove the app, and true if they are of a push.
    private func appCredential(
        _ uiDelegate: (any WebAuthenticating)?
    ) async throws(AuthError) -> (members: [String: JSONValue], isPush: Bool) {
        if auth.testSettings.isAppVerificationDisabledForTesting { return ([:], false) }
        if let credential = try await auth.pushCredential(pushes) {
            return (["iosReceipt": credential.receipt.text.json, "iosSecret": credential.secret.text.json], true)
        }
        return (["recaptchaToken": try await auth.challengeToken(uiDelegate).json], false)
    }
}

/// The purpose of a code: a number, or a second factor of a pending sign-in.
private enum PhoneCodeRequest: Sendable {
    case number(String, MultiFactorSession?)
    case factor(MultiFactorInfo, Secret)

    var phoneNumber: String {
        switch self {
        case .number(let number, _): number
        case .factor(let factor, _): factor.phoneNumber ?? ""
        }
    }

    private struct Sent: Decodable, Sendable {
        struct Session: Decodable, Sendable {
            let sessionInfo: String
        }

        let sessionInfo: String?
        let phoneSessionInfo: Session?
        let phoneResponseInfo: Session?
    }

    /// Requests the code, and returns the verification ID.
    func send(_ credential: [String: JSONValue], in auth: Auth) async throws(AuthError) -> String {
        let sent = try await auth.backend.call(call(credential))
        let id = sent.sessionInfo ?? sent.phoneSessionInfo?.sessionInfo ?? sent.phoneResponseInfo?.sessionInfo
        guard let id, !id.isEmpty else {
            throw AuthError(.invalidServerAnswer, "the answer has no verification ID")
        }
        return id
    }

    private func call(_ credential: [String: JSONValue]) async throws(AuthError) -> Call<Sent> {
        switch self {
        case .number(let number, nil):
            return .post("/v1/accounts:sendVerificationCode", credential.merging(["phoneNumber": number.json]) { $1 })
        case .number(let number, let session?):
            guard case .enrollment(let user) = session.kind else {
                throw AuthError(.invalidMultiFactorSession, "the session is a sign-in's; pass one of its hints")
            }
            return .post(
                "/v2/accounts/mfaEnrollment:start",
                [
                    "idToken": try await user.getIDToken().json,
                    "phoneEnrollmentInfo": .object(credential.merging(["phoneNumber": number.json]) { $1 }),
                ]
            )
        case .factor(let factor, let pending):
            return .post(
                "/v2/accounts/mfaSignIn:start",
                [
                    "mfaPendingCredential": pending.text.json,
                    "mfaEnrollmentId": factor.uid.json,
                    "phoneSignInInfo": .object(credential),
                ]
            )
        }
    }
}
