import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// An address that a stolen session removed stays reserved for the account until the mail that restores it has expired.
struct ReservedAddressTests {
    private static let days: Int64 = 86_400

    private let owners = "owner@example.com"
    private let thiefs = "thief@example.com"

    /// A database, where addresses are protected or not, with the owner's account, which has the thief's address now.
    private func afterTheft(
        isProtected: Bool = false,
        wasProven: Bool,
        _ body: @Sendable (_ api: TestAPI, _ stolen: UserID, _ recovery: String) async throws -> Void
    ) async throws {
        try await TestAPI.withAdministrator(settings: settings(protectsEmails: isProtected)) { api in
            let session = try await api.signUp(owners)
            if wasProven { try await api.service.prove(owners) }
            let change = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: session["idToken"]?.string,
                newEmail: thiefs
            )
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(change)]).status == 200)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let stolen = try #require(session["localId"]?.string.flatMap(UserID.init))
            try await body(api, stolen, recovery)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    private func recover(_ api: TestAPI, _ code: String) async throws -> TestAPI.Answer {
        try await api.post("/v1/accounts:update", ["oobCode": .string(code)])
    }

    private func trySignUp(_ api: TestAPI, _ email: String) async throws -> TestAPI.Answer {
        try await api.post("/v1/accounts:signUp", ["email": .string(email), "password": "the thief's own"])
    }

    private func signInWithGoogle(
        _ api: TestAPI,
        _ email: String,
        session idToken: JSONValue? = nil
    ) async throws -> TestAPI.Answer {
        let claims: JSONValue = [
            "sub": "somebody", "email": .string(email), "email_verified": true, "hd": "example.com",
        ]
        var body: JSONValue = [
            "requestUri": "http://localhost", "postBody": .string("providerId=google.com&id_token=\(claims.text)"),
        ]
        if let idToken { body = body.with("idToken", idToken) }
        return try await api.post("/v1/accounts:signInWithIdp", body)
    }

    private func isFree(_ api: TestAPI, _ email: String) async throws -> Bool {
        let answer = try await trySignUp(api, email)
        #expect(answer.status == 200 || answer.errorMessage == "EMAIL_EXISTS", "\(answer.text)")
        return answer.status == 200
    }

    @Test func `the consent page of development predicts that a reserved address is taken`() async throws {
        try await afterTheft(wasProven: true) { api, _, _ in
            let claims: JSONValue = ["sub": "somebody", "email": .string(owners), "hd": "example.com"]
            let asked: JSONValue = ["providerId": "google.com", "claims": claims]
            let forecasts = try await api.post("/emulator/auth/provider/forecasts", asked, key: nil)
                .json["forecasts"]
            let answer = try await signInWithGoogle(api, owners)
            #expect(forecasts?["true"]?["ending"] == "refused")
            #expect(answer.errorMessage == "EMAIL_EXISTS", "\(answer.text)")
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a thief who signs up with the freed address does not stop the owner's recovery`(
        isProtected: Bool,
        wasProven: Bool
    ) async throws {
        try await afterTheft(isProtected: isProtected, wasProven: wasProven) { api, stolen, recovery in
            let decoy = try await trySignUp(api, owners)
            #expect(decoy.status == 400 && decoy.errorMessage == "EMAIL_EXISTS", "\(decoy.text)")
            let recovered = try await recover(api, recovery)
            #expect(recovered.status == 200 && recovered.json["email"]?.string == owners, "\(recovered.text)")
            let owner = try #require(try await api.service.user(owning: owners))
            #expect(owner.id == stolen && owner.account.isEmailVerified)
            #expect(try await api.service.user(owning: thiefs) == nil)
            #expect(try await recover(api, recovery).errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test(arguments: [false, true])
    func `a thief cannot get the freed address with any method, and the refusal is the same as for a taken one`(
        isProtected: Bool
    ) async throws {
        try await afterTheft(isProtected: isProtected, wasProven: true) { api, stolen, recovery in
            _ = try await api.signUp("taken@example.com")
            let mallory = try await api.signUp("mallory@example.com")
            let guest = try await api.signUpAnonymously()
            let (idToken, guestToken) = (mallory["idToken"] ?? .null, guest["idToken"] ?? .null)
            for (path, body) in [
                ("signUp", ["email": "X", "password": "the thief's own"]),
                ("signUp", ["email": "X", "password": "the thief's own", "idToken": guestToken]),
                ("update", ["email": "X", "idToken": idToken]),
                ("update", ["email": "X", "password": "the thief's own", "idToken": guestToken]),
                ("sendOobCode", ["requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": "X", "idToken": idToken]),
            ] as [(String, JSONValue)] {
                func ask(_ email: String) async throws -> TestAPI.Answer {
                    let text = body.text.split(separator: "\"X\"").joined(separator: "\"\(email)\"")
                    return try await api.post("/v1/accounts:\(path)", JSONValue(parsing: Array(text.utf8)))
                }
                let (reserved, taken) = (try await ask(owners), try await ask("taken@example.com"))
                #expect(reserved.status == taken.status && reserved.text == taken.text, "\(path): \(reserved.text)")
                #expect(reserved.status == 400 || isProtected && path == "sendOobCode", "\(path): \(reserved.text)")
            }
            // A person who reads the owner's mailbox has the code that restores the address, and so needs none of
            // these.
            #expect(try await signInWithGoogle(api, owners).errorMessage == "EMAIL_EXISTS")
            #expect(try await signInWithGoogle(api, owners, session: guestToken).errorMessage == "EMAIL_EXISTS")
            for session in [nil, mallory["idToken"]?.string] {
                let link = try await api.code("EMAIL_SIGNIN", for: owners)
                #expect(try await api.follow(link, as: owners, idToken: session).errorMessage == "EMAIL_EXISTS")
            }
            // An untrusted provider's account with the address links, and brings no address along.
            #expect(try await api.service.user(owning: owners) == nil)
            #expect(try await recover(api, recovery).status == 200)
            #expect(try await api.service.user(owning: owners)?.id == stolen)
        }
    }

    @Test(arguments: [false, true])
    func `the former address does not sign in to the account`(isProtected: Bool) async throws {
        try await afterTheft(isProtected: isProtected, wasProven: true) { api, stolen, _ in
            let signedIn = try await api.signIn(owners)
            #expect(signedIn.errorMessage == (isProtected ? "INVALID_LOGIN_CREDENTIALS" : "EMAIL_NOT_FOUND"))
            let unknown = try await api.signIn("nobody@example.com")
            #expect(signedIn.status == unknown.status && signedIn.text == unknown.text)
            let asked = try await api.post(
                "/v1/accounts:sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": .string(owners)]
            )
            #expect(asked.errorMessage == (isProtected ? nil : "EMAIL_NOT_FOUND"))
            #expect(try await api.listedCodes().allSatisfy { $0["requestType"] != "PASSWORD_RESET" })
            let found = try await api.admin("accounts:lookup", ["email": [.string(owners)]])
            #expect(found.json["users"] == nil)
            #expect(try await api.service.user(stolen)?.email?.address.raw == thiefs)
        }
    }

    @Test func `an owner can prove an address that was never proven`() async throws {
        for arrival in ["link", "google"] {
            try await afterTheft(wasProven: false) { api, stolen, recovery in
                #expect(try await !isFree(api, owners))
                let answer =
                    arrival == "link"
                    ? try await api.follow(try await api.code("EMAIL_SIGNIN", for: owners), as: owners)
                    : try await signInWithGoogle(api, owners)
                #expect(answer.status == 200, "\(answer.text)")
                let kind = try #require(try await api.service.user(owning: owners))
                #expect(kind.id != stolen && kind.account.isEmailVerified)
                // Both accounts are the same person's, or the code belongs to a prepared account: the person who proved
                // the address keeps it.
                #expect(try await recover(api, recovery).errorMessage == "EMAIL_EXISTS")
                #expect(try await api.service.user(owning: owners)?.id == kind.id)
            }
        }
    }

    @Test func `a refused recovery leaves its code usable`() async throws {
        try await afterTheft(wasProven: true) { api, stolen, recovery in
            let other = try await api.create(["email": .string(owners), "emailVerified": true])
            for _ in 1...3 { #expect(try await recover(api, recovery).errorMessage == "EMAIL_EXISTS") }
            #expect(try await api.admin("accounts:delete", ["localId": .string(other)]).status == 200)
            try await api.service.edit(stolen) { $0.isDisabled = true }
            #expect(try await recover(api, recovery).errorMessage == "USER_DISABLED")
            try await api.service.edit(stolen) { $0.isDisabled = false }
            #expect(try await recover(api, recovery).status == 200)
            #expect(try await api.service.user(owning: owners)?.id == stolen)
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `an account that never proved the address gives it up to the recovery code`(
        isProtected: Bool,
        wasProven: Bool
    ) async throws {
        try await afterTheft(isProtected: isProtected, wasProven: wasProven) { api, stolen, recovery in
            // A backend that creates accounts for any visitor acts as an administrator.
            let decoy = try await api.create(["email": .string(owners), "password": "the thief's own"])
            let session = try await api.signIn(owners, password: "the thief's own").json
            try await api.service.link("github.com", subject: "thief", to: owners)
            let reset = try await api.code("PASSWORD_RESET", for: owners)
            api.service.clock.advance(seconds: 1)

            #expect(try await recover(api, recovery).status == 200)
            let owner = try #require(try await api.service.user(owning: owners))
            #expect(owner.id == stolen && owner.account.isEmailVerified)
            let decoyID = try #require(UserID(decoy))
            let left = try #require(try await api.service.user(decoyID))
            #expect(left.email == nil && left.account.signInMethods == [.provider(.gitHub)])
            #expect(try await api.refresh(session["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.signIn(owners, password: "the thief's own").status == 400)
            #expect(try await api.reset(reset, to: "the thief's next").errorMessage == "INVALID_OOB_CODE")
            // The first proof of the address suspends the account's own password as well.
            #expect(try await api.signIn(owners).status == (wasProven ? 200 : 400))
            let database = api.service.database
            let suspended: Query<Int64> = "SELECT count(*) FROM quarantined_methods WHERE method = 'password'"
            #expect(try await database.rows(suspended) == [wasProven ? 1 : 2] as [Int64])
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE rule = 'U15'") == 2)
        }
    }

    @Test func `a code takes no address from an account that existed before it`() async throws {
        try await TestAPI.withAdministrator(settings: settings(protectsEmails: false)) { api in
            // An intruder registers the victim's address, and moves on.
            _ = try await api.signUp(owners, password: "intruder's own")
            try await api.service.replaceAddress(owners, by: thiefs)
            let victim = try await api.create(["email": .string(owners), "password": .string(TestService.password)])
            // Then moves again, so that the victim's mailbox is sent a code about the intruder's account.
            api.service.clock.advance(seconds: 60)
            try await api.service.replaceAddress(thiefs, by: "next@example.com")
            let code = try await api.listedCode("RECOVER_EMAIL").code
            #expect(try await recover(api, code).errorMessage == "EMAIL_EXISTS")
            #expect(try await api.service.user(owning: owners)?.id.rawValue == victim)
            #expect(try await api.signIn(owners).status == 200)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `the reservation ends with its code, even without cleanup`() async throws {
        enum End: CaseIterable { case expired, voided, deleted, usedAndLeft }
        for end in End.allCases {
            try await afterTheft(wasProven: true) { api, stolen, recovery in
                #expect(try await !isFree(api, owners))
                switch end {
                case .expired: api.service.clock.advance(seconds: 30 * Self.days)
                case .voided:
                    let sideWrite = AccountWrite.SideWrite.voidEmailCodes(
                        of: stolen,
                        tenant: .project,
                        .all,
                        at: api.service.clock.now
                    )
                    try await api.service.change(thiefs, sideWrites: [sideWrite]) { $0.profile.displayName = "x" }
                case .deleted:
                    let answer = try await api.admin("accounts:delete", ["localId": .string(stolen.rawValue)])
                    #expect(answer.status == 200)
                case .usedAndLeft:
                    #expect(try await recover(api, recovery).status == 200)
                    let moved: JSONValue = ["localId": .string(stolen.rawValue), "email": "elsewhere@example.com"]
                    #expect(try await api.admin("accounts:update", moved).status == 200)
                }
                #expect(try await isFree(api, owners), "\(end)")
                let owner = try #require(try await api.service.user(owning: owners))
                #expect(owner.id != stolen)
                #expect(
                    try await api.service.database.count(
                        "SELECT count(*) FROM identifiers WHERE value = 'owner@example.com'"
                    ) == 1
                )
            }
        }
    }

    @Test func `the account can take its address back with any method`() async throws {
        try await afterTheft(wasProven: true) { api, stolen, recovery in
            let session = try await api.signIn(thiefs).json
            let body: JSONValue = ["idToken": session["idToken"] ?? .null, "email": .string(owners)]
            #expect(try await api.post("/v1/accounts:update", body).status == 200)
            #expect(try await api.service.user(owning: owners)?.id == stolen)
            #expect(try await recover(api, recovery).status == 200, "it proves the address")
            #expect(try await api.service.user(owning: owners)?.account.isEmailVerified == true)
            #expect(try await isFree(api, thiefs))
        }
    }

    @Test func `a second change keeps the first address reserved`() async throws {
        try await afterTheft(wasProven: true) { api, stolen, recovery in
            api.service.clock.advance(seconds: 29 * Self.days)
            try await api.service.replaceAddress(thiefs, by: "next@example.com")
            let second = try await api.listedCode("RECOVER_EMAIL").code
            api.service.clock.advance(seconds: 2 * Self.days)
            #expect(try await recover(api, recovery).errorMessage == "EXPIRED_OOB_CODE")
            #expect(try await !isFree(api, owners))
            #expect(try await isFree(api, thiefs), "no code names it")
            #expect(try await recover(api, second).status == 200)
            #expect(try await api.service.user(owning: owners)?.id == stolen)
        }
    }

    @Test func `an address that a session removes is reserved as well`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            try await api.service.prove("ada@example.com")
            let removal: JSONValue = ["idToken": ada["idToken"] ?? .null, "deleteAttribute": ["EMAIL"]]
            #expect(try await api.post("/v1/accounts:update", removal).status == 200)
            #expect(try await !isFree(api, "ada@example.com"))
            #expect(try await recover(api, try await api.listedCode("RECOVER_EMAIL").code).status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.id.rawValue == ada["localId"]?.string)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `an administrator can use a reserved address, but an import cannot`() async throws {
        try await afterTheft(wasProven: true) { api, stolen, recovery in
            let row: JSONValue = ["localId": "imported", "email": .string(owners), "emailVerified": true]
            let imported = try await api.admin("accounts:batchCreate", ["users": [row]])
            #expect(imported.json["error"]?.array?.count == 1, "\(imported.text)")
            #expect(try await api.service.user(owning: owners) == nil)

            let other = try await api.create(["email": "other@example.com"])
            let given: JSONValue = ["localId": .string(other), "email": .string(owners), "emailVerified": true]
            #expect(try await api.admin("accounts:update", given).status == 200)
            #expect(try await api.service.user(owning: owners)?.id.rawValue == other)
            #expect(try await recover(api, recovery).errorMessage == "EMAIL_EXISTS")
        }
    }

    @Test func `an import gives the account the address that is reserved for it`() async throws {
        try await afterTheft(wasProven: true) { api, stolen, _ in
            let own: JSONValue = [
                "localId": .string(stolen.rawValue), "email": .string(owners), "emailVerified": true,
            ]
            let back = try await api.admin("accounts:batchCreate", ["users": [own], "allowOverwrite": true])
            #expect(back.status == 200 && back.json["error"] == nil, "\(back.text)")
            #expect(try await api.service.user(owning: owners)?.id == stolen)
        }
    }
}
