import AccountStore
import Metrics

/// How much waits in the outbox.
struct OutboxMetrics: Sendable {
    static let waiting = "concord_outbox_waiting"
    /// Where counting ends, because it costs the database.
    static let countMax: Int64 = 10_000

    private let meters: [(kind: OutboxMessage.Kind, meter: Meter)]

    init(_ factory: any MetricsFactory) {
        meters = OutboxMessage.Kind.allCases.map { kind in
            (kind, Meter(label: Self.waiting, dimensions: [("kind", kind.rawValue)], factory: factory))
        }
    }

    /// Reads it anew. What cannot be read stays as it was.
    func read(_ store: AccountStore) async {
        for (kind, meter) in meters {
            guard let count = try? await store.waitingMessageCount(kind, countMax: Self.countMax) else { continue }
            meter.set(count)
        }
    }
}
