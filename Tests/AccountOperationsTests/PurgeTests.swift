import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Synchronization
import Testing

/// Each kind of row is deleted in time, in bounded batches. Checked in the tables.
struct PurgeTests {
    private static let week: Int64 = 7 * 86_400

    /// The test moves PostgreSQL's clock together with its own.
    private static func purge(_ service: TestService, rowsMax: Int) -> Purge {
        Purge(
            store: service.operations.store,
            project: service.operations.project,
            effects: service.operations.effects,
            keepSeconds: week,
            rowsMax: rowsMax,
            databaseClock: { service.clock.now }
        )
    }

    private func purge(_ service: TestService, rowsMax: Int = 100) -> Purge {
        Self.purge(service, rowsMax: rowsMax)
    }

    /// `seconds` after the test's clock.
    private func time(_ service: TestService, _ seconds: Int64) -> String {
        "to_timestamp(\(service.clock.now.secondsSinceEpoch + seconds))"
    }

    private func left(_ service: TestService, _ table: SQL, _ name: SQL) async throws -> [String] {
        try await service.database.rows("SELECT \(name) FROM \(table) ORDER BY 1" as Query<String?>)
            .compactMap { $0 }
    }

    @Test func `expired codes, messages and conflicts are deleted after a week`() async throws {
        try await TestService.with { service in
            let user = try await service.signUp(service.newAddress()).value.user.id.rawValue
            for (byte, seconds) in [("01", -Self.week - 5), ("02", -Self.week + 5), ("03", 60)] as [(String, Int64)] {
                let end = time(service, seconds)
                let opened = time(service, seconds - 3600)
                try await service.database.execute(
                    """
                    INSERT INTO one_time_codes (code_hash, kind, email, email_key, created_at, expires_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), 'EMAIL_SIGNIN', 'a@b.c', 'a@b.c', \(opened), \(end));
                    INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at)
                    VALUES ('00000000-0000-4000-8000-0000000000\(byte)', 'mail', 'x', \(opened), \(end), \(opened));
                    INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest,
                        token_digests, sealed_credential, opened_at, expires_at)
                    VALUES ('\(user)', decode(repeat('\(byte)', 16), 'hex'), 'open', 'credential-already-in-use',
                        'google.com', decode(repeat('\(byte)', 32), 'hex'), '{}', 'x', \(opened), \(end));
                    """
                )
            }
            var purge = purge(service)
            let report = try await purge.run()
            #expect(report.rows[.codes] == 1 && report.rows[.messages] == 1 && report.rows[.conflicts] == 1)
            #expect(
                try await left(service, "one_time_codes", "encode(substr(code_hash, 1, 1), 'hex')") == ["02", "03"]
            )
            #expect(try await left(service, "outbox", "right(message_id::text, 2)") == ["02", "03"])
            #expect(try await left(service, "conflicts", "encode(substr(conflict_id, 1, 1), 'hex')") == ["02", "03"])
            #expect(try await purge.run().total == 0)
        }
    }

    @Test func `an ended reservation is deleted, and an account's address stays`() async throws {
        try await TestService.with { service in
            let user = try await service.signUp(service.newAddress()).value.user
            for (address, seconds) in [("a@b.c", -1), ("b@b.c", 60)] as [(String, Int64)] {
                try await service.database.execute(
                    """
                    INSERT INTO identifiers (kind, value, user_id, reserved_until)
                    VALUES ('email', '\(address)', '\(user.id.rawValue)', \(time(service, seconds)))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.reservedAddresses] == 1)
            let own = try #require(user.email?.address.canonical)
            #expect(try await left(service, "identifiers", "value") == ["b@b.c", own].sorted())
        }
    }

    @Test func `finished messages are deleted after a week; waiting and failed ones stay`() async throws {
        try await TestService.with { service in
            let end = time(service, 86_400)
            for (name, state, seconds) in [
                ("01", "sent", -Self.week - 5), ("02", "sent", -60), ("03", "pending", -Self.week - 5),
                ("04", "withheld", -Self.week - 5), ("05", "failed", -Self.week - 5),
            ] as [(String, String, Int64)] {
                let payload = ["pending", "failed"].contains(state) ? "'x'" : "NULL"
                let created = time(service, seconds)
                try await service.database.execute(
                    """
                    INSERT INTO outbox (message_id, kind, state, sealed_payload, created_at, expires_at, next_attempt_at)
                    VALUES ('00000000-0000-4000-8000-0000000000\(name)', 'mail', '\(state)', \(payload), \(created),
                        \(end), \(created))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.finishedMessages] == 2)
            #expect(try await left(service, "outbox", "right(message_id::text, 2)") == ["02", "03", "05"])
        }
    }

    @Test func `suspended methods are deleted when they expire, and not before`() async throws {
        try await TestService.with { service in
            let user = try await service.signUp(service.newAddress()).value.user.id.rawValue
            for (method, seconds) in [("google.com", -1), ("github.com", 0), ("phone", 1)] as [(String, Int64)] {
                try await service.database.execute(
                    """
                    INSERT INTO quarantined_methods (user_id, method, subject, event_id, rule, quarantined_at, expires_at)
                    VALUES ('\(user)', '\(method)', 's', gen_random_uuid(), 'I9', \(time(service, -60)),
                        \(time(service, seconds)))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.quarantinedMethods] == 2)
            #expect(try await left(service, "quarantined_methods", "method") == ["phone"])
        }
    }

    @Test func `expired phone codes are deleted after a week, and counts of messages at once`()
        async throws
    {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -Self.week - 5), ("02", -5), ("03", 60)] as [(String, Int64)] {
                let end = time(service, seconds)
                try await service.database.execute(
                    """
                    INSERT INTO phone_verifications (verification_id, session_digests, purpose, number, is_current,
                        created_at, expires_at)
                    VALUES (decode(repeat('\(byte)', 16), 'hex'), ARRAY[decode(repeat('\(byte)', 32), 'hex')],
                        'temporary-proof', '+16505553434', false, \(end), \(end));
                    INSERT INTO message_counts (count_digest, messages, ends_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), 1, \(end));
                    """
                )
            }
            var purge = purge(service)
            let report = try await purge.run()
            #expect(report.rows[.phoneVerifications] == 1 && report.rows[.messageCounts] == 2)
            #expect(
                try await left(service, "phone_verifications", "encode(substr(verification_id, 1, 1), 'hex')")
                    == ["02", "03"]
            )
            #expect(try await left(service, "message_counts", "encode(substr(count_digest, 1, 1), 'hex')") == ["03"])
        }
    }

    @Test func `expired counts of wrong passwords and unpublished keys are deleted`() async throws {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -1), ("02", 60)] as [(String, Int64)] {
                let end = time(service, seconds)
                try await service.database.execute(
                    """
                    INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), 1, \(end), \(end));
                    INSERT INTO password_sources (address_digest, source_digest, failures, locked_until, forgotten_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), decode(repeat('54', 32), 'hex'), 1, \(end), \(end));
                    """
                )
            }
            service.clock.advance(seconds: 29 * 86_400)
            _ = try await service.signingKeys.load(.idToken)
            service.clock.advance(seconds: -29 * 86_400)
            var purge = purge(service)
            var report = try await purge.run()
            #expect(report.rows[.passwordAttempts] == 1 && report.rows[.signingKeys] == 0)
            #expect(report.rows[.passwordSources] == 1)
            service.clock.advance(seconds: 30 * 86_400 + 2 * 3600)
            report = try await purge.run()
            #expect(report.rows[.passwordAttempts] == 1 && report.rows[.signingKeys] == 1)
            #expect(report.rows[.passwordSources] == 1)
            #expect(try await service.database.count("SELECT max(generation) FROM signing_keys") == 2)
            _ = try await service.signingKeys.load(.idToken)
        }
    }

    @Test func `stored answers are deleted after their day`() async throws {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -1), ("02", 60)] as [(String, Int64)] {
                let end = time(service, seconds)
                try await service.database.execute(
                    """
                    INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
                    VALUES ('', decode(repeat('\(byte)', 32), 'hex'), 'x', \(end))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.storedResponses] == 1)
            #expect(try await left(service, "kept_answers", "encode(substr(key_digest, 1, 1), 'hex')") == ["02"])
        }
    }

    @Test func `abandoned sign-ins at providers are deleted after their hour`() async throws {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -1), ("02", 60)] as [(String, Int64)] {
                try await service.database.execute(
                    """
                    INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), decode(repeat('00', 32), 'hex'), 'google.com', 'x',
                        \(time(service, seconds)))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.providerFlows] == 1)
            #expect(try await left(service, "provider_flows", "encode(substr(state_digest, 1, 1), 'hex')") == ["02"])
        }
    }

    @Test func `expired sign-ups are deleted`() async throws {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -1), ("02", 60)] as [(String, Int64)] {
                try await service.database.execute(
                    """
                    INSERT INTO pending_sign_ups (sign_up_digest, email, link_hash, sealed_code, created_at, expires_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), 'ann@example.com', decode(repeat('00', 32), 'hex'), 'x',
                        \(time(service, -3600)), \(time(service, seconds)))
                    """
                )
            }
            var purge = purge(service)
            #expect(try await purge.run().rows[.pendingSignUps] == 1)
            #expect(
                try await left(service, "pending_sign_ups", "encode(substr(sign_up_digest, 1, 1), 'hex')") == ["02"]
            )
        }
    }

    @Test func `expired counts of mails about conflicts are deleted`() async throws {
        try await TestService.with { service in
            let user = try await service.signUp(service.newAddress()).value.user.id.rawValue
            try await service.database.execute(
                """
                INSERT INTO proof_mails (user_id, place, free_at)
                VALUES ('\(user)', 1, \(time(service, -1))), ('\(user)', 2, \(time(service, 60)))
                """
            )
            var purge = purge(service)
            #expect(try await purge.run().rows[.proofMails] == 1)
            #expect(try await left(service, "proof_mails", "place::text") == ["2"])
        }
    }

    @Test func `decisions are deleted after the project's retention, and others can still be explained`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            service.clock.advance(seconds: 399 * 86_400)
            let later = try await service.signIn("ada@example.com").success()
            var purge = purge(service)
            #expect(try await purge.run().rows[.events] == 0)
            service.clock.advance(seconds: 86_400 + 1)
            #expect(try await purge.run().rows[.events] == 1)
            #expect(try await left(service, "account_events", "rule") == ["S6"])
            #expect(try await service.operations.decision(later.decision) != nil)

            // The next run uses the new retention.
            try await setRetention(service, days: 2)
            service.clock.advance(seconds: 86_400)
            // The month lasts until its last event is past the retention.
            #expect(try await purge.run().months.dropped == [])
            #expect(try await service.operations.decision(later.decision) != nil)
            service.clock.advance(seconds: 31 * 86_400)
            #expect(try await purge.run().months.dropped.map(\.description) == ["2026-07"])
            #expect(try await service.operations.decision(later.decision) == nil)
        }
    }

    @Test(.notOnCitus("PostgreSQL's size functions do not see shards"))
    func `an ordinary sign-in takes at most 300 bytes, with its share of the indexes`() async throws {
        try await TestService.with { service in
            for _ in 0..<2 {
                _ = try await service.signIn(service.credential(.gitHub, subject: "1", email: "ada@example.com"))
                service.clock.advance(seconds: 1)
            }
            // The stored event, as 20,000 sign-ins of 5,000 accounts, in the order of time.
            try await service.database.execute(
                """
                CREATE TEMPORARY TABLE sample AS SELECT * FROM account_events WHERE kind = 'signed-in';
                TRUNCATE account_events;
                INSERT INTO account_events
                SELECT tenant_id, left(md5((n % 5000)::text), 28),
                    (lpad(to_hex(n), 12, '0') || '7' || left(md5(n::text), 3) || '8' || right(md5(n::text), 15))::uuid,
                    occurred_at, kind, rule, details, policy_version, decisions
                FROM sample, generate_series(1, 20000) AS n
                """
            )
            let bytes = try await service.database.count(
                "SELECT pg_total_relation_size('account_events_past') / count(*) FROM account_events"
            )
            #expect(bytes > 100 && bytes <= 300)
        }
    }

    @Test func `a project can keep its decisions forever`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            try await setRetention(service, days: 0)
            service.clock.advance(seconds: 200 * 366 * 86_400)
            var purge = purge(service)
            #expect(try await purge.run().rows[.events] == nil)
            #expect(try await left(service, "account_events", "rule") == ["P11"])
        }
    }

    @Test func `many concurrent servers delete old events once, and no recent one`() async throws {
        try await TestService.withTwo { first, second in
            _ = try await first.signUp("ada@example.com")
            try await first.database.execute(
                """
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                SELECT 'gone', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'epoch', 'user-deleted', 'D5'
                FROM generate_series(1, 500) AS n
                """
            )
            let deleted = try await first.race(with: second, count: 16) { service, _ in
                var purge = Self.purge(service, rowsMax: 50)
                return try await purge.run().rows[.events] ?? 0
            }
            #expect(deleted.reduce(0, +) == 500)
            #expect(try await left(first, "account_events", "rule") == ["P11"])
        }
    }

    // MARK: Backlogs

    /// Adds `count` expired flows.
    private func addFlows(_ service: TestService, _ count: Int) async throws {
        try await service.database.execute(
            """
            INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
            SELECT sha256(convert_to(n::text, 'UTF8')), decode(repeat('00', 32), 'hex'), 'google.com', 'x',
                \(time(service, -1))
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    @Test func `a backlog of many batches is deleted in one run, which rests after each full batch`()
        async throws
    {
        try await TestService.with { service in
            try await addFlows(service, 250)
            try await service.database.execute(
                """
                INSERT INTO message_counts (count_digest, messages, ends_at)
                SELECT sha256(convert_to(n::text, 'UTF8')), 1, \(time(service, -1)) FROM generate_series(1, 15) AS n
                """
            )
            let rests = Mutex(0)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: Self.week,
                rowsMax: 10,
                databaseClock: { service.clock.now },
                rest: { _ in rests.withLock { $0 += 1 } }
            )
            let report = try await purge.run()
            #expect(report.rows[.providerFlows] == 250 && report.rows[.messageCounts] == 15)
            #expect(try await service.database.count("SELECT count(*) FROM provider_flows") == 0)
            #expect(rests.withLock { $0 } == 25 + 1, "25 full batches of flows and one of counts")
        }
    }

    @Test func `a stopped run leaves the rest to the next run`() async throws {
        try await TestService.with { service in
            try await addFlows(service, 50)
            let rests = Mutex(0)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: Self.week,
                rowsMax: 10,
                databaseClock: { service.clock.now },
                rest: { _ in
                    let count = rests.withLock { count in
                        count += 1
                        return count
                    }
                    if count == 2 { throw CancellationError() }
                }
            )
            await #expect(throws: CancellationError.self) { try await purge.run() }
            #expect(try await service.database.count("SELECT count(*) FROM provider_flows") == 30)
            #expect(try await purge.run().rows[.providerFlows] == 30)
        }
    }

    // MARK: Clocks

    /// A server whose clock is `seconds` ahead of the machine's, which is also PostgreSQL's.
    private func purge(_ service: TestService, ahead seconds: Int64) -> Purge {
        Purge(
            store: service.operations.store,
            project: service.operations.project,
            effects: Effects(
                now: { Effects.system.now().adding(seconds: seconds) },
                randomBytes: Effects.system.randomBytes
            ),
            keepSeconds: Self.week,
            rowsMax: 100
        )
    }

    /// Rows of every kind with an expiry: `over` expired ones and `current` live ones.
    private func fill(_ service: TestService, over: Int, current: Int) async throws {
        let user = try await service.signUp(service.newAddress()).value.user.id.rawValue
        try await service.database.execute(
            """
            CREATE TABLE ends AS
                SELECT n, now() + CASE WHEN n <= \(over) THEN -interval '8 days' ELSE interval '30 days' END AS at
                FROM generate_series(1, \(over + current)) AS n;
            INSERT INTO users (user_id, session_epoch, valid_since, created_at)
                SELECT 'q-' || n, n, now(), now() FROM ends;
            INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                SELECT 'q-' || n,
                    -- The id of an event begins with its time in milliseconds.
                    (lpad(to_hex(floor(extract(epoch FROM occurred_at) * 1000)::bigint), 12, '0')
                        || '70008000' || lpad(n::text, 12, '0'))::uuid,
                    occurred_at, 'user-created', 'P11'
                FROM ends, LATERAL (
                    SELECT at - CASE WHEN n <= \(over) THEN interval '393 days' ELSE '31 days' END AS occurred_at
                ) AS event;
            INSERT INTO quarantined_methods (user_id, method, subject, event_id, rule, quarantined_at, expires_at)
                SELECT 'q-' || n, 'google.com', 's', gen_random_uuid(), 'I9', at - interval '1 hour', at FROM ends;
            INSERT INTO outbox (message_id, kind, state, sealed_payload, created_at, expires_at, next_attempt_at)
                SELECT gen_random_uuid(), 'mail', 'failed', 'x', at - interval '1 hour', at, at FROM ends;
            INSERT INTO account_journal (change_id, step, table_name, row_key, before, kept_until)
                SELECT gen_random_uuid(), 0, 'users', '\(user)', '{}', at FROM ends;
            INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
                SELECT 'q-' || n, sha256(n::text::bytea), 'x', at FROM ends;
            INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
                SELECT sha256(n::text::bytea), 1, at, at FROM ends;
            INSERT INTO one_time_codes (code_hash, kind, email, email_key, created_at, expires_at)
                SELECT sha256(n::text::bytea), 'EMAIL_SIGNIN', 'a@b.c', 'a@b.c', at - interval '1 hour', at FROM ends;
            """
        )
    }

    private static let filled: [SQL] = [
        "account_events", "account_journal", "kept_answers", "one_time_codes", "outbox", "password_attempts",
        "quarantined_methods",
    ]

    /// Rows in each of those tables.
    private func counts(_ service: TestService) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in Self.filled {
            counts.append(try await service.database.count("SELECT count(*) FROM \(table)"))
        }
        return counts
    }

    /// Moves the test's clock to the machine's, which is also PostgreSQL's.
    private func synchronise(_ service: TestService) {
        let seconds = Effects.system.now().secondsSinceEpoch - service.clock.now.secondsSinceEpoch
        service.clock.advance(seconds: seconds)
    }

    @Test func `a server whose clock is 40 days ahead deletes nothing that is live by PostgreSQL's clock`()
        async throws
    {
        try await TestService.with { service in
            synchronise(service)
            try await fill(service, over: 0, current: 10)
            let before = try await counts(service)
            for days: Int64 in [40, 403, 20_000, -40] {
                var purge = purge(service, ahead: days * 86_400)
                let report = try await purge.run()
                #expect(report.total == 0, "\(days) days ahead")
                #expect(report.clocks.disagreement != nil)
                #expect(abs(report.clocks.secondsAhead - Double(days * 86_400)) < 600)
                #expect(try await counts(service) == before)
            }
            // With the correct clock nothing has expired either.
            var purge = purge(service, ahead: 0)
            let report = try await purge.run()
            #expect(report.clocks.disagreement == nil && report.total == 0)
            #expect(try await counts(service) == before)
        }
    }

    @Test func `when half of the servers are 40 days ahead, the others delete exactly the expired rows`()
        async throws
    {
        try await TestService.withTwo { first, second in
            synchronise(first)
            try await fill(first, over: 50, current: 50)
            let deleted = try await first.race(with: second, count: 16) { service, caller in
                var purge = purge(service, ahead: caller % 4 < 2 ? 40 * 86_400 : 0)
                let report = try await purge.run()
                #expect(caller % 4 >= 2 || report.total == 0)
                return report.total
            }
            #expect(deleted.reduce(0, +) == 50 * Self.filled.count)
            // The test's account has an event.
            #expect(try await counts(first) == [51, 50, 50, 50, 50, 50, 50])
        }
    }

    @Test func `if two clocks differ slightly, the earlier one decides`() async throws {
        try await TestService.with { service in
            for (byte, seconds) in [("01", -90), ("02", -30), ("03", 30)] as [(String, Int64)] {
                let end = time(service, seconds)
                try await service.database.execute(
                    """
                    INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
                    VALUES (decode(repeat('\(byte)', 32), 'hex'), 1, \(end), \(end))
                    """
                )
            }
            for (process, database, deleted, left) in [
                (0, -60, 1, 2), (-60, 0, 0, 2), (60, 0, 1, 1), (0, 60, 0, 1),
            ] as [(Int64, Int64, Int, Int64)] {
                let clock = service.clock
                var purge = Purge(
                    store: service.operations.store,
                    project: service.operations.project,
                    effects: Effects(
                        now: { clock.now.adding(seconds: process) },
                        randomBytes: Effects.system.randomBytes
                    ),
                    keepSeconds: Self.week,
                    rowsMax: 100,
                    databaseClock: { clock.now.adding(seconds: database) }
                )
                #expect(try await purge.run().rows[.passwordAttempts] == deleted)
                #expect(try await service.database.count("SELECT count(*) FROM password_attempts") == left)
            }
        }
    }

    private func setRetention(_ service: TestService, days: Int64) async throws {
        let change = try ProjectConfigChange(
            body: ["concord": ["decisionRetentionDays": .integer(days)]],
            mask: "concord.decisionRetentionDays"
        )
        _ = try await service.operations.updateProjectConfig(change, by: .owner).get()
    }

    @Test func `many concurrent servers delete every row once`() async throws {
        try await TestService.withTwo { first, second in
            let end = time(first, -1)
            try await first.database.execute(
                """
                INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
                SELECT sha256(n::text::bytea), 1, \(end), \(end) FROM generate_series(1, 500) AS n
                """
            )
            let deleted = try await withThrowingTaskGroup { group in
                for number in 0..<16 {
                    let service = number.isMultiple(of: 2) ? first : second
                    group.addTask {
                        var purge = purge(service, rowsMax: 50)
                        return try await purge.run().total
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(deleted == 500)
            #expect(try await first.database.count("SELECT count(*) FROM password_attempts") == 0)
        }
    }
}
