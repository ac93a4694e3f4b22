import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `POST /concord/v1/signIn/return:issueCode`: the app's page with a code for a session of the sign-in page.
    ///
    /// Requires no API key: the refresh token is the secret.
    static let issueSignInCode = Route(.post, "/concord/v1/signIn/return:issueCode", access: .anyone) { request in
        guard let refreshToken = try request.body.nonEmptyString("refreshToken") else {
            throw Problem(.malformedRequest, "`refreshToken` is required.")
        }
        guard try request.body.nonEmptyString("codeChallenge") != nil else {
            throw Problem(.malformedRequest, "`codeChallenge` is required.")
        }
        let destination = try request.appReturn()
        return try await request.answer(boundTo: refreshToken, as: APIResponse.signInReturn) { idempotent in
            try await request.operations.issueSignInCode(refreshToken, to: destination, request.change(idempotent))
        }
    }
}

extension APIResponse {
    @Sendable fileprivate static func signInReturn(_ view: SignInReturnView) -> APIResponse {
        .object { writer in writer.field("url", view.url) }
    }
}
