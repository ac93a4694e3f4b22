import CLibpq
import Glibc
import Metrics
import Synchronization

/// Drives all shared connections on one thread: watches their sockets, feeds free ones from their lane's queue, and
/// passes each answer to its caller. Never decodes a row and never waits for a caller.
///
/// Lives on the thread that makes it.
final class Reactor {
    private let core: ClientCore
    private let epoll: Int32
    private var connections: [[LaneConnection?]]
    private var events = [epoll_event](repeating: epoll_event(), count: 64)
    /// Connection attempts that wait for the addresses of hosts.
    private var unresolved: [(lane: Int, slot: Int, hosts: HostsLookUp)] = []
    private var drainDeadline: Instant?
    /// Answers whose callers are woken after the queued work has been sent.
    private var deliveries: [Delivery] = []

    init(_ core: ClientCore) {
        self.core = core
        connections = core.lanes.map { lane in
            Array(repeating: nil, count: lane.state.withLock { $0.limits.connections })
        }
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(epoll >= 0, "no file descriptor left")
        let watched = control(EPOLL_CTL_ADD, core.wakeupDescriptor, EPOLLIN.rawValue, Token.wakeup)
        precondition(watched, "a new descriptor can be watched")
    }

    deinit {
        close(epoll)
    }

    /// Runs until the client has been shut down and all accepted work has been answered, or the drain's time is over.
    func run() {
        while true {
            var now = currentInstant()
            expireLeases(now: now)
            if isDrained(now: now) { break }
            if !unresolved.isEmpty { connectResolved(now: now) }
            for lane in core.lanes.indices {
                for action in core.lanes[lane].state.withLock({ $0.actions(now: now) }) {
                    perform(action, lane: lane, now: now)
                }
            }
            wakeCallers()
            now = currentInstant()
            waitForEvents(timeout: nextDeadline(now: now).map { now.millisecondsRoundedUp(until: $0) } ?? -1)
        }
        finish()
    }

    // MARK: Waiting

    /// The subject of an event: a lane and a slot in one number.
    private enum Token {
        static let wakeup = UInt64.max

        static func of(lane: Int, slot: Int) -> UInt64 { UInt64(lane) << 32 | UInt64(slot) }
        static func lane(_ token: UInt64) -> Int { Int(token >> 32) }
        static func slot(_ token: UInt64) -> Int { Int(token & 0xFFFF_FFFF) }
    }

    private func nextDeadline(now: Instant) -> Instant? {
        var next = drainDeadline
        func consider(_ deadline: Instant?) {
            if let deadline { next = min(next ?? deadline, deadline) }
        }
        for lane in core.lanes { consider(lane.state.withLock { $0.nextDeadline(now: now) }) }
        consider(core.leases.nextDeadline)
        return next
    }

    private func waitForEvents(timeout: Int32) {
        let count = Int(epoll_wait(epoll, &events, Int32(events.count), timeout))
        guard count > 0 else { return }
        let now = currentInstant()
        for index in 0..<count {
            let token = events[index].data.u64
            guard token != Token.wakeup else {
                core.takeWakeup()
                continue
            }
            handleEvent(lane: Token.lane(token), slot: Token.slot(token), now: now)
        }
    }

    private func handleEvent(lane: Int, slot: Int, now: Instant) {
        guard let connection = connections[lane][slot] else { return }
        if connection.isConnecting {
            continueConnecting(connection, lane: lane, slot: slot, now: now)
        } else {
            receive(connection, lane: lane, slot: slot, now: now)
        }
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ mask: UInt32, _ token: UInt64) -> Bool {
        var event = epoll_event(events: mask, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, operation, descriptor, &event) == 0
    }

    /// Watches `connection` for the events that it waits for now.
    private func watch(_ connection: LaneConnection, _ mask: UInt32, lane: Int, slot: Int) {
        // A connection attempt may go on with another socket that has the same number but is unknown to epoll.
        guard connection.watchedMask != mask || connection.isConnecting else { return }
        let token = Token.of(lane: lane, slot: slot)
        if !control(EPOLL_CTL_MOD, connection.socket, mask, token) {
            _ = control(EPOLL_CTL_ADD, connection.socket, mask, token)
        }
        connection.watchedMask = mask
    }

    // MARK: Actions

