import AccountAPI
import AccountLinking
import AccountTestSupport
import JSON

extension TestAPI {
    /// The API as a test suite of the SDKs sees it: `owner` is an administrator.
    static func withAdministrator(
        settings: JSONValue? = nil,
        _ body: @Sendable (TestAPI) async throws -> Void
    ) async throws {
        if let settings {
            try await with(
                settings: settings,
                callers: DevelopmentCallers(),
                development: DevelopmentRoutes(),
                body
            )
        } else {
            try await with(callers: DevelopmentCallers(), development: DevelopmentRoutes(), body)
        }
    }

    static let projectPath = "/v1/projects/\(TestService.projectID)"

    /// Calls an endpoint below the project's path as administrator.
    func admin(_ name: String, _ body: JSONValue = [:]) async throws -> Answer {
        try await post("\(Self.projectPath)/\(name)", body, key: nil, bearer: "owner")
    }

    /// Creates an account as administrator and returns its id.
    @discardableResult
    func create(_ fields: JSONValue) async throws -> String {
        try await admin("accounts", fields).json["localId"]?.string ?? ""
    }

    /// The account as an administrator sees it.
    func user(_ localID: String) async throws -> JSONValue? {
        try await admin("accounts:lookup", ["localId": [.string(localID)]]).json["users"]?.array?.first
    }
}

/// The settings of `TestService.developmentDefaults`, with some changes.
func settings(
    protectsEmails: Bool = false,
    allowsDuplicateEmails: Bool = false,
    keepsLastMethod: Bool = false
) -> JSONValue {
    [
        "authorizedDomains": ["localhost"],
        "signIn": [
            "email": ["enabled": true, "passwordRequired": false], "anonymous": ["enabled": true],
            "allowDuplicateEmails": .bool(allowsDuplicateEmails),
        ],
        "emailPrivacyConfig": ["enableImprovedEmailPrivacy": .bool(protectsEmails)],
        "concord": ["keepsLastSignInMethod": .bool(keepsLastMethod)],
    ]
}

extension JSONValue {
    /// The texts of an array of texts.
    var texts: [String] { array?.compactMap(\.string) ?? [] }

    /// The provider ids of the rows of `providerUserInfo`.
    var providers: [String] { self["providerUserInfo"]?.array?.compactMap { $0["providerId"]?.string } ?? [] }
}
