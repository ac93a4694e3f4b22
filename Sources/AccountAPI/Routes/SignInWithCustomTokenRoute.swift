import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signInWithCustomToken`. The answer has no `localId`; clients read it from the token.
    static let signInWithCustomToken = Route(
        .post,
        "/v1/accounts:signInWithCustomToken",
        legacyName: "verifyCustomToken",
        access: .client
    ) { request in
        guard let token = try request.body.nonEmptyString("token") else { throw APIError.code(.missingCustomToken) }
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations.signInWithCustomToken(token, tenant: request.tenant)
        let deviceToken = try await request.deviceToken(deviceRequest, of: result)
        return .object(after: result.decision) { writer in
            writer.field("kind", "identitytoolkit#VerifyCustomTokenResponse")
            writer.field("isNewUser", result.isNewUser)
            writer.tokens(result.tokens)
            writer.field("deviceToken", deviceToken)
        }
    }
}
