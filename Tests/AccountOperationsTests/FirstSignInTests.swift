import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// First sign-ins with a provider that ask before they create an account, and races about their handles.
struct FirstSignInTests {
    private static let ada = "ada@gmail.com"

    private func google(_ service: TestService, _ subject: String = "ada") -> ProviderCredential {
        service.credential(.google, subject: subject, email: Self.ada, isVerified: true, name: "Ada")
    }

    private func ask(
        _ service: TestService,
        _ source: SignInWithIdp.Source,
        createsUsers: Bool = true,
        tenant: TenantID = .project
    ) async throws -> Outcome<SignInWithIdp.Result> {
        try await outcome(
            await service.operations.signInWithIdp(
                SignInWithIdp(source: source, idToken: nil, createsUsers: createsUsers, asksFirst: true),
                tenant: tenant
            )
        )
    }

    /// The handle of a first sign-in.
    private func handle(_ service: TestService, _ credential: ProviderCredential) async throws -> String {
        guard case .asksFirst(let handle) = try await ask(service, .credential(credential)).success().ending else {
            throw UnexpectedEnding("the sign-in did not ask")
        }
        return handle
    }

    private func accounts(_ service: TestService) async throws -> Int64 {
        try await service.database.count("SELECT count(*) FROM users")
    }

    // MARK: Races

