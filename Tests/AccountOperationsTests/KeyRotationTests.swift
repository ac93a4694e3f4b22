import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The schedule of keys, without a database.
struct KeyScheduleTests {
    private static let start = Timestamp(secondsSinceEpoch: 1_750_000_000)
    private static let day: Int64 = 86_400

    private func key(
        _ generation: Int64,
        from days: Int64,
        until: Timestamp? = nil,
        algorithm: String = "ES256"
    ) -> SigningKeyRecord {
        SigningKeyRecord(
            id: "key-\(generation)",
            purpose: .idToken,
            generation: generation,
            algorithm: algorithm,
            sealedPrivateKey: [],
            certificate: [],
            createdAt: Self.start,
            signsFrom: Self.start.adding(seconds: days * Self.day),
            publishedUntil: until
        )
    }

    private func plan(_ keys: [SigningKeyRecord], seconds: Int64, algorithm: String = "ES256") -> KeySchedule.Plan {
        KeySchedule(.idToken).plan(keys, algorithm: algorithm, at: Self.start.adding(seconds: seconds))
    }

    @Test func `without a key, the first one signs at once`() {
        let next = KeySchedule.NextKey(generation: 1, signsFrom: Self.start, previousPublishedUntil: nil)
        #expect(plan([], seconds: 0) == KeySchedule.Plan(signing: nil, published: [], next: next))
    }

    @Test func `the next key is due on day 29, and the old one is published until its tokens expire`() {
        #expect(plan([key(1, from: 0)], seconds: 29 * Self.day - 1).next == nil)
        let due = plan([key(1, from: 0)], seconds: 29 * Self.day)
        let signsFrom = Self.start.adding(seconds: 30 * Self.day)
        #expect(due.signing == 1 && due.published == [1])
        #expect(due.next?.generation == 2 && due.next?.signsFrom == signsFrom)
        #expect(due.next?.previousPublishedUntil == signsFrom.adding(seconds: 3600 + KeySchedule.marginSeconds))
        let ofCookies = KeySchedule(.sessionCookie)
            .plan([key(1, from: 0)], algorithm: "ES256", at: Self.start.adding(seconds: 29 * Self.day))
        #expect(
            ofCookies.next?.previousPublishedUntil
                == signsFrom.adding(seconds: 14 * Self.day + KeySchedule.marginSeconds)
        )
    }

    @Test func `a key is published before and after it signs`() {
        let until = Self.start.adding(seconds: 30 * Self.day + 7200)
        let keys = [key(1, from: 0, until: until), key(2, from: 30)]
        #expect(plan(keys, seconds: 30 * Self.day - 1) == KeySchedule.Plan(signing: 1, published: [1, 2], next: nil))
        #expect(plan(keys, seconds: 30 * Self.day) == KeySchedule.Plan(signing: 2, published: [1, 2], next: nil))
        #expect(plan(keys, seconds: 30 * Self.day + 7199).published == [1, 2])
        #expect(plan(keys, seconds: 30 * Self.day + 7200).published == [2])
    }

    @Test func `after a long downtime the old key signs until the next was published for a day`() {
        let late = plan([key(1, from: 0)], seconds: 400 * Self.day)
        #expect(late.signing == 1)
        #expect(late.next?.signsFrom == Self.start.adding(seconds: 401 * Self.day))
    }

    @Test func `another algorithm makes a new key early, at most once a day`() {
        #expect(plan([key(1, from: 0)], seconds: 60, algorithm: "RS256").next?.generation == 2)
        let waiting = [key(1, from: 0), key(2, from: 1, algorithm: "RS256")]
        #expect(plan(waiting, seconds: 60, algorithm: "ES256").next == nil)
        #expect(plan(waiting, seconds: Self.day, algorithm: "ES256").next?.generation == 3)
    }

    @Test func `at any time, a published key signs within its period`() {
        var keys: [SigningKeyRecord] = []
        let schedule = KeySchedule(.idToken)
        for hour in 0..<(200 * 24) {
            let now = Self.start.adding(seconds: Int64(hour) * 3600)
            if let next = schedule.plan(keys, algorithm: "ES256", at: now).next {
                if !keys.isEmpty { keys[keys.count - 1].publishedUntil = next.previousPublishedUntil }
                var key = key(next.generation, from: 0)
                key.createdAt = now
                key.signsFrom = next.signsFrom
                keys.append(key)
            }
            let plan = schedule.plan(keys, algorithm: "ES256", at: now)
            let signing = keys.first { $0.generation == plan.signing }
            #expect(plan.next == nil)
            #expect(plan.published.contains(plan.signing ?? 0))
            #expect(signing.map { $0.signsFrom <= now } == true)
            #expect(plan.published.count <= 2)
            let isAnnounced = signing.map { $0.generation == 1 || now.seconds(since: $0.createdAt) >= 86_400 }
            #expect(isAnnounced == true)
        }
        #expect(keys.count == 7)
    }
}

