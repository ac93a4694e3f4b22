import AccountLinking
import AccountTestSupport
import Testing

@testable import AccountStore
@testable import Postgres

/// The statements with another text for Citus. Both texts run on PostgreSQL, and find the same rows.
@Suite(.store)
struct CitusFormTests {
    private let scene: StoreScene
    private let tenant = TenantID.project

    init() throws { scene = try .shared }

    /// The rows of both texts of `query`.
    private func both<Row: Sendable>(_ query: Query<Row>) async throws -> (plain: [Row], citus: [Row]) {
        let form = try #require(query.sql.onCitus)
        #expect(form.text != query.sql.text)
        return (try await scene.client.read(query), try await scene.client.read(Query<Row>(form)))
    }

    private func expectSameUsers(_ query: Query<UserRow>, _ count: Int) async throws {
        let (plain, citus) = try await both(query)
        let ids = plain.records.map(\.id.rawValue)
        #expect(ids.count == count)
        #expect(Set(plain.records) == Set(citus.records))
    }

    @Test func `users and their sessions are the same in both forms`() async throws {
        var users: [UserRecord] = []
        for _ in 0..<3 { users.append(try await scene.create(.full())) }
        users.append(try await scene.create(.blank()))
        let ids = users.map(\.id) + [userID("nobody-has-this-id")]
        try await expectSameUsers(UserRow.lookup(ids[0], tenant: tenant), 1)
        try await expectSameUsers(UserRow.lookup(ids[3], tenant: tenant), 1)
        try await expectSameUsers(UserRow.lookup(ids[4], tenant: tenant), 0)
        try await expectSameUsers(UserRow.withIDs(ids, tenant: tenant), 4)
        try await expectSameUsers(UserRow.withManyIDs(ids, tenant: tenant), 4)

        let (plain, citus) = try await both(UserRow.after(nil, limit: 3, tenant: tenant))
        #expect(plain.records.count == 3)
        #expect(plain.records == citus.records, "in the same order")

        let session = users[0].session()
        let write = AccountWrite(previous: users[0], user: users[0], session: session, event: event(.signedIn))
        #expect(try await scene.store.apply(write) == .applied)
        for id in [session.id, Array(session.id.reversed())] {
            let (plain, citus) = try await both(SessionRow.lookup(id, of: users[0].id, tenant: tenant))
            #expect(plain.map(\.record) == citus.map(\.record))
            #expect(plain.count == (id == session.id ? 1 : 0))
        }

        let hashes = try await both(PasswordHashRow.withIDs(ids, tenant: tenant))
        #expect(hashes.plain.count == 3)
        #expect(Set(hashes.plain.map(\.id)) == Set(hashes.citus.map(\.id)))
        let values = users.compactMap { $0.email?.address.canonical } + ["nobody@example.com"]
        let claims = try await both(IdentifierRow.owned(kind: "email", values: values, tenant: tenant))
        #expect(claims.plain.count == 3)
        #expect(Set(claims.plain.map(\.holder)) == Set(claims.citus.map(\.holder)))
    }

    @Test func `a statement has the text for Citus only if it is asked for`() throws {
        let statement = SQL("SELECT \(Int64(1))", onCitus: "SELECT \(Int64(2)) + 0")
        #expect(statement.text == "SELECT $1")
        #expect(statement.onCitus?.text == "SELECT $1 + 0")
        #expect(statement.onCitus?.onCitus == nil)
        #expect(Query<Int64>(keyColumn: 0, statement, onCitus: "SELECT 1").sql.mergePoint == .keys)
    }
}

/// The statements that were one on PostgreSQL and became several, or lost their arrays, for Citus.
@Suite(.store)
struct SplitStatementTests {
    private let scene: StoreScene
    private let tenant = TenantID.project

    init() throws { scene = try .shared }

    @Test(arguments: [false, true])
    func `the counts of wrong passwords follow the standings of PasswordThrottling`(isStranger: Bool) async throws {
        let mailbox = address("count-\(nextNumber())@example.com")
        let key = isStranger ? ThrottleKey.password(of: mailbox) : .passwordFrom(network: "network", of: mailbox)
        let freeMax = PasswordThrottling.freeMax(of: isStranger ? .strangers : .network)
        // Other tests count at other times.
        var now = origin.adding(seconds: Int64(nextNumber()))
        for failures in 1...PasswordThrottling.failuresMax {
            let isCounted = try await scene.store.countWrongPassword([key], tenant: tenant, at: now)
            #expect(isCounted, "failure \(failures)")
            let standing = PasswordThrottling.standing(afterFailures: failures, at: now, freeMax: freeMax)
            let stored = try await scene.database.count(
                """
                SELECT count(*) FROM \(SQL(literal: isStranger ? "password_attempts" : "password_sources"))
                WHERE failures = \(Int64(failures))
                    AND locked_until = \(standing.lockedUntil.stored) AND forgotten_at = \(standing.forgottenAt.stored)
                """
            )
            #expect(stored == 1, "failure \(failures)")
            if standing.lockedUntil > now {
                let early = try await scene.store.countWrongPassword([key], tenant: tenant, at: now)
                #expect(!early, "locked after failure \(failures)")
                if failures < PasswordThrottling.failuresMax { now = standing.lockedUntil }
            }
        }
        // The count begins again when it is forgotten.
        now = now.adding(seconds: PasswordThrottling.longMemorySeconds)
        #expect(try await scene.store.countWrongPassword([key], tenant: tenant, at: now))
        #expect(try await scene.store.failedAttempts(at: key, tenant: tenant, at: now).failures == 1)
    }

