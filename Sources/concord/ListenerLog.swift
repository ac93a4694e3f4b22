import HTTPServer
import Logging
import Metrics

/// Metrics of the listeners: open connections and reached limits.
struct ListenerMetrics: Sendable {
    static let open = "concord_http_connections"
    static let shortages = "concord_http_connection_shortages_total"

    /// The listeners.
    enum Name: String, CaseIterable {
        case everyone = "public"
        case operators = "admin"
        case metrics
    }

    enum Reason: String, CaseIterable {
        case limit
        case descriptors
    }

    fileprivate struct Handles: Sendable {
        let open: Meter
        let shortages: [Reason: Counter]
    }

    private let handles: [Name: Handles]

    init(_ factory: any MetricsFactory) {
        func shortages(_ name: Name, _ reason: Reason) -> Counter {
            let dimensions = [("listener", name.rawValue), ("reason", reason.rawValue)]
            return Counter(label: Self.shortages, dimensions: dimensions, factory: factory)
        }
        handles = Dictionary(
            uniqueKeysWithValues: Name.allCases.map { name in
                let open = Meter(label: Self.open, dimensions: [("listener", name.rawValue)], factory: factory)
                let byReason = Reason.allCases.map { ($0, shortages(name, $0)) }
                return (name, Handles(open: open, shortages: Dictionary(uniqueKeysWithValues: byReason)))
            }
        )
    }

    fileprivate subscript(name: Name) -> Handles? { handles[name] }
}

/// Logs once when connections must wait at a listener, and once when they no longer must.
struct ListenerLog: ListenerObserver {
    private let logger: Logger
    private let metrics: ListenerMetrics.Handles?

    init(_ name: ListenerMetrics.Name, _ metrics: ListenerMetrics, _ logger: Logger) {
        var logger = logger
        logger[metadataKey: "listener"] = "\(name.rawValue)"
        self.logger = logger
        self.metrics = metrics[name]
    }

    func connectionsOpen(_ count: Int) {
        metrics?.open.set(count)
    }

    func shortageBegan(_ shortage: ConnectionShortage) {
        switch shortage {
        case .limit(let max):
            metrics?.shortages[.limit]?.increment()
            logger.warning(
                "connection limit reached: closing idle connections, new ones wait",
                metadata: ["connections": "\(max)"]
            )
        case .system(let error):
            metrics?.shortages[.descriptors]?.increment()
            logger.warning(
                "system refused a connection: closing idle connections, new ones wait",
                metadata: ["error": "\(error)"]
            )
        }
    }

    func shortageEnded() {
        logger.notice("accepting connections without a wait again")
    }
}
