import AccountTestSupport
import HTTPTypes
import IdentityProviders
import JSON
import NIOHTTP1
import Postgres
import Testing

/// Twitter's web flow from its beginning to the end, against a Twitter that checks every signature.
struct TwitterFlowTests {
    private typealias Simulator = ProviderSimulator<SimulatedTwitter>

    /// A project that registered Twitter, with what `changes` says instead.
    private func with(
        _ changes: [String: JSONValue] = [:],
        _ body: @Sendable (TestAPI, Simulator) async throws -> Void
    ) async throws {
        try await Simulator.run(SimulatedTwitter()) { simulator async throws in
            try await TestAPI.withAdministrator { api in
                try await api.register(
                    "twitter.com",
                    at: simulator,
                    clientID: SimulatedTwitter.key,
                    secret: SimulatedTwitter.secret,
                    changes
                )
                try await body(api, simulator)
            }
        }
    }

    private func begin(_ api: TestAPI, _ changes: [String: JSONValue] = [:]) async throws -> TestAPI.Answer {
        try await api.begin("twitter.com", changes)
    }

    private func visit(_ api: TestAPI, _ simulator: Simulator) async throws -> [String: JSONValue] {
        try await api.visit("twitter.com", at: simulator)
    }

    // MARK: Sign-ins

