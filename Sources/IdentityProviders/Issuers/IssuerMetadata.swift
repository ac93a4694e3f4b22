import JSON

/// An issuer's metadata about sign-in (OpenID Connect Discovery 1.0 §3, RFC 8414 §2).
struct IssuerMetadata: Sendable {
    /// The consent page.
    let authorizationURL: String?
    let tokenURL: String?
    let profileURL: String?
    /// The method by which clients authenticate at the token endpoint.
    let authentication: AuthorizationServer.ClientAuthentication
    /// `nil` if the issuer names none.
    let scopes: Set<String>?
    /// True if every answer of the consent page names the issuer (RFC 9207 §3).
    let isNamedInAnswers: Bool

    init(_ document: JSONValue) {
        authorizationURL = Self.address(document["authorization_endpoint"])
        tokenURL = Self.address(document["token_endpoint"])
        profileURL = Self.address(document["userinfo_endpoint"])
        // In the Authorization field, unless the issuer does not support it (OpenID Connect Core 1.0 §9).
        let methods = document["token_endpoint_auth_methods_supported"]?.array
        let isBasicOffered = methods?.contains(.string("client_secret_basic")) ?? true
        authentication =
            !isBasicOffered && methods?.contains(.string("client_secret_post")) == true ? .form : .basic
        scopes = (document["scopes_supported"]?.array).map { Set($0.compactMap(\.string)) }
        isNamedInAnswers = document["authorization_response_iss_parameter_supported"] == .bool(true)
    }

    /// Returns the URL if it is an `https` or `http` URL, because browsers open it.
    private static func address(_ value: JSONValue?) -> String? {
        guard let text = value?.string, text.utf8.count <= 2048 else { return nil }
        return text.hasPrefix("https://") || text.hasPrefix("http://") ? text : nil
    }
}
