import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import MetricsTestKit
import Postgres
import Testing

@testable import AccountOperations

/// The metrics of operations, compared with the tables.
struct MetricsTests {
    private func purge(_ service: TestService, _ metrics: OperationMetrics) -> Purge {
        Purge(
            store: service.operations.store,
            project: service.operations.project,
            effects: service.operations.effects,
            keepSeconds: 7 * 86_400,
            rowsMax: 2,
            metrics: metrics,
            databaseClock: { service.clock.now }
        )
    }

    private func conflicts(_ metrics: TestMetrics, _ step: OperationMetrics.ConflictStep, _ account: String) -> Int64 {
        metrics.counterTotal(
            label: OperationMetrics.conflicts,
            dimensions: [("step", step.rawValue), ("provider", "twitter.com"), ("account", account)]
        )
    }

    private func decisions(_ metrics: TestMetrics, _ rule: Rule) -> Int64 {
        metrics.counterTotal(label: OperationMetrics.decisions, dimensions: [("rule", rule.rawValue)])
    }

    @Test func `each conflict is counted once when it opens and once when it ends, over all servers`() async throws {
        let recorded = TestMetrics()
        let metrics = OperationMetrics(recorded)
        try await TestService.withTwo(metrics: metrics) { service, other in
            // Resolved, declined, superseded and abandoned, five of each.
            for number in 1...5 {
                for fate in ["resolved", "declined", "superseded", "abandoned"] {
                    let email = "\(fate)\(number)@icloud.com"
                    let owner = try await service.signUp(email)
                    let handle = try await service.openConflict(with: email, subject: "\(fate)\(number)")
                    #expect(try await service.openConflict(with: email, subject: "\(fate)\(number)") != handle)
                    switch fate {
                    case "resolved":
                        let proven = try await service.prove(handle, by: owner).success()
                        service.clock.advance(seconds: 40)
                        _ = try await service.resolve(handle, proven.proofToken).success()
                    case "declined": _ = try await service.decline(handle).success()
                    case "superseded":
                        // Apple is authoritative for the address, and it was unproven, so the account changes owner.
                        let apple = service.credential(.apple, subject: email, email: email, isVerified: true)
                        _ = try await service.signIn(apple).signedIn()
                    default: break
                    }
                }
            }
            #expect(conflicts(recorded, .opened, "password") == 20)
            #expect(conflicts(recorded, .proven, "password") == 5)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 20)

            // Live conflicts are not counted.
            var early = purge(service, metrics)
            _ = try await early.run()
            #expect(conflicts(recorded, .abandoned, "password") == 0)
            service.clock.advance(seconds: 86_400)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        var purge = self.purge(caller.isMultiple(of: 2) ? service : other, metrics)
                        for _ in 0..<3 { _ = try await purge.run() }
                    }
                }
                try await group.waitForAll()
            }
            for step in [OperationMetrics.ConflictStep.resolved, .declined, .superseded, .abandoned] {
                #expect(conflicts(recorded, step, "password") == 5, "\(step)")
            }
            #expect(try await service.database.count("SELECT count(*) FROM conflicts WHERE is_counted") == 20)
            let resolution = try recorded.expectTimer(
                OperationMetrics.resolutionSeconds,
                [("provider", "twitter.com")]
            )
            #expect(resolution.values == Array(repeating: 40_000_000_000, count: 5))
        }
    }

    @Test func `every committed decision is counted under the rule of its event`() async throws {
        let recorded = TestMetrics()
        let metrics = OperationMetrics(recorded)
        try await TestService.withTwo(metrics: metrics) { service, other in
            let ada = try await service.signUp("ada@example.com")
            _ = try await service.race(with: other, count: 16) { service, _ in
                try await service.signIn("ada@example.com").success()
            }
            #expect(try await service.signIn("ada@example.com", "wrong").denial != nil)
            let handle = try await service.openConflict(with: "ada@example.com")
            _ = try await service.decline(handle).success()
            _ = try await service.operations.deleteAccount(ada.user.id, tenant: .project)
            let stored = try await service.database.rows(
                "SELECT rule || ' ' || count(*) FROM account_events GROUP BY rule ORDER BY rule" as Query<String?>
            ).compactMap(\.self)
            #expect(stored == ["D5 1", "I11 1", "J13 1", "P11 1", "S6 16"])
            for rule in Rule.allCases where rule != .wrongPassword {
                let expected = stored.first { $0.hasPrefix(rule.rawValue + " ") }?.split(separator: " ").last
                #expect(decisions(recorded, rule) == expected.flatMap { Int64($0) } ?? 0, "\(rule)")
            }
            #expect(decisions(recorded, .wrongPassword) == 1, "a refused sign-in")
        }
    }

    @Test func `sign-ins are counted by method and result, without links to a session`() async throws {
        let recorded = TestMetrics()
        func count(_ method: String, _ result: OperationMetrics.SignInResult) -> Int64 {
            recorded.counterTotal(
                label: OperationMetrics.signIns,
                dimensions: [("method", method), ("result", result.rawValue)]
            )
        }
        try await TestService.with(metrics: OperationMetrics(recorded)) { service in
            let ada = try await service.signUp("ada@example.com")
            #expect(count("password", .newAccount) == 1)
            _ = try await service.signIn("ada@example.com").success()
            #expect(count("password", .success) == 1)
            #expect(try await service.signIn("ada@example.com", "wrong").denial != nil)
            #expect(count("password", .refused) == 1)
            _ = try await service.signUpAnonymously()
            #expect(count("anonymous", .newAccount) == 1)

            // A provider: a new account, a sign-in, a conflict and its resolution, a refusal.
            let gitHub = service.credential(.gitHub, subject: "1", email: "eve@example.com")
            _ = try await service.signIn(gitHub).signedIn()
            _ = try await service.signIn(gitHub).signedIn()
            #expect(count("github.com", .newAccount) == 1 && count("github.com", .success) == 1)
            let handle = try await service.openConflict(with: "ada@example.com")
            #expect(count("twitter.com", .conflict) == 1)
            let proven = try await service.prove(handle, by: ada).success()
            _ = try await service.resolve(handle, proven.proofToken).success()
            #expect(count("twitter.com", .success) == 1)
            #expect(try await service.signIn(pendingToken: "forged").denial != nil)
            #expect(count("other", .refused) == 1)

            // A link changes an account, and is no sign-in.
            let bob = try await service.signUp("bob@example.com")
            let google = service.credential(.google, subject: "2")
            _ = try await service.signIn(google, idToken: bob.tokens.idToken).signedIn()
            _ = try await service.signIn(google, idToken: ada.tokens.idToken)
            for result in OperationMetrics.SignInResult.allCases { #expect(count("google.com", result) == 0) }

            _ = try await service.askForLink("eve@example.com").success()
            let link = EmailLinkSignIn(
                email: "eve@example.com",
                code: try #require(try await service.operations.mailsWithUsableCodes(tenant: .project).last?.code),
                idToken: nil
            )
            #expect(
                try await outcome(await service.operations.signInWithEmailLink(link, tenant: .project)).denial == nil
            )
            #expect(count("email_link", .success) + count("email_link", .newAccount) == 1)
            #expect(
                try await outcome(await service.operations.signInWithEmailLink(link, tenant: .project)).denial != nil
            )
            #expect(count("email_link", .refused) == 1)

            let code = try await service.phoneCode("+16505553434")
            #expect(try await service.signInByPhone(code.sessionInfo, code.code).entered?.isNewUser == true)
            #expect(count("phone", .newAccount) == 1)

            _ = try await service.signInWithCustomToken(bob.user.id).success()
            #expect(count("custom", .success) == 1)
        }
    }

    @Test func `every refusal by a rule is counted once, on every route`() async throws {
        let recorded = TestMetrics()
        try await TestService.with(metrics: OperationMetrics(recorded)) { service in
            let operations = service.operations
            func counts() -> [Rule: Int64] {
                Dictionary(uniqueKeysWithValues: Rule.allCases.map { ($0, decisions(recorded, $0)) })
            }
            func expect(
                _ rule: Rule,
                sourceLocation: SourceLocation = #_sourceLocation,
                _ refused: () async throws -> Denial?
            ) async throws {
                let before = counts()
                #expect(try await refused() != nil, sourceLocation: sourceLocation)
                let increases = counts().filter { $0.value != before[$0.key] }.map { ($0.key, $0.value) }
                #expect(increases.map(\.0) == [rule], sourceLocation: sourceLocation)
                #expect(increases.map(\.1) == [(before[rule] ?? 0) + 1], sourceLocation: sourceLocation)
            }
            let ada = try await service.signUp("ada@example.com")
            let eve = try await service.signUp("eve@example.com")
            let token = ada.tokens.idToken
            let handle = try await service.openConflict(with: "ada@example.com")

            // Proofs and resolutions.
            try await expect(.conflictUnknown) { try await service.startMailboxProof("forged").denial }
            try await expect(.proofNotExpected) { try await service.complete(handle, .code("1")).denial }
            try await expect(.proofBySessionOfOtherAccount) { try await service.prove(handle, by: eve).denial }
            try await expect(.resolveUnproven) { try await service.resolve(handle, "forged").denial }
            for _ in 1...5 { _ = try await service.startMailboxProof(handle).success() }
            try await expect(.proofMailsUsedUp) { try await service.startMailboxProof(handle).denial }
            try await expect(.proofWrong) { try await service.complete(handle, .linkSecret("wrong")).denial }
            _ = try await service.decline(handle).success()
            try await expect(.conflictClosed) { try await service.decline(handle).denial }
            try await expect(.pendingUsed) { try await service.signIn(pendingToken: handle).denial }

            // Mailed codes.
            try await expect(.emailCodeUnknown) {
                try await outcome(await operations.inspectEmailCode("forged", tenant: .project)).denial
            }
            try await expect(.emailCodeUnknown) {
                try await outcome(await operations.disownAccount("forged", tenant: .project)).denial
            }
            try await expect(.resetOfUnknownEmail) { try await service.askForReset("bob@example.com").denial }
            _ = try await service.askForLink("ada@example.com").success()
            let sent = try #require(try await operations.mailsWithUsableCodes(tenant: .project).last?.code)
            try await expect(.signInLinkWrongAddress) {
                let link = EmailLinkSignIn(email: "eve@example.com", code: sent, idToken: nil)
                return try await outcome(await operations.signInWithEmailLink(link, tenant: .project)).denial
            }
            try await expect(.shortCodeWrong) {
                try await outcome(
                    await operations.exchangeShortCode(
                        "00000000",
                        of: .passwordReset,
                        mailedTo: try address("ada@example.com"),
                        tenant: .project,
                        locale: nil,
                        clientAddress: nil
                    )
                ).denial
            }

            // Sign-ins and sign-ups.
            try await expect(.wrongPassword) { try await service.signIn("ada@example.com", "wrong").denial }
            try await expect(.signUpEmailExists) {
                let signUp = SignUp.password(try address("ada@example.com"), "correct horse")
                return try await outcome(await operations.signUp(signUp, tenant: .project)).denial
            }
            try await expect(.passwordLinkEmailInUse) {
                let link = SignUp.link(try address("ada@example.com"), "correct horse", idToken: eve.tokens.idToken)
                return try await outcome(await operations.signUp(link, tenant: .project)).denial
            }

            // Updates by the user, on Concord's own route, and by an administrator.
            var taken = UpdateAccount()
            taken.email = "eve@example.com"
            try await expect(.changeEmailExists) {
                try await outcome(await operations.updateAccount(taken, idToken: token, tenant: .project)).denial
            }
            try await expect(.lastMethodKept) {
                try await outcome(
                    await operations.removeMethod(.password, idToken: token, ChangeRequest(tenant: .project))
                ).denial
            }
            var byAdmin = AdminUpdateAccount()
            byAdmin.email = "eve@example.com"
            try await expect(.adminUpdateEmailExists) {
                try await outcome(await operations.updateAccount(byAdmin, of: ada.user.id, tenant: .project)).denial
            }
            let gitHub = service.credential(.gitHub, subject: "1")
            _ = try await service.signIn(gitHub, idToken: token).signedIn()
            service.clock.advance(seconds: 301)
            var password = UpdateAccount()
            password.password = "another horse"
            try await expect(.changePasswordNeedsRecentSignIn) {
                try await outcome(await operations.updateAccount(password, idToken: token, tenant: .project)).denial
            }
            try await expect(.removalNeedsRecentSignIn) {
                try await outcome(
                    await operations.removeMethod(.password, idToken: token, ChangeRequest(tenant: .project))
                ).denial
            }

            // Deletions and tokens.
            try await expect(.deleteNeedsRecentSignIn) {
                try await outcome(await operations.deleteAccount(idToken: token, tenant: .project)).denial
            }
            let now = service.clock.now
            try await service.edit(ada.user.id) { $0.endSessions(at: now) }
            try await expect(.tokenEpochStale) {
                try await outcome(await operations.lookUp(idToken: token, tenant: .project)).denial
            }
            try await expect(.refreshSessionGone) {
                try await outcome(await operations.refreshSession(ada.tokens.refreshToken)).denial
            }
            _ = try await operations.deleteAccount(ada.user.id, tenant: .project)
            try await expect(.deleteUnknownAccount) {
                try await outcome(await operations.deleteAccount(ada.user.id, tenant: .project)).denial
            }
            try await expect(.tokenAccountGone) {
                try await outcome(await operations.lookUp(idToken: token, tenant: .project)).denial
            }
            try await expect(.refreshAccountGone) {
                try await outcome(await operations.refreshSession(ada.tokens.refreshToken)).denial
            }
        }
    }

    private func address(_ text: String) throws -> EmailAddress { try #require(EmailAddress(text)) }

    @Test func `concurrent openings of one conflict are counted once`() async throws {
        let recorded = TestMetrics()
        try await TestService.withTwo(metrics: OperationMetrics(recorded)) { service, other in
            _ = try await service.signUp("ada@example.com")
            _ = try await service.race(with: other, count: 32) { service, _ in
                try await service.openConflict(with: "ada@example.com")
            }
            #expect(conflicts(recorded, .opened, "password") == 1)
            #expect(decisions(recorded, .untrustedEmailConflict) == 32)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 1)
        }
    }

    @Test func `a rolled-back decision is not counted`() async throws {
        let recorded = TestMetrics()
        try await TestService.withTwo(metrics: OperationMetrics(recorded)) { service, _ in
            _ = try await service.signUp("ada@example.com")
            let before = Rule.allCases.reduce(0) { $0 + decisions(recorded, $1) }
            try await service.database.execute("ALTER TABLE account_events ADD CHECK (kind = 'user-created') NOT VALID")
            await #expect(throws: PostgresError.self) { try await service.signIn("ada@example.com") }
            #expect(Rule.allCases.reduce(0) { $0 + decisions(recorded, $1) } == before)
        }
    }

    @Test func `providers with names chosen by operators share one label`() throws {
        func method(_ name: String) throws -> MethodClass { MethodClass(try #require(ProviderID(name))) }
        #expect(try method("oidc.acme") == .openIDConnect && method("saml.acme") == .saml)
        #expect(try method("twitter.com").rawValue == "twitter.com" && method("nobody.example") == .other)
        #expect(try method("several") == .other && method("password") == .other)
    }

    @Test func `resolving a proven conflict takes one round trip of reads and one transaction`() async throws {
        try await TestService.with { service in
            let owner = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: owner).success()
            let recorded = TestMetrics()
            let measured = PostgresMetrics(recorded, calls: AccountStore.callNames)
            try await service.database.withClient(metrics: measured) { client in
                let other = try await TestService.make(
                    database: service.database,
                    client: client,
                    settings: ProjectSettings.developmentDefaults
                )
                func calls() -> [String: Int] {
                    let names = AccountStore.callNames + [PostgresMetrics.otherCall]
                    let counts = names.map { name in
                        (
                            name,
                            (try? recorded.expectTimer(PostgresMetrics.callSeconds, [("call", name)]))?.values.count
                                ?? 0
                        )
                    }
                    return Dictionary(uniqueKeysWithValues: counts.filter { $0.1 > 0 })
                }
                let before = calls()
                _ = try await other.resolve(handle, proven.proofToken).success()
                let made = calls().filter { $0.value != before[$0.key] ?? 0 }.map(\.key).sorted()
                // The three reads share one round trip; the transaction is another.
                #expect(made == ["account-write", "read-conflicts", "read-identifiers", "read-users"])
                #expect(calls()["account-write"] == 1 && calls()["read-conflicts"] == 1)
                await other.operations.passwords.shutDown()
            }
        }
    }
}
