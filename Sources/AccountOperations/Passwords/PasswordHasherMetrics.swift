import Metrics

package struct PasswordHasherMetrics: Sendable {
    let queued: Meter
    let busy: Meter
    let wait: Timer
    let refused: [HashQueue.Refusal: Counter]

    package static let queued = "concord_password_hashing_queued"
    package static let busy = "concord_password_hashing_busy"
    package static let waitSeconds = "concord_password_hashing_wait_seconds"
    package static let refusals = "concord_password_hashing_refusals_total"

    init(_ factory: any MetricsFactory) {
        queued = Meter(label: Self.queued, factory: factory)
        busy = Meter(label: Self.busy, factory: factory)
        wait = Timer(label: Self.waitSeconds, factory: factory)
        refused = Dictionary(
            uniqueKeysWithValues: HashQueue.Refusal.allCases.map { reason in
                let dimensions = [("reason", reason.rawValue)]
                return (reason, Counter(label: Self.refusals, dimensions: dimensions, factory: factory))
            }
        )
    }
}
