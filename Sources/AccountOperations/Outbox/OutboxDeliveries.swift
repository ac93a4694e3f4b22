package import AccountLinking
package import AccountStore
package import Delivery
import ServiceLifecycle
import Synchronization

/// A way out of the outbox: what sends messages of one kind.
package protocol OutboxChannel: Sendable {
    var kind: OutboxMessage.Kind { get }
    /// Messages that may be under way at once; as many workers are wanted.
    var concurrencyMax: Int { get }
    /// How long sending one may take at most.
    var sendSecondsMax: Int64 { get }

    /// Sends once what the message `id` says.
    func send(_ content: [UInt8], id: OutboxMessage.ID, createdAt: Timestamp) async -> DeliveryOutcome

    /// Ends what it keeps; nothing is sent afterwards.
    func shutDown() async
}

/// Nothing is sent for a while, because whoever takes the messages takes none.
package struct ChannelClosed: Error, Hashable, CustomStringConvertible {
    package let reason: String

    package var description: String { reason }
}

/// Sends the messages of one kind that are due. Any number of workers and servers do so at once.
///
/// A message is claimed in one statement, sent while nothing is held, and its end is written in another. Who dies in between
/// leaves it to whoever comes when the claim is over: each is sent at least once, and twice only where nobody could say that
/// it was taken.
package final class OutboxDeliveries: Sendable {
    /// Messages that a worker claims at once.
    package static let batchMax = 16
    /// Pauses while nobody takes anything: doubled from a second up to this many, give or take a quarter.
    private static let closedSecondsMax: Int64 = 60
    private static let writingAttemptsMax = 40
    private static let writingPause = Duration.milliseconds(250)

    private let channel: any OutboxChannel
    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let metrics: OperationMetrics
    private let state = Mutex(State())

    private struct State {
        /// In a row.
        var closings: Int64 = 0
        var closedUntil = Timestamp(secondsSinceEpoch: 0)
        var reason = ""

        /// Further ahead than any pause lies what was noted before the clock was set back: it must not hold for as long.
        func isClosed(at now: Timestamp) -> Bool {
            closedUntil > now && closedUntil <= now.adding(seconds: OutboxDeliveries.closedSecondsMax * 5 / 4)
        }
    }

    package init(_ operations: AccountOperations, over channel: any OutboxChannel) {
        self.channel = channel
        store = operations.store
        sealer = operations.sealer
        effects = operations.effects
        metrics = operations.metrics
    }

    /// How long a claim holds, in seconds: after a server has died while it sent a message, another sends it again no sooner.
    package var claimSeconds: Int64 { channel.sendSecondsMax * 2 }

    /// One worker's turn: claims what is due, `batchMax` at most, and sends it, one after the other.
    /// - Returns: how many were claimed; 0 means that nothing is due.
    /// - Throws: `ChannelClosed`, or what the database could not do; what was sent and not written down is sent again.
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
            // Nothing is begun that might outlast its claim.
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

    /// - Returns: until when nothing can be sent and why, where this message was not even looked at.
    private func send(_ message: ClaimedMessage) async throws -> (until: Timestamp, reason: String)? {
        // No attempt, and nothing that anybody has to know.
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
        // The key it was sealed with may come back.
        let outcome =
            if let content {
                await channel.send(content, id: message.id, createdAt: message.createdAt)
            } else {
                DeliveryOutcome.refused(reason: "unreadable")
            }
        // Nobody knows what became of it: left to whoever comes when the claim is over.
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

    private func putOff(_ message: ClaimedMessage, _ reason: String) async throws {
        let now = effects.now()
        let pause = RetrySchedule.messages.pauseSeconds(after: Int(message.attempts), jitter: effects.jitter())
        // What would come too late is told now, while somebody can still do something about it.
        guard let pause, now.adding(seconds: pause) < message.expiresAt else {
            try await store.finish(message, .givenUp(reason: reason))
            metrics.messageAttempted(channel.kind, .givenUp)
            return
        }
        try await store.finish(message, .retry(at: now.adding(seconds: pause), reason: reason))
        metrics.messageAttempted(channel.kind, .failed)
    }

    /// What was taken is written down even if the database is away for a moment: else it would be sent again.
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
            // Workers that fail at the same time close it once.
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
    /// From 0 to 1, to spread what would otherwise happen at once.
    func jitter() -> Double {
        let bytes = randomBytes(2)
        return Double(UInt16(bytes[0]) << 8 | UInt16(bytes[1])) / Double(UInt16.max)
    }
}
