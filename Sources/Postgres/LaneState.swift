import DequeModule

/// The view that a lane has of a job.
protocol LaneJob: Sendable {
    var statementCount: Int { get }
    /// Records that the job is about to be sent. Returns `false` if its caller has gone; it is then not sent.
    func start() -> Bool
    /// Returns true if it can be merged with `other` (`MergedStatements.swift`).
    func canMerge(with other: Self) -> Bool
}

/// A job that waits for a connection.
struct QueuedJob<Job: LaneJob>: Sendable {
    var job: Job
    /// The end of its wait for a connection.
    var deadline: Instant
    /// The number of times that it was sent.
    var sendCount = 0
}

/// The jobs that one connection sends together.
struct LaneBatch<Job: LaneJob>: Sendable {
    var jobs: [QueuedJob<Job>]
    /// `true` if each job ends with its own Sync, so that the failure of one does not affect the others.
    var isSeparate: Bool
}

/// A group of connections and their queue, without sockets, threads or clocks: each method gets an event and its time,
/// and returns actions.
struct LaneState<Job: LaneJob>: Sendable {
    struct Limits: Sendable {
        var connections: Int
        var queueMax: Int
        var jobsPerBatchMax: Int
        /// The maximum number of jobs merged in one batch, where a batch is otherwise one job.
        var mergedJobsMax: Int
        var statementsPerBatchMax: Int
        var queueWait: Duration
        /// The time that callers wait for an answer to a sent statement, and that a connection may send nothing.
        var answerWait: Duration
        var connectTimeout: Duration
        var reconnectDelayMin: Duration
        var reconnectDelayMax: Duration
        /// The time after which an unused connection is closed, unless it is the last one; `nil` for never.
        var idleTimeout: Duration?
    }

    /// The state of one connection.
    enum Slot: Sendable, Hashable {
        /// There is no connection. Every slot starts here.
        ///
        /// Can go to: `connecting` when an attempt is due.
        case down
        /// An attempt to connect runs, until then at the latest.
        ///
        /// Can go to: `idle` if it succeeds; `down` if it fails or takes too long; `resting` instead of `down` if it rested
        /// before and another connection is open.
        case connecting(until: Instant)
        /// The connection has nothing to do.
        ///
        /// Can go to: `busy` if a batch is sent; `down` if the connection is lost or retired; `resting` if it is unused
        /// for long.
        case idle
        /// A batch has been sent. `callersDeadline` is `nil` once its callers have been released.
        ///
        /// Can go to: `busy` with later deadlines if an answer arrives or the callers are released; `idle` if
        /// everything is answered; `down` if the connection is lost or sends nothing for too long.
        case busy(callersDeadline: Instant?, connectionDeadline: Instant)
        /// The connection was closed because it was unused.
        ///
        /// Can go to: `connecting` if jobs wait and no connection is idle.
        case resting
    }

    enum Submission: Sendable, Hashable {
        /// `wakes` is `true` if a connection is free or can be opened, and the reactor may be asleep.
        case queued(wakes: Bool)
        case refused(PostgresError.Code)
    }

    /// A task for the owner of the connections.
    enum Action: Sendable {
        case connect(slot: Int)
        /// The connection is unused: close it.
        case rest(slot: Int)
        /// The attempt took too long: close it and report `connectFailed`.
        case abandonAttempt(slot: Int)
        case send(slot: Int, LaneBatch<Job>)
        /// These jobs were not sent in time.
        case expire([QueuedJob<Job>])
        /// The callers of the batch in flight have waited long enough. The connection stays open.
        case releaseCallers(slot: Int)
        /// The connection has sent nothing for too long: close it and report `lost`.
        case drop(slot: Int)
    }

