import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

struct SignUpRouteTests {
    private static let path = "/v1/accounts:signUp"

    @Test func `the answers of accounts:signUp equal the golden transcript`() async throws {
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
                "linking the address of another account",
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

    @Test func `every kind of sign-up is off until the project enables it`() async throws {
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

    @Test func `the tokens of a sign-up are valid at once`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("a@example.com")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": account["idToken"] ?? .null])
            #expect(found.json["users"]?.array?.first?["localId"] == account["localId"])
            let claims = try payload(of: account["idToken"])
            #expect(claims["iss"] == "https://securetoken.google.com/demo-test" && claims["aud"] == "demo-test")
        }
    }

    @Test func `a sign-up may set the display name`() async throws {
        try await TestAPI.with { api in
            func shownName(_ answer: JSONValue) async throws -> JSONValue? {
                let lookUp = try await api.post("/v1/accounts:lookup", ["idToken": answer["idToken"] ?? .null])
                #expect(lookUp.json["users"]?.array?.first?["photoUrl"] == nil, "a picture is not theirs to give here")
                return lookUp.json["users"]?.array?.first?["displayName"]
            }
            let name: JSONValue = "Ann 🌍"
            let picture: JSONValue = "https://example.com/a.png"
            let anonymous = try await api.post(Self.path, ["displayName": name, "photoUrl": picture]).json
            #expect(anonymous["displayName"] == name)
            #expect(try await shownName(anonymous) == name)
            let account = try await api.post(
                Self.path,
                ["email": "a@example.com", "password": "correct horse", "displayName": name, "photoUrl": picture]
            ).json
            #expect(account["displayName"] == name)
            #expect(try await shownName(account) == name)
            #expect(try payload(of: account["idToken"])["name"] == name)
            let linked = try await api.post(
                Self.path,
                [
                    "idToken": anonymous["idToken"] ?? .null, "email": "b@example.com", "password": "correct horse",
                    "displayName": "Bob",
                ]
            ).json
            #expect(linked["localId"] == anonymous["localId"])
            #expect(try await shownName(linked) == "Bob")
            let empty = try await api.post(Self.path, ["displayName": ""]).json
            #expect(empty["localId"] != nil)
            #expect(try await shownName(empty) == nil)
        }
    }

    @Test func `a name of 256 characters is accepted, and a longer one is refused and creates no account`() async throws
    {
        try await TestAPI.with { api in
            let longest = String(repeating: "ä", count: 256)
            #expect(try await api.post(Self.path, ["displayName": .string(longest)]).status == 200)
            let refused = try await api.post(Self.path, ["displayName": .string(longest + "x")])
            #expect(refused.status == 400)
            #expect(refused.errorMessage == "Invalid value at 'displayName' (at most 256 characters)")
            #expect(try await api.service.database.rowCounts()["users"] == 1)
        }
    }

    @Test func `when linking, a taken address is reported before a weak password, and that before an invalid token`()
        async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("ann@example.com")
            let token = try await api.signUpAnonymously()["idToken"] ?? .null
            for (idToken, email, password, expected) in [
                (token, "ann@example.com", "12345", "EMAIL_EXISTS"),
                ("nonsense", "ann@example.com", "12345", "EMAIL_EXISTS"),
                (token, "new@example.com", "12345", "WEAK_PASSWORD : Password should be at least 6 characters"),
                ("nonsense", "new@example.com", "12345", "WEAK_PASSWORD : Password should be at least 6 characters"),
                ("nonsense", "new@example.com", "correct horse", "INVALID_ID_TOKEN"),
            ] as [(JSONValue, JSONValue, JSONValue, String)] {
                let answer = try await api.post(Self.path, ["idToken": idToken, "email": email, "password": password])
                #expect(answer.errorMessage == expected)
            }
        }
    }

    @Test func `if clients may not sign up, an invalid token reveals nothing about an address`() async throws {
        let closed: JSONValue = [
            "signIn": ["email": ["enabled": true]], "client": ["permissions": ["disabledUserSignup": true]],
        ]
        try await TestAPI.with(settings: closed) { api in
            let user = UserRecord(
                tenant: .project,
                id: try #require(UserID("taken")),
                sessionEpoch: 1,
                createdAt: api.service.clock.now
            )
            var owner = user
            owner.email = AccountEmail(address: try #require(EmailAddress("ann@example.com")), proof: nil)
            let event = AccountEvent(
                id: PostgresUUID(high: 1, low: 2),
                occurredAt: api.service.clock.now,
                kind: .userCreated,
                rule: .signUpByPassword
            )
            let write = AccountWrite(previous: nil, user: owner, event: event)
            #expect(try await api.service.operations.store.apply(write) == .applied)
            let answer = try await api.post(
                Self.path,
                ["idToken": "nonsense", "email": "ann@example.com", "password": "correct horse"]
            )
            #expect(answer.errorMessage == "INVALID_ID_TOKEN")
        }
    }
}
