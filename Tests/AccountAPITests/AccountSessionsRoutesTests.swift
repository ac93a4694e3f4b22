import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// The sessions of the caller's account over HTTP, and `signOutUser`.
@Suite struct AccountSessionsRoutesTests {
    private static let path = "/concord/v1/account/sessions"

    private func list(_ api: TestAPI, _ session: JSONValue?, query: String = "") async throws -> Wire.Answer {
        let answer = try await api.send(.get, Self.path + query, key: nil, bearer: session?["idToken"]?.string)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    private func end(
        _ path: String,
        _ api: TestAPI,
        _ session: JSONValue?,
        at template: String = "",
        idempotencyKey: String? = nil,
        ifMatch: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        if let field = HTTPField.Name("Idempotency-Key") { headers[field] = idempotencyKey }
        let answer = try await api.send(
            .delete,
            Self.path + path,
            key: nil,
            bearer: session?["idToken"]?.string,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .delete, at: Self.path + template) == [])
        return answer
    }

    private func signIn(_ api: TestAPI, _ email: String, userAgent: String? = nil) async throws -> JSONValue {
        var headers: HTTPFields = [:]
        headers[.userAgent] = userAgent
        let body: JSONValue = [
            "email": .string(email), "password": .string(TestService.password), "returnSecureToken": true,
        ]
        let answer = try await api.send(
            .post,
            "/v1/accounts:signInWithPassword",
            Array(body.text.utf8),
            headers: headers
        )
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private func id(_ session: JSONValue) throws -> String {
        try #require(payload(of: session["idToken"])["concord"]?["session"]?.string)
    }

    private func refreshes(_ api: TestAPI, _ session: JSONValue) async throws -> Bool {
        let answer = try await api.post(
            "/v1/token",
            ["grantType": "refresh_token", "refreshToken": session["refreshToken"] ?? .null]
        )
        if answer.status != 200 { #expect(answer.errorMessage == "TOKEN_EXPIRED") }
        return answer.status == 200
    }

    @Test func `the list shows the sign-in method and device of each session, and no refresh token`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let phone = try await signIn(api, "ada@example.com", userAgent: "Phone/1.0 (x)")
            let long = "A\u{E9}" + String(repeating: "b", count: 300)
            let own = try await signIn(api, "ada@example.com", userAgent: long)
            let answer = try await list(api, own)
            #expect(answer.status == 200 && answer.headers[.cacheControl] == "no-store")
            let sessions = answer.json["sessions"]?.array ?? []
            #expect(sessions.count == 3)
            let listed = try sessions.first { try $0["sessionId"]?.string == id(phone) }
            #expect(listed?["device"] == "Phone/1.0 (x)" && listed?["current"] == false)
            #expect(listed?["signInProvider"] == "password" && listed?["startTime"] == listed?["lastUseTime"])
            let current = sessions.first { $0["current"] == true }
            #expect(try current?["sessionId"]?.string == id(own))
            #expect(current?["device"]?.string == "A" + String(repeating: "b", count: 199))
            for session in [phone, own] {
                let secret = try #require(session["refreshToken"]?.string).suffix(40)
                #expect(!answer.text.contains(secret))
            }
            let tag = try #require(answer.headers[.eTag])
            #expect(
                try await end("/\(id(phone))", api, own, at: "/{session}", ifMatch: #""999""#).problem
                    == .versionMismatch
            )
            #expect(try await end("/\(id(phone))", api, own, at: "/{session}", ifMatch: tag).json == ["ended": true])
            #expect(try await !refreshes(api, phone))
            #expect(try await refreshes(api, own))
        }
    }

    @Test func `a user can end one session, all others, or all`() async throws {
        try await TestAPI.with { api in
            let first = try await api.signUp("ada@example.com")
            let second = try await signIn(api, "ada@example.com")
            let third = try await signIn(api, "ada@example.com")
            #expect(try await end("/\(id(second))", api, first, at: "/{session}").json == ["ended": true])
            #expect(try await end("/\(id(second))", api, first, at: "/{session}").json == ["ended": false])
            #expect(try await list(api, second).problem == .invalidSession)
            #expect(try await end("?keepCurrent=true", api, first).json == ["ended": true])
            #expect(try await !refreshes(api, third))
            #expect(try await refreshes(api, first))
            #expect(try await end("", api, first).json == ["ended": true])
            #expect(try await !refreshes(api, first))
            #expect(try await list(api, first).problem == .invalidSession)
        }
    }

