import AccountStore
import Metrics

/// How much waits in the outbox.
struct OutboxMetrics: Sendable {
    static let waiting = "concord_outbox_waiting"
    /// Where counting ends, because it costs the database.
    static let countMax: Int64 = 10_000

    static let kinds = OutboxMessage.Kind.allCases.map(\.rawValue) + ["webhook"]

    private let messages: [(kind: OutboxMessage.Kind, meter: Meter)]
    private let webhooks: Meter

    init(_ factory: any MetricsFactory) {
        func meter(_ kind: String) -> Meter {
            Meter(label: Self.waiting, dimensions: [("kind", kind)], factory: factory)
        }
        messages = OutboxMessage.Kind.allCases.map { ($0, meter($0.rawValue)) }
        webhooks = meter("webhook")
    }

    /// Reads it anew. What cannot be read stays as it was.
    func read(_ store: AccountStore) async {
        for (kind, meter) in messages {
            guard let count = try? await store.waitingMessageCount(kind, countMax: Self.countMax) else { continue }
            meter.set(count)
        }
        guard let count = try? await store.waitingWebhookCount(countMax: Self.countMax) else { return }
        webhooks.set(count)
    }
}
