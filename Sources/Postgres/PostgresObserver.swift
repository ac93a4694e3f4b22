/// What happens to connections and transactions, for logs. Called on the client's own threads: return at once.
package protocol PostgresObserver: Sendable {
    func postgresEvent(_ event: PostgresEvent)
}

package enum PostgresEvent: Sendable, Hashable {
    case connected(PostgresLane)
    case connectFailed(PostgresLane, PostgresError, retryIn: Duration)
    case connectionLost(PostgresLane, PostgresError)
    /// The body of an interactive transaction is about to run again after this error.
    case transactionRepeated(name: String, PostgresError)
}

/// A group of connections with a queue of its own.
package enum PostgresLane: String, Sendable, Hashable, CaseIterable {
    case read
    case write
}

/// A snapshot for readiness and metrics.
package struct PostgresClientState: Sendable, Hashable {
    package enum Reachability: Sendable, Hashable {
        /// Both lanes have a connection.
        case connected
        /// A lane has none yet, and no attempt has failed since it had one.
        case connecting
        /// A lane has none, and the last attempt failed.
        case unreachable(since: ContinuousClock.Instant)
    }

    package struct Lane: Sendable, Hashable {
        package var connections = 0
        package var busyConnections = 0
        package var queued = 0
        package var statistics = Statistics()
    }

    /// Counted since the client was made.
    package struct Statistics: Sendable, Hashable {
        package var accepted = 0
        package var answered = 0
        package var failed = 0
        package var refusedQueueFull = 0
        package var refusedUnavailable = 0
        package var queueTimeouts = 0
        package var sentAgain = 0
        package var batches = 0
        package var statements = 0
        package var connectionsMade = 0
        package var connectionsLost = 0
        package var connectFailures = 0
    }

    package var reachability: Reachability
    package var read: Lane
    package var write: Lane
    package var leasesInUse: Int
    package var leaseWaiters: Int
}
