/// What happens to connections and transactions, for logs. Called on the client's own threads: return at once.
package protocol PostgresObserver: Sendable {
    func postgresEvent(_ event: PostgresEvent)
}

package enum PostgresEvent: Sendable, Hashable {
    case connected(PostgresLane)
    case connectFailed(PostgresLane, PostgresError, retryIn: Duration)
    case connectionLost(PostgresLane, PostgresError)
    /// The server has begun to refuse writes for being writes (`PostgresError.refusesWrites`).
    case writesRefused(PostgresError)
    /// It takes them again.
    case writesTaken
    /// The body of an interactive transaction is about to run again after this error.
    case transactionRepeated(name: String, PostgresError)
}

/// A group of connections with a queue of its own.
package enum PostgresLane: String, Sendable, Hashable, CaseIterable {
    case read
    case write
}

/// What a client does at the moment. For tests, which wait for it.
struct PostgresClientState: Sendable, Hashable {
    enum Reachability: Sendable, Hashable {
        /// Both lanes have a connection.
        case connected
        /// A lane has none yet, and no attempt has failed since it had one.
        case connecting
        /// A lane has none, and the last attempt failed.
        case unreachable(since: ContinuousClock.Instant)
    }

    struct Lane: Sendable, Hashable {
        var connections = 0
        var busyConnections = 0
        var queued = 0
        var statistics = Statistics()
    }

    /// Counted since the client was made.
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
