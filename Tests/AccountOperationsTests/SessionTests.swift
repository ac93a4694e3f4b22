import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Testing

extension TestService {
    /// `accounts:resetPassword` with the old password.
    fileprivate func replacePassword(of email: EmailAddress, old: String) async throws -> Outcome<UserRecord> {
        try await outcome(
            await operations.replacePassword(
                of: email,
                oldPassword: old,
                newPassword: "another horse",
                tenant: .project
            )
        )
    }
}

/// Sign-in, refresh and deletion over a session's life. The clock moves, so each test has a separate service.
struct SessionTests {
    @Test func `a sign-in opens another session and does not change the account's version`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let first = try await service.signUp(email).value
            service.clock.advance(seconds: 100)
            let second = try await service.signIn(email).value
            #expect(second.user.id == first.user.id && !second.isNewUser && !second.emailWasRecycled)
            #expect(try await service.sessionCount(of: first.user.id) == 2)
            #expect(try await service.events(of: first.user.id) == ["signed-in S6", "user-created P11"])
            let user = try #require(try await service.user(first.user.id))
            #expect(user.version == 1 && user.lastLoginAt == service.clock.now)
            #expect(try claims(second.tokens.idToken)["auth_time"]?.integer == service.clock.now.secondsSinceEpoch)
            _ = try await service.refresh(first.tokens.refreshToken).value
        }
    }

    @Test func `with enumeration protection, only the right password learns that the account is disabled`() async throws
    {
        let settings: JSONValue = ["linkPolicy": ["preset": "strict"], "signIn": ["email": ["enabled": true]]]
        try await TestService.with(settings: settings) { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            try await service.edit(account.user.id) { $0.isDisabled = true }
            #expect(try await service.signIn(email, password: "wrong").denial == .refusal(.invalidLoginCredentials))
            #expect(
                try await service.signIn(service.newAddress()).denial == .refusal(.invalidLoginCredentials)
            )
            #expect(try await service.signIn(email).denial == .refusal(.userDisabled))
            for (old, refusal) in [("wrong", Refusal.invalidLoginCredentials), (TestService.password, .userDisabled)] {
                #expect(try await service.replacePassword(of: email, old: old).denial == .refusal(refusal))
            }
            #expect(
                try await service.replacePassword(of: service.newAddress(), old: "wrong").denial
                    == .refusal(.invalidLoginCredentials)
            )
        }
    }

    @Test func `without enumeration protection, a wrong password, an unknown address and a disabled account differ`()
        async throws
    {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            #expect(try await service.signIn(email, password: "wrong").denial == .refusal(.invalidPassword))
            #expect(try await service.signIn(email, password: "").denial == .refusal(.invalidPassword))
            #expect(try await service.signIn(service.newAddress()).denial == .refusal(.emailNotFound))
            try await service.edit(account.user.id) { $0.isDisabled = true }
            #expect(try await service.signIn(email, password: "wrong").denial == .refusal(.userDisabled))
            #expect(try await service.signIn(email).denial == .refusal(.userDisabled))
            #expect(try await service.replacePassword(of: email, old: "wrong").denial == .refusal(.userDisabled))
        }
    }

    @Test func `a refresh keeps the time of the sign-in and uses the account's present data`() async throws {
        try await TestService.with { service in
            let account = try await service.signUp(service.newAddress()).value
            let signedInAt = service.clock.now.secondsSinceEpoch
            service.clock.advance(seconds: 4000)
            try await service.edit(account.user.id) { user in
                user.profile.displayName = "Ann"
                user.customAttributes = #"{"role":"editor","name":"Custom","sub":"forged","email":"x@example.com"}"#
            }
            let refreshed = try await service.refresh(account.tokens.refreshToken).value
            #expect(refreshed.refreshToken == account.tokens.refreshToken)
            #expect(refreshed.user == account.user.id && refreshed.projectNumber == 424_242)
            let claims = try claims(refreshed.idToken)
            #expect(claims["auth_time"]?.integer == signedInAt)
            #expect(claims["iat"]?.integer == service.clock.now.secondsSinceEpoch)
            #expect(claims["exp"]?.integer == service.clock.now.secondsSinceEpoch + 3600)
            #expect(claims["role"] == "editor" && claims["name"] == "Custom", "custom claims replace the profile's")
            #expect(claims["sub"]?.string == account.user.id.rawValue, "but not reserved claims")
            #expect(claims["email"]?.string == account.user.email?.address.lowercased)
            #expect(try await service.user(account.user.id)?.lastRefreshAt == service.clock.now)
            _ = try await service.refresh(account.tokens.refreshToken).value
        }
    }

    @Test func `ending sessions ends all of them, also those of the same second`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let other = try await service.signIn(email).value
            let now = service.clock.now
            try await service.edit(account.user.id) { $0.endSessions(at: now) }
            for tokens in [account.tokens, other.tokens] {
                #expect(try await service.lookUp(tokens.idToken).denial == .refusal(.tokenExpired))
                #expect(try await service.refresh(tokens.refreshToken).denial == .refusal(.tokenExpired))
            }
            let fresh = try await service.signIn(email).value
            _ = try await service.lookUp(fresh.tokens.idToken).value
            _ = try await service.refresh(fresh.tokens.refreshToken).value
        }
    }

    @Test func `the tokens of an ended, disabled or deleted account are refused with the documented error`()
        async throws
    {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let now = service.clock.now
            try await service.edit(account.user.id) { $0.endSessions(at: now) }
            #expect(try await service.lookUp(account.tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.refresh(account.tokens.refreshToken).denial == .refusal(.tokenExpired))

            try await service.edit(account.user.id) { $0.isDisabled = true }
            #expect(try await service.lookUp(account.tokens.idToken).denial == .refusal(.userDisabled))
            #expect(try await service.refresh(account.tokens.refreshToken).denial == .refusal(.userDisabled))
            #expect(try await service.delete(account.tokens.idToken).denial == .refusal(.userDisabled))

            let gone = try await service.signUpAnonymously()
            _ = try await service.delete(gone.tokens.idToken).value
            service.clock.advance(seconds: 3600)
            #expect(try await service.lookUp(gone.tokens.idToken).denial == .refusal(.userNotFound))
            #expect(try await service.refresh(gone.tokens.refreshToken).denial == .refusal(.userNotFound))
        }
    }

    @Test func `an ID token expires after exactly an hour`() async throws {
        try await TestService.with { service in
            let account = try await service.signUpAnonymously()
            service.clock.advance(seconds: 3599)
            _ = try await service.lookUp(account.tokens.idToken).value
            service.clock.advance(seconds: 1)
            #expect(try await service.lookUp(account.tokens.idToken).denial == .refusal(.tokenExpired))
            _ = try await service.refresh(account.tokens.refreshToken).value
        }
    }

    @Test func `setting or changing a password does not make the session more recent`() async throws {
        try await TestService.with { service in
            func change(_ session: IssuedTokens, to password: String) async throws -> Outcome<Updated> {
                var update = UpdateAccount()
                update.password = password
                return try await outcome(
                    await service.operations
                        .updateAccount(update, idToken: session.idToken, tenant: .project)
                )
            }
            let account = try await service.signIn(service.credential(.gitHub, subject: "1")).signedIn()
            service.clock.advance(seconds: 140)
            let linked = try await service.link(service.newAddress(), idToken: account.tokens.idToken).value
            service.clock.advance(seconds: 140)
            let changed = try #require(try await change(linked.tokens, to: "another horse").value.tokens)
            service.clock.advance(seconds: 140)
            #expect(try await change(changed, to: "a third horse").denial == .refusal(.credentialTooOld))
            // The session lives, and third parties accept it as begun after the change.
            let refreshed = try await service.refresh(changed.refreshToken).value
            let validSince = try #require(try await service.user(account.user.id)).validSince.secondsSinceEpoch
            #expect(try #require(claims(refreshed.idToken)["auth_time"]?.integer) >= validSince)
        }
    }

    @Test func `deleting an account and setting a password need a recent sign-in`() async throws {
        try await TestService.with { service in
            let account = try await service.signUp(service.newAddress()).value
            service.clock.advance(seconds: 300)
            let moved = try await service.link(service.newAddress(), idToken: account.tokens.idToken).value
            service.clock.advance(seconds: 301)
            #expect(try await service.delete(moved.tokens.idToken).denial == .refusal(.credentialTooOld))
            let linking = try await service.link(service.newAddress(), idToken: moved.tokens.idToken)
            #expect(linking.denial == .refusal(.credentialTooOld))
            let refreshed = try await service.refresh(moved.tokens.refreshToken).value
            let denial = try await service.delete(refreshed.idToken).denial
            #expect(denial == .refusal(.credentialTooOld), "a new token is not a new sign-in")

            let email = try #require(moved.user.email?.address)
            let fresh = try await service.signIn(email).value
            _ = try await service.delete(fresh.tokens.idToken).value
        }
    }

    @Test func `an anonymous account needs no recent sign-in, because it has no way to sign in again`() async throws {
        try await TestService.with { service in
            let first = try await service.signUpAnonymously()
            let second = try await service.signUpAnonymously()
            service.clock.advance(seconds: 3000)
            _ = try await service.link(service.newAddress(), idToken: first.tokens.idToken).value
            _ = try await service.delete(second.tokens.idToken).value
        }
    }

    @Test func `a deleted account frees its address, and a new account with it has another id`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            #expect(try await service.delete(account.tokens.idToken).value == account.user.id)
            #expect(try await service.signIn(email).denial == .refusal(.emailNotFound))
            #expect(try await service.delete(account.tokens.idToken).denial == .refusal(.userNotFound))
            let next = try await service.signUp(email).value
            #expect(next.user.id != account.user.id)
            #expect(try await service.refresh(account.tokens.refreshToken).denial == .refusal(.userNotFound))
            #expect(try await service.events(of: account.user.id) == ["user-created P11", "user-deleted D5"])
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a token of one tenant is refused for another`() async throws {
        try await TestService.with { service in
            let account = try await service.signUpAnonymously()
            let elsewhere = TenantID("elsewhere")
            let lookUp = try await outcome(
                await service.operations.lookUp(idToken: account.tokens.idToken, tenant: elsewhere)
            )
            #expect(lookUp.denial == .tenantMismatch)
        }
    }

    @Test func `another process accepts the tokens and sees the changes`() async throws {
        try await TestService.withTwo { first, second in
            let account = try await first.signUp(first.newAddress()).value
            _ = try await second.lookUp(account.tokens.idToken).value
            let refreshed = try await second.refresh(account.tokens.refreshToken).value
            _ = try await first.delete(refreshed.idToken).value
            #expect(try await second.lookUp(account.tokens.idToken).denial == .refusal(.userNotFound))
        }
    }
}
