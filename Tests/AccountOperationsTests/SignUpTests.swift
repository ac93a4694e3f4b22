import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Testing

@Suite(.service)
struct SignUpTests {
    @Test func `a sign-up creates an account with an unproven address and a session`() async throws {
        let service = try TestService.shared
        let email = service.newAddress()
        let result = try await service.signUp(email).value
        #expect(result.isNewUser)
        let user = try #require(try await service.user(result.user.id))
        #expect(user.id.rawValue.count == 28)
        #expect(user.email == AccountEmail(address: email, proof: nil))
        #expect(user.createdAt == service.clock.now && user.lastLoginAt == service.clock.now)
        #expect(user.passwordUpdatedAt == service.clock.now)
        #expect(try await service.events(of: user.id) == ["user-created P11"])
        #expect(try await service.sessionCount(of: user.id) == 1)

        let claims = try claims(result.tokens.idToken)
        #expect(claims["sub"]?.string == user.id.rawValue && claims["user_id"]?.string == user.id.rawValue)
        #expect(claims["email"]?.string == email.lowercased && claims["email_verified"] == false)
        #expect(claims["auth_time"]?.integer == service.clock.now.secondsSinceEpoch)
        #expect(claims["firebase"]?["sign_in_provider"] == "password")
        #expect(claims["firebase"]?["identities"] == ["email": [.string(email.lowercased)]])
        #expect(try await service.database.inconsistencies() == [])
    }

    @Test func `an anonymous account has no address and no identity`() async throws {
        let service = try TestService.shared
        let result = try await service.signUpAnonymously()
        #expect(result.user.account.isAnonymous)
        let claims = try claims(result.tokens.idToken)
        #expect(claims["provider_id"] == "anonymous")
        #expect(claims["firebase"]?["identities"] == [:])
        #expect(claims["email"] == nil && claims["email_verified"] == nil)
        #expect(try await service.events(of: result.user.id) == ["user-created P13"])
    }

    @Test func `an address is taken in any case of letters`() async throws {
        let service = try TestService.shared
        let email = service.newAddress()
        _ = try await service.signUp(email).value
        let shouted = try #require(EmailAddress(email.raw.uppercased()))
        #expect(try await service.signUp(shouted).denial == .refusal(.emailExists))
    }

