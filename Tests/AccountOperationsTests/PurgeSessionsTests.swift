import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Unused sessions are found by their day. Checked in the table.
struct PurgeSessionsTests {
    private static let day: Int64 = 86_400

    private static func settings(inactivity: Int64 = 0, absolute: Int64 = 0) -> JSONValue {
        ProjectSettings.developmentDefaults.setting(
            ["inactivitySeconds": .integer(inactivity), "absoluteSeconds": .integer(absolute)],
            at: ["concord", "sessions"]
        )
    }

    private static func purge(_ service: TestService, rowsMax: Int = 100) -> Purge {
        Purge(
            store: service.operations.store,
            project: service.operations.project,
            effects: service.operations.effects,
            keepSeconds: 7 * day,
            rowsMax: rowsMax,
            databaseClock: { service.clock.now }
        )
    }

    /// Adds one session for each of `days`, which was last used that many days ago. Its account has a fresh one.
    /// - `knownDays`: days ago by the column `used_day`; `nil` is a row of an earlier version of Concord.
    private static func add(_ service: TestService, _ days: [(used: Int64, known: Int64?)]) async throws {
        let user = try await service.signUp(service.newAddress()).value.user
        let now = service.clock.now
        for (number, days) in days.enumerated() {
            let used = "to_timestamp(\(now.secondsSinceEpoch - days.used * day))"
            let known = days.known.map { "\(Int64(now.dayNumber) - $0)" } ?? "NULL"
            try await service.database.execute(
                """
                INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider,
                    last_used_at, used_day)
                VALUES ('\(user.id.rawValue)', decode(lpad('\(days.used)', 30, '0') || lpad('\(number)', 2, '0'), 'hex'),
                    decode(repeat('00', 32), 'hex'), \(user.sessionEpoch), to_timestamp(0), 'password', \(used), \(known))
                """
            )
        }
    }

    /// The days since the last use of each session, and the same by the column `used_day`.
    private static func left(_ service: TestService) async throws -> [String] {
        let today = Int64(service.clock.now.dayNumber)
        return try await service.database.rows(
            """
            SELECT (\(today) - floor(extract(epoch FROM last_used_at) / 86400))::bigint || ' '
                || coalesce((\(today) - used_day)::text, 'unknown')
            FROM sessions WHERE last_used_at IS NOT NULL ORDER BY last_used_at DESC, session_id
            """ as Query<String?>
        ).compactMap { $0 }
    }

    @Test(arguments: [1, 2, 3, 100])
    func `the sessions that were unused for the limit and the retention are deleted, for any batch size`(
        _ rowsMax: Int
    ) async throws {
        try await TestService.with(settings: Self.settings(inactivity: 30 * Self.day)) { service in
            try await Self.add(service, [0, 1, 36, 37, 38, 39, 40, 400].map { ($0, $0) })
            var purge = Self.purge(service, rowsMax: rowsMax)
            #expect(try await purge.run().rows[.sessions] == 4)
            #expect(try await Self.left(service) == ["0 0", "1 1", "36 36", "37 37"])
            #expect(try await purge.run().rows[.sessions] == 0)
        }
    }

    @Test(arguments: [1, 2, 100])
    func `a session that was used since its day stays, and its day moves`(_ rowsMax: Int) async throws {
        try await TestService.with(settings: Self.settings(inactivity: 30 * Self.day)) { service in
            try await Self.add(service, [(0, 200), (5, 300), (37, 38), (38, 400), (50, 50), (60, 90)])
            var purge = Self.purge(service, rowsMax: rowsMax)
            #expect(try await purge.run().rows[.sessions] == 3)
            #expect(try await Self.left(service) == ["0 0", "5 5", "37 37"])
        }
    }

    @Test func `a limit of the age deletes the sessions that were not used since`() async throws {
        try await TestService.with(settings: Self.settings(inactivity: 300 * Self.day, absolute: 10 * Self.day)) {
            service in
            try await Self.add(service, [(16, 16), (17, 17), (18, 18)])
            var purge = Self.purge(service)
            #expect(try await purge.run().rows[.sessions] == 1)
            #expect(try await Self.left(service) == ["16 16", "17 17"])
        }
    }

    @Test func `without a limit no session is deleted`() async throws {
        try await TestService.with { service in
            try await Self.add(service, [(5000, 5000)])
            var purge = Self.purge(service)
            #expect(try await purge.run().rows[.sessions] == nil)
            #expect(try await Self.left(service) == ["5000 5000"])
        }
    }

    @Test func `sessions of an earlier version get their day in batches, with and without a limit`() async throws {
        for settings in [Self.settings(), Self.settings(inactivity: 30 * Self.day)] {
            try await TestService.with(settings: settings) { service in
                try await Self.add(service, [(0, nil), (1, nil), (2, nil), (3, 20)])
                var purge = Self.purge(service, rowsMax: 2)
                #expect(try await purge.run().isComplete)
                #expect(try await Self.left(service) == ["0 0", "1 1", "2 2", "3 20"])
            }
        }
    }

    @Test func `a new session has its day, and a use does not change it`() async throws {
        try await TestService.with { service in
            let account = try await service.signUp(service.newAddress()).value
            let days: Query<Int64?> = "SELECT used_day::bigint FROM sessions"
            let first = Int64(service.clock.now.dayNumber)
            #expect(try await service.database.rows(days) == [first])
            service.clock.advance(seconds: 3 * Self.day)
            _ = try await service.refresh(account.tokens.refreshToken).value
            try await service.operations.store.activity.flush(to: service.operations.store)
            #expect(try await service.database.rows(days) == [first])
        }
    }

    @Test func `racing purges delete each session once`() async throws {
        try await TestService.withTwo(settings: Self.settings(inactivity: 30 * Self.day)) { first, second in
            try await Self.add(first, (0..<60).map { ($0 < 20 ? 1 : 50 + $0, 50 + $0) })
            let deleted = try await first.race(with: second, count: 16) { service, _ in
                var purge = Self.purge(service, rowsMax: 7)
                return try await purge.run().rows[.sessions] ?? 0
            }
            #expect(deleted.reduce(0, +) == 40)
            #expect(try await Self.left(first).count == 20)
        }
    }
}
