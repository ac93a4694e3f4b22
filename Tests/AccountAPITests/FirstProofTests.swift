import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// The first proof of an address by a `VERIFY_EMAIL` code: it ends the sessions that may be an intruder's, and its holder can
/// disown the account.
@Suite struct FirstProofTests {
    private static let path = "/concord/v1/emailCode:disown"
    private static let email = "mark@gmail.com"
    private static let firebase = ProjectSettings.developmentDefaults.with("linkPolicy", ["preset": "firebase"])

    private func confirm(_ api: TestAPI, _ code: String, from session: JSONValue? = nil) async throws -> Wire.Answer {
        var body: [String: JSONValue] = ["oobCode": .string(code)]
        body["idToken"] = session?["idToken"]
        return try await api.post("/v1/accounts:update", .object(body))
    }

    private func disown(_ api: TestAPI, _ code: String, key: String? = nil) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[try #require(HTTPField.Name("Idempotency-Key"))] = key
        let body = Array(#"{"oobCode":"\#(code)"}"#.utf8)
        let answer = try await api.send(.post, Self.path, body, key: nil, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path) == [])
        return answer
    }

    /// A session of the account, which begins a second after everything before.
    private func signIn(_ api: TestAPI) async throws -> JSONValue {
        api.service.clock.advance(seconds: 1)
        let answer = try await api.signIn(Self.email, password: TestService.password)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private func lives(_ api: TestAPI, _ session: JSONValue) async throws -> Bool {
        let refreshed = try await api.refresh(session["refreshToken"]?.string).status == 200
        let looked = try await api.post("/v1/accounts:lookup", ["idToken": session["idToken"] ?? .null])
        #expect(refreshed == (looked.status == 200))
        return refreshed
    }

    private func code(_ api: TestAPI, _ session: JSONValue) async throws -> String {
        try await api.code("VERIFY_EMAIL", session: session["idToken"]?.string)
    }

    private func isVerified(_ api: TestAPI) async throws -> Bool {
        try await api.service.user(owning: Self.email)?.account.isEmailVerified == true
    }

    // MARK: The attack

    @Test(arguments: [true, false])
    func `if an owner confirms an address that an intruder registered, no session of the intruder is left`(
        isStrict: Bool
    ) async throws {
        try await TestAPI.withAdministrator(settings: isStrict ? nil : Self.firebase) { api in
            let intruder = try await api.signUp(Self.email)
            let another = try await signIn(api)
            let code = try await code(api, intruder)
            let confirmed = try await confirm(api, code)
            #expect(confirmed.status == 200 && confirmed.json["emailVerified"] == true, "\(confirmed.text)")
            #expect(confirmed.json["idToken"] == nil, "the code alone signs in no user")
            #expect((confirmed.json["concord"]?["endedSessions"] == true) == isStrict, "\(confirmed.text)")
            #expect(try await lives(api, intruder) == !isStrict)
            #expect(try await lives(api, another) == !isStrict)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test(arguments: [true, false])
    func `if an owner disowns an intruder's account, no method, session or code of the intruder is left`(
        isStrict: Bool
    ) async throws {
        try await TestAPI.withAdministrator(settings: isStrict ? nil : Self.firebase) { api in
            let intruder = try await api.signUp(Self.email)
            try await api.service.link("facebook.com", subject: "intruder", to: Self.email)
            let number: JSONValue = ["localId": intruder["localId"] ?? .null, "phoneNumber": "+16505550101"]
            #expect(try await api.admin("accounts:update", number).status == 200)
            let other = try await code(api, intruder)
            let code = try await code(api, intruder)

            let announced = try await api.reset(code).json["concord"]
            #expect(announced?["disown"]?["givesAddressUp"] == false, "\(announced?.text ?? "")")
            let answer = try await disown(api, code, key: "once")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["suspended"] == announced?["disown"]?["suspended"], "\(answer.text)")
            let suspended = answer.json["suspended"]?.array ?? []
            #expect(suspended.compactMap { $0["method"]?.string } == ["facebook.com", "password", "phone"])
            #expect(suspended.allSatisfy { $0["reason"] == "address-proven" && $0["restore"] != nil })

            #expect(try await !lives(api, intruder))
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 400)
            #expect(try await confirm(api, other).errorMessage == "INVALID_OOB_CODE", "every other code is void")
            let user = try #require(try await api.service.user(owning: Self.email))
            #expect(user.account.signInMethods == [] && user.account.isEmailVerified)
            let rows = try await api.service.database.rows(
                "SELECT kind || ' ' || rule FROM account_events WHERE rule LIKE 'V%'" as Query<String?>
            )
            #expect(rows == ["account-taken-over V9"])
            #expect(try await api.service.database.unexplainedEvents() == [])
            let notices = "/emulator/v1/projects/\(TestService.projectID)/notices"
            let sent = try await api.send(.get, notices, bearer: "owner").json["notices"]?.array ?? []
            #expect(sent.allSatisfy { $0["email"]?.string == Self.email })
            // The suspended password came to a wrong door.
            #expect(Set(sent.map { $0["kind"]?.string }) == ["METHODS_QUARANTINED", "WRONG_DOOR"] && sent.count == 2)

            // The answer that was lost is given again; the code does nothing more.
            #expect(try await disown(api, code, key: "once").text == answer.text)
            #expect(try await disown(api, code).status == 400)

            // The owner of the mailbox gets in by it.
            let reset = try await api.code("PASSWORD_RESET", for: Self.email)
            #expect(try await api.reset(reset, to: "battery staple").status == 200)
            #expect(try await api.signIn(Self.email, password: "battery staple").status == 200)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `a disowned account with a second factor releases the address, and its owner can sign up`() async throws
    {
        try await TestAPI.withAdministrator(settings: Self.firebase) { api in
            let intruder = try await api.enrollApp(try await api.factorOwner("eve@example.com"))
            try await api.service.link("facebook.com", subject: "intruder", to: "eve@example.com")
            try await api.service.replaceAddress("eve@example.com", by: Self.email)
            let sent = try await api.admin(
                "accounts:sendOobCode",
                ["requestType": "VERIFY_EMAIL", "email": .string(Self.email), "returnOobLink": true]
            )
            let code = try #require(sent.json["oobCode"]?.string, "\(sent.text)")
            let announced = try await api.reset(code).json["concord"]
            #expect(announced?["disown"]?["givesAddressUp"] == true, "\(announced?.text ?? "")")
            let answer = try await disown(api, code)
            #expect(answer.status == 200 && answer.json["gaveAddressUp"] == true, "\(answer.text)")
            #expect(answer.json["suspended"]?.array?.compactMap { $0["method"]?.string } == ["password"])

            let left = try #require(try await api.service.user(intruder.id))
            #expect(left.email == nil && left.account.signInMethods.map(\.name) == ["facebook.com"])
            #expect(left.account.hasSecondFactor)
            let owner = try await api.signUp(Self.email)
            #expect(owner["localId"]?.string != intruder.id.rawValue)
            let rows = try await api.service.database.rows(
                "SELECT kind || ' ' || rule FROM account_events WHERE rule LIKE 'V%'" as Query<String?>
            )
            #expect(rows == ["user-updated V8"])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    // MARK: Which sessions stay

    @Test func `if the requesting session confirms, every session stays`() async throws {
        try await TestAPI.withAdministrator { api in
            let laptop = try await api.signUp(Self.email)
            let phone = try await signIn(api)
            let code = try await code(api, laptop)
            // A refreshed token is of the same session.
            api.service.clock.advance(seconds: 60)
            let refreshed = try await api.refresh(laptop["refreshToken"]?.string).json
            let answer = try await confirm(api, code, from: ["idToken": refreshed["id_token"] ?? .null])
            #expect(answer.status == 200 && answer.json["concord"] == nil, "\(answer.text)")
            #expect(answer.json["idToken"] == nil)
            let isVerified = try await isVerified(api)
            #expect(isVerified)
            #expect(try await lives(api, laptop))
            #expect(try await lives(api, phone))
        }
    }

    @Test func `the session that uses the code continues with new tokens, and the others end`() async throws {
        try await TestAPI.withAdministrator { api in
            let asking = try await api.signUp(Self.email)
            let other = try await signIn(api)
            let code = try await code(api, asking)
            api.service.clock.advance(seconds: 3000)
            let answer = try await confirm(api, code, from: other)
            #expect(answer.status == 200 && answer.json["concord"]?["endedSessions"] == true, "\(answer.text)")
            #expect(try await !lives(api, asking))
            #expect(try await !lives(api, other))
            #expect(try await lives(api, answer.json))
            // It is as old as its sign-in.
            let change: JSONValue = ["idToken": answer.json["idToken"] ?? .null, "password": "battery staple"]
            #expect(try await api.post("/v1/accounts:update", change).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            let sessions = try await api.service.database.count("SELECT count(*) FROM sessions")
            #expect(sessions == 1)
        }
    }

    @Test func `a session of another account, or a request without a session, protects no session`() async throws {
        try await TestAPI.withAdministrator { api in
            let begun = try await api.signUp(Self.email)
            let stranger = try await api.signUp("eve@example.com")
            let code = try await code(api, begun)
            #expect(try await confirm(api, code, from: stranger).status == 200)
            #expect(try await !lives(api, begun))
            #expect(try await lives(api, stranger))
        }
        try await TestAPI.withAdministrator { api in
            let begun = try await api.signUp(Self.email)
            let sent = try await api.admin(
                "accounts:sendOobCode",
                ["requestType": "VERIFY_EMAIL", "email": .string(Self.email), "returnOobLink": true]
            )
            let answer = try await confirm(api, try #require(sent.json["oobCode"]?.string), from: begun)
            #expect(answer.json["concord"]?["endedSessions"] == true && answer.json["idToken"] != nil)
            #expect(try await !lives(api, begun))
            #expect(try await lives(api, answer.json))
        }
    }

    @Test func `an ended or unknown session does not use the code`() async throws {
        try await TestAPI.withAdministrator { api in
            let begun = try await api.signUp(Self.email)
            let code = try await code(api, begun)
            #expect(try await confirm(api, code, from: ["idToken": "nonsense"]).errorMessage == "INVALID_ID_TOKEN")
            try await api.endSessions(begun)
            #expect(try await confirm(api, code, from: begun).errorMessage == "TOKEN_EXPIRED")
            #expect(try await confirm(api, code).status == 200)
        }
        try await TestAPI.withAdministrator(settings: Self.firebase) { api in
            let begun = try await api.signUp(Self.email)
            let code = try await code(api, begun)
            #expect(try await confirm(api, code, from: ["idToken": "nonsense"]).status == 200, "as production")
        }
    }

    @Test func `the short code of the mail does the same as its link`() async throws {
        try await TestAPI.withAdministrator { api in
            let begun = try await api.signUp(Self.email)
            _ = try await code(api, begun)
            let digits = try await api.service.operations.mailsWithUsableCodes(tenant: .project).last?.shortCode
            let body: JSONValue = [
                "requestType": "VERIFY_EMAIL", "email": .string(Self.email), "code": .string(try #require(digits)),
            ]
            let exchanged = try await api.post("/concord/v1/shortCode:exchange", body)
            let code = try #require(exchanged.json["oobCode"]?.string, "\(exchanged.text)")
            #expect(try await confirm(api, code, from: begun).json["concord"] == nil)
            #expect(try await lives(api, begun))
        }
    }

    @Test func `confirming an already proven address ends no session, and its account cannot be disowned`() async throws
    {
        try await TestAPI.withAdministrator { api in
            let owner = try await api.signUp(Self.email)
            try await api.service.prove(Self.email)
            let code = try await code(api, owner)
            #expect(try await api.reset(code).json["concord"] == nil, "nothing is said about the account")
            #expect(try await disown(api, code).status == 400)
            #expect(try await confirm(api, code).errorMessage == "INVALID_OOB_CODE", "the refusal used it up")
            let next = try await self.code(api, owner)
            #expect(try await confirm(api, next).json["concord"] == nil)
            #expect(try await lives(api, owner))
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
        }
    }

    // MARK: Answers to the holder of a code

    @Test func `a code shows when the account was created, its methods, and the effect of either choice`()
        async throws
    {
        for isStrict in [true, false] {
            try await TestAPI.withAdministrator(settings: isStrict ? nil : Self.firebase) { api in
                let begun = try await api.signUp(Self.email)
                let made = api.service.clock.now
                let number: JSONValue = ["localId": begun["localId"] ?? .null, "phoneNumber": "+16505550101"]
                #expect(try await api.admin("accounts:update", number).status == 200)
                let code = try await code(api, begun)
                let shown = try await api.reset(code).json["concord"]
                #expect(
                    shown?["account"] == [
                        "createTime": .string(RFC3339.text(made)), "signInMethods": ["password", "phone"],
                        "phoneInfo": "+*******0101",
                    ]
                )
                #expect(shown?["endsSessions"] == .bool(isStrict))
                let isVerified = try await isVerified(api)
                #expect(!isVerified, "asking uses nothing up")
                #expect(try await lives(api, begun))
                // Codes of other kinds show none of it.
                let reset = try await api.code("PASSWORD_RESET", for: Self.email)
                #expect(try await api.reset(reset).json["concord"]?["account"] == nil)
                #expect(try await confirm(api, code).status == 200)
                #expect(try await api.reset(code).errorMessage == "INVALID_OOB_CODE")
            }
        }
    }

    @Test func `a code of another kind and a disabled account are refused`() async throws {
        try await TestAPI.withAdministrator { api in
            #expect(try await api.send(.post, Self.path, Array("{}".utf8), key: nil).status == 400)
            #expect(try await disown(api, "nonsense").status == 400)
            let begun = try await api.signUp(Self.email)
            let reset = try await api.code("PASSWORD_RESET", for: Self.email)
            #expect(try await disown(api, reset).status == 400)
            #expect(try await api.reset(reset).status == 200, "a code of another kind is left alone")
            let code = try await code(api, begun)
            try await api.disable(begun)
            let refused = try await disown(api, code)
            #expect(refused.status == 403 && refused.json["type"] == "urn:concord:problem:user-disabled")
        }
    }
}
