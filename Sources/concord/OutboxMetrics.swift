import AccountLinking
import AccountStore
import Metrics

/// The number and the age of waiting messages in the outbox.
struct OutboxMetrics: Sendable {
    static let waiting = "concord_outbox_waiting"
    static let oldest = "concord_outbox_oldest_seconds"
    /// Maximum count, because counting loads the database.
    static let countMax: Int64 = 10_000

    static let kinds = OutboxMessage.Kind.allCases.map(\.rawValue) + ["webhook"]

    private let messages: [(kind: OutboxMessage.Kind, waiting: Meter, oldest: Meter)]
    private let webhooks: Meter

    init(_ factory: any MetricsFactory) {
        func meter(_ label: String, _ kind: String) -> Meter {
            Meter(label: label, dimensions: [("kind", kind)], factory: factory)
        }
        messages = OutboxMessage.Kind.allCases.map { kind in
            (kind, meter(Self.waiting, kind.rawValue), meter(Self.oldest, kind.rawValue))
        }
        webhooks = meter(Self.waiting, "webhook")
    }

    /// Reads the values. If reading fails, the earlier values stay.
    func read(_ store: AccountStore, at now: Timestamp) async {
        for (kind, waiting, oldest) in messages {
            guard let found = try? await store.waitingMessages(kind, countMax: Self.countMax) else { continue }
            waiting.set(found.count)
            oldest.set(found.oldest.map { max(0, now.secondsSinceEpoch - $0.secondsSinceEpoch) } ?? 0)
        }
        guard let count = try? await store.waitingWebhookCount(countMax: Self.countMax) else { return }
        webhooks.set(count)
    }
}
