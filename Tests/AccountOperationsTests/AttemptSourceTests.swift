import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Wrong passwords by network, across processes, and known networks, checked in the table.
struct AttemptSourceTests {
    private static let wrong = Denial.refusal(.invalidPassword)
    private static let locked = Denial.refusal(.tooManyAttempts)

    private func network(_ number: Int) -> PasswordClient { PasswordClient(network: "198.51.100.\(number)") }

    private static let ofAddresses: Query<Int64?> = "SELECT count(*) FROM password_attempts"
    private static let ofSources: Query<Int64?> = "SELECT count(*) FROM password_sources"
    private static let known: Query<Int64?> = "SELECT count(*) FROM password_sources WHERE known_until IS NOT NULL"

    private func count(_ query: Query<Int64?>, _ service: TestService) async throws -> Int64 {
        try await service.database.count(query)
    }

    /// Rows of addresses, networks and devices.
    private func countAll(_ service: TestService) async throws -> Int64 {
        try await count(Self.ofAddresses, service) + count(Self.ofSources, service)
    }

    private func failures(_ service: TestService) async throws -> (networks: [Int64], strangers: [Int64]) {
        let networks: Query<Int64> = "SELECT failures::bigint FROM password_sources WHERE failures > 0 ORDER BY 1"
        let strangers: Query<Int64> = "SELECT failures::bigint FROM password_attempts"
        return (try await service.database.rows(networks), try await service.database.rows(strangers))
    }

