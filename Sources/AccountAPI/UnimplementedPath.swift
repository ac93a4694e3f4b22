import HTTPTypes

/// A part of the original's API that Concord does not have (docs/reference/differences.md). Every caller gets 501
/// `UNIMPLEMENTED`, which says that the path itself is right.
struct UnimplementedPath: Sendable {
    let path: String
    /// The missing feature, as the beginning of a sentence.
    let what: String

    /// The host that emulator-mode SDKs put in front of the path.
    private var hostPrefix = "/identitytoolkit.googleapis.com"

    init(path: String, what: String) {
        self.path = path
        self.what = what
    }

    /// A name of the previous version of the API.
    private static func legacy(_ name: String, what: String) -> UnimplementedPath {
        var missing = UnimplementedPath(path: Route.legacyPrefix + name, what: what)
        missing.hostPrefix = Route.legacyHostPrefix
        return missing
    }

    /// Every path of the missing feature.
    var paths: [String] { [path, hostPrefix + path] }

    static let methods: [HTTPRequest.Method] = [.get, .post, .patch, .delete]

    static let all = [
        UnimplementedPath(path: "/v1/accounts:signInWithGameCenter", what: "Sign-in with Game Center"),
        legacy("signInWithGameCenter", what: "Sign-in with Game Center"),
        legacy("setProjectConfig", what: "Changing the configuration by this name"),
        UnimplementedPath(path: "/v1/accounts:issueSamlResponse", what: "SAML"),
        UnimplementedPath(path: "/v2/accounts/passkeyEnrollment:start", what: "A passkey"),
        UnimplementedPath(path: "/v2/accounts/passkeyEnrollment:finalize", what: "A passkey"),
        UnimplementedPath(path: "/v2/accounts/passkeySignIn:start", what: "A passkey"),
        UnimplementedPath(path: "/v2/accounts/passkeySignIn:finalize", what: "A passkey"),
        UnimplementedPath(path: "/v2/projects/{project}/inboundSamlConfigs", what: "SAML"),
        UnimplementedPath(path: "/v2/projects/{project}/inboundSamlConfigs/{id}", what: "SAML"),
        UnimplementedPath(path: "/v2/projects/{project}/tenants/{tenant}/inboundSamlConfigs", what: "SAML"),
        UnimplementedPath(path: "/v2/projects/{project}/tenants/{tenant}/inboundSamlConfigs/{id}", what: "SAML"),
        UnimplementedPath(path: "/v2/projects/{project}/tenants", what: "Administration of tenants"),
        UnimplementedPath(path: "/v2/projects/{project}/tenants/{tenant}", what: "Administration of tenants"),
        UnimplementedPath(
            path: "/v2/projects/{project}/tenants/{tenant}:getIamPolicy",
            what: "Administration of tenants"
        ),
        UnimplementedPath(
            path: "/v2/projects/{project}/tenants/{tenant}:setIamPolicy",
            what: "Administration of tenants"
        ),
        UnimplementedPath(
            path: "/v2/projects/{project}/tenants/{tenant}:testIamPermissions",
            what: "Administration of tenants"
        ),
        // The next one goes here.
    ]
}