    private(set) var limits: Limits
    private(set) var slots: [Slot]
    /// The slots that are connecting after a rest.
    private var awakened: Set<Int> = []
    /// The time at which each connection was opened or last sent a batch.
    private var lastUses: [Instant?]
    private(set) var statistics = PostgresClientState.Statistics()
    /// The time at which the lane became unreachable: it has no connection, and the last attempt failed.
    private(set) var unreachableSince: Instant?
    private var queue: Deque<QueuedJob<Job>> = []
    /// Jobs that are sent again, each with its own Sync.
    private var retries: Deque<QueuedJob<Job>> = []
    private var failedAttempts = 0
    private var nextAttempt: Instant?
    private var isClosed = false

    init(limits: Limits) {
        self.limits = limits
        slots = Array(repeating: .down, count: limits.connections)
        lastUses = Array(repeating: nil, count: limits.connections)
    }

    var queuedCount: Int { queue.count + retries.count }
    var isConnected: Bool { slots.contains { $0.isConnected } }
    var connectionCount: Int { slots.count { $0.isConnected } }
    var busyCount: Int { slots.count { $0.isBusy } }

    /// `true` if nothing is queued or in flight.
    var isIdle: Bool { queuedCount == 0 && busyCount == 0 }

    // MARK: Callers

    /// Queues all of `jobs` or none.
    mutating func submit(_ jobs: [Job], now: Instant) -> Submission {
        if isClosed { return .refused(.shutDown) }
        if unreachableSince != nil { return .refused(.unavailable) }
        if queuedCount + jobs.count > limits.queueMax {
            statistics.refusedQueueFull += jobs.count
            return .refused(.queueFull)
        }
        statistics.accepted += jobs.count
        for job in jobs { queue.append(QueuedJob(job: job, deadline: now + limits.queueWait)) }
        return .queued(wakes: slots.contains { $0 == .idle || $0 == .resting })
    }

    /// Refuses new jobs; accepted ones go on.
    mutating func close() {
        isClosed = true
    }

    /// Removes and returns all queued jobs.
    mutating func removeQueued() -> [QueuedJob<Job>] {
        defer {
            queue.removeAll()
            retries.removeAll()
        }
        return Array(retries) + Array(queue)
    }

    // MARK: Connections

    /// Jobs are sent one by one from now on.
    mutating func stopMerging() {
        limits.mergedJobsMax = 1
    }

    mutating func connected(slot: Int) {
        awakened.remove(slot)
        slots[slot] = .idle
        failedAttempts = 0
        nextAttempt = nil
        unreachableSince = nil
    }

    /// Returns the delay until the next attempt, and the queued jobs that fail because the lane has no connection.
    /// `jitter`, from 0 to 1, spreads the attempts of many clients.
    mutating func connectFailed(
        slot: Int,
        now: Instant,
        jitter: Double
    ) -> (retryIn: Duration, failed: [QueuedJob<Job>]) {
        slots[slot] = .down
        // The lane needs this connection only while jobs wait for one.
        if awakened.remove(slot) != nil, isConnected { slots[slot] = .resting }
        statistics.connectFailures += 1
        // Attempts that ran at the same time count as one.
        if nextAttempt.map({ $0 <= now }) ?? true {
            failedAttempts += 1
            nextAttempt = now + delay(jitter: jitter)
        }
        let retryIn = nextAttempt.map { now.duration(to: $0) } ?? .zero
        // Another attempt still runs and may serve the queued jobs.
        guard !isConnected, !hasAttempt else { return (retryIn, []) }
        unreachableSince = unreachableSince ?? now
        return (retryIn, removeQueued())
    }

    /// The idle connection was closed to be replaced.
    mutating func retired(slot: Int) {
        slots[slot] = .down
    }

    mutating func lost(slot: Int, now: Instant, jitter: Double) {
        slots[slot] = .down
        statistics.connectionsLost += 1
        let earliest = now + delay(jitter: jitter)
        nextAttempt = max(nextAttempt ?? earliest, earliest)
    }

