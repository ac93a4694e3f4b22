import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Methods that a takeover or a reset suspends are named before it, to the proven owner, and after it, with the way to
/// restore them.
@Suite struct TakeoverAnnouncementTests {
    private static let path = "/concord/v1/conflict"
    private static let email = "ada@example.com"
    private static let days: Int64 = 86_400

    /// A conflict over the account of `email`, brought by GitHub.
    private func handle(_ api: TestAPI) async throws -> String {
        let credential = #"{"sub":"octo-ada","email":"\#(Self.email)"}"#
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
        )
        return try #require(answer.json["pendingToken"]?.string, "\(answer.text)")
    }

    private func post(
        _ api: TestAPI,
        _ what: String,
        _ body: JSONValue,
        _ handle: String,
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
        let answer = try await api.send(
            .post,
            Self.path + what,
            Array(body.text.utf8),
            key: nil,
            bearer: handle,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path + what) == [])
        return answer
    }

    private func read(_ api: TestAPI, _ handle: String, proof: String?) async throws -> JSONValue {
        var headers: HTTPFields = [:]
        let name = try #require(HTTPField.Name("Concord-Proof"))
        headers[name] = proof
        let answer = try await api.send(.get, Self.path, key: nil, bearer: handle, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer.json
    }

    /// Proves the conflict by the mailed code.
    private func prove(_ api: TestAPI, _ handle: String) async throws -> (conflict: JSONValue, token: String) {
        #expect(try await post(api, "/proof", ["kind": "mailbox"], handle).status == 202)
        let path = "/emulator/v1/projects/\(TestService.projectID)/conflictProofs"
        let mails = try await api.send(.get, path, key: nil).json["conflictProofs"]?.array ?? []
        let proven = try await post(api, "/proof:complete", ["code": mails.last?["code"] ?? .null], handle)
        #expect(proven.status == 200, "\(proven.text)")
        return (try #require(proven.json["conflict"]), try #require(proven.json["proofToken"]?.string))
    }

    private func suspension(
        _ method: String,
        until end: Timestamp?,
        by way: MethodRestoration,
        _ route: String
    ) -> JSONValue {
        var fields: [String: JSONValue] = [
            "method": .string(method), "reason": "address-proven",
            "restore": ["by": .string(way.rawValue), "route": .string(route)],
        ]
        fields["expireTime"] = end.map { .string(RFC3339.text($0)) }
        return .object(fields)
    }

    private func suspendedRows(_ api: TestAPI) async throws -> [String?] {
        try await api.service.database.rows(
            "SELECT method FROM quarantined_methods ORDER BY method" as Query<String?>
        )
    }

    @Test func `the conflict shows the linked account that it replaces, before and after confirmation`() async throws {
        try await TestAPI.withAdministrator { api in
            func google(_ subject: String) async throws -> JSONValue {
                let claims = #"{"sub":"\#(subject)","email":"\#(Self.email)","hd":"example.com"}"#
                let body: JSONValue = [
                    "requestUri": "http://localhost", "returnIdpCredential": true,
                    "postBody": .string("providerId=google.com&id_token=\(claims)"),
                ]
                return try await api.post("/v1/accounts:signInWithIdp", body).json
            }
            let owner = try await google("old")
            let handle = try #require(try await google("new")["pendingToken"]?.string)
            let session: JSONValue = ["kind": "session", "idToken": owner["idToken"] ?? .null]
            let proven = try await post(api, "/proof", session, handle)
            #expect(proven.json["conflict"]?["replaced"] == ["google.com"], "\(proven.text)")
            #expect(proven.json["conflict"]?["suspended"] == [])
            let token: JSONValue = ["proofToken": proven.json["proofToken"] ?? .null]
            let resolved = try await post(api, ":resolve", token, handle)
            #expect(resolved.status == 200 && resolved.json["replaced"] == ["google.com"], "\(resolved.text)")
            #expect(try await google("new")["localId"] == owner["localId"])
        }
    }

    @Test
    func
        `a suspended password is announced before and after the confirmation, and the named route restores it`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp(Self.email)
            let handle = try await handle(api)
            let (proven, token) = try await prove(api, handle)
            let end = api.service.clock.now.adding(seconds: 30 * Self.days)
            let announced: JSONValue = [
                suspension(
                    "password",
                    until: end,
                    by: .password,
                    "POST /concord/v1/account/quarantine/password:restore"
                )
            ]
            #expect(proven["suspended"] == announced, "\(proven.text)")
            #expect(try await read(api, handle, proof: token)["suspended"] == announced)
            for stranger in [nil, "forged"] {
                #expect(try await read(api, handle, proof: stranger)["suspended"] == nil, "the owner's business")
            }
            #expect(try await suspendedRows(api) == [], "looking suspends nothing")

            let resolved = try await post(api, ":resolve", ["proofToken": .string(token)], handle)
            #expect(resolved.status == 200 && resolved.json["suspended"] == announced, "\(resolved.text)")
            #expect(try await suspendedRows(api) == ["password"])
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 400)

            let route = announced.array?.first?["restore"]?["route"]?.string?.split(separator: " ").last.map(
                String.init
            )
            let back = try await api.send(
                .post,
                try #require(route),
                Array(#"{"password":"\#(TestService.password)"}"#.utf8),
                key: nil,
                bearer: resolved.json["idToken"]?.string
            )
            #expect(back.status == 200, "\(back.text)")
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            let user = try #require(try await api.service.user(owning: Self.email))
            #expect(user.account.signInMethods.map(\.name) == ["password", "github.com"])
        }
    }

    @Test func `a takeover announces exactly the methods that it suspends`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUp(Self.email)
            try await api.service.link("facebook.com", subject: "intruder", to: Self.email)
            let id = session["localId"] ?? .null
            #expect(
                try await api.admin("accounts:update", ["localId": id, "phoneNumber": "+16505550101"]).status == 200
            )
            try await api.service.change(Self.email) { user in
                user.methodProofs[.emailLink] = .init(proof: .message, provenAt: api.service.clock.now)
            }
            let handle = try await handle(api)
            let (proven, token) = try await prove(api, handle)
            let end = api.service.clock.now.adding(seconds: 30 * Self.days)
            let announced: JSONValue = [
                suspension("facebook.com", until: end, by: .link, "POST /v1/accounts:signInWithIdp"),
                suspension(
                    "password",
                    until: end,
                    by: .password,
                    "POST /concord/v1/account/quarantine/password:restore"
                ),
                suspension("phone", until: end, by: .link, "POST /v1/accounts:signInWithPhoneNumber"),
            ]
            #expect(proven["suspended"] == announced, "\(proven.text)")
            let key = try #require(HTTPField.Name("Idempotency-Key"))
            let body: JSONValue = ["proofToken": .string(token)]
            let resolved = try await post(api, ":resolve", body, handle, headers: [key: "once"])
            #expect(resolved.json["suspended"] == announced, "\(resolved.text)")
            #expect(try await suspendedRows(api) == ["facebook.com", "password", "phone"])
            let again = try await post(api, ":resolve", body, handle, headers: [key: "once"])
            #expect(again.text == resolved.text, "a repeated request is answered alike")
        }
    }

    @Test
    func `if the address was already proven, or a session proves the conflict, nothing is suspended`()
        async throws
    {
        for isProven in [true, false] {
            try await TestAPI.withAdministrator { api in
                let session = try await api.signUp(Self.email)
                if isProven { try await api.service.change(Self.email) { $0.prove(.emailCode) } }
                let handle = try await handle(api)
                var (conflict, token) = (JSONValue.null, "")
                if isProven {
                    (conflict, token) = try await prove(api, handle)
                } else {
                    let body: JSONValue = ["kind": "session", "idToken": session["idToken"] ?? .null]
                    let proven = try await post(api, "/proof", body, handle).json
                    conflict = try #require(proven["conflict"])
                    token = try #require(proven["proofToken"]?.string)
                }
                #expect(conflict["suspended"] == .array([]), "\(conflict.text)")
                let resolved = try await post(api, ":resolve", ["proofToken": .string(token)], handle)
                #expect(resolved.json["suspended"] == .array([]), "\(resolved.text)")
                #expect(try await suspendedRows(api) == [])
                #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            }
        }
    }

    @Test func `a conflict that can no longer be resolved announces nothing`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUp(Self.email)
            let handle = try await handle(api)
            let (_, token) = try await prove(api, handle)
            try await api.disable(session)
            #expect(try await read(api, handle, proof: token)["suspended"] == nil)
        }
    }

    @Test func `if a project retains no suspended methods, the conflict says that the method is deleted`() async throws
    {
        let settings = ProjectSettings.developmentDefaults.with("concord", ["quarantineSeconds": 0])
        try await TestAPI.withAdministrator(settings: settings) { api in
            _ = try await api.signUp(Self.email)
            let handle = try await handle(api)
            let (proven, token) = try await prove(api, handle)
            let announced: JSONValue = [suspension("password", until: nil, by: .reset, "POST /v1/accounts:sendOobCode")]
            #expect(proven["suspended"] == announced, "\(proven.text)")
            let resolved = try await post(api, ":resolve", ["proofToken": .string(token)], handle)
            #expect(resolved.json["suspended"] == announced, "\(resolved.text)")
            #expect(try await suspendedRows(api) == [])
        }
    }

    // MARK: Resets

    @Test func `the holder of a live reset code sees what the reset would unlink`()
        async throws
    {
        for (isProven, unlinks) in [(true, true), (true, false), (false, false)] {
            let settings = ProjectSettings.developmentDefaults.with(
                "concord",
                ["passwordReset": ["unlinksProviders": .bool(unlinks)]]
            )
            try await TestAPI.withAdministrator(settings: settings) { api in
                _ = try await api.signUp(Self.email)
                if isProven { try await api.service.change(Self.email) { $0.prove(.emailCode) } }
                try await api.service.link("google.com", subject: "g-1", to: Self.email)
                let code = try await api.code("PASSWORD_RESET", for: Self.email)
                let inspected = try await api.reset(code).json
                let isUnlinking = unlinks || !isProven
                let suspended = inspected["concord"]?["suspended"]?.array?.compactMap { $0["method"]?.string }
                #expect((inspected["concord"] != nil) == isUnlinking, "\(inspected.text)")
                #expect((suspended ?? []) == (isUnlinking ? ["google.com"] : []), "\(inspected.text)")
                if isUnlinking {
                    let first = inspected["concord"]?["suspended"]?.array?.first
                    #expect(first?["reason"] == "password-reset" && first?["restore"]?["by"] == "link")
                }
                let applied = try await api.reset(code, to: "a new password")
                #expect(applied.status == 200 && applied.json["concord"] == nil, "\(applied.text)")
                #expect(try await suspendedRows(api) == (isUnlinking ? ["google.com"] : []))
                #expect(try await api.reset(code).json["concord"] == nil, "a used code says nothing")
                let link = try await api.code("EMAIL_SIGNIN", for: Self.email)
                #expect(try await api.reset(link).json["concord"] == nil)
            }
        }
    }
}
