import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Postgres
import Testing

/// Many concurrent callers, half of them on each of two processes. The tables must be consistent afterwards.
@Suite(.serialized)
struct RaceTests {
    private static let callers = 64

    /// The outcome of each caller.
    private func race<Value: Sendable>(
        _ first: TestService,
        _ second: TestService,
        callers: Int = RaceTests.callers,
        _ body: @escaping @Sendable (TestService, _ number: Int) async throws -> Outcome<Value>
    ) async throws -> [Outcome<Value>] {
        try await withThrowingTaskGroup { group in
            for number in 0..<callers {
                group.addTask { try await body(number.isMultiple(of: 2) ? first : second, number) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `of 64 concurrent sign-ups with one address exactly one succeeds`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let outcomes = try await race(first, second) { service, _ in try await service.signUp(email) }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.count { $0.denial == .refusal(.emailExists) } == Self.callers - 1)
            let counts = try await first.database.accountRowCounts()
            #expect(
                counts == [
                    "users": 1, "identifiers": 1, "password_credentials": 1, "linked_providers": 0,
                    "sign_in_methods": 1, "sessions": 1, "account_events": 1,
                ]
            )
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `concurrent sign-ups with different addresses all succeed`() async throws {
        try await TestService.withTwo { first, second in
            let outcomes = try await race(first, second, callers: 32) { service, _ in
                try await service.signUp(service.newAddress())
            }
            #expect(outcomes.allSatisfy { $0.denial == nil })
            #expect(try await first.database.accountRowCounts()["users"] == 32)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `sign-ins that race with a deletion leave no session`() async throws {
        try await TestService.withTwo { first, second in
            for _ in 0..<4 {
                let email = first.newAddress()
                let account = try await first.signUp(email).value
                let outcomes = try await race(first, second, callers: 16) { service, number in
                    if number == 5 {
                        // Starts after some of the passwords are being hashed.
                        try await Task.sleep(for: .milliseconds(40))
                        return try await service.delete(account.tokens.idToken).map { _ in true }
                    }
                    return try await service.signIn(email).map { _ in false }
                }
                for denial in outcomes.compactMap(\.denial) { #expect(denial == .refusal(.emailNotFound)) }
                #expect(try await first.user(account.user.id) == nil)
                #expect(try await first.sessionCount(of: account.user.id) == 0)
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `concurrent deletions delete an account once`() async throws {
        try await TestService.withTwo { first, second in
            let account = try await first.signUp(first.newAddress()).value
            let outcomes = try await race(first, second) { service, _ in
                try await service.delete(account.tokens.idToken)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.count { $0.denial == .refusal(.userNotFound) } == Self.callers - 1)
            #expect(try await first.events(of: account.user.id) == ["user-created P11", "user-deleted D5"])
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `when two accounts link one address at once, one gets it`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let tokens = [
                try await first.signUpAnonymously().tokens.idToken,
                try await second.signUpAnonymously().tokens.idToken,
            ]
            let outcomes = try await race(first, second, callers: 32) { service, number in
                try await service.link(email, idToken: tokens[number / 2 % 2])
            }
            // The link ends the winner's session, so its other callers present an ended session.
            #expect(outcomes.count { $0.denial == nil } == 1)
            for denial in outcomes.compactMap(\.denial) {
                #expect(denial == .refusal(.emailExists) || denial == .refusal(.tokenExpired))
            }
            let counts = try await first.database.accountRowCounts()
            #expect(counts["users"] == 2 && counts["identifiers"] == 1 && counts["password_credentials"] == 1)
            let changes = try await first.database.count("SELECT count(*) FROM account_events WHERE kind <> 'refused'")
            #expect(changes == 3)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a session that ends while it links a password links nothing`() async throws {
        try await TestService.withTwo { first, second in
            for _ in 0..<4 {
                let account = try await first.signUpAnonymously()
                let email = first.newAddress()
                // The hashing threads are busy, so that the session ends between its check and the write.
                async let busy: Void = withThrowingTaskGroup { group in
                    for _ in 0..<8 {
                        group.addTask { _ = try await first.operations.passwords.hash("busy", for: .administrator) }
                    }
                    try await group.waitForAll()
                }
                async let linking = first.link(email, idToken: account.tokens.idToken)
                try await Task.sleep(for: .milliseconds(20))
                let now = second.clock.now
                try await second.edit(account.user.id) { $0.endSessions(at: now) }
                let outcome = try await linking
                try await busy
                let user = try #require(try await second.user(account.user.id))
                if outcome.denial == nil {
                    // The link committed first and raised the epoch, then the end raised it again.
                    #expect(user.sessionEpoch == account.user.sessionEpoch + 2)
                } else {
                    #expect(outcome.denial == .refusal(.tokenExpired))
                    #expect(user.account.isAnonymous)
                }
            }
        }
    }

    @Test func `concurrent sign-ins and refreshes of one account all succeed`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let outcomes = try await race(first, second, callers: 32) { service, number in
                number.isMultiple(of: 4)
                    ? try await service.signIn(email).map { _ in true }
                    : try await service.refresh(account.tokens.refreshToken).map { _ in true }
            }
            #expect(outcomes.allSatisfy { $0.denial == nil })
            #expect(try await first.user(account.user.id)?.version == 1)
        }
    }
}

extension Outcome {
    fileprivate func map<Other: Sendable>(_ transform: (Value) -> Other) -> Outcome<Other> {
        switch self {
        case .success(let value): .success(transform(value))
        case .denied(let denial): .denied(denial)
        }
    }
}