    /// The delay before the next attempt: doubled with each failure, then shortened by up to half.
    private func delay(jitter: Double) -> Duration {
        var delay = limits.reconnectDelayMin
        for _ in 1..<max(1, failedAttempts) {
            guard delay < limits.reconnectDelayMax else { break }
            delay *= 2
        }
        return min(delay, limits.reconnectDelayMax) * (1 - jitter / 2)
    }

    /// An answer arrived on `slot`.
    mutating func progressed(slot: Int, now: Instant) {
        guard case .busy(let callersDeadline, _) = slots[slot] else { return }
        slots[slot] = .busy(callersDeadline: callersDeadline, connectionDeadline: now + limits.answerWait)
    }

    /// All answers for `slot` have arrived.
    mutating func finished(slot: Int) {
        slots[slot] = .idle
    }

    /// Queues again the jobs that were sent and neither answered nor applied.
    mutating func requeue(_ jobs: [QueuedJob<Job>], now: Instant) {
        statistics.sentAgain += jobs.count
        for var queued in jobs {
            queued.deadline = now + limits.queueWait
            retries.append(queued)
        }
    }

    mutating func count(answered: Int) {
        statistics.answered += answered
    }

    // MARK: Time

    /// Returns the actions that are due at `now`. The connections of `connect` and `send` count as connecting and busy
    /// from then on.
    mutating func actions(now: Instant) -> [Action] {
        var actions: [Action] = []
        expire(now: now, into: &actions)
        for slot in slots.indices {
            switch slots[slot] {
            case .down:
                guard mayConnect(now: now) else { continue }
                connect(slot, now: now, into: &actions)
            case .resting:
                guard isShort, mayConnect(now: now) else { continue }
                connect(slot, now: now, into: &actions)
            case .connecting(let until):
                if until <= now { actions.append(.abandonAttempt(slot: slot)) }
            case .idle:
                guard queuedCount > 0, let batch = takeBatch() else { continue }
                lastUses[slot] = now
                slots[slot] = .busy(
                    callersDeadline: now + limits.answerWait,
                    connectionDeadline: now + limits.answerWait
                )
                actions.append(.send(slot: slot, batch))
            case .busy(let callersDeadline, let connectionDeadline):
                if let callersDeadline, callersDeadline <= now {
                    slots[slot] = .busy(callersDeadline: nil, connectionDeadline: connectionDeadline)
                    actions.append(.releaseCallers(slot: slot))
                }
                if connectionDeadline <= now { actions.append(.drop(slot: slot)) }
            }
        }
        rest(now: now, into: &actions)
        return actions
    }

    /// The time at which to call `actions` again if nothing else happens; `nil` if nothing is due. While a connection
    /// is not free this is at most `queueWait` away. So the deadline of a new job that finds no free connection needs
    /// no wake-up.
    func nextDeadline(now: Instant) -> Instant? {
        var next: Instant?
        func consider(_ instant: Instant) { next = min(next ?? instant, instant) }
        if let first = queue.first { consider(first.deadline) }
        if let first = retries.first { consider(first.deadline) }
        for slot in slots {
            switch slot {
            case .down: if failedAttempts == 0 || !hasAttempt { consider(nextAttempt ?? now) }
            case .resting:
                if isShort, failedAttempts == 0 || !hasAttempt { consider(nextAttempt ?? now) }
                continue
            case .connecting(let until): consider(until)
            case .idle: continue
            case .busy(let callersDeadline, let connectionDeadline): consider(callersDeadline ?? connectionDeadline)
            }
            consider(now + limits.queueWait)
        }
        if connectionCount > 1 {
            for slot in slots.indices { if let end = endOfIdling(slot) { consider(end) } }
        }
        return next
    }

    // MARK: Unused connections

    /// The time at which the connection counts as unused; `nil` if it is not idle.
    private func endOfIdling(_ slot: Int) -> Instant? {
        guard slots[slot] == .idle, let timeout = limits.idleTimeout else { return nil }
        return lastUses[slot].map { $0 + timeout }
    }

