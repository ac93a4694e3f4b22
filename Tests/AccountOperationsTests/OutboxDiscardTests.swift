import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Synchronization
import Testing

@testable import AccountOperations

/// Messages withdrawn by an operator or by the undo of a plan, while workers send.
struct OutboxDiscardTests {
    /// Rows that are neither sent nor discarded, or still have content.
    private static let contradictions: Query<Int64?> = """
        SELECT count(*) FROM outbox WHERE sealed_payload IS NOT NULL OR state NOT IN ('sent', 'discarded')
        """

    private func ids(_ state: String, in service: TestService) async throws -> Set<String> {
        let rows = try await service.database.rows(
            "SELECT message_id::text FROM outbox WHERE state = \(state)" as Query<String>
        )
        return Set(rows)
    }

    @Test func `when many workers send and many callers discard, each message is sent once or discarded`()
        async throws
    {
        try await TestService.withTwo { service, other in
            let channel = FakeChannel()
            try await service.enqueueMails(400)
            let workers = [OutboxDeliveries(service.operations, over: channel), .init(other.operations, over: channel)]
            let listings = [service, other].map { OutboxListing($0.operations.store, sealer: nil) }
            let cutoff = service.clock.now
            let counts = try await withThrowingTaskGroup { group in
                for racer in 0..<8 {
                    group.addTask {
                        while try await workers[racer % 2].sendDue() > 0 {}
                        return Int64(0)
                    }
                    group.addTask {
                        var total: Int64 = 0
                        for number in 0..<10 {
                            // A few at a time, so that the workers get some.
                            let store = (racer % 2 == 0 ? service : other).operations.store
                            total += Int64(
                                try await store.discardMessages(
                                    .pending(number % 2 == 0 ? .mail : nil, writtenUntil: cutoff),
                                    at: cutoff,
                                    countMax: 3
                                )
                            )
                        }
                        return total
                    }
                }
                return try await group.reduce(0, +)
            }
            // Messages that were locked when the workers read.
            while try await workers[0].sendDue() > 0 {}
            let (sent, discarded) = (try await ids("sent", in: service), try await ids("discarded", in: service))
            #expect(sent == Set(channel.ids.map(\.text)) && channel.ids.count == sent.count, "each message once")
            #expect(Int64(discarded.count) == counts && sent.isDisjoint(with: discarded))
            #expect(sent.count + discarded.count == 400 && !sent.isEmpty && !discarded.isEmpty)
            #expect(try await service.database.count(Self.contradictions) == 0)
            #expect(try await listings[0].discard(.pending(nil, writtenUntil: cutoff), at: cutoff) == 0)
        }
    }

    @Test func `a claimed message cannot be discarded until its worker releases it`()
        async throws
    {
        try await TestService.with { service in
            let store = service.operations.store
            let listing = OutboxListing(store, sealer: nil)
            func discard() async throws -> Int64 {
                let now = service.clock.now
                return try await listing.discard(.pending(nil, writtenUntil: now), at: now)
            }
            try await service.enqueueMails(3)
            var claimed = try await store.claimMessages(
                .mail,
                at: service.clock.now,
                until: service.clock.now.adding(seconds: 60),
                countMax: 3
            )
            #expect(claimed.count == 3)
            #expect(try await discard() == 0)
            let count = try await listing.countDiscardable(.named(claimed.map(\.id)), at: service.clock.now)
            #expect(count.unclaimed == 0 && count.claimed == 3)

            // Postponed, released, and sent.
            let later = service.clock.now.adding(seconds: 3600)
            try await store.finish(claimed.removeLast(), .retry(at: later, reason: "451 4.2.1"))
            #expect(try await discard() == 1, "it waits unclaimed")
            try await store.release([claimed.removeLast()], until: later, reason: nil)
            #expect(try await discard() == 1)
            try await store.finish(claimed[0], .delivered)
            #expect(try await discard() == 0)
            #expect(try await service.database.count(Self.contradictions) == 0)
            let reasons: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'discarded' AND reason = 'operator'"
            #expect(try await service.database.count(reasons) == 2)
        }
    }

