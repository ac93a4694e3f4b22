import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Limits on password guesses, across processes, checked in the table.
struct PasswordAttemptTests {
    private static let protected: JSONValue = ["signIn": ["email": ["enabled": true]]]
    private static let wrong = Denial.refusal(.invalidPassword)
    private static let locked = Denial.refusal(.tooManyAttempts)

    /// The counts of networks.
    private func failures(_ service: TestService) async throws -> [Int64] {
        let query: Query<Int64?> = "SELECT failures::bigint FROM password_sources WHERE failures > 0 ORDER BY 1"
        return try await service.database.rows(query).compactMap { $0 }
    }

    private func guess(_ service: TestService, _ email: EmailAddress, times: Int) async throws -> [Denial?] {
        var denials: [Denial?] = []
        for number in 0..<times {
            denials.append(try await service.signIn(email, password: "guess \(number)").denial)
        }
        return denials
    }

    @Test func `after ten wrong passwords the correct one has to wait, in every process`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            #expect(try await guess(first, email, times: 10).allSatisfy { $0 == Self.wrong })
            #expect(try await first.signIn(email).denial == Self.locked)
            #expect(try await second.signIn(email).denial == Self.locked)
            #expect(try await failures(first) == [10], "passwords refused during the lock are not counted")
            first.clock.advance(seconds: 61)
            _ = try await second.signIn(email).value
            #expect(try await failures(first) == [])
        }
    }

    @Test func `the wait grows with every further wrong password`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await guess(service, email, times: 10)
            for wait: Int64 in [60, 120, 240] {
                service.clock.advance(seconds: wait - 1)
                #expect(try await service.signIn(email).denial == Self.locked)
                service.clock.advance(seconds: 2)
                #expect(try await guess(service, email, times: 2) == [Self.wrong, Self.locked])
            }
        }
    }

    @Test func `a correct password resets the count`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            #expect(try await failures(service) == [])
            for _ in 0..<3 {
                #expect(try await guess(service, email, times: 9).allSatisfy { $0 == Self.wrong })
                _ = try await service.signIn(email).value
                #expect(try await failures(service) == [])
            }
        }
    }

    @Test func `the count is reset after a day`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await guess(service, email, times: 9)
            service.clock.advance(seconds: 86_400)
            #expect(try await guess(service, email, times: 1) == [Self.wrong])
            #expect(try await failures(service) == [1])
        }
    }

    @Test func `after a hundred wrong passwords in a row only a new password unlocks within a month`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            _ = try await guess(service, email, times: 9)
            for _ in 10...100 {
                #expect(try await guess(service, email, times: 1) == [Self.wrong])
                service.clock.advance(seconds: 3601)
            }
            #expect(try await failures(service) == [100])
            service.clock.advance(seconds: 29 * 86_400)
            #expect(try await service.signIn(email).denial == Self.locked)

            let hash = try await service.operations.passwords.hash("another horse", for: .administrator)
            let now = service.clock.now
            let before = try #require(await service.user(account.user.id))
            var after = before
            after.passwordUpdatedAt = now
            let event = AccountEvent(
                id: PostgresUUID(high: 1, low: 2),
                occurredAt: now,
                kind: .userUpdated,
                rule: .passwordReset
            )
            let write = AccountWrite(previous: before, user: after, passwordHash: hash, event: event)
            #expect(try await service.operations.store.apply(write) == .applied)
            #expect(try await failures(service) == [])
            _ = try await service.signIn(email, password: "another horse").value
        }
    }

    @Test func `a month without guesses unlocks the address`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await guess(service, email, times: 1)
            for table in ["password_attempts", "password_sources"] {
                try await service.database.execute(
                    """
                    UPDATE \(table) SET failures = 100,
                        locked_until = to_timestamp(\(service.clock.now.secondsSinceEpoch)) + interval '30 days',
                        forgotten_at = to_timestamp(\(service.clock.now.secondsSinceEpoch)) + interval '30 days'
                    """
                )
            }
            #expect(try await service.signIn(email).denial == Self.locked)
            service.clock.advance(seconds: 30 * 86_400 + 1)
            _ = try await service.signIn(email).value
        }
    }

    @Test func `replacing a password counts wrong guesses and resets the count`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            func replace(_ old: String) async throws -> Denial? {
                try await outcome(
                    await service.operations
                        .replacePassword(of: email, oldPassword: old, newPassword: "another horse", tenant: .project)
                )
                .denial
            }
            for _ in 0..<10 { #expect(try await replace("wrong") == Self.wrong) }
            #expect(try await replace(TestService.password) == Self.locked)
            service.clock.advance(seconds: 61)
            #expect(try await replace(TestService.password) == nil)
            #expect(try await failures(service) == [])
        }
    }

    @Test func `during the lock a weak new password does not reveal that the old one is correct`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            let replace: @Sendable (String) async throws -> Denial? = { old in
                try await outcome(
                    await service.operations
                        .replacePassword(of: email, oldPassword: old, newPassword: "x", tenant: .project)
                )
                .denial
            }
            #expect(
                try await replace(TestService.password) == .weakPassword(lengthMin: 6),
                "the answer without a lock"
            )
            // All guesses find the address unlocked. The correct password is compared last.
            let guesses = (0..<40).map { number in Task { try await replace("guess \(number)") } }
            for _ in 0..<100 { await Task.yield() }
            let right = try await replace(TestService.password)
            for guess in guesses { #expect(try await [Self.wrong, Self.locked].contains(guess.value)) }
            #expect(right == Self.locked)
            #expect(try await failures(service) == [10])
        }
    }

    @Test func `an address without an account is answered and locked like one with an account`() async throws {
        try await TestService.with(settings: Self.protected) { service in
            let known = service.newAddress()
            _ = try await service.signUp(known).value
            let unknown = service.newAddress()
            let ofKnown = try await guess(service, known, times: 12)
            #expect(try await guess(service, unknown, times: 12) == ofKnown)
            #expect(ofKnown.suffix(2) == [Self.locked, Self.locked])
            #expect(try await failures(service) == [10, 10])
        }
    }

    @Test func `without enumeration protection, guesses at an address without an account are not counted`() async throws
    {
        try await TestService.with { service in
            let denials = try await guess(service, service.newAddress(), times: 12)
            #expect(denials.allSatisfy { $0 == .refusal(.emailNotFound) })
            #expect(try await failures(service) == [])
        }
    }

    @Test func `of 64 concurrent guesses in two processes, ten are answered`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            let denials = try await withThrowingTaskGroup { group in
                for number in 0..<64 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask { try await service.signIn(email, password: "guess \(number)").denial }
                }
                return try await group.reduce(into: [Denial?]()) { $0.append($1) }
            }
            #expect(denials.count { $0 == Self.wrong } == 10)
            #expect(denials.count { $0 == Self.locked } == 54)
            #expect(try await failures(first) == [10])
        }
    }

    @Test func `a correct password that commits after the tenth wrong one does not sign in`() async throws {
        try await TestService.withTwo { first, second in
            for _ in 0..<3 {
                let email = first.newAddress()
                let account = try await first.signUp(email).value
                let denials = try await withThrowingTaskGroup { group in
                    for number in 0..<32 {
                        let service = number.isMultiple(of: 2) ? first : second
                        let password = number == 31 ? TestService.password : "guess \(number)"
                        group.addTask { try await service.signIn(email, password: password).denial }
                    }
                    return try await group.reduce(into: [Denial?]()) { $0.append($1) }
                }
                let wrong = denials.count { $0 == Self.wrong }
                let entered = denials.count { $0 == nil }
                // A correct password that committed in time reset the count.
                #expect(entered == 1 ? (10...19).contains(wrong) : wrong == 10)
                #expect(try await first.sessionCount(of: account.user.id) == Int64(1 + entered))
                #expect(entered + wrong + denials.count { $0 == Self.locked } == 32)
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `the tables contain no address`() async throws {
        try await TestService.with(settings: Self.protected) { service in
            let email = service.newAddress()
            _ = try await guess(service, email, times: 1)
            let ofAddresses: Query<String?> = "SELECT to_jsonb(t)::text FROM password_attempts t"
            let ofSources: Query<String?> = "SELECT to_jsonb(t)::text FROM password_sources t"
            for rows in [ofAddresses, ofSources] {
                let text = try await service.database.rows(rows).compactMap { $0 }.joined()
                #expect(!text.isEmpty && !text.contains("example.com"))
            }
        }
    }
}
