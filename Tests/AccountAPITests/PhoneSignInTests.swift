import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

struct PhoneSignInTests {
    private let number = "+16505553434"
    private let path = "/v1/accounts:signInWithPhoneNumber"

    private func count(_ sql: Query<Int64>, _ api: TestAPI) async throws -> Int64? {
        try await api.service.database.rows(sql).first
    }

    @Test func `N0: sign-in by phone is off until the project turns it on`() async throws {
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]]]) { api async throws in
            #expect(try await api.askForCode(number).errorMessage == "OPERATION_NOT_ALLOWED")
            #expect(try await api.signInByPhone("x", "123456").errorMessage == "OPERATION_NOT_ALLOWED")
            #expect(try await api.askForCode("nonsense").errorMessage == "OPERATION_NOT_ALLOWED")
        }
    }

    @Test func `N1: the code of a message signs in once`() async throws {
        try await TestAPI.with { api async throws in
            let sent = try await api.phoneCode("+1 (650) 555-3434")
            #expect(sent.code.count == 6 && sent.code.allSatisfy(\.isNumber))
            let answer = try await api.signInByPhone(sent.sessionInfo, sent.code)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["isNewUser"] == true && answer.json["phoneNumber"] == .string(number))
            #expect(answer.json["kind"] == nil && answer.json["expiresIn"] == "3600")
            let token = try payload(of: answer.json["idToken"]?.string)
            #expect(token["phone_number"] == .string(number))
            #expect(token["firebase"]?["sign_in_provider"] == "phone")
            #expect(token["firebase"]?["identities"] == ["phone": [.string(number)]])
            #expect(token["email"] == nil)
            let found = try await api.post("/v1/accounts:lookup", ["idToken": answer.json["idToken"] ?? .null])
            let user = try #require(found.json["users"]?.array?.first)
            #expect(user["phoneNumber"] == .string(number))
            #expect(
                user["providerUserInfo"]?.array == [
                    ["providerId": "phone", "rawId": .string(number), "phoneNumber": .string(number)]
                ]
            )

            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.listedMessages().isEmpty, "a used code is listed no more")
            #expect(try await api.refresh(answer.json["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `an operation is accepted as a name, a number or a number in a string`() async throws {
        try await TestAPI.with { api async throws in
            func answer(_ operation: JSONValue) async throws -> String? {
                try await api.post(path, ["operation": operation, "sessionInfo": "x", "code": "1"]).errorMessage
            }
            for known in ["SIGN_UP_OR_IN", 1, "1", "0", "", "VERIFY_OP_UNSPECIFIED"] as [JSONValue] {
                #expect(try await answer(known) == "INVALID_SESSION_INFO", "\(known)")
            }
            for unknown in ["5", 5, "SIGN_IN", true] as [JSONValue] {
                #expect(try await answer(unknown)?.hasPrefix("Invalid value at 'operation'") == true, "\(unknown)")
            }
        }
    }

    @Test func `N3: the next code signs in to the same account and changes nothing on it`() async throws {
        try await TestAPI.with { api async throws in
            let first = try await api.signInByPhone(number).json
            let id = try #require(first["localId"]?.string.flatMap(UserID.init))
            let version = try await api.service.user(id)?.version
            let second = try await api.signInByPhone(number, operation: "SIGN_UP_OR_IN").json
            #expect(second["localId"] == first["localId"] && second["isNewUser"] == false)
            #expect(try await api.service.user(id)?.version == version, "an ordinary sign-in writes no fact")
            #expect(try await api.refresh(first["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `N2: reauthentication with an unknown number creates no account, and uses the code`() async throws {
        try await TestAPI.with { api async throws in
            let sent = try await api.phoneCode(number)
            for operation: JSONValue in ["REAUTH", 2] {
                let answer = try await api.signInByPhone(sent.sessionInfo, sent.code, operation: operation)
                #expect(answer.errorMessage == (operation == 2 ? "INVALID_SESSION_INFO" : "USER_NOT_FOUND"))
            }
            #expect(try await count("SELECT count(*) FROM users", api) == 0)
        }
    }

    @Test func `N4: a disabled account is refused and the code is used up`() async throws {
        try await TestAPI.with { api async throws in
            let account = try await api.signInByPhone(number).json
            try await api.disable(account)
            let sent = try await api.phoneCode(number)
            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).errorMessage == "USER_DISABLED")
            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).errorMessage == "INVALID_SESSION_INFO")
        }
    }

    @Test func `N6: an account can have a password and a number, both sign in, and a new number replaces the old one`()
        async throws
    {
        try await TestAPI.with { api async throws in
            let ada = try await api.signUp("ada@example.com")
            let linked = try await api.signInByPhone(number, idToken: ada["idToken"], operation: "LINK")
            #expect(linked.json["localId"] == ada["localId"] && linked.json["isNewUser"] == false)
            #expect(try await api.signIn("ada@example.com").json["localId"] == ada["localId"])
            #expect(try await api.signInByPhone(number).json["localId"] == ada["localId"])
            #expect(try await api.refresh(ada["refreshToken"]?.string).status == 200)

            let other = "+14155550100"
            let moved = try await api.signInByPhone(other, idToken: linked.json["idToken"], operation: "UPDATE")
            #expect(moved.json["phoneNumber"] == .string(other) && moved.json["localId"] == ada["localId"])
            #expect(try await api.signInByPhone(number).json["isNewUser"] == true, "the number is free again")
            #expect(
                try await count("SELECT count(*) FROM account_events WHERE kind = 'method-linked'", api) == 2
            )
        }
    }

    @Test func `N7: signing in again with the account's number allows operations that need a recent sign-in`()
        async throws
    {
        try await TestAPI.with { api async throws in
            let ada = try await api.signUp("ada@example.com")
            _ = try await api.signInByPhone(number, idToken: ada["idToken"])
            api.service.clock.advance(seconds: 301)
            let old = try await api.post(
                "/v1/accounts:update",
                ["idToken": ada["idToken"] ?? .null, "password": "battery staple"]
            )
            #expect(old.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            let anew = try await api.signInByPhone(number, operation: "REAUTH")
            #expect(anew.json["localId"] == ada["localId"])
            let changed = try await api.post(
                "/v1/accounts:update",
                ["idToken": anew.json["idToken"] ?? .null, "password": "battery staple"]
            )
            #expect(changed.status == 200, "\(changed.text)")
        }
    }

    @Test func `N2: a session cannot be confirmed with the number of another account`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.signInByPhone(number).json
            let ada = try await api.signUp("ada@example.com")
            let answer = try await api.signInByPhone(number, idToken: ada["idToken"], operation: "REAUTH")
            #expect(answer.errorMessage == "USER_NOT_FOUND")
            #expect(answer.json["temporaryProof"] == nil)
            let again = try await api.signInByPhone(number, operation: "REAUTH").json
            #expect(again["localId"] == owner["localId"])
        }
    }

    @Test func `N8 to N10: linking another account's number returns a proof that signs in to that account once`()
        async throws
    {
        try await TestAPI.with { api async throws in
            let owner = try await api.signInByPhone(number).json
            let ada = try await api.signUp("ada@example.com")
            let sent = try await api.phoneCode(number)
            let conflict = try await api.signInByPhone(sent.sessionInfo, sent.code, idToken: ada["idToken"])
            #expect(conflict.status == 200 && conflict.json["phoneNumber"] == .string(number))
            #expect(conflict.json["temporaryProofExpiresIn"] == "3600")
            #expect(conflict.json["idToken"] == nil && conflict.json["localId"] == nil)
            #expect(
                try await api.signInByPhone(sent.sessionInfo, sent.code).errorMessage == "INVALID_SESSION_INFO",
                "the code is used up"
            )
            let proof = conflict.json
            #expect(
                try await api.redeem(proof, number, idToken: ada["idToken"]).errorMessage == "PHONE_NUMBER_EXISTS"
            )
            #expect(try await api.redeem(proof, "+14155550100").errorMessage == "INVALID_TEMPORARY_PROOF")
            #expect(try await api.redeem(proof, "nonsense").errorMessage == "INVALID_TEMPORARY_PROOF")
            let asCode = try await api.signInByPhone(proof["temporaryProof"]?.string ?? "", sent.code)
            #expect(asCode.errorMessage == "INVALID_SESSION_INFO", "a proof is no session")
            let entered = try await api.redeem(proof, number)
            #expect(entered.json["localId"] == owner["localId"] && entered.json["isNewUser"] == false)
            #expect(try await api.redeem(proof, number).errorMessage == "INVALID_TEMPORARY_PROOF", "once")
            #expect(
                try await count(
                    "SELECT count(*) FROM account_events WHERE kind = 'refused' AND rule IN ('N8', 'N9')",
                    api
                ) == 2
            )
        }
    }

    @Test func `N11: a proof expires after an hour, and a forged proof is refused`() async throws {
        try await TestAPI.with { api async throws in
            _ = try await api.signInByPhone(number)
            let ada = try await api.signUp("ada@example.com")
            let conflict = try await api.signInByPhone(number, idToken: ada["idToken"]).json
            api.service.clock.advance(seconds: 3600)
            #expect(try await api.redeem(conflict, number).errorMessage == "INVALID_TEMPORARY_PROOF")
            for forged: JSONValue in ["x", .string(String(repeating: "A", count: 64))] {
                #expect(
                    try await api.redeem(["temporaryProof": forged], number).errorMessage == "INVALID_TEMPORARY_PROOF"
                )
            }
            let sent = try await api.phoneCode(number)
            #expect(
                try await api.redeem(["temporaryProof": .string(sent.sessionInfo)], number).errorMessage
                    == "INVALID_TEMPORARY_PROOF",
                "a session proves nothing by itself"
            )
            #expect(try await api.post(path, ["temporaryProof": "x"]).errorMessage == "MISSING_PHONE_NUMBER")
        }
    }

    @Test func `a proof links its number if the account that had the number was deleted`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.signInByPhone(number).json
            let ada = try await api.signUp("ada@example.com")
            let conflict = try await api.signInByPhone(number, idToken: ada["idToken"]).json
            _ = try await api.post("/v1/accounts:delete", ["idToken": owner["idToken"] ?? .null])
            let linked = try await api.redeem(conflict, number, idToken: ada["idToken"])
            #expect(linked.json["localId"] == ada["localId"] && linked.json["phoneNumber"] == .string(number))
        }
    }

    @Test func `N12: if clients may not create accounts, a number creates none`() async throws {
        let settings = ProjectSettings.developmentDefaults.with(
            "client",
            ["permissions": ["disabledUserSignup": true]]
        )
        try await TestAPI.with(settings: settings) { api async throws in
            #expect(try await api.signInByPhone(number).errorMessage == "ADMIN_ONLY_OPERATION")
        }
    }

    @Test func `N13: linking a number upgrades an anonymous account, which keeps its id`() async throws {
        try await TestAPI.with { api async throws in
            let anonymous = try await api.signUpAnonymously()
            let answer = try await api.signInByPhone(number, idToken: anonymous["idToken"], operation: "LINK")
            #expect(answer.json["localId"] == anonymous["localId"] && answer.json["isNewUser"] == false)
            let token = try payload(of: answer.json["idToken"]?.string)
            #expect(token["firebase"]?["sign_in_provider"] == "phone" && token["provider_id"] == nil)
        }
    }

    @Test func `linking a number needs a session`() async throws {
        try await TestAPI.with { api async throws in
            let sent = try await api.phoneCode(number)
            for operation: JSONValue in ["LINK", "UPDATE", 3, 4] {
                let answer = try await api.signInByPhone(sent.sessionInfo, sent.code, operation: operation)
                #expect(answer.errorMessage == "MISSING_ID_TOKEN")
            }
            for operation: JSONValue in ["nonsense", 5, -1, true] {
                let answer = try await api.signInByPhone(sent.sessionInfo, sent.code, operation: operation)
                #expect(answer.errorMessage == "Invalid value at 'operation' (TYPE_ENUM)")
            }
            #expect(
                try await api.signInByPhone(sent.sessionInfo, sent.code).status == 200,
                "the code was not compared"
            )
        }
    }

    @Test func `a wrong code, an unknown session and an expired session have different answers`() async throws {
        try await TestAPI.with { api async throws in
            #expect(try await api.post(path, [:]).errorMessage == "MISSING_SESSION_INFO")
            #expect(try await api.post(path, ["sessionInfo": "x"]).errorMessage == "MISSING_CODE")
            #expect(try await api.signInByPhone("x", "123456").errorMessage == "INVALID_SESSION_INFO")
            let unknown = String(repeating: "A", count: 64)
            #expect(try await api.signInByPhone(unknown, "123456").errorMessage == "INVALID_SESSION_INFO")
            let sent = try await api.phoneCode(number)
            // The id of a session without its secret belongs to no caller.
            let foreign = sent.sessionInfo.prefix(24) + String(repeating: "A", count: 40)
            #expect(try await api.signInByPhone(String(foreign), sent.code).errorMessage == "INVALID_SESSION_INFO")
            for wrong in [sent.wrong, "", sent.code + "0", " " + sent.code, "٣٤٥٦٧٨"] {
                let message = try await api.signInByPhone(sent.sessionInfo, wrong).errorMessage
                #expect(message == (wrong.isEmpty ? "MISSING_CODE" : "INVALID_CODE"))
            }
            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).status == 200, "usable after four")

            let late = try await api.phoneCode(number)
            api.service.clock.advance(seconds: 600)
            #expect(try await api.signInByPhone(late.sessionInfo, late.code).errorMessage == "SESSION_EXPIRED")
        }
    }

    @Test func `after five wrong codes the right one is refused, and a new code can be requested at once`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with("concord", ["sms": ["windowSeconds": 30]])
        try await TestAPI.with(settings: settings) { api async throws in
            let sent = try await api.phoneCode(number)
            for _ in 1...5 {
                #expect(try await api.signInByPhone(sent.sessionInfo, sent.wrong).errorMessage == "INVALID_CODE")
            }
            for code in [sent.wrong, sent.code] {
                #expect(
                    try await api.signInByPhone(sent.sessionInfo, code).errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER"
                )
            }
            #expect(try await api.signInByPhone(number).json["isNewUser"] == true)
        }
    }

    @Test func `a session that ended before the code was entered links no number`() async throws {
        try await TestAPI.with { api async throws in
            let ada = try await api.signUp("ada@example.com")
            let sent = try await api.phoneCode(number)
            try await api.endSessions(ada)
            let answer = try await api.signInByPhone(sent.sessionInfo, sent.code, idToken: ada["idToken"])
            #expect(answer.errorMessage == "TOKEN_EXPIRED")
            #expect(try await count("SELECT count(*) FROM identifiers WHERE kind = 'phone'", api) == 0)
            #expect(
                try await api.signInByPhone(sent.sessionInfo, sent.code).status == 200,
                "the code was not compared"
            )
        }
    }

    @Test func `linking a suspended number again restores it`() async throws {
        try await TestAPI.with { api async throws in
            let ada = try await api.signUp("ada@example.com")
            _ = try await api.signInByPhone(number, idToken: ada["idToken"])
            let reset = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(reset, to: "battery staple").status == 200)
            #expect(
                try await count("SELECT count(*) FROM quarantined_methods WHERE method = 'phone'", api) == 1
            )
            let again = try await api.signIn("ada@example.com", password: "battery staple").json
            let linked = try await api.signInByPhone(number, idToken: again["idToken"])
            #expect(linked.json["localId"] == ada["localId"])
            #expect(try await count("SELECT count(*) FROM quarantined_methods", api) == 0)
        }
    }

    @Test func `a number counts as a sign-in method, and the last method cannot be unlinked`() async throws {
        let settings = ProjectSettings.developmentDefaults.with("concord", ["keepsLastSignInMethod": true])
        try await TestAPI.with(settings: settings) { api async throws in
            let account = try await api.signInByPhone(number).json
            func unlink(_ provider: JSONValue) async throws -> TestAPI.Answer {
                try await api.post(
                    "/v1/accounts:update",
                    ["idToken": account["idToken"] ?? .null, "deleteProvider": [provider]]
                )
            }
            #expect(try await unlink("phone").errorMessage == "LAST_SIGN_IN_METHOD")
            let linked = try await api.post(
                "/v1/accounts:signUp",
                [
                    "idToken": account["idToken"] ?? .null, "email": "ada@example.com",
                    "password": .string(TestService.password),
                ]
            )
            #expect(linked.status == 200, "\(linked.text)")
            let anew = try await api.signInByPhone(number).json
            let unlinked = try await api.post(
                "/v1/accounts:update",
                ["idToken": anew["idToken"] ?? .null, "deleteProvider": ["password"]]
            )
            #expect(unlinked.status == 200, "the number is a sign-in method that is left: \(unlinked.text)")
        }
    }

    @Test func `no code, proof or session is stored in the clear`() async throws {
        try await TestAPI.with { api async throws in
            _ = try await api.signInByPhone(number)
            let ada = try await api.signUp("ada@example.com")
            let conflict = try await api.signInByPhone(number, idToken: ada["idToken"]).json
            let sent = try await api.phoneCode(number)
            let rows: Query<String?> = """
                SELECT to_jsonb(v)::text FROM phone_verifications v UNION ALL SELECT to_jsonb(o)::text FROM outbox o
                UNION ALL SELECT to_jsonb(c)::text FROM message_counts c
                """
            let text = try await api.service.database.rows(rows).compactMap(\.self).joined()
            let secrets = [sent.sessionInfo, conflict["temporaryProof"]?.string ?? ""].map { String($0.suffix(40)) }
            for secret in secrets + ["\"\(sent.code)\""] { #expect(!text.contains(secret)) }
        }
    }
}
