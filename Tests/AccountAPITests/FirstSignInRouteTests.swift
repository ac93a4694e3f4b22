import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// A first sign-in with a provider that asks before it creates an account, over the wire.
struct FirstSignInRouteTests {
    private static let path = "/v1/accounts:signInWithIdp"

    private static let confirming = protectedSettings.with(
        "linkPolicy",
        ["preset": "strict", "unprovenAddress": "confirm"]
    )

    private func google(_ subject: String, _ email: String) -> JSONValue {
        .string(
            #"providerId=google.com&id_token={"sub":"\#(subject)","email":"\#(email)","email_verified":true,"#
                + #""name":"Ada Lovelace"}"#
        )
    }

    private func gitHub(_ subject: String, _ email: String) -> JSONValue {
        .string(#"providerId=github.com&access_token={"sub":"\#(subject)","email":"\#(email)"}"#)
    }

    private func signIn(
        _ api: TestAPI,
        _ postBody: JSONValue,
        _ more: [String: JSONValue] = [:]
    ) async throws -> TestAPI.Answer {
        let body: [String: JSONValue] = [
            "requestUri": "http://localhost", "postBody": postBody, "returnSecureToken": true,
        ]
        return try await api.post(Self.path, .object(body.merging(more) { $1 }))
    }

    private func ask(_ api: TestAPI, _ postBody: JSONValue) async throws -> TestAPI.Answer {
        try await signIn(api, postBody, ["asksFirst": true])
    }

    private func pendingToken(_ api: TestAPI, _ postBody: JSONValue) async throws -> JSONValue {
        let answer = try await ask(api, postBody)
        return try #require(answer.json["pendingToken"], "\(answer.text)")
    }

    private func accounts(_ api: TestAPI) async throws -> Int64 {
        try await api.service.database.count("SELECT count(*) FROM users")
    }

    @Test func `the question names provider and person, and creates nothing; its token alone creates the account`()
        async throws
    {
        try await TestAPI.with { api in
            let asked = try await ask(api, google("ada", "Ada@gmail.com"))
            #expect(asked.status == 200, "\(asked.text)")
            let token = asked.json["pendingToken"] ?? .null
            #expect(
                asked.json == [
                    "kind": "identitytoolkit#VerifyAssertionResponse", "asksFirst": true, "pendingToken": token,
                    "providerId": "google.com", "email": "ada@gmail.com", "displayName": "Ada Lovelace",
                ]
            )
            #expect(try await accounts(api) == 0)

            let created = try await api.post(Self.path, ["pendingToken": token, "returnSecureToken": true])
            #expect(created.status == 200 && created.json["isNewUser"] == true, "\(created.text)")
            #expect(created.json["email"] == "ada@gmail.com" && created.json["emailVerified"] == true)
            #expect(created.json["idToken"] != nil && created.json["refreshToken"] != nil)
            // The answer was lost, and the client repeats the request.
            let again = try await api.post(Self.path, ["pendingToken": token, "asksFirst": true])
            #expect(again.json["localId"] == created.json["localId"] && again.json["isNewUser"] == nil)
            #expect(try await accounts(api) == 1)
        }
    }

