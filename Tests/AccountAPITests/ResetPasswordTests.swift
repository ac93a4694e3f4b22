import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

struct ResetPasswordTests {
    @Test func `inspecting a code shows its purpose and does not use it`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("Ada@example.com")
            let reset = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            for _ in 1...2 {
                #expect(
                    try await api.reset(reset).json == [
                        "kind": "identitytoolkit#ResetPasswordResponse", "requestType": "PASSWORD_RESET",
                        "email": "ada@example.com",
                    ]
                )
            }
            // A sign-in link does not say to whom it was sent.
            let link = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(
                try await api.reset(link).json
                    == ["kind": "identitytoolkit#ResetPasswordResponse", "requestType": "EMAIL_SIGNIN"]
            )
            let change = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "New@example.com"
            )
            #expect(
                try await api.reset(change).json == [
                    "kind": "identitytoolkit#ResetPasswordResponse", "requestType": "VERIFY_AND_CHANGE_EMAIL",
                    "email": "ada@example.com", "newEmail": "new@example.com",
                ]
            )
        }
    }

    @Test func `R1: a reset sets the password, proves the address and ends every session`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let other = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let answer = try await api.reset(code, to: "a new password")
            #expect(
                answer.json == [
                    "kind": "identitytoolkit#ResetPasswordResponse", "requestType": "PASSWORD_RESET",
                    "email": "ada@example.com",
                ]
            )
            #expect(try await api.signIn("ada@example.com").errorMessage == "INVALID_PASSWORD")
            #expect(try await api.signIn("ada@example.com", password: "a new password").status == 200)
            #expect(try await api.refresh(ada["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.service.user(owning: "ada@example.com")?.account.isEmailVerified == true)
            // Used, and with it the one that was sent before.
            for used in [code, other] {
                #expect(try await api.reset(used, to: "yet another").errorMessage == "INVALID_OOB_CODE")
            }
        }
    }

    @Test func `a reset that first proves the address voids the account's open conflicts`()
        async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let conflict = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost",
                    "postBody": #"providerId=twitter.com&id_token={"sub":"intruder","email":"ada@example.com"}"#,
                ]
            ).json
            let pendingToken = try #require(conflict["pendingToken"])
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(code, to: "a new password").status == 200)
            let owner = try await api.signIn("ada@example.com", password: "a new password").json
            let linking = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "pendingToken": pendingToken,
                    "idToken": try #require(owner["idToken"]),
                ]
            )
            #expect(linking.errorMessage == "INVALID_PENDING_TOKEN")
        }
    }

    @Test func `R2 and R4: a reset unlinks every provider and removes the number, unless the project disables this`()
        async throws
    {
        for unlinks in [true, false] {
            let settings = ProjectSettings.developmentDefaults.with(
                "concord",
                ["passwordReset": ["unlinksProviders": .bool(unlinks)]]
            )
            try await TestAPI.with(settings: settings) { api in
                _ = try await api.signUp("ada@example.com")
                try await api.service.change("ada@example.com") { $0.prove(.administrator) }
                try await api.service.link("google.com", subject: "intruder", to: "ada@example.com")
                try await api.service.change("ada@example.com") { $0.phoneNumber = PhoneNumber("+14155550100") }
                let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
                #expect(try await api.reset(code, to: "a new password").status == 200)
                let user = try #require(try await api.service.user(owning: "ada@example.com"))
                #expect(user.linkedProviders.isEmpty == unlinks)
                #expect((user.phoneNumber == nil) == unlinks)
                #expect((user.unprovenPhoneNumber != nil) == unlinks)
                let claims = try await api.service.database.count("SELECT count(*) FROM identifiers")
                #expect(claims == (unlinks ? 1 : 3))
            }
        }
    }

    @Test func `R2: a reset that first proves the address unlinks every provider, with any setting`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with(
            "concord",
            ["passwordReset": ["unlinksProviders": false]]
        )
        try await TestAPI.with(settings: settings) { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.link("facebook.com", subject: "intruder", to: "ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(code, to: "a new password").status == 200)
            let user = try #require(try await api.service.user(owning: "ada@example.com"))
            #expect(user.linkedProviders.isEmpty && user.account.isEmailVerified)
        }
    }

    @Test func `R3: a reset adds a password to an account with only a provider and unlinks the provider`() async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.link("google.com", subject: "ada", to: "ada@example.com")
            try await api.service.change("ada@example.com") { user in
                user.passwordUpdatedAt = nil
                user.methodProofs[.password] = nil
            }
            #expect(try await api.signIn("ada@example.com").errorMessage == "INVALID_PASSWORD")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(code, to: "a new password").status == 200)
            #expect(try await api.signIn("ada@example.com", password: "a new password").status == 200)
            #expect(try await api.service.user(owning: "ada@example.com")?.linkedProviders.isEmpty == true)
        }
    }

    @Test func `R5: a code for an address that the account no longer has is void`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            try await api.service.replaceAddress("ada@example.com", by: "new@example.com")
            #expect(try await api.reset(code).errorMessage == "INVALID_OOB_CODE")
            #expect(try await api.reset(code, to: "a new password").errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `a code of a deleted account is void, also when the address has a new owner`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let deleted = try await api.post("/v1/accounts:delete", ["idToken": ada["idToken"] ?? .null])
            #expect(deleted.status == 200)
            _ = try await api.signUp("ada@example.com")
            #expect(try await api.reset(code, to: "a new password").errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `a refused reset does not use the code`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(
                try await api.reset(code, to: "short").errorMessage
                    == "WEAK_PASSWORD : Password should be at least 6 characters"
            )
            try await api.service.change("ada@example.com") { $0.isDisabled = true }
            #expect(try await api.reset(code, to: "long enough").errorMessage == "USER_DISABLED")
            #expect(try await api.reset(code).errorMessage == "USER_DISABLED")
            try await api.service.change("ada@example.com") { $0.isDisabled = false }
            #expect(try await api.post("/v1/accounts:resetPassword", [:]).errorMessage == "MISSING_OOB_CODE")
            let link = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(try await api.reset(link, to: "long enough").errorMessage == "INVALID_OOB_CODE")
            #expect(try await api.reset(code, to: "long enough").status == 200)
        }
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": false]]]) { api in
            let answer = try await api.reset("x")
            #expect(answer.errorMessage == "PASSWORD_LOGIN_DISABLED")
        }
    }

    @Test func `a reset expires after an hour`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            api.service.clock.advance(seconds: 3600)
            #expect(try await api.reset(code, to: "long enough").errorMessage == "EXPIRED_OOB_CODE")
        }
    }

    @Test func `the old password can set a new one, and reveals nothing else`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let ada = try await api.signUp("ada@example.com")
            func replace(_ email: String, _ old: String, _ new: String) async throws -> TestAPI.Answer {
                try await api.post(
                    "/v1/accounts:resetPassword",
                    ["email": .string(email), "oldPassword": .string(old), "newPassword": .string(new)]
                )
            }
            let wrong = try await replace("ada@example.com", "wrong password", "a new password")
            let unknown = try await replace("eve@example.com", "wrong password", "a new password")
            #expect(wrong.errorMessage == "INVALID_LOGIN_CREDENTIALS")
            #expect(wrong.text == unknown.text)
            #expect(
                try await replace("ada@example.com", "correct horse", "short").errorMessage?.hasPrefix("WEAK_PASSWORD")
                    == true
            )
            let answer = try await replace("ada@example.com", "correct horse", "a new password")
            #expect(answer.json == ["kind": "identitytoolkit#ResetPasswordResponse", "email": "ada@example.com"])
            #expect(try await api.signIn("ada@example.com", password: "a new password").status == 200)
            #expect(try await api.refresh(ada["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
        }
    }
}