    /// Closes unused connections, except the last one. Work goes to the first slots first, so the last slots are the
    /// unused ones.
    private mutating func rest(now: Instant, into actions: inout [Action]) {
        for slot in slots.indices.reversed() {
            guard let end = endOfIdling(slot), end <= now, connectionCount > 1 else { continue }
            slots[slot] = .resting
            actions.append(.rest(slot: slot))
        }
    }

    /// True if more jobs wait than connections are free or being opened.
    private var isShort: Bool {
        queuedCount > slots.count { $0.isConnecting } && !slots.contains(.idle)
    }

    private mutating func connect(_ slot: Int, now: Instant, into actions: inout [Action]) {
        if slots[slot] == .resting { awakened.insert(slot) }
        slots[slot] = .connecting(until: now + limits.connectTimeout)
        lastUses[slot] = now
        actions.append(.connect(slot: slot))
    }

    private var hasAttempt: Bool { slots.contains(where: \.isConnecting) }

    /// After a failure only one attempt runs at a time, to spare a server in trouble.
    private func mayConnect(now: Instant) -> Bool {
        guard nextAttempt.map({ $0 <= now }) ?? true else { return false }
        return failedAttempts == 0 || !hasAttempt
    }

    private mutating func expire(now: Instant, into actions: inout [Action]) {
        var expired: [QueuedJob<Job>] = []
        while let first = queue.first, first.deadline <= now { expired.append(queue.removeFirst()) }
        while let first = retries.first, first.deadline <= now { expired.append(retries.removeFirst()) }
        guard !expired.isEmpty else { return }
        statistics.queueTimeouts += expired.count
        actions.append(.expire(expired))
    }

    /// Returns the next batch: retries first; otherwise a fair share of the queue, so that every free connection gets
    /// work.
    private mutating func takeBatch() -> LaneBatch<Job>? {
        var jobs = limits.take(limits.jobsPerBatchMax, from: &retries)
        let isSeparate = !jobs.isEmpty
        if !isSeparate {
            let idle = slots.count { $0 == .idle }
            let share = (queue.count + idle - 1) / idle
            jobs = limits.take(min(limits.jobsPerBatchMax, share), from: &queue)
            if let first = jobs.first, jobs.count == 1 {
                jobs += queue.takeMergeable(with: first.job, countMax: min(limits.mergedJobsMax, share) - 1)
            }
        }
        guard !jobs.isEmpty else { return nil }
        statistics.batches += 1
        statistics.statements += jobs.reduce(0) { $0 + $1.job.statementCount }
        return LaneBatch(jobs: jobs, isSeparate: isSeparate)
    }
}

extension LaneState.Limits {
    /// Takes jobs whose callers still wait: up to `jobsMax`, and as many statements as fit into one batch.
    fileprivate func take(_ jobsMax: Int, from queue: inout Deque<QueuedJob<Job>>) -> [QueuedJob<Job>] {
        var jobs: [QueuedJob<Job>] = []
        var statements = 0
        while jobs.count < jobsMax, var next = queue.first {
            statements += next.job.statementCount
            guard jobs.isEmpty || statements <= statementsPerBatchMax else { break }
            queue.removeFirst()
            guard next.job.start() else {
                statements -= next.job.statementCount
                continue
            }
            next.sendCount += 1
            jobs.append(next)
        }
        return jobs
    }
}

extension LaneState.Slot {
    var isConnected: Bool {
        switch self {
        case .idle, .busy: true
        case .down, .connecting, .resting: false
        }
    }

    var isConnecting: Bool {
        switch self {
        case .connecting: true
        case .down, .idle, .busy, .resting: false
        }
    }

    var isBusy: Bool {
        switch self {
        case .busy: true
        case .down, .connecting, .idle, .resting: false
        }
    }
}
