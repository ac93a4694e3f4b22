import AccountTestSupport
import JSON
import Testing

struct CreateAuthURIRouteTests {
    private func ask(_ api: TestAPI, _ identifier: String) async throws -> TestAPI.Answer {
        try await api.post(
            "/v1/accounts:createAuthUri",
            ["identifier": .string(identifier), "continueUri": "https://example.com/"]
        )
    }

    private func link(_ api: TestAPI, _ id: String, email: String) async throws {
        _ = try await api.admin(
            "accounts:update",
            [
                "localId": .string(id),
                "linkProviderUserInfo": ["providerId": "google.com", "rawId": "g1", "email": .string(email)],
            ]
        )
    }

    @Test func `the owner's methods are listed, except the phone`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create([
                "email": "ann@example.com", "password": "correct horse", "phoneNumber": "+15550001111",
            ])
            try await link(api, id, email: "ann@gmail.com")
            let answer = try await ask(api, "Ann@example.com")
            #expect(answer.json["kind"]?.string == "identitytoolkit#CreateAuthUriResponse")
            #expect(answer.json["registered"]?.bool == true)
            #expect(answer.json["allProviders"]?.texts == ["password", "google.com"])
            #expect(answer.json["signinMethods"]?.texts == ["password", "google.com"])
            #expect(answer.json["sessionId"]?.string?.isEmpty == false)
        }
    }

    @Test func `an address in a provider's row finds its account`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create([:])
            try await link(api, id, email: "ann@gmail.com")
            let answer = try await ask(api, "ann@gmail.com")
            #expect(answer.json["signinMethods"]?.texts == ["google.com"])
        }
    }

    @Test func `an unknown address has no methods`() async throws {
        try await TestAPI.withAdministrator { api in
            let answer = try await ask(api, "nobody@example.com")
            #expect(answer.json["registered"]?.bool == false)
            #expect(answer.json["allProviders"] == [])
            #expect(answer.json["signinMethods"] == [])
        }
    }

    @Test func `if accounts may share an address, only the owner's password is listed`() async throws {
        try await TestAPI.withAdministrator(settings: settings(allowsDuplicateEmails: true)) { api in
            let id = try await api.create(["email": "ann@example.com", "password": "correct horse"])
            try await link(api, id, email: "ann@gmail.com")
            #expect(try await ask(api, "ann@example.com").json["signinMethods"]?.texts == ["password"])
            #expect(try await ask(api, "ann@gmail.com").json["registered"]?.bool == false)
        }
    }

    @Test func `if addresses are protected, every response has the same members`() async throws {
        try await TestAPI.withAdministrator(settings: settings(protectsEmails: true)) { api in
            _ = try await api.create(["email": "ann@example.com", "password": "correct horse"])
            for address in ["ann@example.com", "nobody@example.com"] {
                let answer = try await ask(api, address)
                #expect(answer.json.object?.keys.sorted() == ["kind", "sessionId"])
            }
        }
    }

    @Test func `missing or malformed fields are refused in the documented order`() async throws {
        try await TestAPI.with { api in
            let cases: [(JSONValue, String)] = [
                ([:], "MISSING_IDENTIFIER"), (["identifier": "nonsense"], "MISSING_CONTINUE_URI"),
                (["identifier": "nonsense", "continueUri": "nonsense"], "INVALID_IDENTIFIER"),
                (["identifier": "a@example.com", "continueUri": "nonsense"], "INVALID_CONTINUE_URI"),
                (["identifier": "a@example.com", "continueUri": "javascript:x"], "INVALID_CONTINUE_URI"),
            ]
            for (body, error) in cases {
                let answer = try await api.post("/v1/accounts:createAuthUri", body)
                #expect(answer.errorMessage == error)
            }
        }
    }
}
