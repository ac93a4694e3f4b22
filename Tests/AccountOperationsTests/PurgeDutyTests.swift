import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import MetricsTestKit
import Postgres
import Synchronization
import Testing

/// One server purges, another takes over, and a failing kind of rows stops no other. Checked in the tables.
struct PurgeDutyTests {
    private static let dutySeconds: Int64 = 60

    /// A server's purge. It has its own place in the table of duties.
    private static func purge(
        _ service: TestService,
        rowsMax: Int = 1000,
        metrics: PurgeMetrics = PurgeMetrics(),
        uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        rest: @escaping @Sendable (Duration) async throws -> Void = { _ in }
    ) -> Purge {
        Purge(
            store: service.operations.store,
            project: service.operations.project,
            effects: service.operations.effects,
            keepSeconds: 7 * 86_400,
            rowsMax: rowsMax,
            duty: Duty(
                Purge.duty,
                store: service.operations.store,
                effects: service.operations.effects,
                seconds: dutySeconds
            ),
            purgeMetrics: metrics,
            databaseClock: { service.clock.now },
            uptime: uptime,
            rest: rest
        )
    }

    /// Adds `count` expired rows.
    private static func fill(_ service: TestService, _ count: Int = 10) async throws {
        let end = "to_timestamp(\(service.clock.now.secondsSinceEpoch - 1))"
        try await service.database.execute(
            """
            INSERT INTO message_counts (count_digest, messages, ends_at)
                SELECT sha256(gen_random_uuid()::text::bytea), 1, \(end) FROM generate_series(1, \(count));
            INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
                SELECT sha256(gen_random_uuid()::text::bytea), decode(repeat('00', 32), 'hex'), 'google.com', 'x', \(end)
                FROM generate_series(1, \(count));
            """
        )
    }

    @Test func `one server purges, and the others delete nothing`() async throws {
        try await TestService.withTwo { first, second in
            try await Self.fill(first)
            let reports = try await first.race(with: second, count: 16) { service, _ in
                var purge = Self.purge(service)
                return try await purge.run()
            }
            #expect(reports.filter { !$0.isElsewhere }.count == 1)
            #expect(reports.filter(\.isComplete).map(\.total) == [20])
            #expect(reports.filter(\.isElsewhere).allSatisfy { $0.total == 0 && !$0.isComplete })
            #expect(try await first.database.count("SELECT count(*) FROM duties") == 1)
        }
    }

    @Test func `if the server that purges dies, another takes over once its time has run out`() async throws {
        try await TestService.withTwo { first, second in
            var dying = Self.purge(first)
            var heir = Self.purge(second)
            #expect(try await dying.run().isComplete)
            try await Self.fill(first)
            first.clock.advance(seconds: Self.dutySeconds - 1)
            #expect(try await heir.run().isElsewhere)
            first.clock.advance(seconds: 1)
            let report = try await heir.run()
            #expect(report.isComplete && report.total == 20)
            // It was not dead, only slow: now it waits.
            #expect(try await dying.run().isElsewhere)
        }
    }

    @Test func `the server that purges keeps the duty while it runs`() async throws {
        try await TestService.withTwo { first, second in
            var holder = Self.purge(first)
            var other = Self.purge(second)
            for _ in 0..<10 {
                let held = try await holder.run()
                first.clock.advance(seconds: Self.dutySeconds * 2 / 3)
                let refused = try await other.run()
                #expect(!held.isElsewhere && refused.isElsewhere)
            }
        }
    }

    @Test func `a server that stops gives the duty back at once`() async throws {
        try await TestService.withTwo { first, second in
            var stopping = Self.purge(first)
            var other = Self.purge(second)
            _ = try await stopping.run()
            // One that does not have it gives nothing back.
            try await other.release()
            #expect(try await other.run().isElsewhere)
            try await stopping.release()
            #expect(try await other.run().isComplete)
            #expect(try await stopping.run().isElsewhere)
        }
    }

