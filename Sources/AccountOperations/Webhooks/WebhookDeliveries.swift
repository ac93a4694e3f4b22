import AccountLinking
import AccountStore
import Delivery
import JSON
import ServiceLifecycle
import Synchronization

/// Sends the webhooks that are due. Any number of servers do so at once.
///
/// A message is claimed in a short transaction, sent while nothing is held, and its end is written in another. Who dies in
/// between leaves it to whoever comes when the claim is over: each is sent at least once, those of one user in order.
///
/// Each endpoint has places of its own, so that a receiver that hangs keeps no other waiting.
package final class WebhookDeliveries: Sendable {
    /// Messages on their way to one endpoint at once. There are ten endpoints at most.
    package static let placesMax: Int64 = 4
    /// The same where the last attempt failed: one is enough to find out whether the receiver is back.
    package static let placesWhileFailing: Int64 = 1
    /// How long a claim holds: twice what sending may take at most (`limits.provider_call_timeout`).
    package static let claimSeconds: Int64 = 120
    /// An endpoint that has failed for longer is sent nothing any more: five days.
    package static let failingSecondsMax: Int64 = 5 * 86_400

    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let sender: any WebhookSending
    private let metrics: OperationMetrics
    private let state = Mutex(State())

    private struct State {
        /// Messages on their way, by endpoint, where there are any.
        var inFlight: [WebhookEndpointRecord.ID: Int64] = [:]
        var isClaiming = false
        /// A turn came by meanwhile, after a place had got free perhaps.
        var isRunRequested = false

        /// - Returns: the places that are taken; `nil` where another claims.
        mutating func beginClaim() -> [WebhookEndpointRecord.ID: Int64]? {
            guard !isClaiming else {
                isRunRequested = true
                return nil
            }
            isClaiming = true
            return inFlight
        }

        mutating func takeQuestion() -> Bool {
            defer { isRunRequested = false }
            return isRunRequested
        }
    }

    package init(_ operations: AccountOperations) {
        store = operations.store
        sealer = operations.sealer
        effects = operations.effects
        sender = operations.webhooks
        metrics = operations.metrics
    }

    /// A turn: sends what is due, and what is due by then whenever one of its messages has been sent.
    ///
    /// Turns may overlap: while one waits for receivers, another sends what has come since.
    /// - Returns: how many were sent, taken or not.
    /// - Throws: what the database could not do; what was sent and not written down is sent again.
    package func sendDue() async throws -> Int {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var count = 0
            repeat {
                while let claimed = try await claim() {
                    count += claimed.count
                    for message in claimed {
                        group.addTask {
                            defer { self.leavePlace(of: message.message.endpoint) }
                            try await self.send(message)
                        }
                    }
                    guard state.withLock({ $0.takeQuestion() }) else { break }
                }
            } while try await group.next() != nil
            return count
        }
    }

    /// Takes free places with what is due.
    /// - Returns: `nil` where another turn is doing so, which does it again then: at once, both would take the same places.
    private func claim() async throws -> [ClaimedWebhookMessage]? {
        guard !Task.isShuttingDownGracefully, let taken = state.withLock({ $0.beginClaim() }) else { return nil }
        defer { state.withLock { $0.isClaiming = false } }
        let now = effects.now()
        let claimed = try await store.claimWebhookMessages(
            at: now,
            until: now.adding(seconds: Self.claimSeconds),
            places: WebhookSlots(max: Self.placesMax, failingMax: Self.placesWhileFailing, taken: taken)
        )
        state.withLock { state in
            for message in claimed { state.inFlight[message.message.endpoint, default: 0] += 1 }
        }
        return claimed
    }

    private func leavePlace(of endpoint: WebhookEndpointRecord.ID) {
        state.withLock { state in
            let left = state.inFlight[endpoint, default: 1] - 1
            state.inFlight[endpoint] = left == 0 ? nil : left
        }
    }

    private func send(_ claimed: ClaimedWebhookMessage) async throws {
        let message = claimed.message
        // Without a secret there is no way to sign: the key it was sealed with is gone. Another is to be made.
        var status: Int?
        let secrets = [claimed.sealedSecret, claimed.sealedOlderSecret].compactMap(\.self)
            .compactMap { WebhookSecret(sealed: $0, of: message.endpoint, sealer: sealer) }
        if !secrets.isEmpty {
            status = await sender.send(
                Webhook(message),
                to: claimed.url,
                at: effects.now().secondsSinceEpoch,
                secrets: secrets
            )
        }
        // Nobody knows what became of it: left to whoever comes when the claim is over.
        try Task.checkCancellation()
        let now = effects.now()
        let attempt = attempt(message, status: status, at: now)
        try await store.finishWebhookAttempt(
            message,
            attempt,
            status: status,
            isGone: status == 410,
            failingSecondsMax: Self.failingSecondsMax,
            at: now
        )
        metrics.webhookAttempted(attempt)
    }

    private func attempt(_ message: WebhookMessageRecord, status: Int?, at now: Timestamp) -> WebhookAttempt {
        if let status, (200..<300).contains(status) { return .delivered }
        if status == WebhookAttempt.vetoStatus, message.kind == .mergePrepared { return .vetoed }
        guard status != 410,
            let pause = RetrySchedule.webhooks.pauseSeconds(after: Int(message.attempts), jitter: effects.jitter())
        else { return .givenUp }
        return .retry(at: now.adding(seconds: pause))
    }
}

extension Webhook {
    /// What an event is sent as. The same bytes each time, because they are signed and may be compared.
    init(_ message: WebhookMessageRecord) {
        self.init(
            id: "msg_" + message.id.text,
            body: JSONWriter.object { writer in
                writer.field("type", message.kind.rawValue)
                writer.field("timestamp", RFC3339.text(message.occurredAt))
                writer.field(
                    "data",
                    object: { writer in
                        writer.field("userId", message.user.rawValue)
                        writer.field("conflictId", message.conflict.map { Hexadecimal.encode($0) })
                        if let merge = message.merge {
                            writer.field("mergeId", merge.merge.text)
                            writer.field("mergedUserId", merge.user.rawValue)
                        }
                        writer.field(message.conflict == nil ? "method" : "providerId", message.method?.name)
                        for name in ["added", "removed", "replaced", "ownerMailed"] {
                            writer.field(name, message.methodChanges?[name])
                        }
                        writer.field("rule", message.rule)
                    }
                )
            }
        )
    }
}
