import AccountLinking
import AccountOperations
import Logging
import Metrics

/// The metrics of checks of PostgreSQL's clock.
struct ClockMetrics: Sendable {
    static let difference = "concord_clock_difference_seconds"
    static let reachable = "concord_database_up"

    let difference: Meter
    /// 1 if PostgreSQL answered, else 0.
    let reachable: Meter

    init(_ factory: any MetricsFactory) {
        difference = Meter(label: Self.difference, factory: factory)
        reachable = Meter(label: Self.reachable, factory: factory)
    }
}

/// Compares this server's clock with PostgreSQL's, for readiness, the metrics and the log.
final class ClockWatch: Sendable {
    private let effects: Effects
    private let databaseClock: @Sendable () async throws -> Timestamp
    private let metrics: ClockMetrics
    private let outage: SharedOutage

    init(
        _ logger: Logger,
        _ metrics: ClockMetrics,
        effects: Effects,
        databaseClock: @escaping @Sendable () async throws -> Timestamp
    ) {
        self.effects = effects
        self.databaseClock = databaseClock
        self.metrics = metrics
        outage = SharedOutage(
            Outage(
                logger,
                failure: "clock differs from PostgreSQL's: expired rows are not deleted",
                recovery: "clock agrees with PostgreSQL's again"
            )
        )
    }

    /// The reason why the server is not ready; `nil` while the clocks agree, or while PostgreSQL does not answer.
    func problem() async -> String? {
        guard let clocks = try? await ClockComparison(effects, databaseClock) else {
            // A cancelled check says nothing about the database.
            if !Task.isCancelled { metrics.reachable.set(0) }
            return nil
        }
        return note(clocks)
    }

    /// Records a measured difference.
    /// - Returns: the reason why the server is not ready; `nil` if the clocks agree.
    @discardableResult func note(_ clocks: ClockComparison) -> String? {
        metrics.reachable.set(1)
        metrics.difference.set(clocks.secondsAhead)
        guard let disagreement = clocks.disagreement else {
            outage.succeeded()
            return nil
        }
        outage.failed(disagreement)
        return disagreement.description
    }
}
