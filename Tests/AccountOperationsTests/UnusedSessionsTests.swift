import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Postgres
import Testing

/// The sessions that a shorter limit on inactivity ends, counted by their day.
struct UnusedSessionsTests {
    private static let day: Int64 = 86_400

    /// A stored session: seconds since its last use, since its lifetime began, and since the day in `used_day`.
    private struct Session {
        var unused: Int64
        var age: Int64
        /// `nil` for a row of an earlier version of Concord.
        var known: Int64?
        /// `nil` if it was never refreshed: its last use is its start.
        var isRefreshed = true

        func times(at now: Timestamp) -> SessionTimes {
            SessionTimes(startedAt: now.adding(seconds: -age), lastUsedAt: now.adding(seconds: -unused))
        }
    }

    /// Uses from now to 400 days ago, and the instants beside the limits of `lifetimes`.
    private static let sessions: [Session] = {
        let days: [Int64] = [0, 1, 5, 29, 30, 31, 179, 180, 181, 400]
        let moments: [Int64] = days.flatMap { [$0 * day - 1, $0 * day, $0 * day + 1] }
        return moments.filter { $0 >= 0 }.flatMap { unused -> [Session] in
            [
                Session(unused: unused, age: unused, known: unused, isRefreshed: false),
                Session(unused: unused, age: unused + 3 * day, known: unused + 3 * day),
                Session(unused: unused, age: unused + 300 * day, known: unused + day),
                Session(unused: unused, age: unused + 300 * day, known: nil),
            ]
        }
    }()

    private static let lifetimes: [SessionLifetimes] = [
        .unlimited, SessionLifetimes(inactivitySeconds: 7200), SessionLifetimes(inactivitySeconds: 30 * day),
        SessionLifetimes(inactivitySeconds: 180 * day), SessionLifetimes(absoluteSeconds: 200 * day),
        SessionLifetimes(inactivitySeconds: 180 * day, absoluteSeconds: 31 * day),
    ]

    /// Adds the sessions in turn to `accounts` accounts, and returns the sessions of each.
    private static func add(_ service: TestService, accounts: Int) async throws -> [[Session]] {
        var all: [[Session]] = []
        let now = service.clock.now.secondsSinceEpoch
        for account in 0..<accounts {
            let user = try await service.signUp(service.newAddress()).value.user
            let own = sessions.enumerated().filter { $0.offset % accounts == account }
            let rows = own.map { number, session in
                let start = "to_timestamp(\(now - session.age))"
                let use = session.isRefreshed ? "to_timestamp(\(now - session.unused))" : "NULL"
                let day = session.known.map { "\((now - $0) / Self.day)" } ?? "NULL"
                return """
                    ('\(user.id.rawValue)', decode(lpad('\(number)', 32, '0'), 'hex'), decode(repeat('00', 32), 'hex'),
                    \(user.sessionEpoch), \(start), 'password', \(use), \(day))
                    """
            }
            try await service.database.execute(
                """
                INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider,
                    last_used_at, used_day) VALUES \(rows.joined(separator: ", "))
                """
            )
            all.append(own.map(\.element))
        }
        return all
    }

    private static func count(
        _ service: TestService,
        _ proposed: SessionLifetimes,
        _ present: SessionLifetimes,
        tenant: TenantID? = nil
    ) async throws -> UnusedSessions {
        try await UnusedSessions.ended(
            by: proposed,
            butNotBy: present,
            at: service.clock.now,
            tenant: tenant,
            service.database.configuration,
            applicationName: "tests"
        )
    }

    @Test
    func `the counted sessions are those that the proposed limit on inactivity ends, and the present limits do not`()
        async throws
    {
        try await TestService.with { service in
            let stored = try await Self.add(service, accounts: 7)
            let now = service.clock.now
            for present in Self.lifetimes {
                for proposed in Self.lifetimes {
                    let unused = SessionLifetimes(inactivitySeconds: proposed.inactivitySeconds)
                    let ended = stored.map { sessions in
                        sessions.map { $0.times(at: now) }.count { times in
                            unused.haveEnded(times, at: now) && !present.haveEnded(times, at: now)
                        }
                    }
                    let found = try await Self.count(service, proposed, present)
                    let expected = UnusedSessions(
                        sessions: Int64(ended.reduce(0, +)),
                        accounts: Int64(ended.count { $0 > 0 })
                    )
                    #expect(found == expected, "\(present) → \(proposed)")
                }
            }
        }
    }

    @Test func `the sessions of one tenant are counted alone`() async throws {
        try await TestService.with { service in
            _ = try await Self.add(service, accounts: 1)
            let limit = SessionLifetimes(inactivitySeconds: 7200)
            let all = try await Self.count(service, limit, .unlimited)
            #expect(all.sessions > 0 && all.accounts == 1)
            #expect(try await Self.count(service, limit, .unlimited, tenant: .project) == all)
            #expect(try await Self.count(service, limit, .unlimited, tenant: TenantID("other")) == .zero)
        }
    }
}