    @Test func `a repeated request gets the same response and ends no later session`() async throws {
        try await TestAPI.with { api in
            let own = try await api.signUp("ada@example.com")
            _ = try await signIn(api, "ada@example.com")
            #expect(try await end("?keepCurrent=true", api, own, idempotencyKey: "k1").json == ["ended": true])
            let later = try await signIn(api, "ada@example.com")
            #expect(try await end("?keepCurrent=true", api, own, idempotencyKey: "k1").json == ["ended": true])
            #expect(try await refreshes(api, later), "opened after the request that is repeated")
            // The same key without the query is another request.
            #expect(try await end("", api, own, idempotencyKey: "k1").json == ["ended": true])
            #expect(try await !refreshes(api, later))
        }
    }

    @Test func `an invalid session, page or parameter is reported`() async throws {
        try await TestAPI.with { api in
            let own = try await api.signUp("ada@example.com")
            for query in ["?pageSize=0", "?pageSize=101", "?pageSize=x", "?pageToken=x"] {
                #expect(try await list(api, own, query: query).problem == .malformedRequest, "\(query)")
            }
            #expect(try await end("/x", api, own, at: "/{session}").problem == .malformedRequest)
            #expect(try await end("?keepCurrent=1", api, own).problem == .malformedRequest)
            #expect(try await list(api, nil).problem == .invalidSession)
            #expect(try await end("", api, nil).problem == .invalidSession)
            #expect(try await refreshes(api, own))
        }
    }

    @Test func `the owner and operators see refused sign-ins`() async throws {
        try await TestAPI.withAdministrator { api in
            let own = try await api.signUp("ada@example.com")
            for _ in 0..<3 {
                _ = try await api.post(
                    "/v1/accounts:signInWithPassword",
                    ["email": "ada@example.com", "password": "wrong"]
                )
            }
            let store = api.service.operations.store
            try await store.activity.flush(to: store)
            let user = own["localId"]?.string ?? ""
            let path = "/concord/v1/sessions"
            let asOperator = try await api.send(.get, path + "?localId=\(user)", key: nil, bearer: "owner")
            #expect(try OpenAPIDocument().defects(of: asOperator, to: .get, at: path) == [])
            for answer in [try await list(api, own), asOperator] {
                let refused = answer.json["refusedSignIns"]?.array ?? []
                #expect(refused.map { $0["reason"] } == ["S4"] && refused.first?["count"] == 3, "\(answer.text)")
                #expect(answer.json["sessions"]?.array?.count == 1)
            }
            #expect(asOperator.json["sessions"]?.array?.first?["current"] == false)
            let nobody = try await api.send(.get, path + "?localId=nobody", key: nil, bearer: "owner")
            #expect(nobody.problem == .noSuchRoute)
            let stranger = try await api.send(.get, path + "?localId=\(user)", bearer: own["idToken"]?.string)
            #expect(stranger.status == 401 || stranger.status == 403)
        }
    }

    @Test func `wrong second factors are counted, and the session shows which one opened it`() async throws {
        try await TestAPI.with { api in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let wrong = api.code(of: app, stepsFromNow: 9)
            for _ in 0..<2 {
                let pending = try await api.pendingCredential(owner)
                for _ in 0..<5 { _ = try await api.secondStep(pending, owner.enrollmentID, wrong) }
            }
            let pending = try await api.pendingCredential(owner)
            _ = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            api.service.clock.advance(seconds: 61)
            let signedIn = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            let store = api.service.operations.store
            try await store.activity.flush(to: store)
            let answer = try await list(api, signedIn.json)
            let refused = answer.json["refusedSignIns"]?.array ?? []
            #expect(refused.map { $0["reason"] } == ["locked-second-factor", "wrong-second-factor"], "\(answer.text)")
            #expect(refused.map { $0["count"] } == [1, 10])
            let current = answer.json["sessions"]?.array?.first { $0["current"] == true }
            #expect(current?["secondFactor"] == "totp")
        }
    }

    @Test(arguments: ["/v1/accounts:signOutUser", "/identitytoolkit/v3/relyingparty/signOutUser"])
    func `signOutUser ends the session of an ID token`(path: String) async throws {
        try await TestAPI.with { api in
            let own = try await api.signUp("ada@example.com")
            let other = try await signIn(api, "ada@example.com")
            let idToken = own["idToken"] ?? .null
            #expect(try await api.post(path, ["localId": own["localId"] ?? .null]).errorMessage == "MISSING_ID_TOKEN")
            let wrong = try await api.post(path, ["idToken": idToken, "localId": "stranger"])
            #expect(wrong.errorMessage == "USER_NOT_FOUND")
            let answer = try await api.post(
                path,
                ["idToken": idToken, "localId": own["localId"] ?? .null, "instanceId": "app"]
            )
            #expect(answer.json == ["localId": own["localId"] ?? .null])
            #expect(try await !refreshes(api, own))
            #expect(try await refreshes(api, other))
        }
    }

