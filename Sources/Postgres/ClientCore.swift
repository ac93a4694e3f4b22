import Synchronization

/// State that callers and the reactor share.
final class ClientCore: Sendable {
    let configuration: PostgresConfiguration
    let lanes: [Lane]
    /// Indexed by lane.
    let connectionParameters: [[ConnectionParameter]]
    let hosts: DatabaseHosts
    let leases: LeasePool
    private let refusals: WriteRefusals
    /// `DatabaseEngine.rawValue`; zero before the first connection.
    private let knownEngine = Atomic<UInt8>(0)
    let catalog: StatementCatalog
    let metrics: PostgresMetrics?
    private let observer: (any PostgresObserver)?
    private let wakeup = Wakeup()
    private let isWakeupPending = Atomic(false)
    private let shutDownRequested = Atomic(false)

    init(_ configuration: PostgresConfiguration, observer: (any PostgresObserver)?, metrics: PostgresMetrics? = nil) {
        self.configuration = configuration
        self.metrics = metrics
        self.observer = observer
        let catalog = StatementCatalog(namesMax: configuration.preparedStatementsMax, metrics: metrics)
        self.catalog = catalog
        lanes = PostgresLane.allCases.map { Lane($0, configuration, catalog) }
        connectionParameters = lanes.map { configuration.connectionParameters(for: $0.role) }
        hosts = DatabaseHosts(configuration)
        leases = LeasePool(configuration, hosts, waitTimer: metrics?.leaseWait)
        refusals = WriteRefusals(quiet: configuration.reconnectDelayMax)
    }

    func lane(_ name: PostgresLane) -> Lane {
        switch name {
        case .read: lanes[0]
        case .write: lanes[1]
        }
    }

    func observe(_ event: PostgresEvent) {
        observer?.postgresEvent(event)
    }

    // MARK: Engine

    /// The engine of the newest connection; `nil` before the first.
    var engine: DatabaseEngine? { DatabaseEngine(rawValue: knownEngine.load(ordering: .relaxed)) }

    func engineIsKnown(_ engine: DatabaseEngine) {
        knownEngine.store(engine.rawValue, ordering: .relaxed)
    }

    // MARK: Refused writes

    var areWritesRefused: Bool { refusals.isUnderWay }

    var writeRefusal: PostgresError? { refusals.error(now: currentInstant()) }

    func writeFailed(_ error: PostgresError) {
        guard error.refusesWrites, refusals.refused(error, now: currentInstant()) else { return }
        observe(.writesRefused(error))
    }

    func writeDone(_ results: [ResultSet]) {
        let changedRows = results.contains { $0.affectedRows > 0 }
        if refusals.taken(changedRows: changedRows, now: currentInstant()) { observe(.writesTaken) }
    }

    // MARK: Waking the reactor

    var wakeupDescriptor: Int32 { wakeup.descriptor }

    /// Makes the reactor check its queues. Costs little if the reactor is about to check them anyway.
    func wake() {
        if !isWakeupPending.exchange(true, ordering: .acquiringAndReleasing) { wakeup.signal() }
    }

    /// Called by the reactor before it checks its queues: a caller that queues later wakes it again.
    func takeWakeup() {
        wakeup.wait()
        _ = isWakeupPending.exchange(false, ordering: .acquiringAndReleasing)
    }

    // MARK: The end

    var isShutDown: Bool { shutDownRequested.load(ordering: .acquiring) }

    /// Refuses new work.
    func close() {
        shutDownRequested.store(true, ordering: .releasing)
        for lane in lanes { lane.state.withLock { $0.close() } }
        leases.close()
        wake()
    }

    /// Fails all queued work. Call it once nothing will be sent any more.
    func failWaiting(_ error: PostgresError) {
        for lane in lanes {
            for queued in lane.state.withLock({ $0.removeQueued() }) { queued.job.fail(error) }
        }
        leases.stop()
    }
}
