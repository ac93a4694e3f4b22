import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Races of sign-ups that wait for their mailbox.
struct PendingSignUpTests {
    private static let settings: JSONValue = {
        guard var members = ProjectSettings.developmentDefaults.object, var concord = members["concord"]?.object else {
            return .null
        }
        concord["signUp"] = ["requires": "mailbox"]
        members["concord"] = .object(concord)
        members["linkPolicy"] = ["preset": "strict", "unprovenAddress": "confirm"]
        return .object(members)
    }()

    private struct Mailed {
        let handle: String
        let secret: String
        let code: String?
    }

    /// The newest mail of a sign-up.
    private func mailed(_ service: TestService) async throws -> Mailed {
        let messages = try await service.operations.inbox(tenant: .project)
        let mail = try #require(messages.first { $0.type == "SIGN_UP_MAILBOX" })
        let link = try #require(mail.text.firstMatch(of: /#signUp=([\w-]+)&proof=([\w-]+)/))
        return Mailed(handle: String(link.1), secret: String(link.2), code: mail.code)
    }

    private func begin(_ service: TestService, _ email: EmailAddress) async throws -> Mailed {
        service.clock.advance(seconds: 1)
        #expect(try await service.signUp(email).denial == .refusal(.mailboxUnproven))
        return try await mailed(service)
    }

    private func prove(_ service: TestService, _ mail: Mailed) async throws -> String {
        try await service.operations
            .proveSignUp(mail.handle, .linkSecret(mail.secret), from: nil, tenant: .project).proofToken
    }

    /// Proves the mailbox and continues.
    private func create(_ service: TestService, _ mail: Mailed) async throws -> Outcome<SignedIn> {
        try await outcome(await proveAndCreate(service, mail))
    }

    private func proveAndCreate(_ service: TestService, _ mail: Mailed) async throws -> SignedIn {
        try await service.operations.createAccount(
            ofSignUp: mail.handle,
            proofToken: prove(service, mail),
            password: TestService.password,
            displayName: nil,
            from: .unknown,
            ChangeRequest(tenant: .project)
        )
    }

    private func accounts(_ service: TestService) async throws -> Int64 {
        try await service.database.count("SELECT count(*) FROM users")
    }

