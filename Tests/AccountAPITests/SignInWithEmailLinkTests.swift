import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

struct SignInWithEmailLinkTests {
    private let path = "/v1/accounts:signInWithEmailLink"

    @Test func `M1: a link to an unknown address creates an account with a proven address`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "New@example.com")
            let answer = try await api.follow(code, as: "NEW@example.com")
            #expect(answer.status == 200)
            #expect(answer.json["kind"] == "identitytoolkit#EmailLinkSigninResponse")
            #expect(answer.json["email"] == "new@example.com")
            #expect(answer.json["isNewUser"] == true)
            #expect(answer.json["expiresIn"] == "3600")
            let token = try payload(of: answer.json["idToken"]?.string)
            #expect(token["email_verified"] == true)
            #expect(token["firebase"]?["sign_in_provider"] == "password")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": answer.json["idToken"] ?? .null])
            #expect(found.json["users"]?.array?.first?["emailLinkSignin"] == true)
            #expect(found.json["users"]?.array?.first?["passwordHash"] == nil)

            #expect(try await api.follow(code, as: "new@example.com").errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `M2: a link signs in to a proven account, which keeps its password and sessions`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            try await api.service.prove("ada@example.com")
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let answer = try await api.follow(code, as: "ada@example.com")
            #expect(answer.json["localId"] == ada["localId"])
            #expect(answer.json["isNewUser"] == false)
            #expect(try await api.signIn("ada@example.com").status == 200)
            #expect(try await api.refresh(ada["refreshToken"]?.string).status == 200)
            // A second link writes no fact about the account any more.
            let version = try #require(try await api.service.user(owning: "ada@example.com")).version
            let again = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(try await api.follow(again, as: "ada@example.com").status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.version == version)
        }
    }

    @Test func `M2: a link sent with a pending credential of its account also links that credential`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            try await api.service.prove("ada@example.com")
            let profile = #"{"sub":"77","email":"ada@example.com"}"#
            let conflict = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "returnIdpCredential": true,
                    "postBody": .string("providerId=twitter.com&id_token=\(profile)"),
                ]
            )
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let answer = try await api.post(
                path,
                [
                    "email": "ada@example.com", "oobCode": .string(code),
                    "pendingToken": conflict.json["pendingToken"] ?? .null,
                ]
            )
            #expect(answer.json["localId"] == ada["localId"] && answer.json["linkedProviderId"] == "twitter.com")
            let user = try #require(try await api.service.user(owning: "ada@example.com"))
            #expect(user.account.signInMethods.map(\.name) == ["password", "emailLink", "twitter.com"])
        }
    }

    @Test func `M3: the owner's link removes every method, session and code of an intruder`() async throws {
        try await TestAPI.with { api in
            // The intruder comes first: another address that is his, then the victim's, a password, a provider, a number,
            // every kind of code.
            let intruder = try await api.signUp("intruder@example.com", password: "intruder's own")
            try await api.service.replaceAddress("intruder@example.com", by: "victim@example.com")
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            try await api.service.link("facebook.com", subject: "intruder", to: "victim@example.com")
            try await api.service.change("victim@example.com") { $0.phoneNumber = PhoneNumber("+14155550100") }
            let session = try await api.signIn("victim@example.com", password: "intruder's own").json
            #expect(session["localId"] == intruder["localId"])
            let idToken = session["idToken"]?.string
            let change = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: idToken, newEmail: "i2@example.com")
            let verify = try await api.code("VERIFY_EMAIL", session: idToken)
            let reset = try await api.code("PASSWORD_RESET", for: "victim@example.com")
            let otherLink = try await api.code("EMAIL_SIGNIN", for: "victim@example.com")

            let link = try await api.code("EMAIL_SIGNIN", for: "victim@example.com")
            let answer = try await api.follow(link, as: "victim@example.com")
            #expect(answer.status == 200)
            #expect(answer.json["localId"] == intruder["localId"])
            #expect(answer.json["isNewUser"] == false)

            // Nothing of it lets the intruder in.
            #expect(
                try await api.signIn("victim@example.com", password: "intruder's own").errorMessage
                    == "INVALID_PASSWORD"
            )
            #expect(try await api.refresh(session["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.refresh(intruder["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            let lookup = try await api.post("/v1/accounts:lookup", ["idToken": session["idToken"] ?? .null])
            #expect(lookup.errorMessage == "TOKEN_EXPIRED")
            for code in [recovery, change, verify, reset, otherLink] {
                #expect(try await api.reset(code).errorMessage == "INVALID_OOB_CODE")
            }
            for (mode, code) in [
                ("recoverEmail", recovery), ("verifyAndChangeEmail", change), ("verifyEmail", verify),
            ] {
                #expect(try await api.act(mode, code).status == 400)
            }
            #expect(try await api.reset(reset, to: "intruder again").errorMessage == "INVALID_OOB_CODE")
            #expect(
                try await api.follow(otherLink, as: "victim@example.com").errorMessage == "INVALID_OOB_CODE"
            )
            let user = try #require(try await api.service.user(owning: "victim@example.com"))
            #expect(user.linkedProviders.isEmpty)
            #expect(user.phoneNumber == nil)
            #expect(user.passwordUpdatedAt == nil)
            #expect(user.account.isEmailVerified)
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE reserved_until IS NULL") == 1)
            #expect(try await database.count("SELECT count(*) FROM password_credentials") == 0)
            #expect(try await database.count("SELECT count(*) FROM sessions") == 1)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'") == 1
            )
            // The owner's own new session lives.
            #expect(try await api.refresh(answer.json["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `M4: a disabled account is refused and the code is used up`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            try await api.service.change("ada@example.com") { $0.isDisabled = true }
            #expect(try await api.follow(code, as: "ada@example.com").errorMessage == "USER_DISABLED")
            try await api.service.change("ada@example.com") { $0.isDisabled = false }
            #expect(try await api.follow(code, as: "ada@example.com").errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `M5: an account with a second factor must present it first`() throws {
        let address = try #require(EmailAddress("ada@example.com"))
        var policy = LinkPolicy()
        policy.requiresEnrolledSecondFactors = true
        let id = try #require(UserID("ada"))
        let account = Account(
            id: id,
            version: 1,
            sessionEpoch: 1,
            email: AccountEmail(address: address, proof: nil),
            hasSecondFactor: true
        )
        let verdict = SignInWithEmailLinkQuestion(
            email: address,
            owner: account,
            target: nil,
            isSessionRecent: false,
            secondFactorProvenBy: nil
        ).decide(policy)
        #expect(verdict == Verdict(.emailLinkNeedsSecondFactor, .secondFactorRequired(id)))
    }

    @Test func `M6: a link used in a session sets the account's address`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let idToken = ada["idToken"]?.string
            let own = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let linked = try await api.follow(own, as: "ada@example.com", idToken: idToken)
            #expect(linked.json["localId"] == ada["localId"])
            #expect(linked.json["isNewUser"] == false)
            #expect(try await api.service.user(owning: "ada@example.com")?.account.isEmailVerified == true)
            #expect(try await api.signIn("ada@example.com").status == 200)

            let new = try await api.code("EMAIL_SIGNIN", for: "new@example.com")
            let moved = try await api.follow(new, as: "new@example.com", idToken: idToken)
            #expect(moved.json["email"] == "new@example.com")
            #expect(moved.json["localId"] == ada["localId"])
            #expect(try await api.service.user(owning: "ada@example.com") == nil)
            // A change of address by another road ends what such a change ends.
            #expect(try await api.refresh(ada["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.refresh(moved.json["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `M7: the address of another account is not linked, and the code is used up`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let bob = try await api.signUp("bob@example.com")
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let answer = try await api.follow(code, as: "ada@example.com", idToken: bob["idToken"]?.string)
            #expect(answer.errorMessage == "EMAIL_EXISTS")
            #expect(try await api.follow(code, as: "ada@example.com").errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `M8: a link upgrades an anonymous account, which keeps its id`() async throws {
        try await TestAPI.with { api in
            let anonymous = try await api.post("/v1/accounts:signUp", [:]).json
            let code = try await api.code("EMAIL_SIGNIN", for: "new@example.com")
            let answer = try await api.follow(code, as: "new@example.com", idToken: anonymous["idToken"]?.string)
            #expect(answer.json["localId"] == anonymous["localId"])
            #expect(answer.json["isNewUser"] == false)
            #expect(answer.json["email"] == "new@example.com")
        }
    }

    @Test func `M9 and M10: if clients may not create accounts, or the session is too old, the link is refused`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with(
            "client",
            ["permissions": ["disabledUserSignup": true]]
        )
        try await TestAPI.with(settings: settings) { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "new@example.com")
            #expect(try await api.follow(code, as: "new@example.com").errorMessage == "ADMIN_ONLY_OPERATION")
            #expect(try await api.follow(code, as: "new@example.com").errorMessage == "INVALID_OOB_CODE")
        }
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            api.service.clock.advance(seconds: 301)
            let code = try await api.code("EMAIL_SIGNIN", for: "new@example.com")
            let answer = try await api.follow(code, as: "new@example.com", idToken: ada["idToken"]?.string)
            #expect(answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        }
    }

    @Test func `errors are reported in the documented order`() async throws {
        try await TestAPI.with { api in
            func message(_ body: JSONValue) async throws -> String? {
                try await api.post(path, body).errorMessage
            }
            #expect(try await message(["idToken": "x"]) == "INVALID_ID_TOKEN")
            #expect(try await message([:]) == "MISSING_EMAIL")
            #expect(try await message(["email": "", "oobCode": "x"]) == "MISSING_EMAIL")
            #expect(try await message(["email": "a@example.com"]) == "MISSING_OOB_CODE")
            #expect(try await message(["email": "a@example.com", "oobCode": "x"]) == "INVALID_OOB_CODE")
            _ = try await api.signUp("ada@example.com")
            let reset = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(
                try await message(["email": "ada@example.com", "oobCode": .string(reset)]) == "INVALID_OOB_CODE"
            )
            // Another kind's code is not used up by being shown at the wrong door.
            #expect(try await api.reset(reset).status == 200)
        }
    }

    @Test func `a link is still usable after four wrong addresses`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            for guess in ["eve@example.com", "nonsense", "eve@example.com", "ada@example.org"] {
                #expect(
                    try await api.follow(code, as: guess).errorMessage
                        == "INVALID_EMAIL : The email provided does not match the sign-in email address."
                )
            }
            #expect(try await api.follow(code, as: "ada@example.com").status == 200)
        }
    }

    @Test func `after five wrong addresses the right one is refused, and a new link works`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            for _ in 1...5 {
                #expect(
                    try await api.follow(code, as: "eve@example.com").errorMessage?.hasPrefix("INVALID_EMAIL") == true
                )
            }
            for address in ["eve@example.com", "ada@example.com"] {
                #expect(try await api.follow(code, as: address).errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            }
            let fresh = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(try await api.follow(fresh, as: "ada@example.com").status == 200)
        }
    }

    @Test func `a link expires after six hours, or after the project's lifetime`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            api.service.clock.advance(seconds: 6 * 3600 - 1)
            #expect(try await api.reset(code).status == 200)
            api.service.clock.advance(seconds: 1)
            #expect(try await api.follow(code, as: "ada@example.com").errorMessage == "EXPIRED_OOB_CODE")
            #expect(try await api.reset(code).errorMessage == "EXPIRED_OOB_CODE")
            #expect(try await api.listedCodes().isEmpty)
        }
        let settings = ProjectSettings.developmentDefaults.with("concord", ["codeLifetimes": ["EMAIL_SIGNIN": 60]])
        try await TestAPI.with(settings: settings) { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            api.service.clock.advance(seconds: 60)
            #expect(try await api.follow(code, as: "ada@example.com").errorMessage == "EXPIRED_OOB_CODE")
        }
    }
}
