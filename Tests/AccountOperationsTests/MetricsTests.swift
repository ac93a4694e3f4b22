import AccountLinking
import AccountTestSupport
import IdentityProviders
import MetricsTestKit
import Postgres
import Testing

@testable import AccountOperations

/// What the operations count, compared with what the tables hold.
struct MetricsTests {
    private func purge(_ service: TestService, _ metrics: OperationMetrics) -> Purge {
        Purge(
            store: service.operations.store,
            effects: service.operations.effects,
            keepSeconds: 7 * 86_400,
            rowsMax: 2,
            metrics: metrics
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

    @Test func `each conflict is opened once and ends once, whichever server notices and however many do`() async throws
    {
        let recorded = TestMetrics()
        let metrics = OperationMetrics(recorded)
        try await TestService.withTwo(metrics: metrics) { service, other in
            // Resolved, declined, superseded and abandoned, five of each.
            for number in 1...5 {
                for fate in ["resolved", "declined", "superseded", "abandoned"] {
                    let email = "\(fate)\(number)@example.com"
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
                        // A trusted provider names the address, which nobody had proven: the account changes hands.
                        let apple = service.credential(.apple, subject: email, email: email, isVerified: true)
                        _ = try await service.signIn(apple).signedIn()
                    default: break
                    }
                }
            }
            #expect(conflicts(recorded, .opened, "password") == 20)
            #expect(conflicts(recorded, .proven, "password") == 5)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 20)

            // What lives is not counted.
            var early = purge(service, metrics)
            _ = try await early.run()
            #expect(conflicts(recorded, .abandoned, "password") == 0)
            service.clock.advance(seconds: 86_400)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        var purge = self.purge(caller.isMultiple(of: 2) ? service : other, metrics)
                        // Those that one of them holds are left for the next run.
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

    @Test func `every decision that took effect is counted by the rule of its event`() async throws {
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
            _ = try await service.operations.deleteAccount(ada.user.id, tenant: .project).success()
            let stored = try await service.database.rows(
                "SELECT rule || ' ' || count(*) FROM account_events GROUP BY rule ORDER BY rule" as Query<String?>
            ).compactMap(\.self)
            #expect(stored == ["D5 1", "I11 1", "J13 1", "P11 1", "S6 16"])
            for rule in Rule.allCases where rule != .s4 {
                let expected = stored.first { $0.hasPrefix(rule.rawValue + " ") }?.split(separator: " ").last
                #expect(decisions(recorded, rule) == expected.flatMap { Int64($0) } ?? 0, "\(rule)")
            }
            #expect(decisions(recorded, .s4) == 1, "a sign-in that was refused")
        }
    }

    @Test func `a race for one conflict opens it once`() async throws {
        let recorded = TestMetrics()
        try await TestService.withTwo(metrics: OperationMetrics(recorded)) { service, other in
            _ = try await service.signUp("ada@example.com")
            _ = try await service.race(with: other, count: 32) { service, _ in
                try await service.openConflict(with: "ada@example.com")
            }
            #expect(conflicts(recorded, .opened, "password") == 1)
            #expect(decisions(recorded, .i11) == 32)
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

    @Test func `names that operators choose are not told apart`() throws {
        func method(_ name: String) throws -> MethodClass { MethodClass(try #require(ProviderID(name))) }
        #expect(try method("oidc.acme") == .openIDConnect && method("saml.acme") == .saml)
        #expect(try method("twitter.com") == .twitter && method("nobody.example") == .other)
        #expect(try method("several") == .other && method("password") == .other)
    }
}
