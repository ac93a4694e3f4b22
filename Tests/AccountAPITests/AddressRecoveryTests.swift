import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// The mail about a replaced address, and its code: the owner of the address gets it after every kind of change, and no
/// earlier holder of the account gets it.
struct AddressRecoveryTests {
    enum Arrival: CaseIterable {
        case provider, link, reset
    }

    /// The victim enters the account that an intruder prepared, and gets a session.
    private func arrive(_ arrival: Arrival, _ api: TestAPI, at email: String) async throws -> JSONValue {
        switch arrival {
        case .provider:
            let claims: JSONValue = ["sub": "victim", "email": .string(email), "email_verified": true]
            let body: JSONValue = [
                "requestUri": "http://localhost",
                "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
            ]
            return try await api.post("/v1/accounts:signInWithIdp", body).json
        case .link:
            return try await api.follow(try await api.code("EMAIL_SIGNIN", for: email), as: email).json
        case .reset:
            let code = try await api.code("PASSWORD_RESET", for: email)
            #expect(try await api.reset(code, to: "the victim's own").status == 200)
            return try await api.signIn(email, password: "the victim's own").json
        }
    }

    private func change(_ api: TestAPI, _ session: JSONValue, to email: String) async throws -> TestAPI.Answer {
        api.service.clock.advance(seconds: 1)
        let body: JSONValue = ["idToken": session["idToken"] ?? .null, "email": .string(email)]
        return try await api.post("/v1/accounts:update", body)
    }

    private func recoveries(_ api: TestAPI) async throws -> [String?] {
        try await api.listedCodes().filter { $0["requestType"] == "RECOVER_EMAIL" }.map { $0["email"]?.string }
    }

