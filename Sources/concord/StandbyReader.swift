import AccountLinking
import AccountStore
import Metrics
import Postgres

/// The standby of a server, and the client that reads from it.
struct StandbyReader: Sendable {
    let client: PostgresClient
    let replica: Replica
    /// The bound on the age of the standby's data.
    let ageMax: Duration

    init(_ configuration: DatabaseConfiguration.Replica, _ metrics: ReplicaMetrics) {
        ageMax = configuration.ageMax
        client = PostgresClient(configuration: configuration.forReading)
        replica = Replica(client: client, ageMax: configuration.ageMax) { metrics.answered($0) }
    }
}

extension DatabaseConfiguration.Replica {
    /// Few connections for writes: nothing writes there.
    var forReading: PostgresConfiguration {
        var postgres = postgres
        postgres.writeConnections = 1
        postgres.leasedConnections = 1
        return postgres
    }
}

/// The use of the replica.
struct ReplicaMetrics: Sendable {
    static let reads = "concord_replica_reads_total"
    static let currentUntil = "concord_replica_time_seconds"
    static let usable = "concord_replica_usable"

    private let counters: [Replica.Server: Counter]
    private let time: Meter
    private let usability: Meter

    init(_ factory: any MetricsFactory) {
        counters = Dictionary(
            uniqueKeysWithValues: Replica.Server.allCases.map { server in
                (server, Counter(label: Self.reads, dimensions: [("server", server.rawValue)], factory: factory))
            }
        )
        time = Meter(label: Self.currentUntil, factory: factory)
        usability = Meter(label: Self.usable, factory: factory)
    }

    func answered(_ server: Replica.Server) {
        counters[server]?.increment()
    }

    /// Records that the replica has everything that the primary had at `now` minus `age`.
    func isCurrent(until now: Timestamp, minus age: Duration) {
        time.set(now.secondsSinceEpoch - age.components.seconds)
    }

    /// Records the last comparison with the primary.
    func compared(isUsable: Bool) {
        usability.set(isUsable ? 1 : 0)
    }
}
