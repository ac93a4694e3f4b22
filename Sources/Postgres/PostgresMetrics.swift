package import Metrics

/// The metrics of a client. Recording is cheap, because handles are made once.
package struct PostgresMetrics: Sendable {
    /// Timers by the name of a write batch or transaction, or `read-<table>` for a read.
    private let calls: [String: Timer]
    private let otherCalls: Timer
    private let queueWaits: [Timer]
    private let lanes: [LaneMeters]
    private let queuedForLease: Meter
    private let leased: Meter
    private let refusesWrites: Meter

    package static let callSeconds = "concord_database_call_seconds"
    package static let queueWaitSeconds = "concord_database_queue_wait_seconds"
    package static let queued = "concord_database_queued"
    package static let connections = "concord_database_connections"
    package static let busyConnections = "concord_database_connections_busy"
    package static let refusals = "concord_database_refusals_total"
    package static let lostConnections = "concord_database_connections_lost_total"
    package static let writesRefused = "concord_database_writes_refused"
    /// The label of every call without a name.
    package static let otherCall = "other"
    package static let lanes = PostgresLane.allCases.map(\.rawValue)
    /// The queues: those of the lanes, and that for leased connections.
    package static let queues = lanes + ["lease"]
    package static let refusalReasons = ["queue-full", "timeout"]

    /// `calls`: the names that get a series.
    package init(_ factory: any MetricsFactory, calls: [String]) {
        func timer(_ label: String, _ name: String, _ value: String) -> Timer {
            Timer(label: label, dimensions: [(name, value)], factory: factory)
        }
        self.calls = Dictionary(uniqueKeysWithValues: calls.map { ($0, timer(Self.callSeconds, "call", $0)) })
        otherCalls = timer(Self.callSeconds, "call", Self.otherCall)
        queueWaits = Self.queues.map { timer(Self.queueWaitSeconds, "queue", $0) }
        lanes = Self.lanes.map { LaneMeters(factory, queue: $0) }
        queuedForLease = Meter(label: Self.queued, dimensions: [("queue", "lease")], factory: factory)
        leased = Meter(label: Self.busyConnections, dimensions: [("queue", "lease")], factory: factory)
        refusesWrites = Meter(label: Self.writesRefused, factory: factory)
    }

    func timer(ofCall name: String) -> Timer { calls[name] ?? otherCalls }

    /// Returns the timer of reads whose first table is `table`.
    func timer(ofReadFrom table: StaticString?) -> Timer {
        table.map { timer(ofCall: "read-\($0)") } ?? otherCalls
    }

    func queueWait(_ lane: Int) -> Timer { queueWaits[lane] }

    var leaseWait: Timer { queueWaits[Self.lanes.count] }

    /// Sets the gauges.
    func set(_ state: PostgresClientState) {
        for (meters, lane) in zip(lanes, [state.read, state.write]) {
            meters.queued.set(lane.queued)
            meters.connections.set(lane.connections)
            meters.busy.set(lane.busyConnections)
            meters.queueFull.set(lane.statistics.refusedQueueFull)
            meters.timedOut.set(lane.statistics.queueTimeouts)
            meters.lost.set(lane.statistics.connectionsLost)
        }
        queuedForLease.set(state.leaseWaiters)
        leased.set(state.leasesInUse)
        refusesWrites.set(state.areWritesRefused ? 1 : 0)
    }

    private struct LaneMeters: Sendable {
        let queued: Meter
        let connections: Meter
        let busy: Meter
        let queueFull: Meter
        let timedOut: Meter
        let lost: Meter

        init(_ factory: any MetricsFactory, queue: String) {
            func meter(_ label: String, _ more: [(String, String)] = []) -> Meter {
                Meter(label: label, dimensions: [("queue", queue)] + more, factory: factory)
            }
            queued = meter(PostgresMetrics.queued)
            connections = meter(PostgresMetrics.connections)
            busy = meter(PostgresMetrics.busyConnections)
            queueFull = meter(PostgresMetrics.refusals, [("reason", PostgresMetrics.refusalReasons[0])])
            timedOut = meter(PostgresMetrics.refusals, [("reason", PostgresMetrics.refusalReasons[1])])
            lost = meter(PostgresMetrics.lostConnections)
        }
    }
}

extension Timer {
    /// Records the time since `start`.
    func record(since start: Instant) {
        record(duration: start.duration(to: currentInstant()))
    }
}
