import AccountAPI
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// Which web pages codes and sessions of a project go to.
@Suite struct AuthorizedDomainTests {
    /// Whether Concord's own pages may hand something to the page at `address`.
    private func isAuthorized(_ address: String, _ api: TestAPI) async throws -> JSONValue? {
        let answer = try await api.send(.get, "/v1/projects?concordDestination=" + PercentEncoding.encode(address))
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["concordAuthorized"]
    }

    private func sendLink(to address: String, _ api: TestAPI) async throws -> String? {
        api.service.clock.advance(seconds: 1)
        return try await api.post(
            "/v1/accounts:sendOobCode",
            [
                "requestType": "EMAIL_SIGNIN", "email": "victim@example.com", "continueUrl": .string(address),
                "canHandleCodeInApp": true,
            ]
        ).errorMessage
    }

    private func beginFlow(to address: String, _ api: TestAPI) async throws -> String? {
        try await api.post(
            "/v1/accounts:createAuthUri",
            ["providerId": "github.com", "continueUri": .string(address)]
        ).errorMessage
    }

    @Test func `whoever owns the project's id at Google receives no code and no session`() async throws {
        let settings = ProjectSettings.productionDefaults
            .setting(["enabled": true, "passwordRequired": false], at: ["signIn", "email"])
        try await TestAPI.with(settings: settings) { api in
            let shown = try await api.send(.get, "/v1/projects").json["authorizedDomains"]?.array ?? []
            let names = shown.compactMap(\.string)
            #expect(names.contains { $0.hasSuffix(".firebaseapp.com") }, "iOS fails without one")
            for host in names + ["demo-test.web.app", "demo-test.firebaseapp.com", "localhost"] {
                let refused = "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"
                #expect(try await sendLink(to: "https://\(host)/steal", api) == refused)
                #expect(try await beginFlow(to: "https://\(host)/steal", api) == refused)
                #expect(try await isAuthorized("https://\(host)/steal", api) == false, "\(host)")
            }
            #expect(try await api.listedCodes() == [])
        }
    }

    @Test func `a project that names the hosts of its id at Google keeps them`() async throws {
        let domains: JSONValue = ["demo-test.web.app"]
        try await TestAPI.with(settings: ProjectSettings.developmentDefaults.with("authorizedDomains", domains)) {
            api in
            #expect(try await api.send(.get, "/v1/projects").json["authorizedDomains"] == domains)
            #expect(try await sendLink(to: "https://demo-test.web.app/finish", api) == nil)
            #expect(try await isAuthorized("https://demo-test.web.app/finish", api) == true)
        }
    }

    @Test(arguments: ["nonsense", "null", "", "file:///x", "javascript:alert(1)", "https://evil.example\\@localhost/"])
    func `what is no web address is no destination`(address: String) async throws {
        try await TestAPI.with { api in
            #expect(try await isAuthorized(address, api) == false)
        }
    }
}