    @Test func `a credential without address and name gets a question without them`() async throws {
        try await TestAPI.with { api in
            let asked = try await ask(api, .string(#"providerId=facebook.com&access_token={"sub":"1"}"#))
            #expect(
                asked.json.object.map { Set($0.keys) } == ["kind", "asksFirst", "pendingToken", "providerId"],
                "\(asked.text)"
            )
        }
    }

    @Test func `with a session the token links to its account, which the provider enters from then on`() async throws {
        try await TestAPI.with { api in
            let bob = try await api.signUp("bob@example.com")
            let token = try await pendingToken(api, google("ada", "ada@gmail.com"))
            let body: JSONValue = ["pendingToken": token, "idToken": bob["idToken"] ?? .null]
            let linked = try await api.post(Self.path, body)
            #expect(linked.status == 200 && linked.json["localId"] == bob["localId"], "\(linked.text)")
            #expect(linked.json["isNewUser"] == nil)
            let entered = try await ask(api, google("ada", "ada@gmail.com"))
            #expect(entered.json["localId"] == bob["localId"] && entered.json["asksFirst"] == nil)
            #expect(try await api.service.user(owning: "bob@example.com")?.linkedProviders[.google] != nil)
            let again = try await api.post(Self.path, body)
            #expect(again.errorMessage == "FEDERATED_USER_ID_ALREADY_LINKED", "\(again.text)")
            #expect(try await accounts(api) == 1)
        }
    }

    @Test func `the rules of links decide: an old session, and an identity of another account`() async throws {
        try await TestAPI.with { api in
            let bob = try await api.signUp("bob@example.com")
            api.service.clock.advance(seconds: 301)
            let token = try await pendingToken(api, google("ada", "ada@gmail.com"))
            let old: JSONValue = ["pendingToken": token, "idToken": bob["idToken"] ?? .null]
            #expect(try await api.post(Self.path, old).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            let created = try await api.post(Self.path, ["pendingToken": token])
            #expect(created.json["isNewUser"] == true, "\(created.text)")
            let recent: JSONValue = [
                "pendingToken": token, "idToken": try await api.signIn("bob@example.com").json["idToken"] ?? .null,
                "returnIdpCredential": true,
            ]
            let refused = try await api.post(Self.path, recent)
            #expect(refused.json["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED", "\(refused.text)")
            #expect(refused.json["pendingToken"] != nil && refused.json["idToken"] == nil)
        }
    }

    @Test func `asking first changes no other answer`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("bob@example.com")
            let ada = google("ada", "ada@gmail.com")
            let known = try await signIn(api, ada).json["localId"]
            #expect(try await ask(api, ada).json["localId"] == known)
            let conflict = try await ask(api, gitHub("1", "bob@example.com"))
            #expect(conflict.json["needConfirmation"] == true && conflict.json["asksFirst"] == nil)
            let reauthentication = try await signIn(
                api,
                google("new", "new@gmail.com"),
                ["asksFirst": true, "autoCreate": false]
            )
            #expect(reauthentication.errorMessage == "USER_NOT_FOUND")
            let session = try await api.signUpAnonymously()
            let linked = try await signIn(
                api,
                google("new", "new@gmail.com"),
                ["asksFirst": true, "idToken": session["idToken"] ?? .null]
            )
            #expect(linked.json["localId"] == session["localId"], "\(linked.text)")
        }
        let closed = ProjectSettings.developmentDefaults.with(
            "client",
            ["permissions": ["disabledUserSignup": true]]
        )
        try await TestAPI.with(settings: closed) { api in
            let refused = try await ask(api, google("ada", "ada@gmail.com"))
            #expect(refused.errorMessage?.hasPrefix("ADMIN_ONLY_OPERATION") == true, "\(refused.text)")
        }
        try await TestAPI.with(settings: Self.confirming) { api in
            let mailed = try await ask(api, gitHub("1", "new@example.com"))
            #expect(mailed.json["needConfirmation"] == true && mailed.json["asksFirst"] == nil, "\(mailed.text)")
        }
    }

    @Test func `bad and expired tokens, and bad fields, have one clear answer each`() async throws {
        try await TestAPI.with { api in
            let token = try #require(try await pendingToken(api, google("ada", "ada@gmail.com")).string)
            func post(_ body: JSONValue) async throws -> String {
                let answer = try await api.post(Self.path, body)
                #expect(answer.status == 400, "\(answer.text)")
                return answer.errorMessage ?? ""
            }
            for bad in ["x", String(token.dropLast(8)), token + "=", String(repeating: "A", count: 200_000)] {
                #expect(try await post(["pendingToken": .string(bad)]).hasPrefix("INVALID_PENDING_TOKEN"))
            }
            #expect(try await post([:]).hasPrefix("MISSING_REQUEST_URI"))
            #expect(try await post(["asksFirst": true]).hasPrefix("MISSING_REQUEST_URI"))
            let relative = try await post(["pendingToken": .string(token), "requestUri": "localhost"])
            #expect(relative.hasPrefix("INVALID_REQUEST_URI"))
            _ = try await post(["pendingToken": .string(token), "asksFirst": "perhaps"])
            let password = try await api.post(
                "/v1/accounts:signUp",
                ["email": "bob@example.com", "password": "correct horse"]
            )
            // No other route takes the token.
            let conflict = try await api.send(.get, "/concord/v1/conflict", key: nil, bearer: token)
            #expect(conflict.json["type"] == "urn:concord:problem:conflict-unknown", "\(conflict.text)")
            let signedIn = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "bob@example.com", "password": "correct horse", "pendingToken": .string(token)]
            )
            #expect(signedIn.json["localId"] == password.json["localId"] && signedIn.json["linkedProviderId"] == nil)
            api.service.clock.advance(seconds: 600)
            #expect(try await post(["pendingToken": .string(token)]).hasPrefix("INVALID_PENDING_TOKEN"))
            #expect(try await accounts(api) == 1)
        }
    }

    @Test func `the rules decide when the token is used: by then, the address has an owner`() async throws {
        try await TestAPI.with(settings: Self.confirming) { api in
            let token = try await pendingToken(api, google("ada", "ada@gmail.com"))
            _ = try await api.signUp("ada@gmail.com")
            let entered = try await api.post(Self.path, ["pendingToken": token])
            #expect(entered.status == 200 && entered.json["isNewUser"] == nil, "\(entered.text)")
            #expect(try await accounts(api) == 1)
        }
    }

    // MARK: Addresses that are confirmed

    /// The size of the body without the ID token, in which a random number varies in digits.
    private func sizeWithoutToken(_ answer: TestAPI.Answer) -> Int {
        answer.text.utf8.count - (answer.json["idToken"]?.string?.utf8.count ?? 0)
    }

    @Test func `a session that brings an unproven address does not learn who has it, and does not get it`()
        async throws
    {
        try await TestAPI.with(settings: Self.confirming) { api in
            _ = try await api.signUp("used@example.com")
            var answers: [TestAPI.Answer] = []
            for (subject, email) in [("31", "used@example.com"), ("32", "free@example.com")] {
                let session = try await api.signUpAnonymously()
                let linked = try await signIn(
                    api,
                    gitHub(subject, email),
                    ["idToken": session["idToken"] ?? .null, "returnIdpCredential": true]
                )
                #expect(linked.status == 200 && linked.json["localId"] == session["localId"], "\(linked.text)")
                answers.append(linked)
                let user = try await api.post("/v1/accounts:lookup", ["idToken": linked.json["idToken"] ?? .null])
                #expect(user.json["users"]?.array?.first?["email"] == nil, "\(user.text)")
            }
            // The handle of a pending sign-up, presented by the session of another account.
            for (subject, email) in [("41", "used@example.com"), ("42", "free@example.com")] {
                let waiting = try await signIn(api, gitHub(subject, email))
                #expect(waiting.json["needConfirmation"] == true, "\(waiting.text)")
                let session = try await api.signUpAnonymously()
                let body: JSONValue = [
                    "pendingToken": waiting.json["pendingToken"] ?? .null, "idToken": session["idToken"] ?? .null,
                ]
                answers.append(try await api.post(Self.path, body))
            }
            for (used, free) in [(answers[0], answers[1]), (answers[2], answers[3])] {
                #expect(used.status == 200 && free.status == 200, "\(used.text) \(free.text)")
                #expect(used.headers.map(\.name) == free.headers.map(\.name))
                #expect(sizeWithoutToken(used) == sizeWithoutToken(free))
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM conflicts") == 0)
        }
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("used@example.com")
            let session = try await api.signUpAnonymously()
            let refused = try await signIn(
                api,
                gitHub("31", "used@example.com"),
                ["idToken": session["idToken"] ?? .null]
            )
            #expect(refused.errorMessage == "EMAIL_EXISTS", "without the setting nothing changes")
        }
    }
}
