import AccountLinking
import AccountOperations
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Who is told that an account's address was replaced, and can take it back: the owner, by every road of change, and
/// nobody who was there before the owner.
struct AddressRecoveryTests {
    enum Arrival: CaseIterable {
        case provider, link, reset
    }

    /// The victim enters the account that an intruder prepared, and gets a session.
    private func arrive(_ arrival: Arrival, _ api: TestAPI, at email: String) async throws -> JSONValue {
        switch arrival {
        case .provider:
            let claims: JSONValue = ["sub": "victim", "email": .string(email), "email_verified": true]
            let body: JSONValue = [
                "requestUri": "http://localhost",
                "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
            ]
            return try await api.post("/v1/accounts:signInWithIdp", body).json
        case .link:
            return try await api.follow(try await api.code("EMAIL_SIGNIN", for: email), as: email).json
        case .reset:
            let code = try await api.code("PASSWORD_RESET", for: email)
            #expect(try await api.reset(code, to: "the victim's own").status == 200)
            return try await api.signIn(email, password: "the victim's own").json
        }
    }

    private func change(_ api: TestAPI, _ session: JSONValue, to email: String) async throws -> TestAPI.Answer {
        api.service.clock.advance(seconds: 1)
        let body: JSONValue = ["idToken": session["idToken"] ?? .null, "email": .string(email)]
        return try await api.post("/v1/accounts:update", body)
    }

    private func recoveries(_ api: TestAPI) async throws -> [String?] {
        try await api.listedCodes().filter { $0["requestType"] == "RECOVER_EMAIL" }.map { $0["email"]?.string }
    }

    @Test(arguments: Arrival.allCases)
    func `a takeover forgets the intruder's first address, which takes nothing back later`(
        arrival: Arrival
    ) async throws {
        try await TestAPI.with { api in
            let intruder = try await api.signUp("intruder@evil.example", password: "intruder's own")
            #expect(try await change(api, intruder, to: "victim@gmail.com").status == 200)
            #expect(try await recoveries(api) == ["intruder@evil.example"])

            let victim = try await arrive(arrival, api, at: "victim@gmail.com")
            #expect(victim["localId"] == intruder["localId"])
            #expect(try await recoveries(api) == [])
            let database = api.service.database
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'") == 1
            )

            #expect(try await change(api, victim, to: "victim@example.com").status == 200)
            #expect(try await recoveries(api) == ["victim@gmail.com"])
            let user = try #require(try await api.service.user(owning: "victim@example.com"))
            #expect(user.initialEmail == "victim@gmail.com")
        }
    }
}
