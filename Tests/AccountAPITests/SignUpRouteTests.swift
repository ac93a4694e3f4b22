import AccountAPI
import AccountOperations
import AccountTestSupport
import JSON
import Testing

struct SignUpRouteTests {
    private static let path = "/v1/accounts:signUp"

    @Test func `answers of accounts:signUp`() async throws {
        try await TestAPI.with { api in
            var transcript = Transcript(Self.path)
            try await transcript.post("anonymous", ["returnSecureToken": true], to: api.wire)
            let anonymous = try await api.signUpAnonymously()
            try await transcript.post(
                "with a password; the address is shown in lower case",
                ["email": "Ann@Example.com", "password": "correct horse", "returnSecureToken": true],
                to: api.wire
            )
            try await transcript.post(
                "the address is taken",
                ["email": "ann@example.com", "password": "another one"],
                to: api.wire
            )
            try await transcript.post(
                "that is said before a weak password",
                ["email": "ann@example.com", "password": "12345"],
                to: api.wire
            )
            try await transcript.post("weak password", ["email": "b@example.com", "password": "12345"], to: api.wire)
            try await transcript.post(
                "an administrator's field comes first",
                ["localId": "chosen", "email": "not an address"],
                to: api.wire
            )
            try await transcript.post("no address", ["password": "12345"], to: api.wire)
            try await transcript.post("no password", ["email": "not an address"], to: api.wire)
            try await transcript.post("empty address", ["email": "", "password": "12345"], to: api.wire)
            try await transcript.post("bad address", ["email": "nonsense", "password": "12345"], to: api.wire)
            try await transcript.post(
                "a bad token comes after the fields",
                ["email": "b@example.com", "password": "12345", "idToken": "nonsense"],
                to: api.wire
            )
            try await transcript.post(
                "bad token",
                ["email": "b@example.com", "password": "correct horse", "idToken": "nonsense"],
                to: api.wire
            )
            try await transcript.post(
                "linking an address that somebody else has",
                ["email": "ann@example.com", "password": "correct horse", "idToken": anonymous["idToken"] ?? .null],
                to: api.wire
            )
            try await transcript.post(
                "linking a password to the anonymous account",
                ["email": "Linked@example.com", "password": "correct horse", "idToken": anonymous["idToken"] ?? .null],
                to: api.wire
            )
            try await transcript.post(
                "the session it came with is over",
                ["email": "other@example.com", "password": "correct horse", "idToken": anonymous["idToken"] ?? .null],
                to: api.wire
            )
            try transcript.expect(matches: "sign-up.txt")
        }
    }

    @Test func `everything is off until it is enabled`() async throws {
        try await TestAPI.with(settings: ProjectSettings.productionDefaults) { api in
            let anonymous = try await api.post(Self.path, [:])
            #expect(anonymous.errorMessage == "ADMIN_ONLY_OPERATION")
            let body: JSONValue = ["email": "nonsense", "password": "12345"]
            #expect(try await api.post(Self.path, body).errorMessage == "OPERATION_NOT_ALLOWED")
            #expect(try await api.post(Self.path, ["email": "nonsense"]).errorMessage == "MISSING_PASSWORD")
            #expect(try await api.post(Self.path, ["password": "12345"]).errorMessage == "MISSING_EMAIL")
        }
    }

    @Test func `unknown fields are ignored, null is absent, and snake case is understood`() async throws {
        try await TestAPI.with { api in
            let answer = try await api.post(
                Self.path,
                [
                    "email": "a@example.com", "password": "correct horse", "id_token": .null, "localId": .null,
                    "clientType": 5, "captchaResponse": ["x": 1], "somethingNew": [1, 2],
                ]
            )
            #expect(answer.status == 200)
            let anonymous = try await api.signUpAnonymously()
            let linked = try await api.post(
                Self.path,
                ["email": "b@example.com", "password": "correct horse", "id_token": anonymous["idToken"] ?? .null]
            )
            #expect(linked.json["localId"] == anonymous["localId"])
        }
    }

    @Test func `the tokens work at once`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("a@example.com")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": account["idToken"] ?? .null])
            #expect(found.json["users"]?.array?.first?["localId"] == account["localId"])
            let claims = try payload(of: account["idToken"])
            #expect(claims["iss"] == "https://securetoken.google.com/demo-test" && claims["aud"] == "demo-test")
        }
    }
}
