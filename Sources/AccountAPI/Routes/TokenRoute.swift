import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `/v1/token`, the refresh of a session. The answer is in `snake_case`.
    static let token = Route(.post, "/v1/token", access: .client, acceptsForm: true) { request in
        let body = request.body
        guard let grantType = try body.nonEmptyString("grantType") else { throw APIError.code(.missingGrantType) }
        guard grantType == "refresh_token" else { throw APIError.code(.invalidGrantType) }
        guard let refreshToken = try body.nonEmptyString("refreshToken") else {
            throw APIError.code(.missingRefreshToken)
        }
        let result = try await request.operations.refreshSession(
            refreshToken,
            returnsDeviceSecret: body.bool("returnDeviceSecret") ?? false,
            device: request.deviceRequest()
        )
        return .object { writer in
            writer.field("access_token", result.idToken)
            writer.field("expires_in", decimalString: result.expiresInSeconds)
            writer.field("token_type", "Bearer")
            writer.field("refresh_token", result.refreshToken)
            writer.field("id_token", result.idToken)
            writer.field("user_id", result.user.rawValue)
            writer.field("device_secret", result.deviceSecret)
            writer.field("device_token", result.deviceToken)
            writer.field("project_id", decimalString: result.projectNumber)
        }
    }
}
