import AccountLinking
import AccountStore
import AccountTestSupport
import Delivery
import Foundation
import JSON
import OpenTelemetry
import Postgres
import Spans
import Synchronization
import Testing
import Tracing

@testable import AccountOperations

/// Messages in the outbox under concurrency and failures.
struct OutboxTests {
    @Test func `many workers on two servers send each message once`() async throws {
        try await TestService.withTwo { service, other in
            let channel = FakeChannel()
            try await service.enqueueMails(300)
            let workers = [OutboxDeliveries(service.operations, over: channel), .init(other.operations, over: channel)]
            try await withThrowingTaskGroup { group in
                for worker in 0..<12 {
                    group.addTask { while try await workers[worker % 2].sendDue() > 0 {} }
                }
                try await group.waitForAll()
            }
            #expect(channel.ids.count == 300 && Set(channel.ids).count == 300)
            let done: Query<Int64?> = """
                SELECT count(*) FROM outbox
                WHERE state = 'sent' AND sealed_payload IS NULL AND attempts = 1 AND reason IS NULL
                """
            #expect(try await service.database.count(done) == 300)
        }
    }

    @Test func `a deferred message is retried with growing pauses, and finally fails`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { _, _ in .deferred(reason: "451 4.2.1") }
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            try await service.enqueueMails(1, seconds: 7 * 86_400)
            var pauses: [Int64] = []
            for attempt in 1...RetrySchedule.messages.attemptsMax {
                #expect(try await deliveries.sendDue() == 1)
                #expect(try await deliveries.sendDue() == 0)
                let entry = try await service.onlyEntry()
                #expect(entry.attempts == Int32(attempt) && entry.reason == "451 4.2.1" && entry.sealedPayload != nil)
                guard entry.state == .pending else { break }
                let pause = entry.nextAttemptAt.secondsSinceEpoch - service.clock.now.secondsSinceEpoch
                pauses.append(pause)
                service.clock.advance(seconds: pause - 1)
                #expect(try await deliveries.sendDue() == 0)
                service.clock.advance(seconds: 2)
            }
            #expect(try await service.onlyEntry().state == .failed)
            #expect(
                pauses.count == RetrySchedule.messages.attemptsMax - 1 && pauses[3] > pauses[0] && pauses[8] > pauses[4]
            )
            #expect(Set(channel.contents).count == 1, "the same content each time")
            // An operator retries it.
            service.clock.advance(seconds: 86_400)
            #expect(try await deliveries.sendDue() == 0)
            channel.answer { _, _ in .delivered }
            let now = service.clock.now
            let id = try await service.onlyEntry().id
            let nobody = PostgresUUID(high: 1, low: 1)
            #expect(try await service.operations.store.retryMessages([nobody], at: now, countMax: 10) == 0)
            #expect(try await service.operations.store.retryMessages([nobody, id], at: now, countMax: 10) == 1)
            #expect(try await deliveries.sendDue() == 1)
            let sent = try await service.onlyEntry()
            #expect(sent.state == .sent && sent.sealedPayload == nil && sent.attempts == 1 && sent.reason == nil)
            #expect(try await service.operations.store.retryMessages(nil, at: now, countMax: 10) == 0)
        }
    }

    @Test func `a refused message fails at once, and others are sent`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { number, _ in number == 2 ? .refused(reason: "550 5.1.1") : .delivered }
            try await service.enqueueMails(3)
            #expect(try await OutboxDeliveries(service.operations, over: channel).sendDue() == 3)
            let store = service.operations.store
            #expect(try await store.outboxEntries(.sent, countMax: 10).count == 2)
            let failed = try await store.outboxEntries(.failed, countMax: 10)
            #expect(failed.map(\.reason) == ["550 5.1.1"] && failed.allSatisfy { $0.sealedPayload != nil })
            // It can be retried until it expires.
            service.clock.advance(seconds: 3601)
            #expect(try await store.retryMessages(nil, at: service.clock.now, countMax: 10) == 0)
        }
    }

    @Test func `each delivery is a trace, and names no recipient`() async throws {
        try await TestService.with { service in
            let recorded = RecordedSpans()
            var operations = service.operations
            operations.spans = recorded.spans
            let channel = FakeChannel { number, _ in number == 2 ? .refused(reason: "550 5.1.1") : .delivered }
            try await service.enqueueMails(2)
            #expect(try await OutboxDeliveries(operations, over: channel).sendDue() == 2)
            let spans = recorded.take()
            #expect(spans.map(\.name) == ["send \(channel.kind.rawValue)", "send \(channel.kind.rawValue)"])
            #expect(spans.allSatisfy { $0.parent == nil && $0.kind == .producer })
            #expect(Set(spans.map(\.context.trace)).count == 2)
            #expect(spans.map { $0.status?.code == .error } == [false, true])
            #expect(spans[1].attributes.get("error.type") == .string("refused"))
            for (name, value) in spans.flatMap(\.attributes.pairs) { #expect(!"\(value)".contains("@"), "\(name)") }
        }
    }

    @Test func `an expired message is not sent`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { _, _ in .deferred(reason: "timeout") }
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            try await service.enqueueMails(1, seconds: 60)
            service.clock.advance(seconds: 60)
            #expect(try await deliveries.sendDue() == 1)
            let expired = try await service.onlyEntry()
            #expect(channel.ids.isEmpty && expired.state == .failed && expired.reason == "expired")
            #expect(expired.sealedPayload == nil)
            #expect(try await service.operations.store.retryMessages(nil, at: service.clock.now, countMax: 10) == 0)
            // A message that would expire before its next attempt fails now, while an operator can still act.
            try await service.database.execute("DELETE FROM outbox")
            try await service.enqueueMails(1, seconds: 3)
            #expect(try await deliveries.sendDue() == 1)
            let late = try await service.onlyEntry()
            #expect(channel.ids.count == 1 && late.state == .failed && late.reason == "timeout")
        }
    }

    @Test func `an unavailable relay costs no message an attempt, however long it lasts`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { _, _ in .unavailable(reason: "unreachable") }
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            try await service.enqueueMails(100)
            var pauses: [Int64] = []
            for tries in 1...12 {
                // While the channel is closed, nothing is tried.
                var pause: Int64 = 0
                while true {
                    await #expect(throws: ChannelClosed(reason: "unreachable")) { try await deliveries.sendDue() }
                    if channel.ids.count == tries { break }
                    service.clock.advance(seconds: 1)
                    pause += 1
                }
                pauses.append(pause)
                let untouched: Query<Int64?> = """
                    SELECT count(*) FROM outbox WHERE state = 'pending' AND attempts = 0 AND sealed_payload IS NOT NULL
                    """
                #expect(try await service.database.count(untouched) == 100)
            }
            #expect(pauses[0] == 0 && pauses[1] <= 2 && pauses.max().map { $0 > 30 && $0 <= 76 } == true)
            channel.answer { _, _ in .delivered }
            service.clock.advance(seconds: 80)
            while try await deliveries.sendDue() > 0 {}
            let sent: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'sent' AND attempts = 1"
            #expect(try await service.database.count(sent) == 100)
        }
    }

    @Test func `a channel that closed before the clock was set back is tried again`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { _, _ in .unavailable(reason: "unreachable") }
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            try await service.enqueueMails(1)
            await #expect(throws: ChannelClosed(reason: "unreachable")) { try await deliveries.sendDue() }
            service.clock.advance(seconds: -3600)
            try await service.enqueueMails(1)
            // It closes again, for the usual time.
            await #expect(throws: ChannelClosed(reason: "unreachable")) { try await deliveries.sendDue() }
            #expect(channel.ids.count == 2)
            channel.answer { _, _ in .delivered }
            service.clock.advance(seconds: 80)
            #expect(try await deliveries.sendDue() == 1)
            #expect(channel.ids.count == 3)
        }
    }

    @Test func `a message of a dead worker is sent by another once the claim ends`() async throws {
        try await TestService.withTwo { service, other in
            let channel = FakeChannel()
            let deliveries = OutboxDeliveries(other.operations, over: channel)
            try await service.enqueueMails(1)
            let now = service.clock.now
            let until = now.adding(seconds: deliveries.claimSeconds)
            let store = service.operations.store
            let claimed = try #require(await store.claimMessages(.mail, at: now, until: until, countMax: 1).first)
            service.clock.advance(seconds: deliveries.claimSeconds - 1)
            #expect(try await deliveries.sendDue() == 0)
            service.clock.advance(seconds: 1)
            channel.answer { _, _ in .deferred(reason: "timeout") }
            #expect(try await deliveries.sendDue() == 1)
            // The first worker was only slow. Its late result is ignored, unless it delivered the message.
            try await store.finish(claimed, .givenUp(reason: "550"))
            try await store.finish(claimed, .retry(at: now, reason: "550"))
            try await store.release([claimed], until: now, reason: "550")
            let entry = try await service.onlyEntry()
            #expect(entry.state == .pending && entry.reason == "timeout" && entry.attempts == 2)
            #expect(entry.nextAttemptAt > service.clock.now)
            try await store.finish(claimed, .delivered)
            #expect(try await service.onlyEntry().state == .sent)
        }
    }

    @Test func `no send starts that might outlast its claim`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel { _, _ in
                service.clock.advance(seconds: 20)
                return .delivered
            }
            try await service.enqueueMails(5)
            // The claim lasts 60 seconds, and sending may take 30 of them.
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            #expect(try await deliveries.sendDue() == 5 && channel.ids.count == 2)
            #expect(try await service.database.count("SELECT count(*) FROM outbox WHERE attempts = 0") == 3)
            #expect(try await deliveries.sendDue() == 3 && channel.ids.count == 4)
        }
    }

    @Test func `a withheld message waits like any other, is shown nowhere, and is dropped by its worker`()
        async throws
    {
        try await TestService.with { service in
            let channel = FakeChannel()
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            let store = service.operations.store
            try await service.enqueueMails(1)
            try await service.enqueueMails(2, isWithheld: true)
            let alike: Query<Int64?> = """
                SELECT count(DISTINCT (state, length(sealed_payload), attempts, next_attempt_at, expires_at, reason)) FROM outbox
                """
            #expect(try await service.database.count(alike) == 1)
            #expect(try await store.waitingMessages(.mail, countMax: 10).count == 1)
            #expect(try await service.operations.inbox(tenant: .project).count == 1)
            #expect(try await store.outboxEntries(.pending, countMax: 10).count == 1)

            #expect(try await deliveries.sendDue() == 3)
            #expect(channel.ids.count == 1)
            let ended: Query<String> = """
                SELECT state || ' ' || (sealed_payload IS NULL) FROM outbox WHERE is_withheld
                """
            #expect(try await service.database.rows(ended) == ["withheld true", "withheld true"])
            for state in OutboxMessage.State.allCases {
                #expect(try await store.outboxEntries(state, countMax: 10).count == (state == .sent ? 1 : 0))
            }
            #expect(try await deliveries.sendDue() == 0)

            // A withheld message that expired, or that an older server marked as failed, is shown nowhere either.
            try await service.enqueueMails(1, seconds: 60, isWithheld: true)
            service.clock.advance(seconds: 60)
            #expect(try await deliveries.sendDue() == 1)
            #expect(try await store.outboxEntries(.failed, countMax: 10).isEmpty)
            try await service.enqueueMails(1, isWithheld: true)
            try await service.database.execute("UPDATE outbox SET state = 'failed' WHERE state = 'pending'")
            #expect(try await store.outboxEntries(.failed, countMax: 10).isEmpty)
            #expect(try await store.retryMessages(nil, at: service.clock.now, countMax: 10) == 0)
            #expect(channel.ids.count == 1)
        }
    }

    @Test func `a withheld message contains nothing of the mail`() async throws {
        try await TestService.with(settings: Self.protected) { service in
            #expect(try await service.askForReset("nobody@example.com").denial == nil)
            let store = service.operations.store
            let now = service.clock.now
            let claimed = try await store.claimMessages(.mail, at: now, until: now.adding(seconds: 60), countMax: 1)
            let message = try #require(claimed.first)
            #expect(message.isWithheld)
            let said = OutboxMessage.plaintext(
                of: message.sealedPayload,
                id: message.id,
                tenant: .project,
                sealer: service.operations.sealer
            )
            #expect(said?.allSatisfy { $0 == 0 } == true && (said?.count ?? 0) > 100)
        }
    }

    private static let protected = ProjectSettings.developmentDefaults
        .setting(true, at: ["emailPrivacyConfig", "enableImprovedEmailPrivacy"])

    @Test func `a message that cannot be opened fails and is kept`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel()
            try await service.enqueueMails(1)
            try await service.database.execute("UPDATE outbox SET sealed_payload = 'x'")
            #expect(try await OutboxDeliveries(service.operations, over: channel).sendDue() == 1)
            let entry = try await service.onlyEntry()
            #expect(channel.ids.isEmpty && entry.state == .failed && entry.reason == "unreadable")
        }
    }

    @Test func `a code for a number is sent through its gateway, and signs its reader in`() async throws {
        final class Gateway: SMSSending {
            let taken = Mutex<[OutgoingSMS]>([])

            func send(_ message: OutgoingSMS, at _: Int64, deadline _: ContinuousClock.Instant) async -> DeliveryOutcome
            {
                taken.withLock { $0.append(message) }
                return .delivered
            }
        }
        try await TestService.with { service in
            let gateway = Gateway()
            let channel = SMSChannel(gateway, timeout: .seconds(30), concurrencyMax: 2)
            let asked = try await service.phoneCode("+16505553434")
            let deliveries = OutboxDeliveries(service.operations, over: channel)
            #expect(try await deliveries.sendDue() == 1)
            #expect(try await deliveries.sendDue() == 0)
            let taken = gateway.taken.withLock { $0 }
            let message = try #require(taken.first)
            #expect(message.to == "+16505553434" && message.text.contains(message.code) && message.code == asked.code)
            let entry = try await service.onlyEntry()
            #expect(entry.state == .sent && entry.sealedPayload == nil)
            #expect(try await service.signInByPhone(asked.sessionInfo, message.code).entered != nil)
        }
    }

    @Test func `messages of another kind do not block a channel`() async throws {
        try await TestService.with { service in
            let channel = FakeChannel()
            try await service.enqueueMails(40)
            try await service.database.execute("UPDATE outbox SET kind = 'sms'")
            try await service.enqueueMails(2)
            #expect(try await OutboxDeliveries(service.operations, over: channel).sendDue() == 2)
            let waiting = try await service.operations.store.waitingMessages(.sms, countMax: 30)
            #expect(waiting.count == 30 && waiting.oldest == service.clock.now)
            let none = try await service.operations.store.waitingMessages(.mail, countMax: 30)
            #expect(none.count == 0 && none.oldest == nil)
        }
    }

    @Test func `a thousand mails reach a relay that fails every third attempt, each once`() async throws {
        try await TestService.withTwo { service, other in
            try await LocalRelay.run(["--fail-every", "3", "--brief"]) { relay in
                let smtp = SMTPRelay(relay.configuration)
                let workers = try [service, other].map { try OutboxDeliveries($0.operations, over: $0.channel(smtp)) }
                // Some fail repeatedly. None may expire.
                try await service.enqueueMails(1000, seconds: 30 * 86_400)
                let waiting: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'pending'"
                while try await service.database.count(waiting) > 0 {
                    try await withThrowingTaskGroup { group in
                        for worker in 0..<4 {
                            group.addTask { while try await workers[worker % 2].sendDue() > 0 {} }
                        }
                        try await group.waitForAll()
                    }
                    service.clock.advance(seconds: 600)
                }
                await smtp.shutDown()
                let sent: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'sent'"
                #expect(try await service.database.count(sent) == 1000)
                let ids = try await relay.mails(atLeast: 1000).map(\.messageID)
                #expect(ids.count == 1000 && Set(ids).count == 1000)
                #expect(try await service.database.count("SELECT sum(attempts) FROM outbox") >= 1499)
            }
        }
    }

    @Test func `only a mail whose answer was lost is sent again, with the same id`() async throws {
        try await TestService.with { service in
            try await LocalRelay.run { relay in
                let smtp = SMTPRelay(relay.configuration)
                let deliveries = try OutboxDeliveries(service.operations, over: service.channel(smtp))
                try await service.enqueueMails(1, to: "lost@example.com")
                try await service.enqueueMails(3)
                #expect(try await deliveries.sendDue() == 4)
                #expect(
                    try await service.database.count("SELECT count(*) FROM outbox WHERE reason = 'answer-lost'") == 1
                )
                service.clock.advance(seconds: 10)
                #expect(try await deliveries.sendDue() == 1)
                await smtp.shutDown()
                let lost = try await relay.mails(atLeast: 5).filter { $0.recipient == "lost@example.com" }
                #expect(lost.count == 2 && Set(lost.map(\.messageID)).count == 1 && lost[0].content == lost[1].content)
                #expect(relay.mails.count == 5)
            }
        }
    }
}

