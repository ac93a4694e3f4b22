import AccountLinking
import AccountOperations
import HTTPTypes
import IdentityProviders

extension Route {
    /// `accounts:revokeToken`: revokes a token at the provider that issued it.
    static let revokeToken = Route(.post, "/v2/accounts:revokeToken", access: .client) { request in
        let body = request.body
        guard let name = try body.nonEmptyString("providerId") else { throw APIError.code(.missingProviderID) }
        guard let provider = ProviderID(name) else { throw APIError.code(.invalidProviderID) }
        guard let text = try body.nonEmptyString("token") else {
            throw APIError.invalidArgument("token is required.")
        }
        let token: RevocableToken
        switch try body.enumeration("tokenType", tokenTypes) {
        case "REFRESH_TOKEN": token = .refresh(text)
        case "ACCESS_TOKEN": token = .access(text)
        case "CODE": token = .code(text, redirectURI: try body.nonEmptyString("redirectUri"))
        default: throw APIError.invalidArgument("tokenType must be REFRESH_TOKEN, ACCESS_TOKEN or CODE.")
        }
        _ = try await request.operations
            .revokeToken(
                RevokeToken(
                    provider: provider,
                    token: token,
                    idToken: request.requiredIDToken(),
                    bundleID: request.iOSBundleID
                ),
                tenant: request.tenant
            )
        return .object { _ in }
    }

    private static let tokenTypes = ["TOKEN_TYPE_UNSPECIFIED", "REFRESH_TOKEN", "ACCESS_TOKEN", "CODE"]
}
