import Foundation

extension Auth {
    private struct CodeAnswer: Decodable, Sendable {
        let requestType: String?
        let email: String?
        let newEmail: String?
    }

    /// Mails a link to set a new password.
    ///
    /// If the project protects addresses, it succeeds for every address.
    ///
    /// - Throws: ``AuthErrorCode/userNotFound``, ``AuthErrorCode/invalidEmail``, ``AuthErrorCode/tooManyRequests``,
    ///   ``AuthErrorCode/unauthorizedDomain``.
    public func sendPasswordReset(
        withEmail email: String,
        actionCodeSettings settings: ActionCodeSettings? = nil
    ) async throws(AuthError) {
        try await sendOobCode("PASSWORD_RESET", ["email": email.json], settings)
    }

    /// Says what a mailed code is for, and does not use it up.
    ///
    /// - Throws: ``AuthErrorCode/invalidActionCode``, ``AuthErrorCode/expiredActionCode``.
    public func checkActionCode(_ code: String) async throws(AuthError) -> ActionCodeInfo {
        var call = Call<CodeAnswer>.post("/v1/accounts:resetPassword", ["oobCode": code.json])
        call.isRepeatable = true
        let answer = try await backend.call(call)
        let operation = ActionCodeOperation(requestType: answer.requestType)
        let changes = operation == .verifyAndChangeEmail || operation == .recoverEmail
        return ActionCodeInfo(
            operation: operation,
            email: (changes ? answer.newEmail : nil) ?? answer.email ?? "",
            previousEmail: changes && answer.newEmail != nil ? answer.email : nil
        )
    }

    /// The address whose password a mailed code resets.
    public func verifyPasswordResetCode(_ code: String) async throws(AuthError) -> String {
        let info = try await checkActionCode(code)
        guard info.operation == .passwordReset, !info.email.isEmpty else {
            throw AuthError(.invalidActionCode, "the code resets no password")
        }
        return info.email
    }

    /// Sets a new password with a mailed code. All sessions of the account end.
    ///
    /// - Throws: ``AuthErrorCode/weakPassword`` (the code stays usable), ``AuthErrorCode/invalidActionCode``,
    ///   ``AuthErrorCode/expiredActionCode``.
    public func confirmPasswordReset(withCode code: String, newPassword: String) async throws(AuthError) {
        let _: CodeAnswer = try await backend.call(
            .post("/v1/accounts:resetPassword", ["oobCode": code.json, "newPassword": newPassword.json])
        )
    }

    /// Uses a mailed code that verifies, changes or restores an address, or removes a second factor.
    public func applyActionCode(_ code: String) async throws(AuthError) {
        let _: Nothing = try await backend.call(.post("/v1/accounts:update", ["oobCode": code.json]))
    }

    /// The sign-in methods of an address. Empty if the project protects addresses and the device is not known:
    /// `lookup(email:)` then mails them to the owner.
    public func fetchSignInMethods(forEmail email: String) async throws(AuthError) -> [String] {
        struct Answer: Decodable, Sendable {
            let signinMethods: [String]?
        }
        var call = Call<Answer>.post(
            "/v1/accounts:createAuthUri",
            [
                "identifier": email.json, "continueUri": "http://localhost",
                "deviceToken": try keeper.read().deviceToken?.text.json,
            ]
        )
        call.isRepeatable = true
        return try await backend.call(call).signinMethods ?? []
    }

    func sendOobCode(
        _ type: String,
        _ body: [String: JSONValue?],
        _ settings: ActionCodeSettings?
    ) async throws(AuthError) {
        var all = body.merging(settings?.body ?? [:]) { own, _ in own }
        all["requestType"] = type.json
        let _: Nothing = try await backend.call(.post("/v1/accounts:sendOobCode", all))
    }
}
