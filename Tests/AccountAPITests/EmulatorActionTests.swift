import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The development action page, and through it every code that changes an address.
struct EmulatorActionTests {
    private func error(_ answer: TestAPI.Answer) -> String? {
        #expect(answer.status == 400)
        return answer.json["authEmulator"]?["error"]?.string
    }

    @Test func `production has neither the listing nor the page`() async throws {
        try await TestAPI.with(development: nil) { api in
            for path in [
                "/emulator/v1/projects/\(TestService.projectID)/oobCodes",
                "/emulator/v1/projects/\(TestService.projectID)/tenants/t/oobCodes",
                "/emulator/action?mode=verifyEmail&oobCode=x&apiKey=any",
            ] {
                let answer = try await api.send(.get, path, bearer: "owner")
                #expect(answer.status == 404)
            }
        }
    }

    @Test func `a verification proves the address once and ends sessions`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code("VERIFY_EMAIL", session: ada["idToken"]?.string)
            let answer = try await api.act("verifyEmail", code)
            #expect(answer.status == 200)
            #expect(answer.json["authEmulator"]?["email"] == "ada@example.com")
            #expect(try await api.service.user(owning: "ada@example.com")?.account.isEmailVerified == true)
            #expect(try await api.refresh(ada["refreshToken"]?.string).status == 400)
            #expect(error(try await api.act("verifyEmail", code)) == "INVALID_OOB_CODE")
            // A second code for a proven address succeeds and is used up too, and ends nothing.
            let session = try await api.signIn("ada@example.com").json
            let again = try await api.code("VERIFY_EMAIL", session: session["idToken"]?.string)
            #expect(try await api.act("verifyEmail", again, "&continueUrl=http%3A%2F%2Flocalhost%2Fx").status == 303)
            #expect(error(try await api.act("verifyEmail", again)) == "INVALID_OOB_CODE")
            #expect(try await api.refresh(session["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `a code for an address that the account no longer has is void`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code("VERIFY_EMAIL", session: ada["idToken"]?.string)
            try await api.service.replaceAddress("ada@example.com", by: "new@example.com")
            #expect(error(try await api.act("verifyEmail", code)) == "INVALID_OOB_CODE")
            #expect(try await api.service.user(owning: "new@example.com")?.account.isEmailVerified == false)
        }
    }

    @Test func `verifying and changing sets the new address, ends sessions and notifies the old address`() async throws
    {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "New@example.com"
            )
            let answer = try await api.act("verifyAndChangeEmail", code)
            #expect(answer.json["authEmulator"]?["newEmail"] == "new@example.com")
            let user = try #require(try await api.service.user(owning: "new@example.com"))
            #expect(user.account.isEmailVerified)
            #expect(user.initialEmail == "ada@example.com")
            #expect(try await api.service.user(owning: "ada@example.com") == nil)
            #expect(try await api.refresh(ada["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")

            let recovery = try await api.listedCode("RECOVER_EMAIL")
            #expect(recovery.email == "ada@example.com")
            let recovered = try await api.act("recoverEmail", recovery.code, "&continueUrl=http%3A%2F%2Flocalhost")
            #expect(recovered.status == 200)
            #expect(recovered.json["authEmulator"]?["email"] == "ada@example.com")
            #expect(try await api.service.user(owning: "ada@example.com")?.id == user.id)
            #expect(try await api.service.user(owning: "new@example.com") == nil)
            #expect(error(try await api.act("recoverEmail", recovery.code)) == "INVALID_OOB_CODE")
        }
    }

    @Test func `U9: an address that another account took meanwhile is refused, and the code is used up`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "new@example.com"
            )
            _ = try await api.signUp("new@example.com")
            #expect(error(try await api.act("verifyAndChangeEmail", code)) == "EMAIL_EXISTS")
            #expect(error(try await api.act("verifyAndChangeEmail", code)) == "INVALID_OOB_CODE")
        }
    }

    @Test func `U10: a first address that another account has proven is not restored while that account has it`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.replaceAddress("ada@example.com", by: "new@example.com")
            let code = try await api.listedCode("RECOVER_EMAIL").code
            let other = try await api.create(["email": "ada@example.com", "emailVerified": true])
            #expect(error(try await api.act("recoverEmail", code)) == "EMAIL_EXISTS")
            #expect(error(try await api.act("recoverEmail", code)) == "EMAIL_EXISTS")
            #expect(try await api.admin("accounts:delete", ["localId": .string(other)]).status == 200)
            #expect(try await api.act("recoverEmail", code).status == 200)
            #expect(error(try await api.act("recoverEmail", code)) == "INVALID_OOB_CODE")
        }
    }

    @Test func `a change of address is void after its session ends`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "intruder@example.com"
            )
            try await api.service.change("ada@example.com") { $0.endSessions(at: api.service.clock.now) }
            #expect(error(try await api.act("verifyAndChangeEmail", code)) == "INVALID_OOB_CODE")
        }
    }

    @Test func `a recovery restores the first address even after the intruder changed the password`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.replaceAddress("ada@example.com", by: "intruder@example.com")
            try await api.service.prove("intruder@example.com")
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let reset = try await api.code("PASSWORD_RESET", for: "intruder@example.com")
            #expect(try await api.reset(reset, to: "intruder's own").status == 200)
            api.service.clock.advance(seconds: 29 * 86400)
            #expect(try await api.act("recoverEmail", recovery).status == 200)
            #expect(try await api.service.user(owning: "ada@example.com") != nil)
        }
    }

    @Test func `a reset asks for the password, applies it and redirects to the continue URL`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let asked = try await api.act("resetPassword", code)
            #expect(error(asked) == "missing newPassword query parameter")
            let template = try #require(asked.json["authEmulator"]?["urlTemplate"]?.string)
            #expect(template.hasSuffix("&newPassword=NEW_PASSWORD_HERE"))
            #expect(template.contains("oobCode=\(code)&"))
            let done = try await api.act(
                "resetPassword",
                code,
                "&newPassword=a%20new%20password&continueUrl=http%3A%2F%2Flocalhost%2Fdone%3Fa%3D1"
            )
            #expect(done.status == 303)
            #expect(done.headers[.location] == "http://localhost/done?a=1")
            #expect(try await api.signIn("ada@example.com", password: "a new password").status == 200)
        }
    }

    @Test func `a sign-in link is passed to the app and not used`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(error(try await api.act("signIn", code)) == "Missing continueUrl query parameter")
            let answer = try await api.act("signIn", code, "&lang=en&continueUrl=http%3A%2F%2Flocalhost%2F%3Fx%3D1%23f")
            #expect(answer.status == 303)
            #expect(
                answer.headers[.location] == "http://localhost/?x=1&apiKey=any&lang=en&mode=signIn&oobCode=\(code)#f"
            )
            #expect(try await api.follow(code, as: "ada@example.com").status == 200)
        }
    }

    @Test func `missing and invalid parameters are reported in the page's format`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let withoutKey = try await api.send(.get, "/emulator/action?mode=verifyEmail&oobCode=x", key: nil)
            #expect(error(withoutKey) == "missing apiKey query parameter")
            #expect(error(try await api.act("verifyEmail", "")) == "missing oobCode query parameter")
            #expect(error(try await api.act("nonsense", code)) == "Invalid mode")
            #expect(
                error(try await api.act("verifyEmail", code)) == "Requested mode does not match the OOB code provided."
            )
            #expect(error(try await api.act("resetPassword", "unknown")) == "INVALID_OOB_CODE")
            #expect(
                error(try await api.act("signIn", code, "&continueUrl=javascript%3Aalert(1)"))
                    == "Invalid continueUrl query parameter"
            )
        }
    }
}
