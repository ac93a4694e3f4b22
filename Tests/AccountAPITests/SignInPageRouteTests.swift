import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The project as the sign-in page reads it.
@Suite struct SignInPageRouteTests {
    private static let path = "/concord/v1/signIn"

    private func read(_ api: TestAPI) async throws -> JSONValue {
        let answer = try await api.send(.get, Self.path, key: nil)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer.json
    }

    @Test func `the page learns the methods of the project in the order of the known providers`() async throws {
        try await TestAPI.with { api async throws in
            let answer = try await read(api)
            let names = answer["methods"]?.array?.compactMap { $0["method"]?.string } ?? []
            #expect(names.starts(with: ["password", "emailLink", "phone", "google.com", "apple.com"]), "\(names)")
            #expect(answer["signUp"] == ["allowed": true, "requires": "none"])
            #expect(answer["textChallenge"] == "none")
        }
    }

    @Test func `the page learns whether people may create accounts, and which proof it takes`() async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(true, at: ["client", "permissions", "disabledUserSignup"])
            .setting("mailbox", at: ["concord", "signUp", "requires"])
            .setting(["enabled": true, "passwordRequired": true], at: ["signIn", "email"])
            .setting(false, at: ["signIn", "phoneNumber", "enabled"])
        try await TestAPI.with(settings: settings) { api async throws in
            let answer = try await read(api)
            #expect(answer["signUp"] == ["allowed": false, "requires": "mailbox"])
            let names = answer["methods"]?.array?.compactMap { $0["method"]?.string } ?? []
            #expect(names.contains("password") && !names.contains("emailLink") && !names.contains("phone"), "\(names)")
        }
    }

    @Test func `a provider that a browser cannot be sent to is not offered`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let path = "/v2/projects/\(TestService.projectID)/"
            func register(_ kind: String, _ provider: String, _ body: JSONValue) async throws {
                let query = kind == "oauthIdpConfigs" ? "oauthIdpConfigId" : "idpId"
                let bytes = Array(body.text.utf8)
                let answer = try await api.send(
                    .post,
                    "\(path)\(kind)?\(query)=\(provider)",
                    bytes,
                    key: nil,
                    bearer: "owner"
                )
                #expect(answer.status == 200, "\(answer.text)")
            }
            let known = "defaultSupportedIdpConfigs"
            // Without a secret the flow cannot be finished.
            try await register(known, "google.com", ["enabled": true, "clientId": "google-client"])
            try await register(known, "github.com", ["enabled": false, "clientId": "c", "clientSecret": "s"])
            try await register(known, "facebook.com", ["enabled": true, "clientId": "c", "clientSecret": "s"])
            let acme: JSONValue = [
                "enabled": true, "clientId": "acme", "issuer": "https://id.acme.example", "displayName": "Acme",
            ]
            try await register("oauthIdpConfigs", "oidc.acme", acme)
            let offered = try await read(api)["methods"]?.array ?? []
            let names = offered.compactMap { $0["method"]?.string }
            #expect(!names.contains("google.com") && !names.contains("github.com"), "\(names)")
            #expect(names.contains("facebook.com") && names.last == "oidc.acme", "\(names)")
            #expect(offered.last?["displayName"] == "Acme")
        }
    }
}