    @Test func `of 64 callers with the handle of one first sign-in, one creates the account and all enter it`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let handle = try await handle(first, google(first))
            #expect(try await accounts(first) == 0)
            let signedIn = try await first.race(with: second) { service, _ in
                try await service.signIn(pendingToken: handle).signedIn()
            }
            #expect(Set(signedIn.map(\.user.id)).count == 1)
            #expect(signedIn.count(where: \.isNewUser) == 1)
            #expect(try await accounts(first) == 1)
            #expect(try await first.database.count("SELECT count(*) FROM linked_providers") == 1)
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == 64)
            #expect(
                try await first.database.count("SELECT count(*) FROM account_events WHERE kind = 'user-created'") == 1
            )
            try await first.database.expectConsistency()
        }
    }

    @Test func `if callers create an account and link to another one at once, one account gets the identity`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let bob = try await first.signUp("bob@example.com")
            let handle = try await handle(first, first.credential(.gitHub, subject: "1"))
            let outcomes = try await first.race(with: second) { service, caller in
                try await service.signIn(
                    pendingToken: handle,
                    idToken: caller % 4 < 2 ? bob.tokens.idToken : nil
                ).success()
            }
            var entered: Set<UserID> = []
            for outcome in outcomes {
                switch outcome.ending {
                case .signedIn(let signedIn): entered.insert(signedIn.user.id)
                // The identity is another account's, or Bob's already.
                case .refused(let refusal, _): #expect(refusal == .federatedIdentityAlreadyLinked)
                case .secondFactorRequired, .needsConfirmation, .needsMailbox, .asksFirst:
                    Issue.record("\(outcome.ending)")
                }
            }
            #expect(entered.count == 1)
            let owners: [String?] = try await first.database.rows("SELECT user_id FROM linked_providers")
            #expect(owners.compactMap(\.self) == entered.map(\.rawValue))
            #expect(try await accounts(first) == (entered == [bob.user.id] ? 1 : 2))
            try await first.database.expectConsistency()
        }
    }

    @Test func `if callers ask while others sign in, no question creates an account`() async throws {
        try await TestService.withTwo { first, second in
            let outcomes = try await first.race(with: second) { service, caller in
                let credential = google(service)
                return caller % 4 < 2
                    ? try await service.signIn(credential).success()
                    : try await ask(service, .credential(credential)).success()
            }
            var entered: Set<UserID> = []
            for (caller, outcome) in outcomes.enumerated() {
                if case .signedIn(let signedIn) = outcome.ending {
                    entered.insert(signedIn.user.id)
                } else {
                    guard case .asksFirst = outcome.ending else {
                        Issue.record("\(caller): \(outcome.ending)")
                        continue
                    }
                }
            }
            #expect(entered.count == 1)
            #expect(try await accounts(first) == 1)
            try await first.database.expectConsistency()
        }
    }

    // MARK: The handle

    @Test func `a question writes nothing`() async throws {
        try await TestService.with { service in
            let before = try await service.database.rowCounts()
            _ = try await handle(service, google(service))
            #expect(try await service.database.rowCounts() == before)
        }
    }

    @Test func `a handle expires after 10 minutes, and asking again does not extend it`() async throws {
        try await TestService.with { service in
            let first = try await handle(service, google(service))
            service.clock.advance(seconds: 500)
            let again = try await ask(service, .pendingToken(first)).success().ending
            guard case .asksFirst(let second) = again else {
                Issue.record("\(again)")
                return
            }
            service.clock.advance(seconds: 99)
            _ = try await ask(service, .pendingToken(second)).success()
            service.clock.advance(seconds: 1)
            for handle in [first, second] {
                #expect(try await service.signIn(pendingToken: handle).denial == .invalidPendingToken)
            }
            #expect(try await accounts(service) == 0)
            let anew = try await handle(service, google(service))
            #expect(try await service.signIn(pendingToken: anew).signedIn().isNewUser)
        }
    }

    @Test func `a handle of another tenant or process is invalid, and so is changed text`() async throws {
        try await TestService.with { service in
            let handle = try await handle(service, google(service))
            var changed = Array(handle)
            changed[changed.count / 2] = changed[changed.count / 2] == "A" ? "B" : "A"
            for text in [String(changed), handle + "AAAA", String(handle.dropFirst(4)), "", "x"] {
                #expect(try await service.signIn(pendingToken: text).denial == .invalidPendingToken)
            }
            let elsewhere = try await ask(service, .pendingToken(handle), tenant: TenantID("elsewhere"))
            #expect(elsewhere.denial == .invalidPendingToken)
            #expect(try await accounts(service) == 0)
        }
    }

    @Test func `a provider that was disabled or got another issuer meanwhile refuses its handles`() async throws {
        for isDisabled in [true, false] {
            try await TestService.with { service in
                let provider = try #require(ProviderID("oidc.work"))
                var config = ProviderConfig(provider: provider)
                config.isEnabled = true
                config.clientID = "client"
                config.issuer = "https://id.example"
                #expect(try await service.operations.addProviderConfig(config) == nil)
                let claims: JSONValue = [
                    "sub": "1", "email": .string(Self.ada), "iss": "https://id.example", "aud": "client",
                ]
                let handle = try await handle(service, ProviderCredential(provider: provider, idToken: claims.text))
                _ = try await service.operations.updateProviderConfig(provider) { config in
                    if isDisabled { config.isEnabled = false } else { config.issuer = "https://new.example" }
                }.get()
                #expect(
                    try await service.signIn(pendingToken: handle).denial == .refusal(.operationNotAllowed)
                )
                let bob = try await service.signUp("bob@example.com")
                #expect(
                    try await service.signIn(pendingToken: handle, idToken: bob.tokens.idToken).denial
                        == .refusal(.operationNotAllowed)
                )
            }
        }
    }

    @Test func `a session counts from the question, and a used token does not reauthenticate while its handle lives`()
        async throws
    {
        try await TestService.with { service in
            let now = service.clock.now.secondsSinceEpoch
            let claims: JSONValue = [
                "sub": "ada", "email": .string(Self.ada), "email_verified": true, "iat": .integer(now),
                "exp": .integer(now + 60),
            ]
            let handle = try await handle(service, ProviderCredential(provider: .google, idToken: claims.text))
            service.clock.advance(seconds: 400)
            let session = try await service.signIn(pendingToken: handle).signedIn()
            #expect(session.isNewUser)
            #expect(try AccountOperationsTests.claims(session.tokens.idToken)["auth_time"]?.integer == now)
            let kept = try await service.database.count(
                "SELECT count(*) FROM used_id_tokens WHERE expires_at >= to_timestamp(\(now + 600))"
            )
            #expect(kept == 1)
            let again = try await ask(service, .pendingToken(handle), createsUsers: false)
            #expect(again.denial == .invalidCredential(.usedBefore))
        }
    }

    @Test func `the handle of a very long credential is short enough to be used`() async throws {
        try await TestService.with { service in
            var credential = google(service)
            credential.accessToken = String(repeating: "a", count: 200_000)
            let handle = try await handle(service, credential)
            #expect(handle.utf8.count < 128 * 1024)
            let session = try await service.signIn(pendingToken: handle).signedIn()
            #expect(session.isNewUser && session.user.email?.isVerified == true)
        }
    }
}