    private func perform(_ action: LaneState<Job>.Action, lane: Int, now: Instant) {
        switch action {
        case .connect(let slot):
            connect(lane: lane, slot: slot, now: now)
        case .rest(let slot):
            connections[lane][slot] = nil
        case .abandonAttempt(let slot):
            abandonAttempt(lane: lane, slot: slot, now: now)
        case .send(let slot, let batch):
            send(batch, lane: lane, slot: slot, now: now)
        case .expire(let expired):
            fail(expired, PostgresError(.queueTimeout, "no connection became free in time"))
        case .releaseCallers(let slot):
            for job in connections[lane][slot]?.conversation?.unsettled ?? [] { job.fail(core.lanes[lane].noAnswer) }
        case .drop(let slot):
            lost(lane: lane, slot: slot, now: now)
        }
    }

    private func fail(_ jobs: [QueuedJob<Job>], _ error: PostgresError) {
        for queued in jobs { queued.job.fail(error) }
    }

    // MARK: Connecting

    private func connect(lane: Int, slot: Int, now: Instant) {
        guard core.hosts.needLookUp else {
            connect(lane: lane, slot: slot, core.connectionParameters[lane], now: now)
            return
        }
        unresolved.append((lane, slot, core.hosts.lookUp { [core] in core.wake() }))
    }

    /// Continues attempts whose hosts' addresses have been found.
    private func connectResolved(now: Instant) {
        let waiting = unresolved
        unresolved = []
        for attempt in waiting {
            switch attempt.hosts.take() {
            case nil:
                unresolved.append(attempt)
            case .success(let hosts):
                let parameters = core.connectionParameters[attempt.lane].setting(hosts)
                connect(lane: attempt.lane, slot: attempt.slot, parameters, now: now)
            case .failure(let error):
                connectFailed(error, lane: attempt.lane, slot: attempt.slot, now: now)
            }
        }
    }

    private func abandonAttempt(lane: Int, slot: Int, now: Instant) {
        var error = PostgresError(.unavailable, "server did not answer in time")
        if let index = unresolved.firstIndex(where: { $0.lane == lane && $0.slot == slot }) {
            unresolved.remove(at: index).hosts.abandon()
            error = DatabaseHosts.tooSlow
        }
        connectFailed(error, lane: lane, slot: slot, now: now)
    }

    private func connect(lane: Int, slot: Int, _ parameters: [ConnectionParameter], now: Instant) {
        do {
            let connection = try LaneConnection(parameters)
            connections[lane][slot] = connection
            // libpq's manual: begin as if it waited until the socket is writable.
            watch(connection, EPOLLOUT.rawValue, lane: lane, slot: slot)
        } catch {
            connectFailed(error, lane: lane, slot: slot, now: now)
        }
    }

    private func continueConnecting(_ connection: LaneConnection, lane: Int, slot: Int, now: Instant) {
        switch connection.continueConnecting() {
        case .waitsForRead: watch(connection, EPOLLIN.rawValue, lane: lane, slot: slot)
        case .waitsForWrite: watch(connection, EPOLLOUT.rawValue, lane: lane, slot: slot)
        case .failed: connectFailed(connection.connectFailure(), lane: lane, slot: slot, now: now)
        case .connected:
            watch(connection, EPOLLIN.rawValue, lane: lane, slot: slot)
            core.engineIsKnown(connection.engine)
            core.lanes[lane].state.withLock { state in
                if connection.engine == .citus { state.stopMerging() }
                state.connected(slot: slot)
            }
            core.observe(.connected(core.lanes[lane].name))
        }
    }

    private func connectFailed(_ error: PostgresError, lane: Int, slot: Int, now: Instant) {
        connections[lane][slot] = nil
        let (retryIn, failed) = core.lanes[lane].state.withLock {
            $0.connectFailed(slot: slot, now: now, jitter: .random(in: 0...1))
        }
        core.observe(.connectFailed(core.lanes[lane].name, error, retryIn: retryIn))
        fail(failed, PostgresError(.unavailable, "database cannot be reached"))
    }

    // MARK: Sending and receiving