    @Test func `of 64 provers who continue one sign-up, one creates the account`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let mail = try await begin(first, first.newAddress())
            let outcomes = try await first.race(with: second) { service, _ in
                try await create(service, mail)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            // The others find the sign-up used, or the address taken.
            let losses: [Denial?] = [nil, .pendingSignUp(.unusable), .refusal(.emailExists)]
            #expect(outcomes.allSatisfy { losses.contains($0.denial) })
            #expect(try await accounts(first) == 1)
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == 1)
            #expect(
                try await first.database.count("SELECT count(*) FROM pending_sign_ups WHERE consumed_by IS NOT NULL")
                    == 1
            )
        }
    }

    @Test func `of 64 concurrent guesses at a code, at most five are answered`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let credential = first.credential(.gitHub, subject: "1", email: "ann@example.com")
            guard case .needsMailbox(_, let handle) = try await first.signIn(credential).success().ending else {
                Issue.record("no confirmation")
                return
            }
            let outcomes = try await first.race(with: second) { service, caller in
                try await outcome(
                    await service.operations.proveSignUp(
                        handle,
                        .code("0000\(1000 + caller)"),
                        from: nil,
                        tenant: .project
                    )
                )
            }
            let wrong = outcomes.count { $0.denial == .pendingSignUp(.wrongAnswer) }
            #expect(wrong <= 5)
            #expect(
                outcomes.count { $0.denial == .pendingSignUp(.tooManyAttempts) } >= outcomes.count - 5 - 1,
                "one guess may be right"
            )
            let attempts = try await first.database.count("SELECT max(attempts)::bigint FROM pending_sign_ups")
            #expect(attempts == 5)
        }
    }

    @Test func `of sign-ups for one address that are proven at once, one makes the account`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = first.newAddress()
            var mails: [Mailed] = []
            for _ in 1...16 { mails.append(try await begin(first, email)) }
            #expect(Set(mails.map(\.handle)).count == 16)
            let sent = mails
            let outcomes = try await first.race(with: second, count: 16) { service, caller in
                try await create(service, sent[caller])
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.allSatisfy { $0.denial == nil || $0.denial == .refusal(.emailExists) })
            #expect(try await accounts(first) == 1)
            #expect(
                try await first.database.count("SELECT count(*) FROM pending_sign_ups WHERE consumed_at IS NOT NULL")
                    == 1,
                "a refused sign-up is not used"
            )
        }
    }

    @Test func `a confirmed credential and a password for one address race: one account, with one of them`()
        async throws
    {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            let password = try await begin(first, email)
            first.clock.advance(seconds: 1)
            let credential = first.credential(.gitHub, subject: "1", email: email.raw)
            _ = try await first.signIn(credential)
            let provider = try await mailed(first)
            #expect(provider.handle != password.handle)
            let outcomes = try await first.race(with: second, count: 32) { service, caller in
                let mail = caller % 4 < 2 ? password : provider
                return try await create(service, mail)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(try await accounts(first) == 1)
            let methods = try await first.database.count(
                "SELECT (SELECT count(*) FROM password_credentials) + (SELECT count(*) FROM linked_providers)"
            )
            #expect(methods == 1)
        }
    }

    @Test func `64 callers link one confirmed credential: one conflict, which one of them can resolve`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            let mail = try await begin(first, email)
            _ = try await create(first, mail).value
            first.clock.advance(seconds: 1)
            _ = try await first.signIn(first.credential(.gitHub, subject: "1", email: email.raw))
            let waiting = try await mailed(first)
            let token = try await prove(first, waiting)
            let outcomes = try await first.race(with: second) { service, _ in
                try await outcome(
                    await service.operations.linkSignUp(
                        waiting.handle,
                        proofToken: token,
                        ChangeRequest(tenant: .project)
                    )
                )
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(try await first.database.count("SELECT count(*) FROM conflicts") == 1)
            for case .success(let linkable) in outcomes {
                let resolved = try await first.operations.resolveConflict(
                    linkable.pendingToken,
                    proofToken: linkable.conflict.proofToken,
                    ChangeRequest(tenant: .project)
                )
                #expect(resolved.linkedProvider == .gitHub)
            }
            #expect(try await first.database.count("SELECT count(*) FROM linked_providers") == 1)
        }
    }

    @Test func `a conflict about a credential that waited ends no later than its sign-up`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            var accounts: [SignedIn] = []
            for name in ["ann", "bob"] {
                let email = try #require(EmailAddress("\(name)@example.com"))
                accounts.append(try await create(service, try await begin(service, email)).value)
            }
            service.clock.advance(seconds: 1)
            _ = try await service.signIn(service.credential(.gitHub, subject: "1", email: "ann@example.com"))
            let waiting = try await mailed(service)
            service.clock.advance(seconds: 200)
            _ = try await service.signIn(pendingToken: waiting.handle, idToken: accounts[1].tokens.idToken)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 1)
            let late = try await service.database.count(
                """
                SELECT count(*) FROM conflicts WHERE expires_at > (
                    SELECT expires_at FROM pending_sign_ups WHERE sealed_credential IS NOT NULL
                )
                """
            )
            #expect(late == 0)
        }
    }

    @Test func `no secret of a sign-up is stored in the clear, and the password not at all`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            let mail = try await begin(service, service.newAddress())
            let stored = try await service.database.rows(
                "SELECT pending_sign_ups::text FROM pending_sign_ups" as Query<String>
            )
            #expect(stored.count == 1)
            for secret in [mail.handle, mail.secret, TestService.password] {
                #expect(!stored.contains { $0.contains(secret) })
            }
        }
    }
}
