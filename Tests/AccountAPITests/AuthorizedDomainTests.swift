import AccountAPI
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// Which web pages codes and sessions of a project go to.
@Suite struct AuthorizedDomainTests {
    /// Returns true if Concord's own pages may pass something to the page at `address`.
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

    @Test func `hosts under the project's id at Google get no code and no session by default`() async throws {
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

    @Test func `a project can authorize hosts under its id at Google`() async throws {
        let domains: JSONValue = ["demo-test.web.app"]
        try await TestAPI.with(settings: ProjectSettings.developmentDefaults.with("authorizedDomains", domains)) {
            api async throws in
            #expect(try await api.send(.get, "/v1/projects").json["authorizedDomains"] == domains)
            #expect(try await sendLink(to: "https://demo-test.web.app/finish", api) == nil)
            #expect(try await isAuthorized("https://demo-test.web.app/finish", api) == true)
        }
    }

    @Test func `a project that names 127.0.0.1 authorizes native apps on its ports, in production too`() async throws {
        for (domains, ports) in [(["127.0.0.1"], ["1", "8080"]), (["127.0.0.1:8080"], ["8080"]), (["localhost"], [])] {
            let listed = JSONValue.array(domains.map(JSONValue.string))
            try await TestAPI.with(settings: ProjectSettings.productionDefaults.with("authorizedDomains", listed)) {
                api async throws in
                for port in ["1", "8080", "0", "65536", "-1", "8080x", "%2B8080", "080800"] {
                    let answer = try await api.send(.get, "/v1/projects?concordLoopback=" + port)
                    #expect(answer.json["concordAuthorized"] == .bool(ports.contains(port)), "\(domains) \(port)")
                }
                // A page does not become authorized by it.
                let both = "/v1/projects?concordLoopback=8080&concordDestination=https%3A%2F%2Fevil.example%2F"
                #expect(try await api.send(.get, both).json["concordAuthorized"] == false)
            }
        }
    }

    private static let domains: JSONValue = ["app.example.com", "other.example.com:8443", "*.example.org"]

    /// Addresses, and whether the domains above authorize them.
    private static let addresses: [(address: String, isAuthorized: Bool)] = [
        ("https://app.example.com/finish?a=1#b", true), ("HTTPS://APP.EXAMPLE.COM:443", true),
        ("http://app.example.com/", false), ("https://app.example.com:8443/", false),
        ("https://app.example.com:0443/", true), ("https://app.example.com:65536/", false),
        ("https://sub.app.example.com/", false), ("https://example.com/", false),
        ("https://app.example.com.evil.example/", false), ("https://app.example.com./", false),
        ("https://other.example.com:8443/", true), ("https://other.example.com/", false),
        ("http://other.example.com:8443/", false), ("https://a.example.org/", true),
        ("https://b.a.example.org/", true), ("https://example.org/", false), ("https://evilexample.org/", false),
        ("http://a.example.org/", false), ("https://localhost/", false),
    ]

    @Test func `codes go only to listed origins, and to sub-domains only for a wildcard`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with("authorizedDomains", Self.domains)
        try await TestAPI.with(settings: settings) { api in
            for (address, expected) in Self.addresses {
                #expect(try await isAuthorized(address, api) == .bool(expected), "\(address)")
                let codes = try await [
                    sendLink(to: address, api), beginFlow(to: address.replacing("#b", with: ""), api),
                ]
                for code in codes { #expect((code == nil) == expected, "\(address): \(code ?? "")") }
            }
            let shown = try await api.send(.get, "/v1/projects").json["authorizedDomains"]?.array ?? []
            // A web SDK takes hosts below these.
            #expect(shown.dropLast() == ["app.example.com", "other.example.com", "example.org"])
        }
    }

    @Test func `in development an app may be on any port of this machine, without TLS`() async throws {
        try await TestAPI.with { api async throws in
            for address in ["http://localhost:5173/", "https://localhost:8443", "http://127.0.0.1/"] {
                #expect(try await isAuthorized(address, api) == true)
                #expect(try await sendLink(to: address, api) == nil, "\(address)")
            }
            for address in ["http://127.0.0.2/", "http://[::1]/", "http://localhost.evil.example/"] {
                #expect(try await isAuthorized(address, api) == false, "\(address)")
            }
        }
    }

    @Test(arguments: [
        "*.com", "*.web.app", "*.github.io", "*", "*.", "*.*.example.com", "a.*.example.com", "*.127.0.0.1",
    ])
    func `a wildcard over other people's hosts is refused`(domain: String) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let path = "/v2/projects/\(TestService.projectID)/config?updateMask=authorizedDomains"
            let body = Array(JSONValue.object(["authorizedDomains": [.string(domain)]]).text.utf8)
            let answer = try await api.send(.patch, path, body, key: nil, bearer: "owner")
            #expect(answer.status == 400 && answer.text.contains("authorizedDomains[0] must be"), "\(answer.text)")
        }
    }

    @Test func `Concord's own pages may send sessions to each other, and mails lead to apps only`() async throws {
        let settings = ProjectSettings.developmentDefaults.with("authorizedDomains", ["app.example.com"])
        try await TestAPI.with(settings: settings) { api async throws in
            // The address of the service in tests.
            let own = "http://127.0.0.1:9099"
            #expect(try await isAuthorized(own + "/signin", api) == true)
            #expect(try await isAuthorized("http://127.0.0.1:9098/signin", api) == false)
            #expect(try await isAuthorized("https://127.0.0.1:9099/signin", api) == false)
            #expect(
                try await sendLink(to: own + "/account", api)
                    == "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"
            )
        }
    }

    @Test(arguments: ["nonsense", "null", "", "file:///x", "javascript:alert(1)", "https://evil.example\\@localhost/"])
    func `an invalid web address is not authorized`(address: String) async throws {
        try await TestAPI.with { api async throws in
            #expect(try await isAuthorized(address, api) == false)
        }
    }
}