    @Test(arguments: Arrival.allCases, [false, true])
    func `a takeover discards the intruder's first address, which then restores nothing`(
        arrival: Arrival,
        isProven: Bool
    ) async throws {
        try await TestAPI.with { api in
            let intruder = try await api.signUp("intruder@evil.example", password: "intruder's own")
            let id = try #require(intruder["localId"]?.string.flatMap(UserID.init))
            if isProven { try await api.service.edit(id) { $0.prove(.administrator) } }
            #expect(try await change(api, intruder, to: "victim@gmail.com").status == 200)
            #expect(try await recoveries(api) == ["intruder@evil.example"])
            let recovery = try await api.listedCode("RECOVER_EMAIL").code

            let victim = try await arrive(arrival, api, at: "victim@gmail.com")
            #expect(victim["localId"] == intruder["localId"])
            #expect(try await recoveries(api) == [])
            let early = try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)])
            #expect(early.errorMessage == "INVALID_OOB_CODE")
            let database = api.service.database
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'") == 1
            )

            #expect(try await change(api, victim, to: "victim@example.com").status == 200)
            #expect(try await recoveries(api) == ["victim@gmail.com"])
            let user = try #require(try await api.service.user(owning: "victim@example.com"))
            #expect(user.initialEmail == "victim@gmail.com")
        }
    }

    @Test func `M6: if a link replaces an address, the replaced address is notified and can undo it`()
        async throws
    {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let link = try await api.code("EMAIL_SIGNIN", for: "thief@example.com")
            let moved = try await api.follow(link, as: "thief@example.com", idToken: ada["idToken"]?.string)
            #expect(moved.json["localId"] == ada["localId"])
            #expect(try await recoveries(api) == ["ada@example.com"])
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.id.rawValue == ada["localId"]?.string)
        }
    }

    /// Moves an account to an address whose mailbox confirms it, as the user of a new session.
    private func move(_ api: TestAPI, from old: String, to email: String) async throws {
        let session = try await api.signIn(old).json["idToken"]?.string
        let code = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: session, newEmail: email)
        #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(code)]).status == 200)
    }

    @Test func `after two changes the owner gets mail at the last address, not at the first`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@first.example")
            try await api.service.prove("ada@first.example")
            try await move(api, from: "ada@first.example", to: "ada@second.example")
            #expect(try await recoveries(api) == ["ada@first.example"])
            api.service.clock.advance(seconds: 31 * 86_400)
            // Another person may have the first mailbox now.
            try await move(api, from: "ada@second.example", to: "thief@example.com")
            #expect(try await recoveries(api) == ["ada@second.example"])
            for address in ["ada@second.example", "ada@first.example"] {
                let signUp: JSONValue = ["email": .string(address), "password": "somebody else's"]
                let answer = try await api.post("/v1/accounts:signUp", signUp)
                #expect(answer.errorMessage == (address == "ada@second.example" ? "EMAIL_EXISTS" : nil), "\(address)")
            }
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
            let owner = try #require(try await api.service.user(owning: "ada@second.example"))
            #expect(owner.id.rawValue == ada["localId"]?.string && owner.initialEmail == "ada@first.example")
            #expect(try await recoveries(api) == [], "the thief's mailbox gets no code")
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'U14'") == 1)
            let inconsistencies = try await database.inconsistencies()
            #expect(inconsistencies == [])
        }
    }

    @Test func `if a thief changes the address again, the owner can still undo all changes`()
        async throws
    {
        try await TestAPI.with { api in
            let owners = "ada@example.com"
            let ada = try await api.signUp(owners)
            try await api.service.prove(owners)
            try await move(api, from: owners, to: "thief@example.com")
            api.service.clock.advance(seconds: 1)
            try await api.service.link("github.com", subject: "thief", to: "thief@example.com")
            api.service.clock.advance(seconds: 29 * 86_400)
            try await move(api, from: "thief@example.com", to: "next@example.com")
            #expect(try await recoveries(api) == [owners, owners])
            // The first code has expired. The second counts from it.
            api.service.clock.advance(seconds: 2 * 86_400)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let recovered = try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)])
            #expect(recovered.status == 200, "\(recovered.text)")
            let owner = try #require(try await api.service.user(owning: owners))
            #expect(owner.id.rawValue == ada["localId"]?.string)
            #expect(owner.account.signInMethods == [.password], "what the thief linked is suspended")
            #expect(
                try await api.service.database.count("SELECT count(*) FROM account_events WHERE rule = 'U28'") == 1
            )
        }
    }

    @Test
    func `if the owner changes the address back, the thief gets no mail and codes in the thief's mailbox are void`()
        async throws
    {
        try await TestAPI.with { api in
            let owners = "ada@example.com"
            let ada = try await api.signUp(owners)
            try await api.service.prove(owners)
            try await move(api, from: owners, to: "thief@example.com")
            let thiefs = try await api.signIn("thief@example.com").json["idToken"]?.string
            let prepared = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: thiefs, newEmail: "next@example.com")
            try await move(api, from: "thief@example.com", to: owners)
            #expect(try await api.service.user(owning: owners)?.id.rawValue == ada["localId"]?.string)
            #expect(try await recoveries(api) == [owners], "the owner's own code")
            let late = try await api.post("/v1/accounts:update", ["oobCode": .string(prepared)])
            #expect(late.errorMessage == "INVALID_OOB_CODE", "\(late.text)")
            let usable: Query<String?> = """
                SELECT DISTINCT email FROM one_time_codes WHERE consumed_at IS NULL AND user_id IS NOT NULL
                """
            #expect(try await api.service.database.rows(usable) == [owners])
        }
    }

    @Test func `P4: if a sign-up replaces an address, the replaced address is notified`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let body: JSONValue = [
                "idToken": ada["idToken"] ?? .null, "email": "thief@example.com", "password": "the thief's own",
            ]
            #expect(try await api.post("/v1/accounts:signUp", body).status == 200)
            #expect(try await recoveries(api) == ["ada@example.com"])
        }
    }

    @Test func `an account that had no address sends no notice`() async throws {
        try await TestAPI.with { api in
            let byLink = try await api.signUpAnonymously()
            let link = try await api.code("EMAIL_SIGNIN", for: "a@example.com")
            let linked = try await api.follow(link, as: "a@example.com", idToken: byLink["idToken"]?.string)
            #expect(linked.status == 200)
            let byPassword = try await api.signUpAnonymously()
            let body: JSONValue = [
                "idToken": byPassword["idToken"] ?? .null, "email": "b@example.com", "password": "correct horse",
            ]
            #expect(try await api.post("/v1/accounts:signUp", body).status == 200)
            #expect(try await recoveries(api) == [])
        }
    }

    @Test func `P17: if addresses are protected, a sign-up replaces no address either`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let ada = try await api.signUp("ada@example.com")
            var rows = try await api.service.database.rowCounts()
            // Only the attempt is recorded.
            rows["account_events", default: 0] += 1
            let body: JSONValue = [
                "idToken": ada["idToken"] ?? .null, "email": "thief@example.com", "password": "the thief's own",
            ]
            let direct = try await change(api, ada, to: "thief@example.com")
            let roundabout = try await api.post("/v1/accounts:signUp", body)
            #expect(roundabout.status == 400 && roundabout.text == direct.text, "\(roundabout.text)")
            #expect(try await api.service.database.rowCounts() == rows)
            #expect(try await api.signIn("ada@example.com").status == 200)
        }
    }

    private func takeAddressOff(_ api: TestAPI, _ idToken: JSONValue) async throws {
        // The account's own methods are older than the mail.
        api.service.clock.advance(seconds: 1)
        let removal: JSONValue = ["idToken": idToken, "deleteAttribute": ["EMAIL"]]
        #expect(try await api.post("/v1/accounts:update", removal).status == 200)
    }

    @Test(arguments: [false, true])
    func `K3: an address that a session removes is notified, and no request bypasses P17`(
        _ isProtected: Bool
    ) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: isProtected)) { api in
            let ada = try await api.signUp("ada@example.com")
            let idToken = ada["idToken"] ?? .null
            try await takeAddressOff(api, idToken)
            #expect(try await recoveries(api) == ["ada@example.com"])
            let recovery = try await api.listedCode("RECOVER_EMAIL").code

            let body: JSONValue = ["idToken": idToken, "email": "thief@example.com", "password": "the thief's own"]
            for path in ["/v1/accounts:update", "/v1/accounts:signUp"] {
                let answer = try await api.post(path, body)
                // Unprotected, the first ends the session.
                if isProtected || path.hasSuffix("signUp") {
                    #expect(answer.status == 400, "\(path): \(answer.text)")
                } else {
                    #expect(answer.status == 200, "\(path): \(answer.text)")
                }
            }
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.id.rawValue == ada["localId"]?.string)
        }
    }

    /// A merge by owners: a thief's session, and one of the account that was stolen.
    private func merge(
        _ api: TestAPI,
        _ stays: JSONValue,
        _ goes: JSONValue,
        _ choices: JSONValue
    ) async throws -> TestAPI.Answer {
        let body: JSONValue = ["absorbedIdToken": goes["idToken"] ?? .null, "choices": choices]
        return try await api.send(
            .post,
            "/concord/v1/merges",
            Array(body.text.utf8),
            key: nil,
            bearer: stays["idToken"]?.string
        )
    }

    enum Loss: CaseIterable {
        case removed, replaced
    }

    @Test(arguments: Loss.allCases, [false, true])
    func `E15: a session cannot merge an account away while its address can be restored`(
        loss: Loss,
        isProtected: Bool
    ) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: isProtected)) { api in
            var stolen = try await arrive(.provider, api, at: "ada@gmail.com")
            let thief = try await api.signUp("thief@example.com", password: "the thief's own")
            switch loss {
            case .removed:
                try await takeAddressOff(api, stolen["idToken"] ?? .null)
            case .replaced:
                let code = try await api.code(
                    "VERIFY_AND_CHANGE_EMAIL",
                    session: stolen["idToken"]?.string,
                    newEmail: "mule@example.com"
                )
                #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(code)]).status == 200)
                // The change ended the session; a thief with the owner's browser gets another.
                let claims: JSONValue = ["sub": "victim", "email": "ada@gmail.com", "email_verified": true]
                let body: JSONValue = [
                    "requestUri": "http://localhost",
                    "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
                ]
                stolen = try await api.post("/v1/accounts:signInWithIdp", body).json
            }
            #expect(try await recoveries(api) == ["ada@gmail.com"])
            let recovery = try await api.listedCode("RECOVER_EMAIL").code

            let refused = try await merge(api, thief, stolen, ["password": "survivor"])
            #expect(refused.status == 409 && refused.json["reason"] == "needs-administrator", "\(refused.text)")
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 2)

            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
            let owner = try #require(try await api.service.user(owning: "ada@gmail.com"))
            #expect(owner.id.rawValue == stolen["localId"]?.string && owner.linkedProviders[.google] != nil)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test(arguments: [false, true])
    func `E16: a merge does not replace a protected address by an unproven one`(isProtected: Bool) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: isProtected)) { api in
            let ada = try await arrive(.provider, api, at: "ada@gmail.com")
            let thief = try await api.signUp("thief@example.com", password: "the thief's own")
            let choices: JSONValue = ["email": "absorbed", "password": "absorbed"]
            let merged = try await merge(api, ada, thief, choices)
            #expect(try await recoveries(api) == (isProtected ? [] : ["ada@gmail.com"]))
            if isProtected {
                #expect(merged.status == 409 && merged.json["reason"] == "unverified-email", "\(merged.text)")
                #expect(try await api.service.user(owning: "ada@gmail.com")?.id.rawValue == ada["localId"]?.string)
            } else {
                #expect(merged.status == 200, "\(merged.text)")
                try await takeBack(api, ada)
            }
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    /// The earlier owner has the address again.
    private func takeBack(_ api: TestAPI, _ ada: JSONValue) async throws {
        let id = ada["localId"]?.string
        let moved = try await api.service.user(try #require(id.flatMap(UserID.init)))
        #expect(moved?.initialEmail == "ada@gmail.com")
        let recovery = try await api.listedCode("RECOVER_EMAIL").code
        #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
        let owner = try #require(try await api.service.user(owning: "ada@gmail.com"))
        #expect(owner.id.rawValue == id && owner.email?.isVerified == true)
    }

    enum Taken: CaseIterable {
        case proven, none
    }

    @Test(arguments: Taken.allCases)
    func `E13: an address that a merge replaces or removes is notified and can be restored`(taken: Taken) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: true)) { api in
            let ada = try await arrive(.provider, api, at: "ada@gmail.com")
            let thief =
                switch taken {
                case .proven:
                    try await api.follow(try await api.code("EMAIL_SIGNIN", for: "t@example.com"), as: "t@example.com")
                        .json
                case .none: try await api.signUpAnonymously()
                }
            let merged = try await merge(api, ada, thief, ["email": "absorbed"])
            #expect(merged.status == 200, "\(merged.text)")
            #expect(try await api.service.user(owning: "ada@gmail.com") == nil)
            #expect(try await recoveries(api) == ["ada@gmail.com"])
            try await takeBack(api, ada)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    /// Facebook verifies nothing. Apple's word counts for new addresses alone.
    @Test(arguments: [false, true], ["facebook.com", "apple.com"])
    func `L4: if the address was removed first, a provider without proof does not add another`(
        _ isProtected: Bool,
        provider: String
    ) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: isProtected)) { api in
            let ada = try await api.signUp("ada@example.com")
            let idToken = ada["idToken"] ?? .null
            try await takeAddressOff(api, idToken)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code

            let claims: JSONValue = ["sub": "thief", "email": "thief@example.com", "email_verified": true]
            let linked = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "idToken": idToken,
                    "postBody": .string("providerId=\(provider)&id_token=\(claims.text)"),
                ]
            )
            #expect(linked.status == 200 && linked.json["localId"] == ada["localId"], "\(linked.text)")
            // So the address opens another account, and no takeover of this one makes the owner's code void.
            let link = try await api.code("EMAIL_SIGNIN", for: "thief@example.com")
            let thief = try await api.follow(link, as: "thief@example.com")
            #expect(thief.status == 200 && thief.json["localId"] != ada["localId"], "\(thief.text)")
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(recovery)]).status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.id.rawValue == ada["localId"]?.string)
        }
    }

    @Test func `M10: if the address was removed first, a link has the requirements of a replacement`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let idToken = ada["idToken"]?.string
            let removal: JSONValue = ["idToken": .string(idToken ?? ""), "deleteAttribute": ["EMAIL"]]
            #expect(try await api.post("/v1/accounts:update", removal).status == 200)
            let link = try await api.code("EMAIL_SIGNIN", for: "thief@example.com")
            api.service.clock.advance(seconds: 301)
            let moved = try await api.follow(link, as: "thief@example.com", idToken: idToken)
            #expect(moved.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(moved.text)")
        }
    }
}