    @Test func `concurrent guesses from many networks are counted for their network and for all strangers`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            // Eight networks with 16 guesses each. A network gets ten answers, all strangers together get 50.
            let denials = try await withThrowingTaskGroup { group in
                for number in 0..<128 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask {
                        try await service.signIn(email, password: "guess \(number)", from: network(number % 8)).denial
                    }
                }
                return try await group.reduce(into: [Denial?]()) { $0.append($1) }
            }
            #expect(denials.count { $0 == Self.wrong } == 50)
            #expect(denials.count { $0 == Self.locked } == 78)
            let counted = try await failures(first)
            #expect(counted.strangers == [50])
            #expect(counted.networks.reduce(0, +) == 50 && counted.networks.allSatisfy { $0 <= 10 })
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `guesses and sign-ins that race do not deadlock`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            let outcomes = try await withThrowingTaskGroup { group in
                for number in 0..<64 {
                    let service = number.isMultiple(of: 2) ? first : second
                    let isOwner = number.isMultiple(of: 4)
                    group.addTask {
                        try await service.signIn(
                            email,
                            password: isOwner ? TestService.password : "guess \(number)",
                            from: network(number % 12)
                        ).denial
                    }
                }
                return try await group.reduce(into: [Denial?]()) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 == nil || $0 == Self.wrong || $0 == Self.locked })
            #expect(outcomes.count { $0 == nil } == 16, "no network reaches its limit")
            let counted = try await failures(first)
            #expect(counted.networks.allSatisfy { $0 <= 10 } && counted.strangers.allSatisfy { $0 <= 48 })
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a sign-in from a known network writes nothing about it for a day`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            func rows() async throws -> [String] {
                let query: Query<String> = "SELECT xmin::text || known_until::text FROM password_sources"
                return try await service.database.rows(query)
            }
            _ = try await service.signIn(email, from: network(1)).value
            let before = try await rows()
            #expect(before.count == 1)
            service.clock.advance(seconds: 86_000)
            _ = try await service.signIn(email, from: network(1)).value
            #expect(try await rows() == before)
            service.clock.advance(seconds: 500)
            _ = try await service.signIn(email, from: network(1)).value
            let after = try await rows()
            #expect(after.count == 1 && after != before)
        }
    }

    @Test func `a server whose clock is behind refuses no correct password`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await service.signIn(email, from: network(1)).value
            #expect(try await service.signIn(email, password: "guess", from: network(1)).denial == Self.wrong)
            #expect(try await service.signIn(email, password: "guess", from: network(2)).denial == Self.wrong)
            // Another server, 30 seconds behind.
            service.clock.advance(seconds: -30)
            for number in 1...3 { _ = try await service.signIn(email, from: network(number)).value }
        }
    }

    @Test func `the eight latest networks of an account are known`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            for number in 0..<12 {
                _ = try await service.signIn(email, from: network(number)).value
                service.clock.advance(seconds: 60)
            }
            #expect(try await count(Self.known, service) == 8)
            try await close(email, service)
            #expect(try await service.signIn(email, from: network(0)).denial == Self.locked)
            _ = try await service.signIn(email, from: network(11)).value
        }
    }

    @Test func `concurrent sign-ins leave at most eight known networks`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            try await withThrowingTaskGroup { group in
                for number in 0..<24 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask { _ = try await service.signIn(email, from: network(number)).value }
                }
                try await group.waitForAll()
            }
            _ = try await first.signIn(email, from: network(99)).value
            #expect(try await count(Self.known, first) == 8)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    /// Locks strangers out.
    private func close(_ email: EmailAddress, _ service: TestService) async throws {
        for number in 0..<50 {
            let denial = try await service.signIn(email, password: "guess", from: network(100 + number)).denial
            #expect(denial == Self.wrong)
        }
    }

    @Test func `a network is known for 30 days, then counts as a stranger and is purged`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await service.signIn(email, from: network(1)).value
            service.clock.advance(seconds: 30 * 86_400 - 1)
            try await close(email, service)
            _ = try await service.signIn(email, from: network(1)).value
            service.clock.advance(seconds: 30 * 86_400 - 1)
            #expect(try await purge(service) > 0)
            #expect(try await count(Self.known, service) == 1)
            service.clock.advance(seconds: 2)
            #expect(try await purge(service) == 1)
            #expect(try await countAll(service) == 0)
        }
    }

    private func purge(_ service: TestService) async throws -> Int {
        var deleted = 0
        for kind in [AccountStore.Purgeable.passwordAttempts, .passwordSources] {
            deleted += try await service.operations.store.purge(kind, endedBefore: service.clock.now, rowsMax: 1000)
        }
        return deleted
    }

    @Test func `a takeover, a new password and a deletion forget the account's networks`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            _ = try await service.signIn(email, from: network(1)).value
            // Like a takeover: the sessions end, and the row stays without effect.
            let now = service.clock.now
            try await service.edit(account.user.id) { $0.endSessions(at: now) }
            try await close(email, service)
            #expect(try await service.signIn(email, from: network(1)).denial == Self.locked)

            service.clock.advance(seconds: 61)
            _ = try await service.signIn(email, from: network(1)).value
            try await replacePassword(of: email, from: network(1), service)
            #expect(try await countAll(service) == 0)

            let entered = try await service.signIn(email, password: "another horse", from: network(2)).value
            #expect(try await count(Self.known, service) == 1)
            _ = try await service.delete(entered.tokens.idToken).value
            #expect(try await count(Self.ofSources, service) == 0)
        }
    }

    @Test func `a new password forgets the networks of its address alone`() async throws {
        try await TestService.with { service in
            let (changed, other) = (service.newAddress(), service.newAddress())
            for email in [changed, other] {
                _ = try await service.signUp(email).value
                for number in 1...3 { _ = try await service.signIn(email, from: network(number)).value }
                #expect(try await service.signIn(email, password: "guess", from: network(9)).denial == Self.wrong)
            }
            #expect(try await count(Self.ofSources, service) == 8)
            #expect(try await count(Self.ofAddresses, service) == 2)
            try await replacePassword(of: changed, from: network(1), service)
            #expect(try await count(Self.ofSources, service) == 4)
            #expect(try await count(Self.ofAddresses, service) == 1)
            #expect(try await count(Self.known, service) == 3)
        }
    }

    private func replacePassword(
        of email: EmailAddress,
        from client: PasswordClient,
        _ service: TestService
    ) async throws {
        _ = try await service.operations
            .replacePassword(
                of: email,
                oldPassword: TestService.password,
                newPassword: "another horse",
                from: client,
                tenant: .project
            )
    }

    @Test func `a new password that races with sign-ins and guesses leaves no earlier count, and does not deadlock`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            _ = try await first.signUp(email).value
            for number in 0..<8 { _ = try await first.signIn(email, from: network(number)).value }
            for number in 0..<12 {
                #expect(
                    try await first.signIn(email, password: "guess", from: network(20 + number)).denial == Self.wrong
                )
            }
            let before = try await first.database.rows(Self.sources)
            #expect(before.count == 20)
            try await withThrowingTaskGroup { group in
                group.addTask { try await replacePassword(of: email, from: network(0), second) }
                for number in 0..<32 {
                    let service = number.isMultiple(of: 2) ? first : second
                    let password = number.isMultiple(of: 4) ? TestService.password : "guess \(number)"
                    group.addTask {
                        let denial = try await service.signIn(email, password: password, from: network(40 + number))
                            .denial
                        #expect(denial == nil || denial == Self.wrong || denial == Self.locked)
                    }
                }
                try await group.waitForAll()
            }
            let after = try await first.database.rows(Self.sources)
            #expect(Set(before).isDisjoint(with: after), "the new password deletes every row that was there")
            #expect(try await first.signIn(email, password: "another horse", from: network(99)).denial == nil)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    private static let sources: Query<String> = "SELECT encode(source_digest, 'hex') FROM password_sources"

    @Test func `the rows of an address have its digest, so that one shard has them`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let secret = try service.operations.newDeviceSecret(of: account)
            for client in [network(1), network(2), PasswordClient(network: "203.0.113.1", deviceSecret: secret)] {
                #expect(try await service.signIn(email, password: "guess", from: client).denial == Self.wrong)
            }
            let ofSources: Query<String> = "SELECT encode(address_digest, 'hex') FROM password_sources"
            let ofAddress: Query<String> = "SELECT encode(address_digest, 'hex') FROM password_attempts"
            let own = try await service.database.rows(ofAddress)
            #expect(own.count == 1)
            #expect(try await service.database.rows(ofSources) == [own[0], own[0], own[0]])
        }
    }

    @Test func `rows of networks from before password_sources are not read, and the purge deletes them`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            #expect(try await service.signIn(email, password: "guess", from: network(1)).denial == Self.wrong)
            let end = service.clock.now.secondsSinceEpoch + 86_400
            // The row as an earlier version wrote it, locked.
            let digest = try await service.database.rows(Self.sources)[0]
            try await service.database.execute(
                """
                INSERT INTO password_attempts (address_digest, of_address, failures, locked_until, forgotten_at)
                VALUES (decode('\(digest)', 'hex'), sha256(convert_to('\(email.canonical)', 'UTF8')), 100,
                    to_timestamp(\(end)), to_timestamp(\(end)))
                """
            )
            _ = try await service.signIn(email, from: network(1)).value
            #expect(try await count(Self.ofAddresses, service) == 1)
            service.clock.advance(seconds: 86_401)
            #expect(try await purge(service) == 1)
            #expect(try await count(Self.ofAddresses, service) == 0)
        }
    }

    @Test func `a device is known for 30 days, and only to its account`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let account = try await service.signUp(email).value
            let secret = try service.operations.newDeviceSecret(of: account)
            #expect(!secret.contains(account.user.id.rawValue))
            let device = PasswordClient(network: "203.0.113.1", deviceSecret: secret)
            try await close(email, service)
            #expect(try await service.signIn(email, from: PasswordClient(network: "203.0.113.1")).denial == Self.locked)
            _ = try await service.signIn(email, from: device).value
            let other = service.newAddress()
            _ = try await service.signUp(other).value
            try await close(other, service)
            #expect(try await service.signIn(other, from: device).denial == Self.locked)
            service.clock.advance(seconds: 30 * 86_400)
            try await close(email, service)
            let elsewhere = PasswordClient(network: "203.0.113.2", deviceSecret: secret)
            #expect(try await service.signIn(email, from: elsewhere).denial == Self.locked)
        }
    }

    @Test func `concurrent guesses on a known device are limited, and do not count for strangers`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let account = try await first.signUp(email).value
            let secret = try first.operations.newDeviceSecret(of: account)
            let device = PasswordClient(network: "203.0.113.1", deviceSecret: secret)
            _ = try await first.signIn(email, from: PasswordClient(network: "203.0.113.1")).value
            let denials = try await withThrowingTaskGroup { group in
                for number in 0..<40 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask { try await service.signIn(email, password: "guess \(number)", from: device).denial }
                }
                return try await group.reduce(into: [Denial?]()) { $0.append($1) }
            }
            // Ten by the device, then ten by its known network.
            #expect(denials.count { $0 == Self.wrong } == 20)
            let counted = try await failures(first)
            #expect(counted.networks == [10, 10] && counted.strangers == [])
        }
    }

    @Test func `the tables contain no network, and no digest that can be guessed without the key`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            _ = try await service.signIn(email, password: "x", from: network(1)).denial
            let guessable: Query<Int64?> = """
                SELECT count(*) FROM password_sources WHERE source_digest = sha256(
                    convert_to('network' || chr(31) || '198.51.100.1' || chr(31) || \(email.canonical), 'UTF8'))
                """
            #expect(try await service.database.count(guessable) == 0)
            #expect(try await countAll(service) == 2)
        }
    }

    @Test func `counts from before counts by network apply to strangers, and a sign-in resets them`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            _ = try await service.signUp(email).value
            let end = service.clock.now.secondsSinceEpoch + 86_400
            try await service.database.execute(
                """
                INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
                VALUES (sha256(convert_to('\(email.canonical)', 'UTF8')), 100, to_timestamp(\(end)), to_timestamp(\(end)))
                """
            )
            #expect(try await service.signIn(email, from: network(1)).denial == Self.locked)
            service.clock.advance(seconds: 86_401)
            _ = try await service.signIn(email, from: network(1)).value
            #expect(try await failures(service).strangers == [])
        }
    }
}