    @Test func `a message of a dead worker or of an older version can be discarded once its claim ends`()
        async throws
    {
        try await TestService.with { service in
            let store = service.operations.store
            try await service.enqueueMails(1)
            _ = try await store.claimMessages(
                .mail,
                at: service.clock.now,
                until: service.clock.now.adding(seconds: 60),
                countMax: 1
            )
            func discard() async throws -> Int {
                let now = service.clock.now
                return try await store.discardMessages(.pending(.mail, writtenUntil: now), at: now, countMax: 10)
            }
            service.clock.advance(seconds: 59)
            #expect(try await discard() == 0)
            // An older version does not set `postponed_until`, so the row looks like a claim.
            try await service.database.execute("UPDATE outbox SET reason = 'timeout', attempts = 2")
            #expect(try await discard() == 0)
            service.clock.advance(seconds: 1)
            #expect(try await discard() == 1)
        }
    }

    @Test func `messages are discarded by id, kind and age, and withheld ones stay`() async throws {
        try await TestService.with { service in
            let store = service.operations.store
            let listing = OutboxListing(store, sealer: nil)
            try await service.enqueueMails(2, seconds: 86_400)
            service.clock.advance(seconds: 7200)
            try await service.enqueueMails(2)
            try await service.enqueueMails(2, isWithheld: true)
            let now = service.clock.now
            let anHourAgo = now.adding(seconds: -3600)
            #expect(try await listing.discard(.pending(.sms, writtenUntil: now), at: now) == 0)
            #expect(try await listing.discardable(.pending(nil, writtenUntil: now), at: now, countMax: 10).count == 4)
            #expect(try await listing.discard(.pending(.mail, writtenUntil: anHourAgo), at: now) == 2)
            #expect(try await listing.messages(.discarded, countMax: 10).map(\.reason) == ["operator", "operator"])

            // A failed message is discarded only by its id, and cannot be sent afterwards.
            let waiting = try await store.outboxEntries(.pending, countMax: 10).map(\.id)
            try await service.database.execute(
                "UPDATE outbox SET state = 'failed' WHERE message_id = '\(waiting[0].text)'"
            )
            #expect(try await listing.discard(.pending(nil, writtenUntil: now), at: now) == 1)
            #expect(try await listing.discard(.named([waiting[0], waiting[1]]), at: now) == 1)
            #expect(try await listing.retry(nil, at: now) == 0)
            let withheld: Query<Int64?> = "SELECT count(*) FROM outbox WHERE is_withheld AND state = 'pending'"
            #expect(try await service.database.count(withheld) == 2)
            let ids = try await service.database.rows(
                "SELECT message_id::text FROM outbox WHERE is_withheld" as Query<String>
            )
            let decoys = try #require(OutboxListing.named(ids))
            #expect(try await listing.discard(.named(decoys), at: now) == 0)
            #expect(try await service.database.count(withheld) == 2)
            // Purged as late as sent messages.
            #expect(try await store.purge(.finishedMessages, endedBefore: now, rowsMax: 10) == 4)
        }
    }

    // MARK: Undoing a plan

