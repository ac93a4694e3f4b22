import AccountLinking
import AccountOperations
import AccountTestSupport
import IdentityProviders
import Postgres
import Testing

/// Many concurrent callers on two processes with one database. The results are read from the tables.
@Suite struct IdpRaceTests {
    private static let callers = 64

    /// Runs `body` once per caller, every second one in another process.
    private func race<Output: Sendable>(
        _ service: TestService,
        _ body: @escaping @Sendable (TestService, Int) async throws -> Output
    ) async throws -> [Output] {
        try await service.withSecondProcess { other in
            try await withThrowingTaskGroup(of: Output.self) { group in
                for number in 0..<Self.callers {
                    group.addTask { try await body(number.isMultiple(of: 2) ? service : other, number) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }

    @Test func `concurrent first sign-ins with one identity create one account`() async throws {
        try await TestService.with { service in
            let signedIn = try await race(service) { service, _ in
                try await service.signIn(
                    service.credential(.google, subject: "g", email: "ada@gmail.com", isVerified: true)
                ).signedIn()
            }
            #expect(Set(signedIn.map(\.user.id)).count == 1)
            #expect(signedIn.count(where: \.isNewUser) == 1)
            #expect(try await service.database.count("SELECT count(*) FROM users") == 1)
            #expect(try await service.database.count("SELECT count(*) FROM sessions") == Int64(Self.callers))
            try await service.database.expectConsistency()
        }
    }

    @Test func `when a password and two providers use one address at once, its own provider gets the account`()
        async throws
    {
        try await TestService.with { service in
            _ = try await race(service) { service, number in
                switch number % 3 {
                case 0:
                    guard let address = EmailAddress("ada@gmail.com") else { throw UnexpectedEnding("address") }
                    _ = try await outcome(
                        await service.operations.signUp(.password(address, "correct horse"), tenant: .project)
                    )
                case 1:
                    _ = try await service.signIn(
                        service.credential(.google, subject: "g", email: "ada@gmail.com", isVerified: true)
                    )
                default:
                    _ = try await service.signIn(
                        service.credential(.facebook, subject: "f", email: "ada@gmail.com", isVerified: true)
                    )
                }
            }
            // Google vouches for the address. In any order, Google ends up owning the account, and no earlier unproven
            // method remains.
            let users: [String?] = try await service.database.rows("SELECT email_proof FROM users")
            #expect(users == ["provider:google.com"])
            let providers: [String?] = try await service.database.rows("SELECT provider_id FROM linked_providers")
            #expect(providers == ["google.com"])
            #expect(try await service.database.count("SELECT count(*) FROM password_credentials") == 0)
            try await service.database.expectConsistency()
        }
    }

    @Test func `when one identity is linked to two accounts at once, one of them gets it`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let bob = try await service.signUp("bob@example.com")
            let outcomes = try await race(service) { service, number in
                try await service.signIn(
                    service.credential(.gitHub, subject: "1"),
                    idToken: (number % 4 < 2 ? ada : bob).tokens.idToken
                ).success()
            }
            let winners = outcomes.compactMap { result -> UserID? in
                guard case .signedIn(let signedIn) = result.ending else { return nil }
                return signedIn.user.id
            }
            #expect(winners.count == 1)
            #expect(
                try await service.database.count("SELECT count(*) FROM identifiers WHERE kind = 'federated'") == 1
            )
            try await service.database.expectConsistency()
        }
    }

    @Test func `a handle used by many callers at once links once`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let outcomes = try await race(service) { service, _ in
                try await service.signIn(pendingToken: pendingToken, idToken: ada.tokens.idToken)
            }
            var winners = 0
            for outcome in outcomes {
                switch outcome {
                case .denied(let denial): #expect(denial == .invalidPendingToken)
                case .success(let result):
                    switch result.ending {
                    case .signedIn: winners += 1
                    // Read the open handle before the winner's commit, and the linked identity after it.
                    case .refused(let refusal, _): #expect(refusal == .federatedIdentityAlreadyLinked)
                    case .needsConfirmation, .needsMailbox, .asksFirst:
                        Issue.record("a conflict with the caller's account")
                    case .secondFactorRequired: Issue.record("there is no second factor")
                    }
                }
            }
            #expect(winners == 1)
            #expect(
                try await service.database.count("SELECT count(*) FROM conflicts WHERE state = 'resolved'") == 1
            )
            try await service.database.expectConsistency()
        }
    }

    @Test func `sign-ins that race with a takeover leave no live session of the former owner`() async throws {
        try await TestService.with { service in
            let attacker = try await service.signUp("ada@gmail.com", "of an attacker")
            let outcomes = try await race(service) { service, number -> SignedIn? in
                if number == Self.callers / 2 {
                    return try await service.signIn(
                        service.credential(.google, subject: "g", email: "ada@gmail.com", isVerified: true)
                    ).signedIn()
                }
                guard case .success(let signedIn) = try await service.signIn("ada@gmail.com", "of an attacker")
                else { return nil }
                return signedIn
            }
            for signedIn in outcomes.compactMap(\.self) + [attacker] {
                let isOwners = signedIn.user.linkedProviders[.google] != nil
                let lookup = try await outcome(
                    await service.operations.lookUp(
                        idToken: signedIn.tokens.idToken,
                        tenant: .project
                    )
                )
                let refresh = try await outcome(await service.operations.refreshSession(signedIn.tokens.refreshToken))
                #expect((lookup.denial == nil) == isOwners)
                #expect((refresh.denial == nil) == isOwners)
            }
            try await service.database.expectConsistency()
        }
    }
}