    @Test func `a server whose clock differs from PostgreSQL's does not take the duty`() async throws {
        try await TestService.with { service in
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 0,
                rowsMax: 10,
                duty: Duty(
                    Purge.duty,
                    store: service.operations.store,
                    effects: service.operations.effects,
                    seconds: Self.dutySeconds
                ),
                databaseClock: { service.clock.now.adding(seconds: 40 * 86_400) }
            )
            let report = try await purge.run()
            #expect(!report.isElsewhere && !report.isComplete)
            #expect(try await service.database.count("SELECT count(*) FROM duties") == 0)
        }
    }

    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `a kind of rows that cannot be deleted stops no other, and is reported until it can`() async throws {
        let recorded = TestMetrics()
        let metrics = PurgeMetrics(recorded)
        func backlog(_ kind: String) throws -> Double? {
            try recorded.expectMeter(PurgeMetrics.backlog, [("kind", kind)]).lastValue
        }
        func count(_ label: String, _ kind: String) throws -> Int64 {
            try recorded.expectCounter(label, [("kind", kind)]).totalValue
        }
        try await TestService.with { service in
            try await Self.fill(service)
            try await service.database.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON message_counts FOR EACH ROW EXECUTE FUNCTION refuse();
                """
            )
            var purge = Self.purge(service, metrics: metrics)
            service.clock.advance(seconds: 600)
            var report = try await purge.run()
            #expect(Array(report.failures.keys) == [.delete(.messageCounts)])
            #expect(!report.isComplete && !report.isElsewhere)
            #expect(report.rows[.providerFlows] == 10)
            #expect(try await service.database.count("SELECT count(*) FROM message_counts") == 10)
            #expect(try count(PurgeMetrics.failures, "message_counts") == 1)
            #expect(try count(PurgeMetrics.failures, "provider_flows") == 0)
            #expect(try count(PurgeMetrics.rows, "provider_flows") == 10)
            #expect(try backlog("message_counts") == 601)
            #expect(try backlog("provider_flows") == 0)

            try await service.database.execute("DROP TRIGGER refuse ON message_counts")
            report = try await purge.run()
            #expect(report.isComplete && report.rows[.messageCounts] == 10)
            #expect(try backlog("message_counts") == 0)
        }
    }

    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `conflicts that could not be counted are not deleted`() async throws {
        try await TestService.with { service in
            try await Self.fill(service)
            let user = try await service.signUp(service.newAddress()).value.user.id.rawValue
            let end = service.clock.now.secondsSinceEpoch - 8 * 86_400
            try await service.database.execute(
                """
                INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest,
                    token_digests, sealed_credential, opened_at, expires_at)
                SELECT '\(user)', decode(repeat(lpad(n::text, 2, '0'), 16), 'hex'), 'open', 'credential-already-in-use',
                    'google.com', decode(repeat(lpad(n::text, 2, '0'), 32), 'hex'), '{}', 'x',
                    to_timestamp(\(end - 3600)), to_timestamp(\(end)) FROM generate_series(1, 25) AS n;
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'not counted'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON conflicts FOR EACH ROW EXECUTE FUNCTION refuse();
                """
            )
            // The first turn of 10 batches does not reach every conflict.
            var purge = Self.purge(service, rowsMax: 2)
            var report = try await purge.run()
            #expect(Array(report.failures.keys) == [.countConflicts] && !report.isComplete)
            #expect(report.rows[.conflicts] == nil && report.rows[.providerFlows] == 10)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts WHERE NOT is_counted") == 25)

            try await service.database.execute(
                """
                DROP TRIGGER refuse ON conflicts;
                CREATE FUNCTION refuse_uncounted() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF NOT old.is_counted THEN RAISE EXCEPTION 'not counted'; END IF; RETURN old; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON conflicts FOR EACH ROW EXECUTE FUNCTION refuse_uncounted();
                """
            )
            report = try await purge.run()
            #expect(report.isComplete && report.rows[.conflicts] == 25)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 0)
        }
    }

    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `a server that loses the duty no longer reports a backlog`() async throws {
        let recorded = TestMetrics()
        try await TestService.withTwo { first, second in
            try await Self.fill(first)
            try await first.database.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'this row stays'; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON message_counts FOR EACH ROW EXECUTE FUNCTION refuse();
                """
            )
            var stopped = Self.purge(first, metrics: PurgeMetrics(recorded))
            var heir = Self.purge(second)
            _ = try await stopped.run()
            first.clock.advance(seconds: Self.dutySeconds)
            #expect(try await heir.run().isElsewhere == false)
            #expect(try await stopped.run().isElsewhere)
            let meter = try recorded.expectMeter(PurgeMetrics.backlog, [("kind", "message_counts")])
            #expect(meter.lastValue == 0)
        }
    }

    @Test func `batches follow the time that they take`() async throws {
        try await TestService.with { service in
            for (milliseconds, sizes, rest) in [
                (10, 3, Duration.microseconds(2500)), (400, 9, .milliseconds(400)),
            ] as [(Int, Int, Duration)] {
                try await Self.fill(service, 2500)
                let now = Mutex(ContinuousClock.now)
                let rests = Mutex<[Duration]>([])
                var purge = Self.purge(
                    service,
                    rowsMax: 10_000,
                    uptime: {
                        now.withLock { now in
                            now += .milliseconds(milliseconds)
                            return now
                        }
                    },
                    rest: { pause in rests.withLock { $0.append(pause) } }
                )
                #expect(try await purge.run().total == 5000)
                try await purge.release()
                // Fast: 1,000, then 1,500 of 2,000. Slow: 1,000, 500, 250, 125, and 100 until none is left.
                let rested = rests.withLock { $0 }
                #expect(rested.allSatisfy { $0 == rest }, "\(rested)")
                #expect(sizes == 3 ? rested.count == 2 : rested.count >= sizes, "\(rested)")
            }
        }
    }
}