    @Test func `a sign-in on Twitter's page returns the profile, token and secret`() async throws {
        try await with { api, simulator async throws in
            let begun = try await begin(api, ["customParameter": ["lang": "fr"]])
            #expect(begun.json["providerId"] == "twitter.com")
            let page = try #require(begun.json["authUri"]?.string)
            #expect(page.hasPrefix(simulator.addresses[.authorization] ?? "-") && page.hasSuffix("&lang=fr"))
            // What the answer will be judged by is Concord's secret.
            let stored = try await api.service.database.count(
                """
                SELECT count(*) FROM provider_flows WHERE position('request+secret'::bytea IN sealed_flow) = 0
                    AND position('request-1'::bytea IN sealed_flow) = 0
                """
            )
            #expect(stored == 1)

            let callback = try await simulator.visit(page)
            let request: JSONValue = [
                "requestUri": .string(callback), "sessionId": begun.json["sessionId"] ?? .null,
                "returnSecureToken": true,
            ]
            let answer = try await api.post(TestAPI.signInWithIdp, request)
            #expect(answer.status == 200, "\(answer.text)")
            let person = SimulatedPerson()
            #expect(answer.json["isNewUser"] == true && answer.json["idToken"]?.string != nil)
            #expect(answer.json["providerId"] == "twitter.com" && answer.json["federatedId"] == .string(person.id))
            #expect(answer.json["screenName"] == .string(person.screenName))
            #expect(answer.json["displayName"] == .string(person.name))
            #expect(answer.json["photoUrl"] == .string(person.picture))
            #expect(answer.json["email"] == "ada@example.com" && answer.json["emailVerified"] == false)
            let raw = try JSONValue(parsing: Array(try #require(answer.json["rawUserInfo"]?.string).utf8))
            #expect(raw == SimulatedTwitter.profile(of: person))
            #expect(answer.json["oauthIdToken"] == nil)
            #expect(try await api.rows() == [1, 1, 0, 0])

            // The token is the real one: an app that has it signs in with it.
            let native = try await api.post(TestAPI.signInWithIdp, Self.native(answer.json))
            #expect(native.status == 200 && native.json["localId"] == answer.json["localId"], "\(native.text)")
            #expect(native.json["isNewUser"] == nil)
            let known = ["request answered", "changed by an administrator"]
            let others = api.log.entries.filter { !known.contains($0.message) }
            #expect(others.isEmpty, "a flow is made of secrets")
            let secrets =
                [callback, page]
                + ["oauthAccessToken", "oauthTokenSecret", "idToken", "refreshToken"].compactMap {
                    answer.json[$0]?.string
                }
            #expect(secrets.count == 6)
            for line in api.log.lines {
                #expect(!secrets.contains { line.contains($0) } && !line.contains("ada@example.com"), "\(line)")
            }
        }
    }

    /// The request of a client that brings the tokens of `answer` by itself.
    private static func native(_ answer: JSONValue, _ extra: [String: JSONValue] = [:]) -> JSONValue {
        let form = PercentEncoding.form([
            ("access_token", answer["oauthAccessToken"]?.string ?? ""),
            ("oauth_token_secret", answer["oauthTokenSecret"]?.string ?? ""), ("providerId", "twitter.com"),
        ])
        let body: [String: JSONValue] = ["requestUri": "http://localhost", "postBody": .string(form)]
        return .object(body.merging(extra) { $1 })
    }

    @Test
    func `Twitter can be linked on its page, and a second sign-in there allows operations that need a recent one`()
        async throws
    {
        try await with { api, simulator async throws in
            let ada = try await api.signUpAnonymously()
            var request = try await visit(api, simulator)
            request["idToken"] = ada["idToken"]
            let linked = try await api.post(TestAPI.signInWithIdp, .object(request))
            #expect(linked.json["localId"] == ada["localId"], "\(linked.text)")
            #expect(linked.json["oauthTokenSecret"]?.string?.isEmpty == false)
            #expect(linked.json["screenName"] == "ada")

            api.service.clock.advance(seconds: 301)
            let old: JSONValue = ["idToken": linked.json["idToken"] ?? .null]
            let refused = try await api.post("/v1/accounts:delete", old)
            #expect(refused.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            // The subject identifies the user, with any address.
            simulator.provider.change { $0.person.email = "new@example.com" }
            var again = try await visit(api, simulator)
            again["autoCreate"] = false
            let fresh = try await api.post(TestAPI.signInWithIdp, .object(again))
            #expect(fresh.json["localId"] == ada["localId"], "\(fresh.text)")
            let deleted = try await api.post("/v1/accounts:delete", ["idToken": fresh.json["idToken"] ?? .null])
            #expect(deleted.status == 200, "\(deleted.text)")
        }
    }

    @Test(arguments: [true, false])
    func `if a password account has the address, the sign-in is a conflict that its owner can resolve`(
        byHandle: Bool
    ) async throws {
        try await with { api, simulator async throws in
            let ada = try await api.signUp("ada@example.com")
            let before = try await api.rows()
            let conflict = try await api.post(TestAPI.signInWithIdp, .object(try await visit(api, simulator)))
            #expect(conflict.status == 200 && conflict.json["needConfirmation"] == true, "\(conflict.text)")
            #expect(conflict.json["email"] == "ada@example.com" && conflict.json["localId"] == ada["localId"])
            #expect(conflict.json["idToken"] == nil && conflict.json["refreshToken"] == nil)
            #expect(conflict.json["pendingToken"]?.string?.isEmpty == false)
            #expect(conflict.json["oauthAccessToken"]?.string?.isEmpty == false)
            #expect(conflict.json["oauthTokenSecret"]?.string?.isEmpty == false)
            #expect(try await api.rows() == [before[0], before[1], 0, 1])
            let inTheClear = try await api.service.database.count(
                "SELECT count(*) FROM conflicts WHERE position('access+secret'::bytea IN sealed_credential) > 0"
            )
            #expect(inTheClear == 0)

            let ways = try await api.post(
                "/v1/accounts:createAuthUri",
                ["identifier": "ada@example.com", "continueUri": "http://localhost"]
            )
            #expect(ways.json["allProviders"] == ["password"])

            let session = try await api.signIn("ada@example.com").json["idToken"] ?? .null
            let settling: JSONValue
            if byHandle {
                settling = [
                    "requestUri": "http://localhost", "idToken": session,
                    "pendingToken": conflict.json["pendingToken"] ?? .null, "returnIdpCredential": true,
                ]
            } else {
                settling = Self.native(conflict.json, ["idToken": session])
            }
            let settled = try await api.post(TestAPI.signInWithIdp, settling)
            #expect(settled.json["localId"] == ada["localId"], "\(settled.text)")
            #expect(settled.json["oauthAccessToken"] == conflict.json["oauthAccessToken"])
            #expect(settled.json["oauthTokenSecret"] == conflict.json["oauthTokenSecret"])

            let byTwitter = try await api.post(TestAPI.signInWithIdp, .object(try await visit(api, simulator)))
            #expect(byTwitter.json["localId"] == ada["localId"], "\(byTwitter.text)")
            #expect(byTwitter.json["needConfirmation"] == nil)
            #expect(try await api.signIn("ada@example.com").json["localId"] == ada["localId"])
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 1)
        }
    }

    // MARK: Refusals

    @Test func `if eight requests send one callback, one signs in`() async throws {
        try await with { api, simulator async throws in
            let request = try await visit(api, simulator)
            let answers = try await withThrowingTaskGroup(of: TestAPI.Answer.self) { group in
                for _ in 1...8 { group.addTask { try await api.post(TestAPI.signInWithIdp, .object(request)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.status == 200 } == 1)
            #expect(answers.count { $0.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true } == 7)
            #expect(try await api.rows() == [1, 1, 0, 0])
            // Only the request that found the flow asks Twitter.
            #expect(simulator.requests(at: .token).count == 1)
            let late = try await api.post(TestAPI.signInWithIdp, .object(request))
            #expect(late.status == 400 && late.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(late.text)")
            #expect(try await api.rows() == [1, 1, 0, 0])
        }
    }

    @Test func `a callback of another session, or of an unknown flow, signs in no user`() async throws {
        try await with { api, simulator async throws in
            let mine = try await visit(api, simulator)
            let theirs = try await visit(api, simulator)
            let callback = try #require(mine["requestUri"]?.string)
            let query = try #require(callback.split(separator: "?").last)
            let state = try #require(query.split(separator: "&").first)
            let wrong: [[String: JSONValue]] = [
                ["sessionId": theirs["sessionId"] ?? .null], ["sessionId": .null], ["sessionId": "made up"],
                ["requestUri": .string(callback.replacing(state, with: "state=made-up"))],
            ]
            for change in wrong {
                let answer = try await api.post(TestAPI.signInWithIdp, .object(mine.merging(change) { $1 }))
                #expect(answer.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(change): \(answer.text)")
            }
            #expect(try await api.rows() == [0, 0, 2, 0])
            // Only the flow's own session ends it.
            #expect(try await api.post(TestAPI.signInWithIdp, .object(mine)).status == 200)
            #expect(try await api.rows() == [1, 1, 1, 0])
        }
    }

    @Test func `another flow's verifier ends the flow and signs in no user`() async throws {
        try await with { api, simulator async throws in
            let first = try await visit(api, simulator)
            let second = try await visit(api, simulator)
            func halves(_ request: [String: JSONValue]) throws -> [Substring] {
                try #require(request["requestUri"]?.string).split(separator: "&", maxSplits: 1)
            }
            var mixed = first
            mixed["requestUri"] = .string("\(try halves(first)[0])&\(try halves(second)[1])")
            let answer = try await api.post(TestAPI.signInWithIdp, .object(mixed))
            #expect(answer.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(answer.text)")
            #expect(try await api.rows() == [0, 0, 1, 0])
            #expect(simulator.requests(at: .token).isEmpty)
        }
    }

    @Test func `if the user refuses, the sign-in is cancelled and nothing is stored`() async throws {
        try await with { api, simulator async throws in
            simulator.provider.change { $0.consents = false }
            let answer = try await api.post(TestAPI.signInWithIdp, .object(try await visit(api, simulator)))
            #expect(answer.status == 400 && answer.errorMessage?.hasPrefix("USER_CANCELLED") == true, "\(answer.text)")
            #expect(try await api.rows() == [0, 0, 0, 0])
        }
    }

    @Test(arguments: ["client_id", "redirect_uri", "response_type", "scope", "state"])
    func `a custom parameter with a reserved name is refused`(name: String) async throws {
        try await with { api, simulator async throws in
            let answer = try await begin(api, ["customParameter": .object([name: "x"])])
            #expect(answer.status == 400 && answer.text.contains(name), "\(answer.text)")
            #expect(try await api.rows() == [0, 0, 0, 0])
            #expect(simulator.requests(at: .requestToken).isEmpty)
        }
    }

    @Test(arguments: [["enabled": false], ["clientSecret": .null], ["clientId": .null]] as [[String: JSONValue]])
    func `Twitter works only if it is enabled and has key and secret`(change: [String: JSONValue]) async throws {
        try await with(change) { api, simulator async throws in
            let begun = try await begin(api)
            #expect(begun.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(begun.text)")
            let issued = simulator.provider.issueToken(for: SimulatedPerson())
            let tokens: JSONValue = [
                "oauthAccessToken": .string(issued.token), "oauthTokenSecret": .string(issued.secret),
            ]
            let native = try await api.post(TestAPI.signInWithIdp, Self.native(tokens))
            #expect(native.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(native.text)")
            #expect(try await api.rows() == [0, 0, 0, 0])

            let right: JSONValue = [
                "enabled": true, "clientId": .string(SimulatedTwitter.key),
                "clientSecret": .string(SimulatedTwitter.secret),
            ]
            let path = TestAPI.registrations + "/twitter.com?updateMask=enabled,clientId,clientSecret"
            let changed = try await api.send(.patch, path, Array(right.text.utf8), key: nil, bearer: "owner")
            #expect(changed.status == 200, "\(changed.text)")
            #expect(try await api.post(TestAPI.signInWithIdp, Self.native(tokens)).status == 200)
        }
    }

    @Test func `if Twitter is unreachable, no flow begins, and a callback stores nothing`() async throws {
        try await with { api, simulator async throws in
            let request = try await visit(api, simulator)
            simulator.reply(.text("oops", status: .internalServerError), at: .requestToken)
            simulator.reply(.text("oops", status: .internalServerError), at: .profile)
            #expect(try await begin(api).status == 503)
            #expect(try await api.rows() == [0, 0, 1, 0])
            #expect(try await api.post(TestAPI.signInWithIdp, .object(request)).status == 503)
            #expect(try await api.rows() == [0, 0, 0, 0])
        }
    }
}