/// Rotation on a database, with the test's clock.
struct KeyRotationTests {
    private func keyID(_ token: String) throws -> String? {
        let header = try #require(token.split(separator: ".").first)
        return try JSONValue(parsing: try #require(Base64URL.decode(header)))["kid"]?.string
    }

    private func published(_ service: TestService) throws -> Set<String> {
        let keys = try JSONValue(parsing: try service.operations.tokens.jsonWebKeySet())["keys"]?.array ?? []
        let certificates = try JSONValue(parsing: service.operations.tokens.certificates()).object ?? [:]
        let ids = Set(keys.compactMap { $0["kid"]?.string })
        #expect(ids == Set(certificates.keys))
        return ids
    }

    private func refresh(_ services: TestService...) async throws {
        for service in services {
            service.operations.tokens.replaceKeys(try await service.signingKeys.load(.idToken))
        }
    }

    @Test func `a key is published, signs, stays for its tokens and is removed, in every process`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let old = try await first.signUp(email).value.tokens.idToken
            let oldID = try #require(try keyID(old))
            #expect(try published(first) == [oldID])
            #expect(try await first.signingKeys.load(.idToken).signsFrom == first.clock.now)

            first.clock.advance(seconds: 29 * 86_400)
            try await refresh(first, second)
            let both = try published(first)
            #expect(both.count == 2 && both.contains(oldID))
            #expect(try published(second) == both)
            #expect(
                try keyID(try await second.signIn(email).value.tokens.idToken) == oldID,
                "the new key does not sign yet"
            )

            first.clock.advance(seconds: 86_400 - 10)
            let last = try await first.signIn(email).value.tokens.idToken
            first.clock.advance(seconds: 10)
            try await refresh(first, second)
            let new = try await second.signIn(email).value.tokens.idToken
            #expect(try keyID(last) == oldID)
            let newID = try #require(try keyID(new))
            #expect(both.subtracting([oldID]) == [newID])

            first.clock.advance(seconds: 3580)
            try await refresh(first, second)
            for service in [first, second] {
                _ = try await service.lookUp(last).value
                _ = try await service.lookUp(new).value
            }
            first.clock.advance(seconds: 3620 + 10)
            try await refresh(first, second)
            #expect(try published(first) == both.subtracting([oldID]))
            #expect(try await first.lookUp(last).denial == .invalidIDToken)
        }
    }

    @Test func `an early rotation makes the next key, which signs a day later`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let old = try await first.signUp(email).value.tokens.idToken
            let oldID = try #require(try keyID(old))
            guard case .made(let key) = try await first.signingKeys.rotate(.idToken) else {
                Issue.record("no key was made")
                return
            }
            #expect(key.signsFrom == first.clock.now.adding(seconds: KeySchedule.leadSeconds))
            try await refresh(first, second)
            #expect(try published(second) == [oldID, key.id])
            #expect(try keyID(try await second.signIn(email).value.tokens.idToken) == oldID)
            #expect(try await second.signingKeys.rotate(.idToken) == .waiting(key), "one key a day")
            #expect(try await states(first) == [.next, .signing])

            first.clock.advance(seconds: KeySchedule.leadSeconds)
            try await refresh(first, second)
            #expect(try keyID(try await second.signIn(email).value.tokens.idToken) == key.id)
            #expect(try published(first) == [oldID, key.id])
            #expect(try await states(first) == [.signing, .retired])
            first.clock.advance(seconds: Lifetimes.idTokenSeconds + KeySchedule.marginSeconds)
            try await refresh(first, second)
            #expect(try published(first) == [key.id])
            #expect(try await states(first) == [.signing, .expired])
        }
    }

    /// The states of the keys of ID tokens, the newest first.
    private func states(_ service: TestService) async throws -> [ListedSigningKey.State] {
        try await ListedSigningKey.all(service.operations.store, at: service.clock.now)
            .filter { $0.purpose == .idToken }.map(\.state)
    }

    @Test func `without a key there is none to rotate`() async throws {
        try await TestService.with { service in
            try await service.database.execute("DELETE FROM signing_keys")
            #expect(try await service.signingKeys.rotate(.sessionCookie) == .noKey)
        }
    }

    @Test func `when many operators rotate at once, exactly one key is stored`() async throws {
        try await TestService.withTwo { first, second in
            try await withThrowingTaskGroup { group in
                for keys in [first.signingKeys, second.signingKeys, first.signingKeys, second.signingKeys] {
                    group.addTask { _ = try await keys.rotate(.idToken) }
                }
                try await group.waitForAll()
            }
            let made: Query<Int64?> = "SELECT count(*) FROM signing_keys WHERE purpose = 'id-token'"
            #expect(try await first.database.count(made) == 2)
        }
    }

    @Test func `when many servers make the next key at once, exactly one is stored`() async throws {
        try await TestService.withTwo { first, second in
            first.clock.advance(seconds: 29 * 86_400)
            let sets = try await withThrowingTaskGroup { group in
                for number in 0..<32 {
                    let keys = number.isMultiple(of: 2) ? first.signingKeys : second.signingKeys
                    group.addTask { try await keys.load(.idToken).published.map(\.id) }
                }
                return try await group.reduce(into: Set<[String]>()) { $0.insert($1) }
            }
            #expect(sets.count == 1 && sets.first?.count == 2)
            let made: SQL = "SELECT count(*) FROM signing_keys WHERE purpose = 'id-token'"
            #expect(try await first.database.count(Query(made)) == 2)
            let kept: Query<Int64?> = "\(made) AND (published_until IS NULL) = (generation = 2)"
            #expect(try await first.database.count(kept) == 2)
        }
    }
}
