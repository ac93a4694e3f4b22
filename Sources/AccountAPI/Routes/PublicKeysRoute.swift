import AccountOperations
import HTTPTypes

extension Route {
    /// The certificates that verify ID tokens, by key id, for Admin SDKs.
    static let certificates = Route(
        .get,
        certificatesPath,
        aliases: ["/www.googleapis.com" + certificatesPath],
        access: .anyone
    ) { request in
        APIResponse(json: request.operations.tokens.certificates(), maxAgeSeconds: keysMaxAgeSeconds)
    }

    /// The same keys as a JSON Web Key Set, for OpenID Connect libraries.
    static let jsonWebKeySet = Route(
        .get,
        jsonWebKeySetPath,
        aliases: ["/www.googleapis.com" + jsonWebKeySetPath],
        access: .anyone
    ) { request in
        APIResponse(json: try request.operations.tokens.jsonWebKeySet(), maxAgeSeconds: keysMaxAgeSeconds)
    }

    private static let certificatesPath = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
    private static let jsonWebKeySetPath = "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"

    /// Much shorter than the day for which a key is published before it signs (`KeySchedule`).
    fileprivate static let keysMaxAgeSeconds = 900
}

extension Route {
    /// The certificates that verify session cookies, by key id.
    static let sessionCookieCertificates = Route(.get, "/v1/publicKeys", legacyName: "publicKeys", access: .anyone) {
        request in
        APIResponse(json: request.operations.cookies.certificates(), maxAgeSeconds: keysMaxAgeSeconds)
    }

    /// The same keys as a JSON Web Key Set.
    static let sessionCookieKeySet = Route(.get, "/v1/sessionCookiePublicKeys", access: .anyone) { request in
        APIResponse(json: try request.operations.cookies.jsonWebKeySet(), maxAgeSeconds: keysMaxAgeSeconds)
    }
}
