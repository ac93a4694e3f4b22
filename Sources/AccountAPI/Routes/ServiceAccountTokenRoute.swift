import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// Bearer tokens for service accounts: the `token_uri` of their credentials file (RFC 7523 §2.1, RFC 6749 §5.1).
    static let serviceAccountToken = Route(
        .post,
        AccountOperations.tokenPath,
        // The fixed paths of libraries that ignore the URI in the credentials file.
        aliases: ["/token", "/oauth2/v4/token", "/oauth2.googleapis.com/token", "/www.googleapis.com/oauth2/v4/token"],
        access: .anyone,
        acceptsForm: true
    ) { request in
        let body = request.body
        guard let grantType = try body.nonEmptyString("grantType") else { throw APIError.code(.missingGrantType) }
        guard grantType == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            throw APIError.code(.invalidGrantType)
        }
        guard let assertion = try body.nonEmptyString("assertion"),
            let issued = try await request.operations.issueAccessToken(
                assertion: assertion,
                publicURL: request.publicURL
            )
        else { throw APIError.code(.invalidGrant, "Invalid JWT signature or claims.") }
        return .object { writer in
            writer.field("access_token", issued.token)
            writer.field("expires_in", issued.expiresInSeconds)
            writer.field("token_type", "Bearer")
        }
    }
}