    @Test func `a wrong password counts for the network and for strangers, or for neither`() async throws {
        let mailbox = address("both-\(nextNumber())@example.com")
        let keys: [ThrottleKey] = [.passwordFrom(network: "network", of: mailbox), .password(of: mailbox)]
        func failures() async throws -> [Int] {
            var failures: [Int] = []
            for key in keys {
                failures.append(try await scene.store.failedAttempts(at: key, tenant: tenant, at: origin).failures)
            }
            return failures
        }
        for number in 1...PasswordThrottling.freeMax {
            #expect(try await scene.store.countWrongPassword(keys, tenant: tenant, at: origin))
            #expect(try await failures() == [number, number])
        }
        // The next one locks the network.
        #expect(try await scene.store.countWrongPassword(keys, tenant: tenant, at: origin))
        let locked = try await failures()
        #expect(try await !scene.store.countWrongPassword(keys, tenant: tenant, at: origin))
        #expect(try await failures() == locked, "a locked network counts no attempt")
        let counts = try await scene.store.passwordCounts(
            of: mailbox,
            by: AttemptSource(network: "network"),
            tenant: tenant,
            at: origin
        )
        #expect(counts[.network].isLocked)
        #expect(counts[.network].failures == locked[0])
        #expect(!counts[.strangers].isLocked)
        #expect(counts[.strangers].failures == locked[1])
    }

    /// A mailed link and its short code.
    private func issue(to user: UserRecord) async throws -> (link: EmailCodeRecord, short: ShortCodeRecord) {
        let mailbox = address("short-\(nextNumber())@example.com")
        var link = EmailCodeRecord(
            tenant: tenant,
            hash: (0..<32).map { _ in .random(in: 0...255) },
            kind: .passwordReset,
            user: user.id,
            email: mailbox,
            createdAt: origin,
            expiresAt: later
        )
        link.sessionEpoch = user.sessionEpoch
        let short = ShortCodeRecord(
            tenant: tenant,
            kind: .passwordReset,
            mailbox: mailbox,
            linkHash: link.hash,
            sealedCode: [1],
            expiresAt: later
        )
        #expect(try await scene.store.issue(link, message: nil, shortCode: short) == .applied)
        return (try #require(await scene.store.emailCode(link.hash, tenant: tenant)), short)
    }

    @Test func `an exchanged short code stores the link's code under its new hash`() async throws {
        let user = try await scene.create(.full())
        let (link, short) = try await issue(to: user)
        #expect(try await scene.store.countWrongAddress(link))
        let hash = Array(link.hash.reversed())
        let exchanged = try await scene.store.exchange(short, linkedTo: link, for: hash, within: [], at: origin)
        #expect(exchanged == .applied)
        #expect(try await scene.store.emailCode(link.hash, tenant: tenant) == nil)
        var expected = link
        expected.hash = hash
        expected.attempts = 1
        #expect(try await scene.store.emailCode(hash, tenant: tenant) == expected)
        let again = try await scene.store.exchange(short, linkedTo: link, for: [9], within: [], at: origin)
        #expect(again == .factsMoved)
    }

    @Test func `a change that makes the codes of an account void misses no code that is being exchanged`() async throws
    {
        for _ in 1...20 {
            let user = try await scene.create(.full())
            let (link, short) = try await issue(to: user)
            let hash = Array(link.hash.reversed())
            var write = AccountWrite(
                previous: user,
                user: user,
                event: event(.userUpdated),
                sideWrites: [.voidEmailCodes(of: user.id, tenant: tenant, .all, at: origin)]
            )
            write.raisesVersion = true
            let voiding = write
            async let exchanged = scene.store.exchange(short, linkedTo: link, for: hash, within: [], at: origin)
            async let voided = scene.store.apply(voiding)
            #expect(try await voided == .applied)
            _ = try await exchanged
            for hash in [link.hash, hash] {
                let code = try await scene.store.emailCode(hash, tenant: tenant)
                #expect(code?.consumedAt != nil || code == nil, "void, or never stored")
            }
        }
    }
}
