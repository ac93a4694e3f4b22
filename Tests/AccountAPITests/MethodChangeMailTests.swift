import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountLinking
@testable import AccountOperations

/// The mail that reports changed sign-in methods to the owner of an account, and restores them.
struct MethodChangeMailTests {
    private static let type = "REVERT_SIGN_IN_METHOD_CHANGE"
    private static let update = "/v1/accounts:update"
    private static let email = "ada@example.com"
    private static let thiefs = "the thief's own"

    /// The session of an account whose address is proven. A thief has a copy of it.
    private func stolenSession(_ api: TestAPI, _ email: String = email) async throws -> JSONValue {
        let session = try await api.signUp(email)
        try await api.service.prove(email)
        return session
    }

    private func link(
        _ provider: String,
        _ subject: String,
        _ api: TestAPI,
        _ session: JSONValue,
        email: String? = nil
    ) async throws -> JSONValue {
        api.service.clock.advance(seconds: 1)
        var claims: [String: JSONValue] = ["sub": .string(subject)]
        claims["email"] = email.map(JSONValue.string)
        let token = provider == "google.com" ? "id_token" : "access_token"
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "idToken": session["idToken"] ?? .null,
                "postBody": .string("providerId=\(provider)&\(token)=\(JSONValue.object(claims).text)"),
            ]
        )
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private func change(_ api: TestAPI, _ session: JSONValue, _ what: [String: JSONValue]) async throws -> JSONValue {
        api.service.clock.advance(seconds: 1)
        let body = what.merging(["idToken": session["idToken"] ?? .null]) { $1 }
        let answer = try await api.post(Self.update, .object(body))
        #expect(answer.status == 200, "\(answer.text)")
        // An answer to a change that ends sessions carries the tokens of a new one.
        return answer.json["idToken"] == nil ? session : answer.json
    }

    private func set(_ update: AdminUpdateAccount, _ id: UserID, _ api: TestAPI) async throws {
        if case .denied(let denial) = try await outcome(
            await api.service.operations.updateAccount(update, of: id, tenant: .project)
        ) {
            Issue.record("\(denial)")
        }
    }

    private func codes(_ api: TestAPI) async throws -> [String] {
        try await api.listedCodes().filter { $0["requestType"] == .string(Self.type) }
            .compactMap { $0["oobCode"]?.string }
    }

    private func apply(_ code: String, _ api: TestAPI) async throws -> TestAPI.Answer {
        api.service.clock.advance(seconds: 1)
        return try await api.post(Self.update, ["oobCode": .string(code)])
    }

    private func methods(_ api: TestAPI, of session: JSONValue) async throws -> [String] {
        let id = try #require(session["localId"]?.string.flatMap(UserID.init))
        return try #require(try await api.service.user(id)).account.signInMethods.map(\.name)
    }

    private func reversal(
        removed: [JSONValue] = [],
        restored: [JSONValue] = [],
        taken: [JSONValue] = []
    ) -> JSONValue {
        ["removed": .array(removed), "restored": .array(restored), "taken": .array(taken)]
    }

    @Test func `the code in the owner's mail undoes a password change by a stolen session`() async throws {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            let thief = try await change(api, owner, ["password": .string(Self.thiefs)])
            let mailed = try await api.listedCode(Self.type)
            #expect(mailed.email == Self.email && mailed.link.contains("mode=revertSignInMethodChange"))
            let inspected = try await api.reset(mailed.code)
            #expect(inspected.json["requestType"] == .string(Self.type), "\(inspected.text)")
            #expect(inspected.json["concord"]?["reversal"] == reversal(restored: ["password"]))

            let applied = try await apply(mailed.code, api)
            #expect(applied.status == 200 && applied.json["idToken"] == nil, "\(applied.text)")
            #expect(applied.json["concord"]?["reversal"] == reversal(restored: ["password"]))
            // The reader of the mailbox did it.
            #expect(try await api.service.operations.notices(tenant: .project) == [])
            #expect(try await api.refresh(thief["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.signIn(Self.email, password: Self.thiefs).status == 400)
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            #expect(try await apply(mailed.code, api).errorMessage == "INVALID_OOB_CODE")
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `the code removes methods that a thief linked and restores methods that the thief unlinked`()
        async throws
    {
        try await TestAPI.with { api in
            var session = try await stolenSession(api)
            session = try await link("google.com", "owner", api, session)
            let number = try await api.signInByPhone("+16505553434", idToken: session["idToken"])
            #expect(number.status == 200, "\(number.text)")
            api.service.clock.advance(seconds: 1)
            let known = try await codes(api)
            #expect(known.count == 2, "the owner's own changes are mailed as well")

            session = try await link("github.com", "thief", api, number.json)
            let first = try #require(try await codes(api).last)
            _ = try await change(api, session, ["deleteProvider": ["google.com", "password", "phone"]])
            #expect(try await methods(api, of: session) == ["github.com"])
            let second = try #require(try await codes(api).last)
            #expect(
                try await api.reset(second).json["concord"]?["reversal"]
                    == reversal(restored: ["google.com", "password", "phone"])
            )
            // The mail about the first change undoes the second as well.
            let expected = reversal(removed: ["github.com"], restored: ["google.com", "password", "phone"])
            let applied = try await apply(first, api)
            #expect(applied.json["concord"]?["reversal"] == expected, "\(applied.text)")
            #expect(try await methods(api, of: session) == ["password", "phone", "google.com"])
            #expect(try await api.refresh(session["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            #expect(try await api.signInByPhone("+16505553434").json["localId"] == session["localId"])
            #expect(try await apply(second, api).errorMessage == "INVALID_OOB_CODE")
            // An earlier code brings back an older state: the owner's own changes can be undone still.
            #expect(try await codes(api) == known)
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `a thief cannot use the session to make the mail's code void`() async throws {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            var thief = try await change(api, owner, ["password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            // Changes the password again, replaces what was linked, and takes methods off and on.
            thief = try await change(api, thief, ["password": "another of the thief's"])
            thief = try await link("google.com", "thief", api, thief)
            _ = try await change(api, thief, ["deleteProvider": ["google.com"]])
            thief = try await link("google.com", "thief again", api, thief)
            // Moves the account to an address of the thief's, and proves that.
            let move = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: thief["idToken"]?.string,
                newEmail: "thief@example.com"
            )
            #expect(try await api.post(Self.update, ["oobCode": .string(move)]).status == 200)
            // Resets the password by the new mailbox, which settles nothing of the owner's, and gets a new session.
            let first = try await api.code("PASSWORD_RESET", for: "thief@example.com")
            #expect(try await api.reset(first, to: "a third of the thief's").status == 200)
            let again = try await api.signIn("thief@example.com", password: "a third of the thief's")
            #expect(again.status == 200, "\(again.text)")
            let reset = try await api.code("PASSWORD_RESET", for: "thief@example.com")

            let applied = try await apply(code, api)
            #expect(applied.status == 200, "\(applied.text)")
            #expect(
                applied.json["concord"]?["reversal"] == reversal(removed: ["google.com"], restored: ["password"])
            )
            #expect(try await methods(api, of: owner) == ["password"])
            #expect(try await api.refresh(again.json["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.reset(reset, to: Self.thiefs).errorMessage == "INVALID_OOB_CODE")
            #expect(try await codes(api) == [], "the codes of the thief's later changes went with it")
            // The address comes back by its own mail.
            let recover = try await api.listedCode("RECOVER_EMAIL").code
            #expect(try await api.post(Self.update, ["oobCode": .string(recover)]).status == 200)
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
        }
    }

    private static let number = "+16505553434"

    /// The end of a thief who moved the account to another mailbox.
    enum Cleanup: CaseIterable {
        case byOwner, byAdministrator, byAdministratorElsewhere
    }

    /// A session of the account by the owner's Google account.
    private func signInWithGoogle(_ api: TestAPI) async throws -> JSONValue {
        api.service.clock.advance(seconds: 1)
        let claims: JSONValue = ["sub": "owner"]
        return try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost",
                "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
            ]
        ).json
    }

    private func move(_ api: TestAPI, _ session: JSONValue, to email: String) async throws {
        let code = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: session["idToken"]?.string, newEmail: email)
        let moved = try await api.post(Self.update, ["oobCode": .string(code)])
        #expect(moved.status == 200, "\(moved.text)")
    }

    @Test(arguments: Cleanup.allCases)
    func `a code mailed to a thief's address is void after the account's address changes`(cleanup: Cleanup) async throws
    {
        try await TestAPI.with { api in
            let owner = try await link("google.com", "owner", api, try await stolenSession(api))
            // The owner's mail.
            let thief = try await change(api, owner, ["password": .string(Self.thiefs)])
            let owners = try #require(try await codes(api).last)
            try await move(api, thief, to: "thief@example.com")
            // A number that the thief links and unlinks: the mail about that brings it back.
            let moved = try await api.signIn("thief@example.com", password: Self.thiefs).json
            let linked = try await api.signInByPhone(Self.number, idToken: moved["idToken"])
            #expect(linked.status == 200, "\(linked.text)")
            _ = try await change(api, linked.json, ["deleteProvider": ["phone"]])
            let prepared = try await api.listedCode(Self.type)
            #expect(prepared.email == "thief@example.com")
            #expect(try await api.reset(prepared.code).status == 200)

            let id = try #require(owner["localId"]?.string.flatMap(UserID.init))
            switch cleanup {
            case .byOwner: try await move(api, try await signInWithGoogle(api), to: Self.email)
            case .byAdministrator, .byAdministratorElsewhere:
                var update = AdminUpdateAccount()
                update.email = cleanup == .byAdministrator ? Self.email : "ada@elsewhere.example"
                update.isEmailVerified = true
                try await set(update, id, api)
            }
            #expect(try await apply(prepared.code, api).errorMessage == "INVALID_OOB_CODE")
            #expect(try await methods(api, of: owner) == ["password", "google.com"])
            #expect(try await api.signInByPhone(Self.number).json["localId"] != owner["localId"])
            // The mailbox that can take the address back keeps its code.
            #expect(try await apply(owners, api).status == 200)
            let address = try #require(try await api.service.user(id)?.email?.address.raw)
            #expect(try await api.signIn(address, password: TestService.password).status == 200)
        }
    }

    @Test func `the password hash is read when the code is used, not when its effect is shown`() async throws {
        try await TestAPI.with { api in
            _ = try await change(api, try await stolenSession(api), ["password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            let operations = api.service.operations
            let record = try #require(
                try await operations.store.emailCode(NewEmailCode.hash(of: code), tenant: .project)
            )
            let shown = try await operations.judgeRevert(record, isUse: false)
            #expect(shown.before.passwordHash == nil)
            #expect(shown.reversal == MethodReversal(restored: [.password]))
            let used = try await operations.judgeRevert(record, isUse: true)
            #expect(used.before.passwordHash != nil && used.reversal == shown.reversal)
        }
    }

    @Test func `the use of a code in a former mailbox is reported to the current one`() async throws {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            let thief = try await change(api, owner, ["password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            try await move(api, thief, to: "next@example.com")
            #expect(try await apply(code, api).status == 200)
            let notices = try await api.service.operations.notices(tenant: .project)
            #expect(notices.map(\.template) == [.signInMethodsChanged])
            #expect(notices.first?.to == "next@example.com" && notices.first?.changed?.isUndone == true)
            #expect(notices.first?.changed?.replacesPassword == true)
        }
    }

    @Test func `each mailbox has a separate limit of mails`() async throws {
        try await TestAPI.with { api in
            var session = try await stolenSession(api)
            for number in 1...6 {
                session = try await change(api, session, ["password": .string("password \(number)")])
            }
            #expect(try await codes(api).count == 5)
            try await move(api, session, to: "next@example.com")
            session = try await api.signIn("next@example.com", password: "password 6").json
            _ = try await change(api, session, ["password": "password 7"])
            #expect(try await codes(api).count == 6)
            #expect(try await api.listedCode(Self.type).email == "next@example.com")
        }
    }

    @Test func `after a password reset by mail, the code restores only the other methods`() async throws {
        try await TestAPI.with { api in
            var session = try await stolenSession(api)
            session = try await link("google.com", "owner", api, session)
            _ = try await change(api, session, ["deleteProvider": ["google.com"], "password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            let reset = try await api.code("PASSWORD_RESET", for: Self.email)
            #expect(try await api.reset(reset, to: "the owner's new one").status == 200)
            let applied = try await apply(code, api)
            #expect(applied.json["concord"]?["reversal"] == reversal(restored: ["google.com"]), "\(applied.text)")
            #expect(try await api.signIn(Self.email, password: "the owner's new one").status == 200)
        }
    }

    @Test func `a code does not undo an administrator's later change, and is void if nothing else is left`()
        async throws
    {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            _ = try await change(api, owner, ["password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            let id = try #require(owner["localId"]?.string.flatMap(UserID.init))
            var update = AdminUpdateAccount()
            update.password = "set by support"
            try await set(update, id, api)
            #expect(try await apply(code, api).errorMessage == "INVALID_OOB_CODE")
            #expect(try await api.reset(code).errorMessage == "INVALID_OOB_CODE")
            #expect(try await api.signIn(Self.email, password: "set by support").status == 200)
        }
    }

    @Test func `after a takeover, a code from before is void`() async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(false, at: ["linkPolicy", "linkingNeedsRecentSignIn"])
        try await TestAPI.with(settings: settings) { api in
            // An intruder prepares an account, unlinks an own provider, and moves the account to the victim's address.
            var intruder = try await stolenSession(api, "intruder@evil.example")
            intruder = try await link("github.com", "intruder", api, intruder)
            _ = try await change(api, intruder, ["deleteProvider": ["github.com"]])
            let code = try #require(try await codes(api).last)
            _ = try await change(api, intruder, ["email": "victim@gmail.com"])
            #expect(try await api.reset(code).status == 200, "the address alone does not make it void")
            let link = try await api.code("EMAIL_SIGNIN", for: "victim@gmail.com")
            let victim = try await api.follow(link, as: "victim@gmail.com")
            #expect(victim.json["localId"] == intruder["localId"], "\(victim.text)")
            #expect(try await apply(code, api).errorMessage == "INVALID_OOB_CODE")
            #expect(try await methods(api, of: intruder) == ["emailLink"])
        }
    }

    @Test func `an identity that another account has linked since is reported as taken and not restored`() async throws
    {
        try await TestAPI.with { api in
            var session = try await stolenSession(api)
            session = try await link("github.com", "owner", api, session)
            _ = try await change(api, session, ["deleteProvider": ["github.com"]])
            let code = try #require(try await codes(api).last)
            let other = try await api.signUp("other@example.com")
            _ = try await link("github.com", "owner", api, other)
            #expect(try await api.reset(code).json["concord"]?["reversal"] == reversal(taken: ["github.com"]))
            let applied = try await apply(code, api)
            #expect(applied.json["concord"]?["reversal"] == reversal(taken: ["github.com"]), "\(applied.text)")
            #expect(try await methods(api, of: other) == ["password", "github.com"])
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `a refusal does not use the code, and the code expires after three days`() async throws {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            _ = try await change(api, owner, ["password": .string(Self.thiefs)])
            let code = try #require(try await codes(api).last)
            let id = try #require(owner["localId"]?.string.flatMap(UserID.init))
            try await api.disable(owner)
            for _ in 1...2 { #expect(try await apply(code, api).errorMessage == "USER_DISABLED") }
            #expect(try await api.reset(code).errorMessage == "USER_DISABLED")
            try await api.service.edit(id) { $0.isDisabled = false }
            api.service.clock.advance(seconds: 3 * 86_400)
            #expect(try await apply(code, api).errorMessage == "EXPIRED_OOB_CODE")
        }
    }

    @Test
    func
        `a creation, an unproven address, an administrator's change and a project that turns the mail off create no code`()
        async throws
    {
        let none = ProjectSettings.developmentDefaults.setting(0, at: ["concord", "revertSeconds"])
        try await TestAPI.with(settings: none) { api in
            let owner = try await stolenSession(api)
            _ = try await change(api, owner, ["password": .string(Self.thiefs)])
            #expect(try await codes(api) == [])
        }
        try await TestAPI.with { api in
            let unproven = try await api.signUp("new@example.com")
            _ = try await change(api, unproven, ["password": "another password"])
            let owner = try await stolenSession(api)
            var update = AdminUpdateAccount()
            update.password = "set by support"
            let id = try #require(owner["localId"]?.string.flatMap(UserID.init))
            try await set(update, id, api)
            #expect(try await codes(api) == [])
        }
    }

    @Test func `repeated changes of one method send at most five mails, and the first code undoes every change`()
        async throws
    {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            var thief = owner
            for number in 1...8 { thief = try await change(api, thief, ["password": .string("thief's own \(number)")]) }
            let mailed = try await codes(api)
            #expect(mailed.count == 5)
            // A change of another method has its own mail.
            _ = try await link("github.com", "thief", api, thief)
            #expect(try await codes(api).count == 6)
            #expect(try await apply(try #require(mailed.first), api).status == 200)
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            #expect(try await methods(api, of: owner) == ["password"])
            #expect(try await codes(api) == [])
        }
    }

    @Test func `if a provider's new subject replaces the old one, a mailed code restores the old one`() async throws {
        let firebase = ProjectSettings.developmentDefaults.setting("firebase", at: ["linkPolicy", "preset"])
        for subjectChange in ["replace", "move"] {
            let settings = firebase.setting(.string(subjectChange), at: ["linkPolicy", "subjectChange"])
            try await TestAPI.with(settings: settings) { api in
                func signIn(_ subject: String) async throws -> JSONValue {
                    api.service.clock.advance(seconds: 1)
                    let claims: JSONValue = ["sub": .string(subject), "email": "ada@gmail.com", "email_verified": true]
                    let body: JSONValue = [
                        "requestUri": "http://localhost",
                        "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
                    ]
                    return try await api.post("/v1/accounts:signInWithIdp", body).json
                }
                let ada = try await signIn("old")
                let next = try await signIn("new")
                #expect(next["localId"] == ada["localId"] && next["emailRecycled"] == true, "\(next.text)")
                guard subjectChange == "replace" else {
                    #expect(try await codes(api) == [], "a planned migration is silent")
                    return
                }
                let code = try await api.listedCode(Self.type)
                #expect(code.email == "ada@gmail.com")
                #expect(try await apply(code.code, api).status == 200)
                let id = try #require(ada["localId"]?.string.flatMap(UserID.init))
                let user = try #require(try await api.service.user(id))
                #expect(user.linkedProviders[.google]?.identity.subject == "old")
                #expect(try await api.refresh(next["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            }
        }
    }

    @Test func `a project without passwords shows a code's effect and accepts no new password`() async throws {
        let settings = ProjectSettings.developmentDefaults.setting(false, at: ["signIn", "email", "enabled"])
        try await TestAPI.with(settings: settings) { api in
            let claims: JSONValue = ["sub": "owner", "email": "ada@gmail.com", "email_verified": true]
            let body: JSONValue = [
                "requestUri": "http://localhost", "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
            ]
            let session = try await api.post("/v1/accounts:signInWithIdp", body)
            #expect(session.status == 200, "\(session.text)")
            _ = try await link("github.com", "thief", api, session.json)
            let code = try #require(try await codes(api).last)
            #expect(try await api.reset(code).json["concord"]?["reversal"] == reversal(removed: ["github.com"]))
            for refused in [try await api.reset("nonsense"), try await api.reset(code, to: "long enough")] {
                #expect(refused.errorMessage == "PASSWORD_LOGIN_DISABLED")
            }
            #expect(try await apply(code, api).status == 200)
        }
    }

    @Test func `the mailbox that reset the password is notified, without a code`() async throws {
        try await TestAPI.with { api in
            _ = try await stolenSession(api)
            let reset = try await api.code("PASSWORD_RESET", for: Self.email)
            #expect(try await api.reset(reset, to: "the owner's new one").status == 200)
            let notices = try await api.service.operations.notices(tenant: .project)
            #expect(notices.map(\.template) == [.signInMethodsChanged] && notices.first?.to == Self.email)
            #expect(notices.first?.changed?.replacesPassword == true)
            #expect(try await codes(api) == [])
        }
    }

    @Test func `the development page undoes a change`() async throws {
        try await TestAPI.with { api in
            let owner = try await stolenSession(api)
            _ = try await change(api, owner, ["password": .string(Self.thiefs)])
            let answer = try await api.act("revertSignInMethodChange", try await api.listedCode(Self.type).code)
            #expect(
                answer.json["authEmulator"]?["success"]
                    == "The change of sign-in methods has been successfully undone.",
                "\(answer.text)"
            )
        }
    }

    @Test func `the stored methods of a code are deleted with the code and with the account`() async throws {
        try await TestAPI.with { api in
            let database = api.service.database
            let owner = try await stolenSession(api)
            let thief = try await change(api, owner, ["password": .string(Self.thiefs)])
            let hashes: Query<Int64?> = "SELECT count(*) FROM code_methods WHERE password_hash LIKE '$argon2%'"
            #expect(try await database.rows(hashes) == [1])
            api.service.clock.advance(seconds: 3 * 86_400)
            let now = api.service.clock.now
            _ = try await api.service.operations.store.purge(.codes, endedBefore: now, rowsMax: 100)
            #expect(try await database.count("SELECT count(*) FROM code_methods") == 0)

            let signedIn = try await api.signIn(Self.email, password: Self.thiefs)
            _ = try await link("github.com", "thief", api, signedIn.json)
            #expect(try await database.count("SELECT count(*) FROM code_methods") == 1)
            let id = try #require(thief["localId"]?.string.flatMap(UserID.init))
            let deletion = try await api.service.operations.deleteAccounts([id], force: true, tenant: .project)
            #expect(deletion.isEmpty)
            #expect(try await database.count("SELECT count(*) FROM code_methods") == 0)
        }
    }
}

/// Many at once about the mail, and about what it undoes.
struct MethodChangeRaceTests {
    private static let type = "REVERT_SIGN_IN_METHOD_CHANGE"
    private static let update = "/v1/accounts:update"
    private static let email = "ada@example.com"

    private func stolen(_ api: TestAPI) async throws -> (thief: JSONValue, code: String) {
        let owner = try await api.signUp(Self.email)
        try await api.service.prove(Self.email)
        api.service.clock.advance(seconds: 1)
        let body: JSONValue = ["idToken": owner["idToken"] ?? .null, "password": "the thief's own"]
        let thief = try await api.post(Self.update, body)
        #expect(thief.status == 200, "\(thief.text)")
        api.service.clock.advance(seconds: 1)
        return (thief.json, try await api.listedCode(Self.type).code)
    }

    private func race(
        _ count: Int,
        _ body: @escaping @Sendable (Int) async throws -> String?
    ) async throws -> [String?] {
        try await withThrowingTaskGroup { group in
            for caller in 0..<count { group.addTask { try await body(caller) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `if 32 requests use one code, one undoes the change`() async throws {
        try await TestAPI.with { api in
            let (_, code) = try await stolen(api)
            let answers = try await race(32) { _ in
                try await api.post(Self.update, ["oobCode": .string(code)]).errorMessage
            }
            #expect(answers.count { $0 == nil } == 1 && answers.count { $0 == "INVALID_OOB_CODE" } == 31, "\(answers)")
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'U23'") == 1)
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `if a thief changes the account while the code is used, the owner still gets the account`() async throws
    {
        try await TestAPI.with { api in
            let (thief, code) = try await stolen(api)
            _ = try await race(24) { caller in
                if caller == 11 { return try await api.post(Self.update, ["oobCode": .string(code)]).errorMessage }
                let claims: JSONValue = ["sub": .string("thief \(caller)")]
                let provider = ["github.com", "facebook.com", "google.com"][caller % 3]
                let token = provider == "google.com" ? "id_token" : "access_token"
                return try await api.post(
                    "/v1/accounts:signInWithIdp",
                    [
                        "requestUri": "http://localhost", "idToken": thief["idToken"] ?? .null,
                        "postBody": .string("providerId=\(provider)&\(token)=\(claims.text)"),
                    ]
                ).errorMessage
            }
            // Before the code a change is undone by it; after it no session is left to make one.
            let user = try #require(try await api.service.user(owning: Self.email))
            #expect(user.account.signInMethods.map(\.name) == ["password"])
            #expect(try await api.signIn(Self.email, password: TestService.password).status == 200)
            let database = api.service.database
            let live: Query<Int64?> = """
                SELECT count(*) FROM one_time_codes
                WHERE kind = 'REVERT_SIGN_IN_METHOD_CHANGE' AND consumed_at IS NULL
                """
            #expect(try await database.rows(live) == [0])
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `if changes race, each successful one creates a code, up to five`() async throws {
        try await TestAPI.with { api in
            let owner = try await api.signUp(Self.email)
            try await api.service.prove(Self.email)
            let idToken = owner["idToken"] ?? .null
            let database = api.service.database
            // Of those who link at once one does, and of those who unlink.
            for round in Int64(1)...4 {
                let linked = try await race(8) { caller in
                    let claims: JSONValue = ["sub": .string("subject \(caller)")]
                    return try await api.post(
                        "/v1/accounts:signInWithIdp",
                        [
                            "requestUri": "http://localhost", "idToken": idToken,
                            "postBody": .string("providerId=github.com&access_token=\(claims.text)"),
                        ]
                    ).errorMessage
                }
                #expect(linked.count { $0 == nil } == 1, "\(linked)")
                #expect(try await codes(database) == min(2 * round - 1, 5))
                let unlinked = try await race(8) { _ in
                    try await api.post(Self.update, ["idToken": idToken, "deleteProvider": ["github.com"]]).errorMessage
                }
                #expect(unlinked.allSatisfy { $0 == nil }, "\(unlinked)")
                #expect(try await codes(database) == min(2 * round, 5))
            }
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    /// The codes about one method, which is the only one that changes.
    private func codes(_ database: TestDatabase) async throws -> Int64 {
        let codes = try await database.count("SELECT count(*) FROM one_time_codes WHERE kind LIKE 'REVERT_SIGN%'")
        #expect(try await database.count("SELECT count(*) FROM code_methods") == codes)
        return codes
    }
}