extension TestDatabase {
    /// Invariants between tables: claims and users agree, and no row lacks its parent.
    func expectConsistency(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let checks: [(String, Query<Int64?>)] = [
            (
                "a claim without its user",
                """
                SELECT count(*) FROM identifiers i WHERE NOT EXISTS (
                    SELECT FROM users u WHERE u.tenant_id = i.tenant_id AND u.user_id = i.user_id)
                """
            ),
            (
                "a user's address without exactly one claim of that user",
                """
                SELECT count(*) FROM users u WHERE u.email IS NOT NULL AND 1 <> (
                    SELECT count(*) FROM identifiers i
                    WHERE i.tenant_id = u.tenant_id AND i.user_id = u.user_id AND i.kind = 'email')
                """
            ),
            (
                "an e-mail claim of a user without an address",
                """
                SELECT count(*) FROM identifiers i JOIN users u USING (tenant_id, user_id)
                WHERE i.kind = 'email' AND u.email IS NULL
                """
            ),
            (
                "a linked provider without its claim",
                """
                SELECT count(*) FROM linked_providers l WHERE NOT EXISTS (
                    SELECT FROM identifiers i WHERE i.tenant_id = l.tenant_id AND i.user_id = l.user_id
                        AND i.kind = 'federated' AND i.value = l.provider_id || E'\\x1F' || l.subject)
                """
            ),
            (
                "a federated claim without its linked provider",
                """
                SELECT count(*) FROM identifiers i WHERE i.kind = 'federated' AND NOT EXISTS (
                    SELECT FROM linked_providers l WHERE l.tenant_id = i.tenant_id AND l.user_id = i.user_id
                        AND i.value = l.provider_id || E'\\x1F' || l.subject)
                """
            ),
            (
                "a user without the event that made it",
                """
                SELECT count(*) FROM users u WHERE NOT EXISTS (
                    SELECT FROM account_events e WHERE e.tenant_id = u.tenant_id AND e.user_id = u.user_id)
                """
            ),
        ]
        for (problem, query) in checks {
            let found = try await joinedRows(query)
            #expect(found == [0], "\(problem)", sourceLocation: sourceLocation)
        }
    }
}
