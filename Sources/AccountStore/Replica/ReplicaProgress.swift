/// The place of a server in the log of its cluster.
package struct ServerPosition: Sendable, Hashable {
    /// The identity of the cluster, which all its standbys share.
    package var cluster: Int64
    /// True on a standby.
    package var isInRecovery: Bool
    /// Bytes of the log: flushed on a primary, replayed on a standby.
    package var position: Int64

    package init(cluster: Int64, isInRecovery: Bool, position: Int64) {
        self.cluster = cluster
        self.isInRecovery = isInRecovery
        self.position = position
    }

    /// The reason why this server is no standby of the cluster of `primary`; `nil` if it is one.
    package func problem(asStandbyOf primary: ServerPosition) -> ReplicaProblem? {
        if cluster != primary.cluster { return .otherCluster }
        return isInRecovery ? nil : .noStandby
    }
}

/// The reason why a replica is not used.
package enum ReplicaProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The server accepts writes: it was promoted, or is the primary.
    case noStandby
    case otherCluster
    /// The replica has replayed what the primary does not have: it follows another primary, or none.
    case diverged
    /// The age of its data is above the bound; `nil` if it is unknown.
    case tooOld(Duration?)
    case failed(String)

    package var description: String {
        switch self {
        case .noStandby: "the server of database.replica_url is no standby"
        case .otherCluster: "the server of database.replica_url belongs to another cluster than database.url"
        case .diverged: "the server of database.replica_url is ahead of the primary: it follows another one"
        case .tooOld(let age?): "the replica is \(age.components.seconds) s behind"
        case .tooOld(nil): "the replica has not caught up yet"
        case .failed(let reason): "the replica cannot be read: \(reason)"
        }
    }
}

/// The age of a replica's data, from positions of the primary and the replica. Without clocks of servers: an idle
/// primary does not make a replica old, and no clock has to agree with another.
///
/// The replica has everything that the primary had at the time of the newest position that it has replayed.
struct ReplicaProgress: Sendable {
    private let ageMax: Duration
    /// Positions of the primary that the replica has not replayed yet, the oldest first.
    private var ahead: [(time: ContinuousClock.Instant, position: Int64)] = []
    /// The replica has everything that the primary had at this time.
    private(set) var currentUntil: ContinuousClock.Instant?
    private var problem: ReplicaProblem?

    init(ageMax: Duration) {
        self.ageMax = ageMax
    }

    /// Records a comparison. `replica` was read before `time`, and `primary` after it.
    mutating func compare(replica: ServerPosition, primary: ServerPosition, at time: ContinuousClock.Instant) {
        if let problem = replica.problem(asStandbyOf: primary) { return fail(problem) }
        guard replica.position <= primary.position else { return fail(.diverged) }
        problem = nil
        let oldest = time - ageMax
        ahead.removeAll { $0.time < oldest }
        ahead.append((time, primary.position))
        while let first = ahead.first, first.position <= replica.position {
            currentUntil = first.time
            ahead.removeFirst()
        }
    }

    /// Stops the use of the replica until the next comparison that it passes.
    mutating func fail(_ problem: ReplicaProblem) {
        self.problem = problem
        ahead.removeAll()
        currentUntil = nil
    }

    /// The reason not to use the replica at `time`; `nil` if it can be used.
    func problem(at time: ContinuousClock.Instant) -> ReplicaProblem? {
        if let problem { return problem }
        guard let currentUntil else { return .tooOld(nil) }
        let age = currentUntil.duration(to: time)
        return age > ageMax ? .tooOld(age) : nil
    }
}
