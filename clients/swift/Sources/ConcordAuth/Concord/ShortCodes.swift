/// The mails that have a short code beside their link.
///
/// Source: `MailKind` of `docs/openapi.json`.
public enum ShortCodePurpose: String, Sendable, Hashable {
    case passwordReset = "PASSWORD_RESET"
    case emailSignIn = "EMAIL_SIGNIN"
    case verifyEmail = "VERIFY_EMAIL"
    case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
}

/// The result of ``Auth/disownAccount(withCode:)``.
public struct DisownedAccount: Sendable, Hashable, Decodable {
    /// The address of the mail.
    public let email: String
    /// The methods that were suspended.
    public let suspended: [Suspension]
    /// True if the account lost the address, because it has a second factor.
    public let gaveAddressUp: Bool
}

extension Auth {
    private struct Exchanged: Decodable, Sendable {
        let oobCode: String
    }

    /// Exchanges the eight digits of a mail for the code that its link has, for a person who reads the mail on another
    /// device. The mailed link and digits are void afterwards.
    ///
    /// - Parameters:
    ///   - code: Blanks and hyphens do not count.
    ///   - email: The address of the mail.
    ///   - purpose: The purpose of the mail.
    /// - Returns: The code for ``confirmPasswordReset(withCode:newPassword:)`` or ``applyActionCode(_:)``.
    /// - Throws: `wrongProof`, `tooManyRequests`.
    public func actionCode(
        ofShortCode code: String,
        email: String,
        purpose: ShortCodePurpose
    ) async throws(AuthError) -> String {
        let body: [String: JSONValue?] = [
            "requestType": purpose.rawValue.json,
            "email": email.json,
            "code": code.json,
        ]
        return try await backend.call(Call<Exchanged>.post("/concord/v1/shortCode:exchange", body)).oobCode
    }

    /// Signs in with the eight digits of a sign-in mail.
    ///
    /// - Throws: `wrongProof`, `tooManyRequests`; the errors of ``signIn(withEmail:link:)``.
    @discardableResult
    public func signIn(withEmail email: String, shortCode: String) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(configuration.requestTimeout) { () throws(AuthError) in
            let signOuts = try keeper.read().signOuts
            let code = try await actionCode(ofShortCode: shortCode, email: email, purpose: .emailSignIn)
            return try await signIn(
                .post("/v1/accounts:signInWithEmailLink", ["email": email.json, "oobCode": code.json]),
                for: .signIn(provider: EmailAuthProvider.id),
                since: signOuts
            )
        }
    }

    /// Takes an account from the person who made it with another person's address: the reader of the mailbox says that
    /// the account is not theirs. Every session of the account ends.
    ///
    /// - Parameter code: The code of a mail that verifies an address.
    /// - Returns: The account that was taken.
    /// - Throws: `codeUnusable`.
    @discardableResult
    public func disownAccount(withCode code: String) async throws(AuthError) -> DisownedAccount {
        let call = Call<DisownedAccount>.post("/concord/v1/emailCode:disown", ["oobCode": code.json])
        return try await backend.call(call.once(Digest.idempotencyKey(Secret(code), "emailCode:disown")))
    }
}
