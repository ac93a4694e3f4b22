import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Testing

@testable import AccountOperations

/// Concurrent requests about suspended methods: one succeeds, and the tables are consistent.
struct QuarantineRaces {
    private static let callers = 32
    private static let old = "the old password"
    private static let email = "ada@gmail.com"

    private func takenOver(_ service: TestService) async throws -> SignedIn {
        let first = try await service.signUp(Self.email, Self.old)
        let gitHub = service.credential(.gitHub, subject: "gh-1")
        _ = try await service.signIn(gitHub, idToken: first.tokens.idToken).signedIn()
        let google = service.credential(.google, subject: "g", email: Self.email, isVerified: true)
        return try await service.signIn(google).signedIn()
    }

    private func count(_ service: TestService, _ kind: String) async throws -> Int64 {
        let counts: [Int64?] = try await service.database.rows(
            "SELECT count(*) FROM account_events WHERE kind = \(kind)"
        )
        return counts.first.flatMap(\.self) ?? -1
    }

    @Test func `when a password is restored, discarded and replaced at once, one request succeeds`() async throws {
        try await TestService.with { service in
            try await service.withSecondProcess { second in
                let idToken = try await takenOver(service).tokens.idToken
                let outcomes = try await service.race(with: second, count: Self.callers) { service, number -> Denial? in
                    if number % 4 < 2 {
                        return try await outcome(
                            await service.operations.restorePassword(
                                Self.old,
                                idToken: idToken,
                                ChangeRequest(tenant: .project)
                            )
                        ).denial
                    }
                    return try await outcome(
                        await service.operations.discardQuarantined(
                            .password,
                            idToken: idToken,
                            ChangeRequest(tenant: .project)
                        )
                    ).denial
                }
                #expect(outcomes.count { $0 == nil } == 1, "\(outcomes)")
                #expect(outcomes.allSatisfy { $0 == nil || $0 == .refusal(.methodNotQuarantined) }, "\(outcomes)")
                let restored = try await count(service, "method-restored")
                #expect(try await count(service, "quarantine-discarded") == 1 - restored)
                let signIn = try await service.signIn(Self.email, Self.old)
                #expect((signIn.denial == nil) == (restored == 1))
                let left: [String?] = try await service.database.rows("SELECT method FROM quarantined_methods")
                #expect(left == ["github.com"])
                #expect(try await service.database.inconsistencies() == [])
            }
        }
    }

    @Test func `a provider that is linked while its suspension is discarded ends up linked and not suspended`()
        async throws
    {
        try await TestService.with { service in
            let idToken = try await takenOver(service).tokens.idToken
            let gitHub = service.credential(.gitHub, subject: "gh-1")
            _ = try await service.race(with: service, count: Self.callers) { service, number -> Denial? in
                if number.isMultiple(of: 2) {
                    return try await service.signIn(gitHub, idToken: idToken).denial
                }
                return try await outcome(
                    await service.operations.discardQuarantined(
                        .provider(.gitHub),
                        idToken: idToken,
                        ChangeRequest(tenant: .project)
                    )
                ).denial
            }
            let left: [String?] = try await service.database.rows("SELECT method FROM quarantined_methods")
            #expect(left == ["password"])
            #expect(try await service.database.count("SELECT count(*) FROM linked_providers") == 2)
            #expect(try await count(service, "quarantine-discarded") <= 1)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `when a takeover races with links by the intruder, no method is both linked and suspended`()
        async throws
    {
        try await TestService.with { service in
            let intruder = try await service.signUp(Self.email, Self.old)
            let google = service.credential(.google, subject: "g", email: Self.email, isVerified: true)
            let gitHub = service.credential(.gitHub, subject: "gh-1")
            _ = try await service.race(with: service, count: Self.callers) { service, number -> Denial? in
                number == Self.callers / 2
                    ? try await service.signIn(google).denial
                    : try await service.signIn(gitHub, idToken: intruder.tokens.idToken).denial
            }
            #expect(try await count(service, "account-taken-over") == 1)
            let linked: [String?] = try await service.database.rows("SELECT provider_id FROM linked_providers")
            #expect(linked == ["google.com"])
            let suspended: [String?] = try await service.database.rows(
                "SELECT method FROM quarantined_methods ORDER BY method"
            )
            #expect(suspended == ["password"] || suspended == ["github.com", "password"], "\(suspended)")
            #expect(try await service.database.inconsistencies() == [])
        }
    }
}
