import AccountStore
package import Metrics

/// Metrics of the purge, by `Purge.Work`.
package struct PurgeMetrics: Sendable {
    package static let rows = "concord_purge_rows_total"
    package static let failures = "concord_purge_failures_total"
    package static let backlog = "concord_purge_backlog_seconds"

    private let rows: [Purge.Work: Counter]
    private let failures: [Purge.Work: Counter]
    private let backlogs: [Purge.Work: Meter]

    package init(_ factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        func handles<Handle>(
            _ series: [Purge.Work] = Purge.Work.allCases,
            _ make: ([(String, String)]) -> Handle
        ) -> [Purge.Work: Handle] {
            Dictionary(uniqueKeysWithValues: series.map { ($0, make([("kind", $0.name)])) })
        }
        rows = handles { Counter(label: Self.rows, dimensions: $0, factory: factory) }
        failures = handles { Counter(label: Self.failures, dimensions: $0, factory: factory) }
        backlogs = handles(AccountStore.Purgeable.allCases.map(Purge.Work.delete)) {
            Meter(label: Self.backlog, dimensions: $0, factory: factory)
        }
    }

    func changed(_ count: Int, _ work: Purge.Work) {
        rows[work]?.increment(by: count)
    }

    func failed(_ work: Purge.Work) {
        failures[work]?.increment()
    }

    /// `seconds`: how long the oldest row of the kind has waited for its deletion.
    func waits(_ seconds: Int64, _ work: Purge.Work) {
        backlogs[work]?.set(seconds)
    }

    /// Another server purges: it reports what waits.
    func handOver() {
        for meter in backlogs.values { meter.set(0) }
    }
}
