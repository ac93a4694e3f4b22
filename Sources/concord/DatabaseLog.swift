import Logging
import Postgres
import Synchronization

/// Logs when PostgreSQL becomes unreachable and when it is reachable again: once each for reads and for writes, for any
/// number of lost connections and failed attempts. Also logs when it refuses writes and when it accepts them again.
final class DatabaseLog: PostgresObserver {
    private struct Lane {
        var lost: Outage
        var refused: Outage
    }

    private let logger: Logger
    private let lanes: Mutex<[PostgresLane: Lane]>
    private let writes: SharedOutage

    init(logger: Logger) {
        self.logger = logger
        writes = SharedOutage(
            Outage(logger, failure: "database refuses writes", recovery: "database accepts writes again")
        )
        let lane = Lane(
            lost: Outage(logger, failure: "database connection lost", recovery: "database connected again"),
            refused: Outage(
                logger,
                failure: "database accepts no connection",
                recovery: "database accepts connections again"
            )
        )
        lanes = Mutex(Dictionary(uniqueKeysWithValues: PostgresLane.allCases.map { ($0, lane) }))
    }

    func postgresEvent(_ event: PostgresEvent) {
        switch event {
        case .connected(let lane):
            change(lane) { outages, metadata in
                outages.lost.succeeded(metadata)
                outages.refused.succeeded(metadata)
            }
        case .connectionLost(let lane, let error):
            change(lane) { outages, metadata in outages.lost.failed(error, metadata) }
        case .connectFailed(let lane, let error, retryIn: _):
            change(lane) { outages, metadata in outages.refused.failed(error, metadata) }
        case .writesRefused(let error): writes.failed(error)
        case .writesTaken: writes.succeeded()
        case .transactionRepeated(let name, let error):
            logger.debug("transaction repeated", metadata: ["transaction": "\(name)", "error": "\(error)"])
        }
    }

    private func change(_ lane: PostgresLane, _ body: (inout Lane, Logger.Metadata) -> Void) {
        lanes.withLock { lanes in
            guard var outages = lanes[lane] else { return }
            body(&outages, ["lane": "\(lane.rawValue)"])
            lanes[lane] = outages
        }
    }
}
