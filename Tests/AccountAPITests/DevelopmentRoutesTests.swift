import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

struct DevelopmentRoutesTests {
    private let path = "/emulator/v1/projects/\(TestService.projectID)/accounts"

    @Test func `in development every caller can delete all accounts`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ann@example.com")
            _ = try await api.signUp("bob@example.com")
            let answer = try await api.send(.delete, path, key: nil)
            #expect(answer.status == 200)
            #expect(answer.json == [:])
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM identifiers") == 0)
            let deleted = try await api.service.database.count(
                "SELECT count(*) FROM account_events WHERE kind = 'user-deleted'"
            )
            #expect(deleted == 2)
            #expect(try await api.signUp("ann@example.com")["localId"]?.string != nil)
        }
    }

    @Test func `the inbox links to the page with buttons, and the listing to the page for test suites`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with("concord", ["linkDomains": ["app.example.com"]])
        try await TestAPI.with(settings: settings) { api in
            for inApp in [false, true] {
                api.service.clock.advance(seconds: 60)
                let body: JSONValue = [
                    "requestType": "EMAIL_SIGNIN", "email": "ann@example.com", "continueUrl": "http://localhost/",
                    "canHandleCodeInApp": .bool(inApp),
                ]
                #expect(try await api.post("/v1/accounts:sendOobCode", body).status == 200)
                let listed = try await api.listedCode("EMAIL_SIGNIN").link
                let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
                let text = try #require(messages.first?["text"]?.string)
                let fetched = inApp ? "%2Femulator%2Faction%3F" : "/emulator/action?"
                let shown = inApp ? "%2F__%2Fauth%2Faction%3F" : "/__/auth/action?"
                #expect(listed.contains(fetched) && !text.contains(fetched), "\(text)")
                #expect(text.contains(listed.replacing(fetched, with: shown)), "\(text)")
            }
        }
    }

    @Test func `the inbox names sender, type and code of a message, and can be emptied`() async throws {
        try await TestAPI.with { api in
            let mail: JSONValue = ["requestType": "PASSWORD_RESET", "email": "ann@example.com"]
            _ = try await api.signUp("ann@example.com")
            #expect(try await api.post("/v1/accounts:sendOobCode", mail).status == 200)
            func messages() async throws -> [JSONValue] {
                try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
            }
            let shown = try #require(try await messages().first)
            #expect(shown["kind"] == "mail" && shown["type"] == "PASSWORD_RESET" && shown["to"] == "ann@example.com")
            #expect(shown["from"]?.string == TestService.projectID)
            let emptied = try await api.send(.delete, "/inbox/messages", key: nil)
            #expect(emptied.status == 200 && emptied.json == [:])
            #expect(try await messages() == [])
            #expect(try await api.send(.delete, "/inbox/messages", key: nil).status == 200)
        }
    }

    @Test func `a forecast shows the outcome of a simulated sign-in and writes nothing`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ann@gmail.com")
            let rows = try await api.service.database.rowCounts()
            func ask(_ provider: String, _ claims: JSONValue) async throws -> TestAPI.Answer {
                try await api.post(
                    "/emulator/auth/provider/forecasts",
                    ["providerId": .string(provider), "claims": claims],
                    key: nil
                )
            }
            let mine: JSONValue = ["sub": "1", "email": "ann@gmail.com"]
            let google = try await ask("google.com", mine).json
            #expect(google["provider"] == "Google")
            #expect(google["forecasts"]?["true"]?["address"] == "proven")
            #expect(google["forecasts"]?["true"]?["ending"] == "signIn")
            #expect(google["forecasts"]?["false"]?["address"] == "claimed")
            #expect(google["forecasts"]?["false"]?["ending"] == "conflict")
            let gitHub = try await ask("github.com", mine).json["forecasts"]
            for flag in ["true", "false", "absent"] {
                #expect(gitHub?[flag]?["ending"] == "conflict" && gitHub?[flag]?["rule"] == "I11")
            }
            let unnamed = try await ask("github.com", ["sub": "1"]).json["forecasts"]?["true"]
            #expect(unnamed?["address"] == "none" && unnamed?["ending"] == "newAccount")
            #expect(try await ask("github.com", [:]).errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true)
            #expect(try await ask("github.com", "x").status == 400)
            #expect(try await ask("", mine).errorMessage == "INVALID_PROVIDER_ID")
            #expect(try await api.service.database.rowCounts() == rows)
        }
    }

    @Test func `in production there is no such endpoint`() async throws {
        try await TestAPI.with(development: nil) { api in
            _ = try await api.signUp("ann@example.com")
            #expect(try await api.send(.delete, path, key: nil).status == 404)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 1)
        }
    }
}