/// A channel in place of a relay.
final class FakeChannel: OutboxChannel {
    typealias Answer = @Sendable (_ number: Int, _ id: PostgresUUID) -> DeliveryOutcome

    private struct State {
        var sent: [(id: PostgresUUID, content: [UInt8])] = []
        var answer: Answer
    }

    let kind = OutboxMessage.Kind.mail
    let concurrencyMax = 2
    let sendSecondsMax: Int64 = 30
    private let state: Mutex<State>

    init(_ answer: @escaping Answer = { _, _ in .delivered }) {
        state = Mutex(State(answer: answer))
    }

    var ids: [PostgresUUID] { state.withLock { $0.sent.map(\.id) } }
    var contents: [[UInt8]] { state.withLock { $0.sent.map(\.content) } }

    func answer(_ answer: @escaping Answer) {
        state.withLock { $0.answer = answer }
    }

    func send(_ content: [UInt8], id: PostgresUUID, createdAt: Timestamp) async -> DeliveryOutcome {
        let (answer, number) = state.withLock { state in
            state.sent.append((id, content))
            return (state.answer, state.sent.count)
        }
        return answer(number, id)
    }

    func shutDown() async {}
}

extension LocalRelay {
    var configuration: SMTPConfiguration {
        SMTPConfiguration(host: "127.0.0.1", port: port, security: .none, connectionsMax: 4, timeout: .seconds(60))
    }
}