    @Test(arguments: [
        "/v1/accounts:signOutUser", "\(TestAPI.projectPath)/accounts:signOutUser",
        "/identitytoolkit/v3/relyingparty/signOutUser",
    ])
    func `signOutUser of an administrator ends every session of an account`(path: String) async throws {
        try await TestAPI.withAdministrator { api in
            let own = try await api.signUp("ada@example.com")
            let other = try await signIn(api, "ada@example.com")
            let answer = try await api.post(path, ["localId": own["localId"] ?? .null], key: nil, bearer: "owner")
            #expect(answer.json == ["localId": own["localId"] ?? .null], "\(answer.text)")
            for session in [own, other] { #expect(try await !refreshes(api, session)) }
            let nobody = try await api.post(path, ["localId": "nobody"], key: nil, bearer: "owner")
            #expect(nobody.errorMessage == "USER_NOT_FOUND")
            let unnamed = try await api.post(path, [:], key: nil, bearer: "owner")
            #expect(unnamed.errorMessage == "MISSING_LOCAL_ID")
        }
    }

    private func setLifetime(_ api: TestAPI, _ field: String, _ seconds: Int64) async throws -> Int {
        let body: JSONValue = ["concord": ["sessions": .object([field: .integer(seconds)])]]
        return try await api.send(
            .patch,
            "/admin/v2/projects/\(TestService.projectID)/config?updateMask=concord.sessions.\(field)",
            Array(body.text.utf8),
            key: nil,
            bearer: "owner"
        ).status
    }

    @Test func `a session that continues another has the other's age if a lifetime is set later`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let guest = try await api.signUpAnonymously()
            api.service.clock.advance(seconds: 3500)
            let link: JSONValue = [
                "idToken": guest["idToken"] ?? .null, "email": "ada@example.com",
                "password": .string(TestService.password),
            ]
            let linked = try await api.post("/v1/accounts:signUp", link).json
            api.service.clock.advance(seconds: 3699)
            #expect(try await setLifetime(api, "absoluteSeconds", 7200) == 200)
            #expect(try await refreshes(api, linked))
            api.service.clock.advance(seconds: 1)
            #expect(try await !refreshes(api, linked))
        }
    }

    @Test func `linking a provider after the second factor does not reset the session's age`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await api.enrollApp(api.factorOwner())
            let custom: JSONValue = ["token": .string(#"{"uid":"\#(owner.id.rawValue)"}"#)]
            let byBackend = try await api.post("/v1/accounts:signInWithCustomToken", custom)
            api.service.clock.advance(seconds: 200)
            let asked = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "idToken": byBackend.json["idToken"] ?? .null,
                    "postBody": #"providerId=facebook.com&access_token={"sub":"fb"}"#,
                ]
            )
            let pending = try #require(asked.json["mfaPendingCredential"]?.string, "\(asked.text)")
            let app = try #require(owner.app)
            let linked = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(linked.status == 200, "\(linked.text)")
            api.service.clock.advance(seconds: 7000)
            #expect(try await setLifetime(api, "absoluteSeconds", 7200) == 200)
            #expect(try await !refreshes(api, linked.json))
        }
    }

    @Test func `a lifetime is 0 or at least one ID token's lifetime, and an inactivity limit 0 or at least two`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let own = try await api.signUp("ada@example.com")
            for (field, least) in [("inactivitySeconds", 7200), ("absoluteSeconds", 3600)] as [(String, Int64)] {
                for seconds in [-1, 1, least - 1, 1_000_000_000_000] as [Int64] {
                    #expect(try await setLifetime(api, field, seconds) == 400, "\(field) \(seconds)")
                }
                #expect(try await setLifetime(api, field, least) == 200)
            }
            api.service.clock.advance(seconds: 3600)
            #expect(try await !refreshes(api, own), "sessions that were there before end too")
            for field in ["inactivitySeconds", "absoluteSeconds"] {
                #expect(try await setLifetime(api, field, 0) == 200)
            }
            #expect(try await refreshes(api, own), "and go on while they are not deleted")
        }
    }
}