    private func send(_ batch: LaneBatch<Job>, lane: Int, slot: Int, now: Instant) {
        guard let connection = connections[lane][slot] else {
            preconditionFailure("a lane feeds only slots that are connected")
        }
        if let timer = core.metrics?.queueWait(lane) {
            let wait = core.configuration.queueWait
            for queued in batch.jobs {
                // It may have been queued just after the reactor read the clock.
                timer.record(duration: max(.zero, wait - now.duration(to: queued.deadline)))
            }
        }
        if connection.send(batch, core.lanes[lane]) {
            flush(connection, lane: lane, slot: slot, now: now)
        } else {
            lost(lane: lane, slot: slot, now: now)
        }
    }

    private func flush(_ connection: LaneConnection, lane: Int, slot: Int, now: Instant) {
        switch connection.flush() {
        case .done: watch(connection, EPOLLIN.rawValue, lane: lane, slot: slot)
        case .pending: watch(connection, EPOLLIN.rawValue | EPOLLOUT.rawValue, lane: lane, slot: slot)
        case .failed: lost(lane: lane, slot: slot, now: now)
        }
    }

    private func receive(_ connection: LaneConnection, lane: Int, slot: Int, now: Instant) {
        let shared = core.lanes[lane]
        var delivery = Delivery()
        let outcome = connection.receive(into: &delivery, shared)
        shared.state.withLock { state in
            state.count(answered: delivery.answered)
            if !delivery.sentAgain.isEmpty { state.requeue(delivery.sentAgain, now: now) }
            switch outcome {
            case .finished: state.finished(slot: slot)
            case .waits: if delivery.hasProgress { state.progressed(slot: slot, now: now) }
            case .idle, .broken: break
            }
        }
        deliveries.append(delivery)
        if outcome == .broken {
            lost(lane: lane, slot: slot, now: now)
        } else {
            flush(connection, lane: lane, slot: slot, now: now)
            guard outcome == .finished else { return }
            if connection.isReadOnly, shared.kind == .writes { renew(lane: lane, now: now) }
            if connection.isOutdated { renew(lane: lane, now: now) }
        }
    }

    /// Replaces idle connections after one of them turned out to be read-only: another server may be the writable one
    /// now, or the database may accept writes on new connections. Also after the server became Citus. Young connections
    /// stay, so that a permanent standby is not flooded with attempts.
    private func renew(lane: Int, now: Instant) {
        core.lanes[lane].state.withLock { state in
            for slot in state.slots.indices where state.slots[slot] == .idle {
                guard let connection = connections[lane][slot],
                    connection.madeAt + core.configuration.reconnectDelayMax <= now
                else { continue }
                connections[lane][slot] = nil
                state.retired(slot: slot)
            }
        }
    }

    private func lost(lane: Int, slot: Int, now: Instant) {
        guard let connection = connections[lane][slot] else { return }
        connections[lane][slot] = nil
        var delivery = Delivery()
        connection.lost(into: &delivery)
        core.lanes[lane].state.withLock { state in
            state.count(answered: delivery.answered)
            state.requeue(delivery.sentAgain, now: now)
            state.lost(slot: slot, now: now, jitter: .random(in: 0...1))
        }
        delivery.wakeCallers()
        let error = PostgresError(.connectionLost, "connection to the server lost")
        core.observe(.connectionLost(core.lanes[lane].name, error))
    }

    // MARK: Leases and the end

    private func expireLeases(now: Instant) {
        let error = PostgresError(.queueTimeout, "no connection became free in time")
        for waiter in core.leases.expire(now: now) { waiter.finish { _ in .failure(error) } }
    }

    private func wakeCallers() {
        for delivery in deliveries { delivery.wakeCallers() }
        deliveries.removeAll(keepingCapacity: true)
    }

    /// Returns `true` if the reactor can stop.
    private func isDrained(now: Instant) -> Bool {
        guard core.isShutDown else { return false }
        let deadline = drainDeadline ?? now + core.configuration.drainWait
        drainDeadline = deadline
        let isIdle = core.lanes.allSatisfy { $0.state.withLock(\.isIdle) } && core.leases.isIdle
        return isIdle || deadline <= now
    }

    /// Closes all connections and fails all waiting callers.
    private func finish() {
        wakeCallers()
        let error = PostgresError(.shutDown, "client was shut down")
        for slots in connections {
            for connection in slots {
                var delivery = Delivery()
                connection?.lost(into: &delivery)
                delivery.wakeCallers()
                fail(delivery.sentAgain, error)
            }
        }
        connections = []
        core.failWaiting(error)
    }
}
