import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The metadata that OpenID Connect libraries need to verify ID tokens (OpenID Connect Discovery 1.0 §3).
    static let openIDConfiguration = Route(.get, "/.well-known/openid-configuration", access: .anyone) { request in
        discoveryDocument(request)
    }

    /// The same document below the issuer's path, where Google serves it.
    static let projectOpenIDConfiguration = Route(
        .get,
        "/{project}/.well-known/openid-configuration",
        aliases: ["/securetoken.google.com/{project}/.well-known/openid-configuration"],
        access: .anyone
    ) { request in
        discoveryDocument(request)
    }

    private static func discoveryDocument(_ request: APIRequest) -> APIResponse {
        let operations = request.operations
        // Without a public URL the address may be that of one machine, or in development the one that the caller sent.
        let maxAgeSeconds = request.publicURL == nil ? nil : 900
        return .object(maxAgeSeconds: maxAgeSeconds) { writer in
            writer.field("issuer", "https://securetoken.google.com/\(operations.project.settings.projectID)")
            writer.field("jwks_uri", request.baseURL + jsonWebKeySet.path)
            writer.field("response_types_supported", ["id_token"])
            writer.field("subject_types_supported", ["public"])
            writer.field("id_token_signing_alg_values_supported", operations.tokens.algorithms)
            writer.field("scopes_supported", ["openid", "email", "profile"])
            writer.field(
                "claims_supported",
                [
                    "iss", "aud", "sub", "iat", "exp", "auth_time", "user_id", "name", "picture", "email",
                    "email_verified", "phone_number",
                ]
            )
        }
    }
}
