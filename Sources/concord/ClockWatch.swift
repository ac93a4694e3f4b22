import AccountLinking
import AccountOperations
import Logging
import Metrics

/// Compares this server's clock with PostgreSQL's, for readiness, the metric and the log.
final class ClockWatch: Sendable {
    static let difference = "concord_clock_difference_seconds"

    private let effects: Effects
    private let databaseClock: @Sendable () async throws -> Timestamp
    private let meter: Meter
    private let outage: SharedOutage

    init(
        _ logger: Logger,
        _ meter: Meter,
        effects: Effects,
        databaseClock: @escaping @Sendable () async throws -> Timestamp
    ) {
        self.effects = effects
        self.databaseClock = databaseClock
        self.meter = meter
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
        guard let clocks = try? await ClockComparison(effects, databaseClock) else { return nil }
        return note(clocks)
    }

    /// Records a measured difference.
    /// - Returns: the reason why the server is not ready; `nil` if the clocks agree.
    @discardableResult func note(_ clocks: ClockComparison) -> String? {
        meter.set(clocks.secondsAhead)
        guard let disagreement = clocks.disagreement else {
            outage.succeeded()
            return nil
        }
        outage.failed(disagreement)
        return disagreement.description
    }
}
