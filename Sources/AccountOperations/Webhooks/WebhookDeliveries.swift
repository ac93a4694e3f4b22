import AccountLinking
import AccountStore
import Delivery
import JSON
import ServiceLifecycle
import Spans
import Synchronization
import Tracing

/// Sends the due webhooks. Any number of servers may do so concurrently.
///
/// A server claims a message in a short transaction, sends it while it holds nothing, and records the result in
/// another. If the server dies in between, another takes the message when the claim expires. Each message is sent at
/// least once; those of one user are sent in order.
///
/// Each endpoint has its own places, so that a receiver that hangs delays no other.
package final class WebhookDeliveries: Sendable {
    /// Limit of concurrent messages to one endpoint. There are at most 10 endpoints.
    package static let placesMax: Int64 = 4
    /// The limit after a failed attempt: one message shows if the receiver is back.
    package static let placesWhileFailing: Int64 = 1
    /// Lifetime of a claim: twice the longest time of a send (`limits.provider_call_timeout`).
    package static let claimSeconds: Int64 = 120
    /// After this time of failures an endpoint is disabled: 5 days.
    package static let failingSecondsMax: Int64 = 5 * 86_400

    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    private let sender: any WebhookSending
    private let metrics: OperationMetrics
    private let spans: Spans
    private let state = Mutex(State())

    private struct State {
        /// Messages being sent, by endpoint; only endpoints that have any.
        var inFlight: [WebhookEndpointRecord.ID: Int64] = [:]
        var isClaiming = false
        /// Another turn asked meanwhile, perhaps after a place became free.
        var isRunRequested = false

        /// - Returns: the places that are taken; `nil` if another turn is claiming.
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
        spans = operations.spans
    }

    /// One turn: sends the due messages, and whenever one is sent, those that have become due.
    ///
    /// Turns may overlap: while one waits for receivers, another sends new messages.
    /// - Returns: number of messages sent, accepted or not.
    /// - Throws: a database error. Messages that were sent but not recorded are sent again.
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

    /// Fills free places with due messages.
    /// - Returns: `nil` if another turn is claiming. It then claims again: concurrent claims would take the same
    ///   places.
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
        try await spans.trace("send webhook", .producer) { span in
            span?.attributes["concord.webhook.event"] = claimed.message.kind.rawValue
            try await send(claimed, span)
        }
    }

    private func send(_ claimed: ClaimedWebhookMessage, _ span: (any Tracing.Span)?) async throws {
        let message = claimed.message
        // Without a secret the message cannot be signed: the sealing key is gone. The operator must rotate the secret.
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
        if let span {
            span.attributes["http.response.status_code"] = status
            if status.map({ !(200..<300).contains($0) }) ?? true { span.fail(status.map(String.init) ?? "unreachable") }
        }
        // The result is unknown: another server takes the message when the claim expires.
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
    /// The webhook of an event. Its bytes are the same each time, because they are signed and may be compared.
    init(_ message: WebhookMessageRecord) {
        self.init(
            id: "msg_" + message.id.text,
            body: JSONWriter.object { writer in
                writer.field("type", message.kind.rawValue)
                writer.field("timestamp", RFC3339.text(message.occurredAt))
                writer.field("data") { writer in
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
            }
        )
    }
}
