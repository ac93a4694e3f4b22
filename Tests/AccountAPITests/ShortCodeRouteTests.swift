import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// `/concord/v1/shortCode:exchange` and the limits on mails, over the wire.
struct ShortCodeRouteTests {
    private static let path = "/concord/v1/shortCode:exchange"

    private func exchange(
        _ api: TestAPI,
        _ requestType: String,
        _ email: String,
        _ code: String
    ) async throws -> TestAPI.Answer {
        try await send(api, ["requestType": .string(requestType), "email": .string(email), "code": .string(code)])
    }

    private func send(_ api: TestAPI, _ body: JSONValue) async throws -> TestAPI.Answer {
        let answer = try await api.post(Self.path, body, key: nil)
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path) == [], "\(answer.text)")
        return answer
    }

    private func shortCode(_ api: TestAPI) async throws -> String {
        let mails = try await api.service.operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last?.shortCode)
    }

    @Test func `the short code of each mail does the same as its link`() async throws {
        try await TestAPI.with { api async throws in
            _ = try await api.signUp("ada@example.com")
            func exchanged(_ type: String, _ email: String) async throws -> String {
                let answer = try await exchange(api, type, email, try await shortCode(api))
                #expect(answer.status == 200 && answer.json["requestType"]?.string == type, "\(answer.text)")
                let code = try #require(answer.json["oobCode"]?.string)
                #expect(answer.json["oobLink"]?.string?.contains("oobCode=\(code)&apiKey=") == true)
                return code
            }
            _ = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let reset = try await exchanged("PASSWORD_RESET", "ada@example.com")
            #expect(try await api.reset(reset, to: "battery staple").status == 200)

            _ = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let signIn = try await exchanged("EMAIL_SIGNIN", "Ada@Example.com")
            let session = try await api.follow(signIn, as: "ada@example.com")
            #expect(session.status == 200, "\(session.text)")

            let idToken = session.json["idToken"]?.string
            _ = try await api.code("VERIFY_EMAIL", session: idToken)
            let verify = try await exchanged("VERIFY_EMAIL", "ada@example.com")
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(verify)]).status == 200)

            _ = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: idToken, newEmail: "new@example.com")
            let change = try await exchanged("VERIFY_AND_CHANGE_EMAIL", "new@example.com")
            let changed = try await api.post("/v1/accounts:update", ["oobCode": .string(change)])
            #expect(changed.status == 200 && changed.json["email"] == "new@example.com", "\(changed.text)")
        }
    }

    @Test func `a wrong code is a problem that reveals nothing about accounts`() async throws {
        try await TestAPI.with { api async throws in
            _ = try await api.signUp("ada@example.com")
            _ = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let code = try await shortCode(api)
            let wrong = code == "00000000" ? "00000001" : "00000000"
            for guess in 1...6 {
                let known = try await exchange(api, "PASSWORD_RESET", "ada@example.com", wrong)
                let unknown = try await exchange(api, "PASSWORD_RESET", "nobody@example.com", wrong)
                #expect(known.text == unknown.text && known.status == unknown.status)
                #expect(known.status == (guess < 6 ? 403 : 429))
                let problem = guess < 6 ? "wrong-proof" : "too-many-attempts"
                #expect(known.json["type"]?.string == "urn:concord:problem:" + problem)
            }
            #expect(try await exchange(api, "PASSWORD_RESET", "ada@example.com", code).status == 429)

            _ = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let next = try await shortCode(api)
            #expect(try await exchange(api, "PASSWORD_RESET", "ada@example.com", next).status == 200)
            let again = try await exchange(api, "PASSWORD_RESET", "ada@example.com", next)
            #expect(again.status == 400 && again.json["detail"] == "INVALID_OOB_CODE")
        }
    }

    @Test func `a malformed request is refused`() async throws {
        try await TestAPI.with { api async throws in
            let good: [String: JSONValue] = [
                "requestType": "PASSWORD_RESET", "email": "ada@example.com", "code": "12345678",
            ]
            for (name, values) in [
                "requestType": [.null, "", "RECOVER_EMAIL", "nothing", 1],
                "email": [.null, "", "nobody", 1],
                "code": [.null, "", 12_345_678],
            ] as [String: [JSONValue]] {
                for value in values {
                    let answer = try await send(api, .object(good.merging([name: value]) { $1 }))
                    #expect(answer.status == 400, "\(name) \(value.text): \(answer.text)")
                }
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM short_codes") == 0)
        }
    }

    @Test func `mails above the limit get the documented error, with and without an account`() async throws {
        let settings: JSONValue = ["signIn": ["email": ["enabled": true, "passwordRequired": false]]]
        try await TestAPI.with(settings: settings) { api async throws in
            _ = try await api.signUp("ada@example.com")
            func ask(_ type: String, _ email: String) async throws -> TestAPI.Answer {
                try await api.post(
                    "/v1/accounts:sendOobCode",
                    ["requestType": .string(type), "email": .string(email)]
                )
            }
            for email in ["ada@example.com", "nobody@example.com"] {
                for _ in 1...5 { #expect(try await ask("PASSWORD_RESET", email).status == 200) }
                let reset = try await ask("PASSWORD_RESET", email)
                #expect(reset.status == 400 && reset.errorMessage == "RESET_PASSWORD_EXCEED_LIMIT")
                for _ in 1...5 { #expect(try await ask("EMAIL_SIGNIN", email).status == 200) }
                #expect(try await ask("EMAIL_SIGNIN", email).errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            }
        }
    }
}
