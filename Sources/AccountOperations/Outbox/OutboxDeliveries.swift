package import AccountLinking
package import AccountStore
package import Delivery
import ServiceLifecycle
import Spans
import Synchronization
import Tracing

/// Sends messages of one kind from the outbox.
package protocol OutboxChannel: Sendable {
    var kind: OutboxMessage.Kind { get }
    /// Limit of concurrent sends, and number of workers to run.
    var concurrencyMax: Int { get }
    /// Longest time that one send can take.
    var sendSecondsMax: Int64 { get }

    /// Sends the message `id` once.
    func send(_ content: [UInt8], id: OutboxMessage.ID, createdAt: Timestamp) async -> DeliveryOutcome

    /// Releases the channel's resources. Sends nothing afterwards.
    func shutDown() async
}

/// The channel sends nothing for a while, because the receiver accepts no messages.
package struct ChannelClosed: Error, Hashable, CustomStringConvertible {
    package let reason: String

    package var description: String { reason }
}

/// Sends the due messages of one kind. Any number of workers and servers may do so concurrently.
///
/// A worker claims a message in one statement, sends it while it holds nothing, and records the result in another. If
/// the worker dies in between, another worker takes the message when the claim expires. Each message is sent at least
/// once, and twice only if its acceptance could not be recorded or is unknown.
package final class OutboxDeliveries: Sendable {
    /// Limit of the messages that a worker claims at once.
    package static let batchMax = 16
    /// Limit of the pause while the channel is closed. Pauses double from one second, with a jitter of ±25 %.
    private static let closedSecondsMax: Int64 = 60
    private static let writingAttemptsMax = 40
    private static let writingPause = Duration.milliseconds(250)

    private let channel: any OutboxChannel
    private let operations: AccountOperations
    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let metrics: OperationMetrics
    private let spans: Spans
    private let state = Mutex(State())

    private struct State {
        /// Consecutive closings.
        var closings: Int64 = 0
        var closedUntil = Timestamp(secondsSinceEpoch: 0)
        var reason = ""

        /// Ignores a time further ahead than any pause: it was set before the clock was set back.
        func isClosed(at now: Timestamp) -> Bool {
            closedUntil > now && closedUntil <= now.adding(seconds: OutboxDeliveries.closedSecondsMax * 5 / 4)
        }
    }

    package init(_ operations: AccountOperations, over channel: any OutboxChannel) {
        self.channel = channel
        self.operations = operations
        store = operations.store
        sealer = operations.sealer
        effects = operations.effects
        metrics = operations.metrics
        spans = operations.spans
    }

    /// Lifetime of a claim. If a server dies while it sends a message, another sends the message only after this time.
    package var claimSeconds: Int64 { channel.sendSecondsMax * 2 }

    /// One worker's turn: claims up to `batchMax` due messages and sends them one after the other.
    /// - Returns: number of claimed messages; 0 means that none is due.
    /// - Throws: `ChannelClosed`, or a database error. Messages that were sent but not recorded are sent again.
    package func sendDue() async throws -> Int {
        let now = effects.now()
        if let closed = state.withLock({ $0.isClosed(at: now) ? ChannelClosed(reason: $0.reason) : nil }) {
            throw closed
        }
        let claimed = try await store.claimMessages(
            channel.kind,
            at: now,
            until: now.adding(seconds: claimSeconds),
            countMax: Self.batchMax
        )
        for (index, message) in claimed.enumerated() {
            // Start no send that might outlast the claim.
            guard !Task.isShuttingDownGracefully, !Task.isCancelled,
                effects.now().adding(seconds: channel.sendSecondsMax) <= message.leasedUntil
            else {
                try await store.release(Array(claimed[index...]), until: effects.now(), reason: nil)
                break
            }
            if let closed = try await send(message) {
                try await store.release(Array(claimed[index...]), until: closed.until, reason: closed.reason)
                throw ChannelClosed(reason: closed.reason)
            }
        }
        return claimed.count
    }

    /// - Returns: the end and the reason of the pause, if the channel is closed and this message was not tried.
    private func send(_ message: ClaimedMessage) async throws -> (until: Timestamp, reason: String)? {
        try await spans.trace("send \(channel.kind.rawValue)", .producer) { span in
            if let span {
                span.attributes["concord.outbox.kind"] = channel.kind.rawValue
                span.attributes["concord.outbox.attempt"] = Int(message.attempts)
            }
            return try await send(message) { outcome in
                switch outcome {
                case .delivered: break
                case .deferred: span?.fail("deferred")
                case .refused: span?.fail("refused")
                case .unavailable: span?.fail("unavailable")
                }
            }
        }
    }

    /// `tried`: called with the outcome of an attempt, if there is one.
    private func send(
        _ message: ClaimedMessage,
        tried: (DeliveryOutcome) -> Void
    ) async throws -> (until: Timestamp, reason: String)? {
        // A withheld message counts as no attempt, and operators need not see it.
        if message.isWithheld {
            try await store.finish(message, .withheld)
            return nil
        }
        guard message.expiresAt > effects.now() else {
            try await store.finish(message, .expired)
            metrics.messageAttempted(channel.kind, .expired)
            return nil
        }
        let content = OutboxMessage.plaintext(
            of: message.sealedPayload,
            id: message.id,
            tenant: message.tenant,
            sealer: sealer
        )
        let outcome: DeliveryOutcome
        if let content {
            guard let resolved = try await resolve(content, tenant: message.tenant) else {
                try await store.finish(message, .dropped)
                return nil
            }
            outcome = await channel.send(resolved, id: message.id, createdAt: message.createdAt)
        } else {
            // Refused, not deleted: the sealing key may come back.
            outcome = .refused(reason: "unreadable")
        }
        tried(outcome)
        // The result is unknown: another worker takes the message when the claim expires.
        if outcome != .delivered { try Task.checkCancellation() }
        switch outcome {
        case .delivered:
            open()
            try await write { try await store.finish(message, .delivered) }
            metrics.messageAttempted(channel.kind, .delivered)
        case .deferred(let reason):
            open()
            try await putOff(message, reason)
        case .refused(let reason):
            open()
            try await store.finish(message, .givenUp(reason: reason))
            metrics.messageAttempted(channel.kind, .givenUp)
        case .unavailable(let reason):
            metrics.messageAttempted(channel.kind, .unavailable)
            return (close(reason), reason)
        }
        return nil
    }

    /// The content as it is sent; `nil` if there is nothing to send.
    private func resolve(_ content: [UInt8], tenant: TenantID) async throws -> [UInt8]? {
        guard channel.kind == .mail, let mail = Mail(plaintext: content) else { return content }
        return try await operations.resolve(mail, tenant: tenant)?.plaintext
    }

    private func putOff(_ message: ClaimedMessage, _ reason: String) async throws {
        let now = effects.now()
        let pause = RetrySchedule.messages.pauseSeconds(after: Int(message.attempts), jitter: effects.jitter())
        // Give up now if the next attempt would be too late, while operators can still act on it.
        guard let pause, now.adding(seconds: pause) < message.expiresAt else {
            try await store.finish(message, .givenUp(reason: reason))
            metrics.messageAttempted(channel.kind, .givenUp)
            return
        }
        try await store.finish(message, .retry(at: now.adding(seconds: pause), reason: reason))
        metrics.messageAttempted(channel.kind, .failed)
    }

    /// Retries recording a result while the database is briefly unavailable. Otherwise the message would be sent again.
    private func write(_ work: () async throws -> Void) async throws {
        for _ in 1..<Self.writingAttemptsMax {
            do {
                return try await work()
            } catch  where Failure(error) == .unavailable && !Task.isCancelled {
                try await Task.sleep(for: Self.writingPause)
            }
        }
        try await work()
    }

    private func open() {
        state.withLock { $0 = State() }
    }

    private func close(_ reason: String) -> Timestamp {
        let now = effects.now()
        let jitter = effects.jitter()
        return state.withLock { state in
            // Workers that fail at the same time close the channel once.
            if !state.isClosed(at: now) {
                let pause = min(Self.closedSecondsMax, 1 << min(state.closings, 10))
                let milliseconds = Int64(Double(pause * 1000) * (0.75 + 0.5 * jitter))
                state.closings += 1
                state.closedUntil = Timestamp(microsecondsSinceEpoch: now.microsecondsSinceEpoch + milliseconds * 1000)
            }
            state.reason = reason
            return state.closedUntil
        }
    }
}

extension Effects {
    /// A random number from 0 to 1, to spread events in time.
    func jitter() -> Double {
        let bytes = randomBytes(2)
        return Double(UInt16(bytes[0]) << 8 | UInt16(bytes[1])) / Double(UInt16.max)
    }
}
