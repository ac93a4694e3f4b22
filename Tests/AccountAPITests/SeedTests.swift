import AccountOperations
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Promises of `docs/reference/promises.md` that take more than one endpoint to keep, as a client sees them.
struct SeedTests {
    /// Signs in by a provider's token that only development accepts.
    private func signIn(
        _ api: TestAPI,
        by provider: String,
        _ claims: JSONValue,
        _ extra: [String: JSONValue] = [:]
    ) async throws -> TestAPI.Answer {
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "postBody": .string("providerId=\(provider)&id_token=\(claims.text)"),
            "returnSecureToken": true,
        ]
        body.merge(extra) { _, new in new }
        return try await api.post("/v1/accounts:signInWithIdp", .object(body))
    }

    private func delete(_ api: TestAPI, _ session: JSONValue) async throws -> TestAPI.Answer {
        try await api.post("/v1/accounts:delete", ["idToken": session["idToken"] ?? .null])
    }

    @Test func `the lookup and the ID token show the same id and profile`() async throws {
        try await TestAPI.with { api in
            let claims: JSONValue = [
                "sub": "77", "email": "ada@gmail.com", "email_verified": true, "name": "Ada",
                "picture": "https://example.com/ada.png",
            ]
            let session = try await signIn(api, by: "google.com", claims).json
            let id = try #require(session["localId"])
            let token = try payload(of: session["idToken"])
            #expect(token["sub"] == id && token["user_id"] == id)
            #expect(token["name"] == "Ada" && token["picture"] == "https://example.com/ada.png")
            #expect(token["email"] == "ada@gmail.com")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": session["idToken"] ?? .null])
            let user = try #require(found.json["users"]?.array?.first)
            #expect(user["localId"] == id && user["displayName"] == "Ada" && user["email"] == "ada@gmail.com")
            #expect(user["photoUrl"] == "https://example.com/ada.png")
        }
    }

    @Test func `a lookup lists password and link as two methods of one provider`() async throws {
        try await TestAPI.with { api in
            func ask() async throws -> JSONValue {
                let body: JSONValue = ["identifier": "ada@example.com", "continueUri": "http://localhost"]
                return try await api.post("/v1/accounts:createAuthUri", body).json
            }
            _ = try await api.follow(try await api.code("EMAIL_SIGNIN", for: "ada@example.com"), as: "ada@example.com")
            var answer = try await ask()
            #expect(answer["allProviders"] == ["password"] && answer["signinMethods"] == ["emailLink"])
            let reset = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(reset, to: "a new password").status == 200)
            answer = try await ask()
            #expect(answer["allProviders"] == ["password"])
            #expect(answer["signinMethods"] == ["password", "emailLink"])
        }
    }

    @Test func `signing in again with any method allows operations that need a recent sign-in`() async throws {
        try await TestAPI.with { api async throws in
            let email = "ada@example.com"
            let ada = try await api.signUp(email)
            try await api.service.prove(email)
            try await api.service.link("github.com", subject: "77", to: email)
            let ways: [(name: String, signIn: () async throws -> TestAPI.Answer)] = [
                ("password", { try await api.signIn(email) }),
                ("link", { try await api.follow(try await api.code("EMAIL_SIGNIN", for: email), as: email) }),
                ("provider", { try await self.signIn(api, by: "github.com", ["sub": "77"], ["autoCreate": false]) }),
            ]
            var old = ada
            for way in ways {
                api.service.clock.advance(seconds: 301)
                let change: JSONValue = ["idToken": old["idToken"] ?? .null, "password": "another password"]
                let refused = try await api.post("/v1/accounts:update", change)
                #expect(refused.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(way.name)")
                #expect(try await delete(api, old).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(way.name)")

                let fresh = try await way.signIn()
                #expect(fresh.status == 200, "\(way.name): \(fresh.text)")
                #expect(fresh.json["localId"] == ada["localId"])
                let before = try #require(payload(of: old["idToken"])["auth_time"]?.integer)
                let after = try #require(payload(of: fresh.json["idToken"])["auth_time"]?.integer)
                #expect(after - before >= 301, "\(way.name)")
                let same: JSONValue = ["idToken": fresh.json["idToken"] ?? .null, "password": "correct horse"]
                let granted = try await api.post("/v1/accounts:update", same)
                #expect(granted.status == 200, "\(way.name): \(granted.text)")
                old = granted.json
            }
            #expect(try await delete(api, old).status == 200)
        }
    }

    @Test func `if accounts may share an address, a provider's account is separate and has no address`()
        async throws
    {
        let shared = settings(allowsDuplicateEmails: true)
        try await TestAPI.with(settings: shared) { api in
            let ada = try await api.signUp("ada@gmail.com")
            let claims: JSONValue = ["sub": "77", "email": "ada@gmail.com", "email_verified": true]
            let other = try await signIn(api, by: "google.com", claims)
            #expect(other.status == 200 && other.json["needConfirmation"] == nil, "\(other.text)")
            #expect(other.json["localId"] != ada["localId"] && other.json["isNewUser"] == true)
            let found = try await api.post("/v1/accounts:lookup", ["idToken": other.json["idToken"] ?? .null])
            let user = try #require(found.json["users"]?.array?.first)
            #expect(user["email"] == nil)
            #expect(user["providerUserInfo"]?.array?.first?["email"] == "ada@gmail.com")
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 2)
            #expect(try await api.service.database.count("SELECT count(*) FROM users WHERE email IS NOT NULL") == 1)
        }
    }

    @Test func `every app of the project, each with its own API key, finds the same account by every method`()
        async throws
    {
        try await TestAPI.with { api in
            let otherKey = "AIza-test-key-of-another-app"
            try await api.service.database.execute("INSERT INTO api_keys (api_key) VALUES ('\(otherKey)')")
            try await api.service.operations.project.refresh()
            let ada = try await api.signUp("ada@gmail.com")
            try await api.service.prove("ada@gmail.com")
            let password: JSONValue = ["email": "ada@gmail.com", "password": .string(TestService.password)]
            let byPassword = try await api.post("/v1/accounts:signInWithPassword", password, key: otherKey)
            #expect(byPassword.json["localId"] == ada["localId"], "\(byPassword.text)")
            let claims: JSONValue = ["sub": "77", "email": "ada@gmail.com", "email_verified": true]
            let body: JSONValue = [
                "requestUri": "http://localhost",
                "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
            ]
            for key in [otherKey, TestService.apiKey] {
                let byProvider = try await api.post("/v1/accounts:signInWithIdp", body, key: key)
                #expect(byProvider.json["localId"] == ada["localId"], "\(byProvider.text)")
            }
        }
    }

    @Test func `a client signs out by discarding its tokens, and the session remains valid on the server`() async throws
    {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            #expect(try await api.signIn("ada@example.com").status == 200)
            api.service.clock.advance(seconds: 30 * 86400)
            #expect(try await api.refresh(ada["refreshToken"]?.string).status == 200)
        }
    }
}