    @Test func `a taken address is reported before a weak password`() async throws {
        let service = try TestService.shared
        let email = service.newAddress()
        #expect(try await service.signUp(email, password: "12345").denial == .weakPassword(lengthMin: 6))
        #expect(
            try await service.signUp(email, password: String(repeating: "x", count: 4097)).denial == .passwordTooLong
        )
        _ = try await service.signUp(email, password: "123456").value
        #expect(try await service.signUp(email, password: "12345").denial == .refusal(.emailExists))
    }

    @Test func `the length of a password counts characters`() async throws {
        let service = try TestService.shared
        #expect(try await service.signUp(service.newAddress(), password: "🙂🙂🙂🙂🙂").denial == .weakPassword(lengthMin: 6))
        let email = service.newAddress()
        _ = try await service.signUp(email, password: "🙂🙂🙂🙂🙂🙂").value
        _ = try await service.signIn(email, password: "🙂🙂🙂🙂🙂🙂").value
    }

    @Test func `linking a password keeps the id, ends old sessions and opens one`() async throws {
        let service = try TestService.shared
        let anonymous = try await service.signUpAnonymously()
        let email = service.newAddress()
        let linked = try await service.link(email, idToken: anonymous.tokens.idToken).value
        #expect(linked.user.id == anonymous.user.id && !linked.isNewUser)
        #expect(try await service.events(of: linked.user.id) == ["method-linked P4", "user-created P13"])
        #expect(try await service.sessionCount(of: linked.user.id) == 1)

        #expect(try await service.refresh(anonymous.tokens.refreshToken).denial == .refusal(.tokenExpired))
        #expect(try await service.lookUp(anonymous.tokens.idToken).denial == .refusal(.tokenExpired))
        _ = try await service.refresh(linked.tokens.refreshToken).value
        _ = try await service.lookUp(linked.tokens.idToken).value
        #expect(try await service.signIn(email).value.user.id == anonymous.user.id)
    }

    @Test func `linking another account's address is refused, and linking the own address sets the password`()
        async throws
    {
        let service = try TestService.shared
        let email = service.newAddress()
        let owner = try await service.signUp(email).value
        let anonymous = try await service.signUpAnonymously()
        #expect(try await service.link(email, idToken: anonymous.tokens.idToken).denial == .refusal(.emailExists))
        let again = try await service.link(email, password: "another one", idToken: owner.tokens.idToken).value
        #expect(again.user.id == owner.user.id)
        #expect(try await service.signIn(email).denial == .refusal(.invalidPassword))
        _ = try await service.signIn(email, password: "another one").value
    }

    @Test func `linking another address stores the first`() async throws {
        let service = try TestService.shared
        let (first, second, third) = (service.newAddress(), service.newAddress(), service.newAddress())
        let account = try await service.signUp(first).value
        let moved = try await service.link(second, idToken: account.tokens.idToken).value
        #expect(moved.user.initialEmail == first.raw)
        let movedAgain = try await service.link(third, idToken: moved.tokens.idToken).value
        #expect(movedAgain.user.initialEmail == first.raw)
        // The recovery mail reserves the address for its owner.
        #expect(try await service.signUp(first).denial == .refusal(.emailExists))
        #expect(try await service.database.inconsistencies() == [])
    }

    @Test func `linking checks the token like every endpoint`() async throws {
        let service = try TestService.shared
        let email = service.newAddress()
        #expect(try await service.link(email, idToken: "nonsense").denial == .invalidIDToken)
        let anonymous = try await service.signUpAnonymously()
        try await service.edit(anonymous.user.id) { $0.isDisabled = true }
        #expect(try await service.link(email, idToken: anonymous.tokens.idToken).denial == .refusal(.userDisabled))
        let gone = try await service.signUpAnonymously()
        _ = try await service.delete(gone.tokens.idToken).value
        #expect(try await service.link(email, idToken: gone.tokens.idToken).denial == .refusal(.userNotFound))
    }
}

/// Sign-ups that the project's settings forbid.
struct SignUpPolicyTests {
    @Test func `nothing is allowed until it is enabled`() async throws {
        try await TestService.with(settings: ProjectSettings.productionDefaults) { service in
            let email = service.newAddress()
            #expect(try await service.signUp(email).denial == .refusal(.operationNotAllowed))
            #expect(try await service.signIn(email).denial == .refusal(.operationNotAllowed))
            let anonymous = try await outcome(await service.operations.signUp(.anonymous, tenant: .project))
            #expect(anonymous.denial == .refusal(.anonymousSignUpDisabled))
            #expect(try await service.database.accountRowCounts().values.allSatisfy { $0 == 0 })
        }
    }

    @Test func `a project can forbid clients to sign up and to delete their accounts`() async throws {
        let settings: JSONValue = [
            "signIn": ["email": ["enabled": true], "anonymous": ["enabled": true]],
            "client": ["permissions": ["disabledUserSignup": true]],
        ]
        try await TestService.with(settings: settings) { service in
            #expect(try await service.signUp(service.newAddress()).denial == .refusal(.signUpDisabled))
            let anonymous = try await outcome(await service.operations.signUp(.anonymous, tenant: .project))
            #expect(anonymous.denial == .refusal(.signUpDisabled))
        }
        let keeping: JSONValue = [
            "signIn": ["email": ["enabled": true]], "client": ["permissions": ["disabledUserDeletion": true]],
        ]
        try await TestService.with(settings: keeping) { service in
            let account = try await service.signUp(service.newAddress()).value
            #expect(try await service.delete(account.tokens.idToken).denial == .refusal(.selfDeletionDisabled))
        }
    }

    @Test func `with enumeration protection, an unknown address and a wrong password get the same answer`() async throws
    {
        try await TestService.with(settings: ["signIn": ["email": ["enabled": true]]]) { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            #expect(try await service.signIn(email, password: "wrong").denial == .refusal(.invalidLoginCredentials))
            let unknown = service.newAddress()
            #expect(try await service.signIn(unknown).denial == .refusal(.invalidLoginCredentials))
        }
    }
}
