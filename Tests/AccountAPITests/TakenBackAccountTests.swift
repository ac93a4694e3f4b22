import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// People whom an old session, an old proof or an old registration would let in again, over HTTP.
struct TakenBackAccountTests {
    private let owners = "owner@example.com"
    private let thiefs = "thief@example.com"

    /// A sign-in by a provider's user, or a link to the account of a session.
    private func signIn(
        _ provider: String,
        _ api: TestAPI,
        _ claims: JSONValue,
        session: JSONValue? = nil
    ) async throws -> TestAPI.Answer {
        var body: JSONValue = [
            "requestUri": "http://localhost", "returnIdpCredential": true,
            "postBody": .string("providerId=\(provider)&id_token=\(claims.text)"),
        ]
        if let session { body = body.with("idToken", session) }
        return try await api.post("/v1/accounts:signInWithIdp", body)
    }

    private func google(_ subject: String, _ email: String) -> JSONValue {
        ["sub": .string(subject), "email": .string(email), "email_verified": true, "hd": "example.com"]
    }

    private func apply(_ api: TestAPI, _ code: String) async throws -> TestAPI.Answer {
        try await api.post("/v1/accounts:update", ["oobCode": .string(code)])
    }

    /// Moves the account of a session to another address, whose owner confirms it.
    private func move(_ api: TestAPI, _ session: JSONValue?, to email: String) async throws {
        let code = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: session?.string, newEmail: email)
        #expect(try await apply(api, code).status == 200)
    }

    private func suspended(_ answer: TestAPI.Answer) -> [String] {
        answer.json["concord"]?["suspended"]?.array?.compactMap { $0["method"]?.string } ?? []
    }

    // MARK: An account that a stolen session moved

    @Test(arguments: [false, true])
    func `a thief who moved the account and added methods and a factor loses access when the owner recovers it`(
        opensLastMail: Bool
    ) async throws {
        try await TestAPI.with { api in
            let owner = try await api.factorOwner(owners)
            try await move(api, .string(owner.idToken), to: thiefs)
            var recovery = try await api.listedCode("RECOVER_EMAIL").code
            let reset = try await api.code("PASSWORD_RESET", for: thiefs)
            #expect(try await api.reset(reset, to: "the thief's own").status == 200)
            let entered = try await api.signIn(thiefs, password: "the thief's own").json
            let linked = try await signIn("google.com", api, google("thief", thiefs), session: entered["idToken"])
            #expect(linked.status == 200, "\(linked.text)")
            var thief = owner
            thief.idToken = linked.json["idToken"]?.string ?? ""
            thief = try await api.enrollApp(thief)
            let listed = try await api.listedCodes()
                .filter { $0["requestType"] == "REVERT_SECOND_FACTOR_ADDITION" }
                .compactMap { $0["email"]?.string }
            #expect(listed.sorted() == [owners, thiefs])
            let prepared = try await api.code("PASSWORD_RESET", for: thiefs)
            if opensLastMail {
                try await move(api, .string(thief.idToken), to: "next@example.com")
                recovery = try await api.listedCode("RECOVER_EMAIL").code
            }

            let inspected = try await api.reset(recovery)
            #expect(suspended(inspected) == ["google.com", "password"], "\(inspected.text)")
            let recovered = try await apply(api, recovery)
            #expect(recovered.status == 200 && suspended(recovered) == ["google.com", "password"], "\(recovered.text)")
            let user = try #require(try await api.service.user(owner.id))
            #expect(user.email?.address.raw == owners && user.account.isEmailVerified)
            #expect(user.account.signInMethods.isEmpty && user.secondFactors.isEmpty)

            #expect(try await api.signIn(owners, password: "the thief's own").status == 400)
            let byGoogle = try await signIn("google.com", api, google("thief", thiefs))
            #expect(byGoogle.json["localId"]?.string != owner.id.rawValue, "\(byGoogle.text)")
            #expect(try await api.refresh(thief.refreshToken).status == 400)
            #expect(try await api.reset(prepared, to: "the thief's next").errorMessage == "INVALID_OOB_CODE")

            let own = try await api.code("PASSWORD_RESET", for: owners)
            #expect(try await api.reset(own, to: "the owner's next").status == 200)
            let back = try await api.signIn(owners, password: "the owner's next")
            #expect(back.json["localId"]?.string == owner.id.rawValue && back.json["idToken"] != nil, "\(back.text)")
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'U28'") == 1)
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `a thief who merges an older account into the moved one loses it when the owner recovers the account`()
        async throws
    {
        try await TestAPI.with { api in
            // The thief's account, and all that it has, is older than the theft.
            let own = try await signIn("google.com", api, google("thief", "old@example.com"))
            #expect(own.status == 200, "\(own.text)")
            api.service.clock.advance(seconds: 60)
            let victim = try await api.signUp(owners)
            try await api.service.prove(owners)
            let id = try #require(victim["localId"]?.string.flatMap(UserID.init))
            api.service.clock.advance(seconds: 1)
            try await move(api, victim["idToken"], to: thiefs)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            api.service.clock.advance(seconds: 1)
            let moved = try await api.signIn(thiefs)
            let merge: JSONValue = [
                "absorbedIdToken": own.json["idToken"] ?? .null, "choices": ["email": "survivor"],
            ]
            let merged = try await api.send(
                .post,
                "/concord/v1/merges",
                Array(merge.text.utf8),
                key: nil,
                bearer: moved.json["idToken"]?.string
            )
            #expect(merged.status == 200, "\(merged.text)")
            #expect(try await api.service.user(id)?.linkedProviders[.google] != nil)

            let recovered = try await apply(api, recovery)
            #expect(recovered.status == 200 && suspended(recovered) == ["google.com"], "\(recovered.text)")
            let user = try #require(try await api.service.user(id))
            #expect(user.email?.address.raw == owners && user.account.signInMethods == [.password])
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `methods from before the move stay when the owner recovers the account`() async throws {
        try await TestAPI.with { api in
            let owner = try await api.enrollApp(api.factorOwner(owners))
            try await move(api, .string(owner.idToken), to: thiefs)
            let recovered = try await apply(api, try await api.listedCode("RECOVER_EMAIL").code)
            #expect(recovered.status == 200 && recovered.json["concord"] == nil, "\(recovered.text)")
            let user = try #require(try await api.service.user(owner.id))
            #expect(user.account.signInMethods == [.password] && user.secondFactors.count == 1)
            #expect(try await api.service.database.count("SELECT count(*) FROM account_events WHERE rule = 'U14'") == 1)
        }
    }

    // MARK: An account that an intruder registered

    @Test(arguments: [false, true])
    func `an intruder who registered an address and moved on loses access when its owner recovers it`(
        isProtected: Bool
    ) async throws {
        try await TestAPI.with(settings: isProtected ? protectedSettings : ProjectSettings.developmentDefaults) { api in
            let intruder = try await api.signUp(owners)
            let linked = try await signIn(
                "google.com",
                api,
                google("intruder", thiefs),
                session: intruder["idToken"]
            )
            #expect(linked.status == 200, "\(linked.text)")
            try await move(api, linked.json["idToken"], to: thiefs)
            let signUp: JSONValue = ["email": .string(owners), "password": "the victim's own"]
            #expect(try await api.post("/v1/accounts:signUp", signUp).errorMessage == "EMAIL_EXISTS")

            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            #expect(suspended(try await api.reset(recovery)) == ["google.com", "password"])
            let recovered = try await apply(api, recovery)
            #expect(recovered.status == 200 && suspended(recovered) == ["google.com", "password"], "\(recovered.text)")
            let byGoogle = try await signIn("google.com", api, google("intruder", thiefs))
            #expect(byGoogle.status == 200 && byGoogle.json["localId"] != intruder["localId"], "\(byGoogle.text)")
            #expect(try await api.signIn(owners).status == 400)
            let own = try await api.code("PASSWORD_RESET", for: owners)
            #expect(try await api.reset(own, to: "the victim's own").status == 200)
            let victim = try await api.signIn(owners, password: "the victim's own")
            #expect(victim.json["localId"] == intruder["localId"], "\(victim.text)")
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'U29'") == 1)
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `an account with a second factor is not given to a mailbox that was never its owner's`() async throws {
        try await TestAPI.with { api in
            let strangers = try await api.signUp(owners)
            try await move(api, strangers["idToken"], to: thiefs)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let session = try await api.signIn(thiefs).json
            let id = try #require(session["localId"]?.string.flatMap(UserID.init))
            let stranger = FactorOwner(
                email: thiefs,
                id: id,
                idToken: session["idToken"]?.string ?? "",
                refreshToken: session["refreshToken"]?.string ?? ""
            )
            _ = try await api.enrollApp(stranger)
            #expect(try await api.reset(recovery).errorMessage == "INVALID_OOB_CODE")
            #expect(try await apply(api, recovery).errorMessage == "INVALID_OOB_CODE")
            // The owner of the mailbox gets the address, in a new account.
            let link = try await api.code("EMAIL_SIGNIN", for: owners)
            let kind = try await api.follow(link, as: owners)
            #expect(kind.status == 200 && kind.json["localId"]?.string != id.rawValue, "\(kind.text)")
            #expect(try await api.service.user(id)?.secondFactors.count == 1)
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    // MARK: An old session

    @Test func `an old stolen session of an account without an address does not link the thief's mailbox`()
        async throws
    {
        try await TestAPI.with { api in
            let victim = try await api.signInWithGitHub("victim")
            api.service.clock.advance(seconds: 600)
            let link = try await api.code("EMAIL_SIGNIN", for: thiefs)
            let answer = try await api.follow(link, as: thiefs, idToken: victim["idToken"]?.string)
            #expect(answer.errorMessage?.hasPrefix("CREDENTIAL_TOO_OLD_LOGIN_AGAIN") == true, "\(answer.text)")
            #expect(try await api.service.user(owning: thiefs) == nil)
            // Nor does it say whose address it is.
            _ = try await api.signUp("taken@example.com")
            let taken = try await api.code("EMAIL_SIGNIN", for: "taken@example.com")
            let same = try await api.follow(taken, as: "taken@example.com", idToken: victim["idToken"]?.string)
            #expect(same.status == answer.status && same.text == answer.text, "\(same.text)")
            // A moment after a sign-in it is the user's own.
            let again = try await api.signInWithGitHub("victim")
            let own = try await api.code("EMAIL_SIGNIN", for: "victim@example.com")
            #expect(
                try await api.follow(own, as: "victim@example.com", idToken: again["idToken"]?.string).status == 200
            )
        }
    }

    @Test func `an old session that follows a link to its mailbox links no pending credential`() async throws {
        try await TestAPI.with { api in
            let owner = try await api.signUp(owners)
            try await api.service.prove(owners)
            let claims: JSONValue = ["sub": "waiting", "email": .string(owners)]
            let conflict = try await signIn("facebook.com", api, claims)
            let pending = try #require(conflict.json["pendingToken"], "\(conflict.text)")
            api.service.clock.advance(seconds: 600)
            func follow(_ session: JSONValue?) async throws -> TestAPI.Answer {
                let code = try await api.code("EMAIL_SIGNIN", for: owners)
                var body: JSONValue = [
                    "email": .string(owners), "oobCode": .string(code), "pendingToken": pending,
                ]
                if let session { body = body.with("idToken", session) }
                return try await api.post("/v1/accounts:signInWithEmailLink", body)
            }
            #expect(try await follow(owner["idToken"]).status == 200)
            #expect(try await api.service.user(owning: owners)?.linkedProviders.isEmpty == true)
            #expect(try await follow(nil).status == 200)
            #expect(try await api.service.user(owning: owners)?.linkedProviders.count == 1)
        }
    }

    // MARK: An old proof

    @Test func `the former holder of an address, who used Apple, loses access when the present holder signs in`()
        async throws
    {
        try await TestAPI.with { api in
            let former = try await signIn(
                "apple.com",
                api,
                ["sub": "former", "email": .string(owners), "email_verified": true]
            )
            #expect(former.status == 200 && former.json["emailVerified"] == true, "\(former.text)")
            api.service.clock.advance(seconds: 1)
            let present = try await signIn("google.com", api, google("present", owners))
            #expect(present.json["localId"] == former.json["localId"], "\(present.text)")
            let user = try #require(try await api.service.user(owning: owners))
            #expect(user.account.signInMethods == [.provider(.google)])
            #expect(user.email?.proof == .provider(.google))
            #expect(try await api.refresh(former.json["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            let again = try await signIn(
                "apple.com",
                api,
                ["sub": "former", "email": .string(owners), "email_verified": true]
            )
            #expect(again.json["needConfirmation"] == true, "\(again.text)")
            // If both are one person, the session that came last links Apple again.
            let linked = try await signIn(
                "apple.com",
                api,
                ["sub": "former", "email": .string(owners), "email_verified": true],
                session: present.json["idToken"]
            )
            #expect(linked.status == 200, "\(linked.text)")
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'I21'") == 1)
            #expect(try await database.count("SELECT count(*) FROM quarantined_methods") == 0)
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `a former holder with Apple cannot lock the owner out by linking a Google account`() async throws {
        try await TestAPI.with { api in
            let claims: JSONValue = ["sub": "former", "email": .string(owners), "email_verified": true]
            let former = try await signIn("apple.com", api, claims)
            let linked = try await signIn(
                "google.com",
                api,
                google("former", "former@example.com"),
                session: former.json["idToken"]
            )
            #expect(linked.status == 200, "\(linked.text)")
            api.service.clock.advance(seconds: 1)
            let present = try await signIn("google.com", api, google("present", owners))
            #expect(
                present.json["localId"] == former.json["localId"] && present.json["idToken"] != nil,
                "\(present.text)"
            )
            let user = try #require(try await api.service.user(owning: owners))
            #expect(user.account.linkedProviders == [.google: "present"])
            #expect(try await api.refresh(former.json["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            let again = try await signIn("google.com", api, google("former", "former@example.com"))
            #expect(again.json["localId"] != former.json["localId"], "\(again.text)")
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test(arguments: [true, false])
    func `an account that Apple verified enrols no second factor before its owner proves the mailbox`(
        endsSessions: Bool
    ) async throws {
        let settings = ProjectSettings.developmentDefaults
            .with("linkPolicy", ["preset": "strict", "firstProofEndsSessions": .bool(endsSessions)])
        try await TestAPI.with(settings: settings) { api in
            let opened = try await signIn(
                "apple.com",
                api,
                ["sub": "maybe former", "email": .string(owners), "email_verified": true]
            ).json
            let owner = FactorOwner(
                email: owners,
                id: try #require(opened["localId"]?.string.flatMap(UserID.init)),
                idToken: opened["idToken"]?.string ?? "",
                refreshToken: opened["refreshToken"]?.string ?? ""
            )
            #expect(try await api.startApp(owner).answer.errorMessage?.hasPrefix("UNVERIFIED_EMAIL") == true)
            func confirm(from session: String?) async throws -> TestAPI.Answer {
                let code = try await api.code("VERIFY_EMAIL", session: owner.idToken)
                var body: JSONValue = ["oobCode": .string(code)]
                if let session { body = body.with("idToken", .string(session)) }
                return try await api.post("/v1/accounts:update", body)
            }
            // The click of a present holder does not make the account the former one's.
            let clicked = try await confirm(from: nil)
            #expect(clicked.status == 200 && clicked.json["emailVerified"] == true, "\(clicked.text)")
            #expect(try await api.service.user(owner.id)?.email?.proof == .provider(.apple))
            #expect(try await api.startApp(owner).answer.errorMessage?.hasPrefix("UNVERIFIED_EMAIL") == true)

            let proven = try await confirm(from: owner.idToken)
            #expect(proven.status == 200 && proven.json["emailVerified"] == true, "\(proven.text)")
            #expect(try await api.service.user(owner.id)?.email?.proof == .emailCode)
            _ = try await api.enrollApp(owner)
            #expect(try await api.service.user(owner.id)?.secondFactors.count == 1)
            let inconsistencies = try await api.service.database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    // MARK: An issuer under two ids

    @Test func `the next owner of a domain does not sign in with another subject of the same issuer`() async throws {
        try await TestAPI.withAdministrator { api in
            let registered = try await api.post(
                "/v2/projects/\(TestService.projectID)/oauthIdpConfigs?oauthIdpConfigId=oidc.workspace",
                ["enabled": true, "clientId": "workspace", "issuer": "https://accounts.google.com"],
                key: nil,
                bearer: "owner"
            )
            #expect(registered.status == 200, "\(registered.text)")
            func workspace(_ subject: String) -> JSONValue {
                google(subject, owners).with("iss", "https://accounts.google.com").with("aud", "workspace")
            }
            let john = try await signIn("google.com", api, google("john", owners))
            #expect(john.status == 200, "\(john.text)")
            let next = try await signIn("oidc.workspace", api, workspace("next-john"))
            #expect(next.json["needConfirmation"] == true && next.json["idToken"] == nil, "\(next.text)")
            let same = try await signIn("oidc.workspace", api, workspace("john"))
            #expect(same.json["localId"] == john.json["localId"] && same.json["idToken"] != nil, "\(same.text)")
            let user = try #require(try await api.service.user(owning: owners))
            #expect(user.linkedProviders.count == 2)
            // The other way round, by the issuer of the row.
            let after = try await signIn("google.com", api, google("next-john", owners))
            #expect(after.json["needConfirmation"] == true, "\(after.text)")
        }
    }

    @Test func `the next owner of a domain is not linked beside an imported identity`() async throws {
        try await TestAPI.withAdministrator { api in
            let registered = try await api.post(
                "/v2/projects/\(TestService.projectID)/oauthIdpConfigs?oauthIdpConfigId=oidc.workspace",
                ["enabled": true, "clientId": "workspace", "issuer": "https://accounts.google.com"],
                key: nil,
                bearer: "owner"
            )
            #expect(registered.status == 200, "\(registered.text)")
            let john: JSONValue = [
                "localId": "john", "email": .string(owners), "emailVerified": true,
                "providerUserInfo": [
                    ["providerId": "oidc.workspace", "rawId": "john", "email": .string(owners)]
                ],
            ]
            let imported = try await api.admin("accounts:batchCreate", ["users": .array([john])])
            #expect(imported.status == 200 && imported.json["error"] == nil, "\(imported.text)")
            let next = try await signIn("google.com", api, google("next-john", owners))
            #expect(next.json["needConfirmation"] == true && next.json["idToken"] == nil, "\(next.text)")
        }
    }
}
