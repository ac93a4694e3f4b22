import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

struct DevelopmentRoutesTests {
    private let path = "/emulator/v1/projects/\(TestService.projectID)/accounts"

    @Test func `in development everybody may delete every account`() async throws {
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

    @Test func `the outcome of a made-up sign-in is told, and nothing is written`() async throws {
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
            let nobody = try await ask("github.com", ["sub": "1"]).json["forecasts"]?["true"]
            #expect(nobody?["address"] == "none" && nobody?["ending"] == "newAccount")
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