    private static let plan = AppliedPlan.ID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0002)

    /// Suspends the passwords of `count` accounts with a plan. Each owner gets a mail.
    private func suspendPasswords(_ count: Int, in service: TestService) async throws {
        try await AuditTests.fill(service.database, count: count)
        let operations = service.operations
        let repairs = AuditRepairs(
            store: operations.store,
            terms: AuditRepairs.Terms(
                settings: operations.project.settings,
                isEnabled: { _ in true },
                undoSeconds: 30 * 86_400
            ),
            sealer: operations.sealer,
            effects: operations.effects
        )
        try await repairs.begin(Self.plan, madeAt: service.clock.now, steps: Int64(count))
        for start in stride(from: 1, through: count, by: AuditRepairs.stepsMax) {
            let steps = try (start...min(start + AuditRepairs.stepsMax - 1, count)).map { number in
                let digits = String(number)
                return PlannedStep(
                    number: Int64(number),
                    rule: "unused-password",
                    tenant: .project,
                    user: try #require(UserID("user-" + String(repeating: "0", count: 4 - digits.count) + digits)),
                    version: 1,
                    repair: .suspend(.password, endsSessions: false)
                )
            }
            let results = try await repairs.apply(steps, of: Self.plan)
            #expect(results.allSatisfy { $0.outcome == .applied && $0.isOwnerMailed }, "\(results)")
        }
    }

    private func undo(_ service: TestService) async throws -> [WithdrawnMail] {
        let store = service.operations.store
        let undo = RepairUndo(store: store, effects: service.operations.effects)
        var mails: [WithdrawnMail] = []
        for step in try await store.appliedSteps(of: Self.plan, before: .max >> 32, countMax: 1000) {
            if case .undone(let mail?) = try await undo.undo(step, of: Self.plan) { mails.append(mail) }
        }
        return mails
    }

    @Test func `an undo withdraws unsent mails, and reports how many had been sent`() async throws {
        try await TestService.with { service in
            try await suspendPasswords(5, in: service)
            let store = service.operations.store
            let now = service.clock.now
            let claimed = try await store.claimMessages(.mail, at: now, until: now.adding(seconds: 60), countMax: 2)
            try await store.finish(claimed[0], .delivered)
            // A failed message was not sent, and cannot be retried any more.
            try await service.database.execute(
                """
                UPDATE outbox SET state = 'failed', attempts = 9, reason = '550 5.1.1'
                WHERE message_id = (SELECT min(message_id::text)::uuid FROM outbox WHERE attempts = 0)
                """
            )
            let mails = try await undo(service)
            #expect(mails.count == 5 && mails.filter { $0 == .hadLeft }.count == 2, "\(mails)")
            let states = try await service.database.rows(
                "SELECT state || ' ' || count(*) FROM outbox GROUP BY state ORDER BY state" as Query<String>
            )
            #expect(states == ["discarded 3", "pending 1", "sent 1"])
            #expect(try await OutboxListing(store, sealer: nil).retry(nil, at: now) == 0)
            let passwords: Query<Int64?> = "SELECT count(*) FROM sign_in_methods WHERE method = 'password'"
            #expect(try await service.database.count(passwords) == 5)
        }
    }

    @Test func `when many undos race with workers, each mail is sent or withdrawn, and reported correctly`()
        async throws
    {
        try await TestService.withTwo { service, other in
            try await suspendPasswords(200, in: service)
            let channel = FakeChannel()
            let workers = [OutboxDeliveries(service.operations, over: channel), .init(other.operations, over: channel)]
            let mails = try await withThrowingTaskGroup { group in
                for racer in 0..<4 {
                    group.addTask {
                        // One batch at a time, so that the undo gets some.
                        while try await workers[racer % 2].sendDue() > 0 {
                            try await Task.sleep(for: .milliseconds(40))
                        }
                        return [WithdrawnMail]()
                    }
                    group.addTask { try await undo(racer % 2 == 0 ? service : other) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            while try await workers[0].sendDue() > 0 {}
            let (sent, discarded) = (try await ids("sent", in: service), try await ids("discarded", in: service))
            #expect(mails.count == 200, "one undo of each step succeeds and reports its mail")
            #expect(mails.filter { $0 == .withdrawn }.count == discarded.count)
            #expect(mails.filter { $0 == .hadLeft }.count == sent.count)
            #expect(sent == Set(channel.ids.map(\.text)) && channel.ids.count == sent.count)
            #expect(sent.isDisjoint(with: discarded) && !sent.isEmpty && !discarded.isEmpty)
            #expect(try await service.database.count(Self.contradictions) == 0)
            let passwords: Query<Int64?> = "SELECT count(*) FROM sign_in_methods WHERE method = 'password'"
            #expect(try await service.database.count(passwords) == 200, "all passwords are restored")
        }
    }
}