extension TestService {
    func channel(_ mails: any MailSending, publicURL: String? = nil) throws -> MailChannel {
        MailChannel(
            mails,
            from: MailSender(
                from: try #require(Mailbox("Example <no-reply@example.com>")),
                replyTo: nil,
                idDomain: "example.com"
            ),
            templates: try MailTemplates(),
            project: operations.project,
            publicURL: publicURL
        )
    }

    /// Writes waiting mails like the operations.
    func enqueueMails(
        _ count: Int,
        to recipient: String = "ada@example.com",
        seconds: Int64 = 3600,
        isWithheld: Bool = false
    ) async throws {
        let now = clock.now
        let mail = Mail(
            template: .code(.verifyEmail),
            to: recipient,
            email: recipient,
            link: "https://example.com/x",
            locale: "en"
        )
        let rows = try (0..<count).map { _ in
            let id = PostgresUUID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
            let message = try mail.message(
                id: id,
                tenant: .project,
                createdAt: now,
                expiresAt: now.adding(seconds: seconds),
                isWithheld: isWithheld,
                sealer: operations.sealer
            )
            let sealed = Hexadecimal.encode(message.sealedPayload)
            let (created, expires) = (RFC3339.text(now), RFC3339.text(message.expiresAt))
            return "('\(id.text)', 'mail', '\\x\(sealed)', '\(created)', '\(expires)', '\(created)', \(isWithheld))"
        }
        try await database.execute(
            """
            INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at, is_withheld)
            VALUES \(rows.joined(separator: ", "))
            """
        )
    }

    /// The only message, in any state.
    func onlyEntry() async throws -> OutboxEntry {
        var found: [OutboxEntry] = []
        for state in OutboxMessage.State.allCases {
            found += try await operations.store.outboxEntries(state, countMax: 10)
        }
        #expect(found.count == 1)
        return try #require(found.first)
    }
}
