/// Receives events of connections and transactions, for logs. Called on the client's threads: return at once.
package protocol PostgresObserver: Sendable {
    func postgresEvent(_ event: PostgresEvent)
}

package enum PostgresEvent: Sendable, Hashable {
    case connected(PostgresLane)
    case connectFailed(PostgresLane, PostgresError, retryIn: Duration)
    case connectionLost(PostgresLane, PostgresError)
    /// The server has begun to refuse all writes (`PostgresError.refusesWrites`).
    case writesRefused(PostgresError)
    /// The server accepts writes again.
    case writesTaken
    /// The body of an interactive transaction runs again because of this error.
    case transactionRepeated(name: String, PostgresError)
}

/// A group of connections with its own queue.
package enum PostgresLane: String, Sendable, Hashable, CaseIterable {
    case read
    case write
}

/// The current state of a client. For tests.
struct PostgresClientState: Sendable, Hashable {
    enum Reachability: Sendable, Hashable {
        /// Both lanes have a connection.
        case connected
        /// A lane has no connection, and no attempt has failed since it had one.
        case connecting
        /// A lane has no connection, and the last attempt failed.
        case unreachable(since: ContinuousClock.Instant)
    }

    struct Lane: Sendable, Hashable {
        var connections = 0
        var busyConnections = 0
        var queued = 0
        var statistics = Statistics()
    }

    /// Counters since the client was made.
    struct Statistics: Sendable, Hashable {
        var accepted = 0
        var answered = 0
        var refusedQueueFull = 0
        var queueTimeouts = 0
        var sentAgain = 0
        var batches = 0
        var statements = 0
        var connectionsLost = 0
        var connectFailures = 0
    }

    var reachability: Reachability
    var areWritesRefused: Bool
    var read: Lane
    var write: Lane
    var leasesInUse: Int
    var leaseWaiters: Int
}
