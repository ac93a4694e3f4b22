import DequeModule

/// What a lane needs to know of the work that goes through it.
protocol LaneJob: Sendable {
    var statementCount: Int { get }
    /// Notes that the job is about to be sent. `false` when nobody waits for it any more, and it is not sent.
    func start() -> Bool
    /// Returns true if it can be merged with `other` (`MergedStatements.swift`).
    func canMerge(with other: Self) -> Bool
}

/// A job that waits for a connection.
struct QueuedJob<Job: LaneJob>: Sendable {
    var job: Job
    /// When it has waited long enough for a connection.
    var deadline: Instant
    /// How often it has been sent.
    var sendings = 0
}

/// What is sent on one connection in one go.
struct LaneBatch<Job: LaneJob>: Sendable {
    var jobs: [QueuedJob<Job>]
    /// Whether each job ends with a Sync of its own, so that the failure of one leaves the others alone.
    var isSeparate: Bool
}

/// A group of connections and the queue of what waits for them, without sockets, threads or clocks: each method is told
/// what happened and when, and answers what is to be done.
struct LaneState<Job: LaneJob>: Sendable {
    struct Limits: Sendable {
        var connections: Int
        var queueMax: Int
        var jobsPerBatchMax: Int
        /// The most jobs of a batch that are merged, where a batch is one job otherwise.
        var mergedJobsMax: Int
        var statementsPerBatchMax: Int
        var queueWait: Duration
        /// How long callers wait for an answer once their statement is sent, and how long a connection may stay silent.
        var answerWait: Duration
        var connectTimeout: Duration
        var reconnectDelayMin: Duration
        var reconnectDelayMax: Duration
    }

    /// The state of one connection.
    enum Slot: Sendable, Hashable {
        /// There is no connection. Every slot starts here.
        ///
        /// Can go to: `connecting` when an attempt is due.
        case down
        /// An attempt to connect is under way, at most until then.
        ///
        /// Can go to: `idle` when it succeeds; `down` when it fails or takes too long.
        case connecting(until: Instant)
        /// The connection has nothing to do.
        ///
        /// Can go to: `busy` when a batch is sent; `down` when the connection is lost or retired.
        case idle
        /// A batch is under way. `callersDeadline` is `nil` once its callers have been released.
        ///
        /// Can go to: `busy` with later deadlines when an answer arrives or the callers are released; `idle` when all of
        /// it is answered; `down` when the connection is lost or silent for too long.
        case busy(callersDeadline: Instant?, connectionDeadline: Instant)
    }

    enum Submission: Sendable, Hashable {
        /// `wakes` when a connection is free and whoever feeds it may be asleep.
        case queued(wakes: Bool)
        case refused(PostgresError.Code)
    }

    /// What is to be done by whoever owns the connections.
    enum Action: Sendable {
        case connect(slot: Int)
        /// The attempt took too long: close it and report `connectFailed`.
        case abandonAttempt(slot: Int)
        case send(slot: Int, LaneBatch<Job>)
        /// Nobody came to send these in time.
        case expire([QueuedJob<Job>])
        /// The callers of what is in flight have waited long enough; the connection goes on.
        case releaseCallers(slot: Int)
        /// The connection has been silent for too long: close it and report `lost`.
        case drop(slot: Int)
    }

    let limits: Limits
    private(set) var slots: [Slot]
    private(set) var statistics = PostgresClientState.Statistics()
    /// When the lane became unreachable: it has no connection, and the last attempt to make one failed.
    private(set) var unreachableSince: Instant?
    private var queue: Deque<QueuedJob<Job>> = []
    /// What is sent again, each with its own Sync.
    private var repeats: Deque<QueuedJob<Job>> = []
    private var failedAttempts = 0
    private var nextAttempt: Instant?
    private var isClosed = false

    init(limits: Limits) {
        self.limits = limits
        slots = Array(repeating: .down, count: limits.connections)
    }

    var queuedCount: Int { queue.count + repeats.count }
    var isConnected: Bool { slots.contains { $0.isConnected } }
    var connectionCount: Int { slots.count { $0.isConnected } }
    var busyCount: Int { slots.count { $0.isBusy } }

    /// Whether nothing is queued or in flight.
    var isQuiet: Bool { queuedCount == 0 && busyCount == 0 }

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
        return .queued(wakes: slots.contains(.idle))
    }

    /// Refuses everything from now on; what was accepted goes on.
    mutating func close() {
        isClosed = true
    }

    /// Takes out everything that waits.
    mutating func removeQueued() -> [QueuedJob<Job>] {
        defer {
            queue.removeAll()
            repeats.removeAll()
        }
        return Array(repeats) + Array(queue)
    }

    // MARK: Connections

    mutating func connected(slot: Int) {
        slots[slot] = .idle
        failedAttempts = 0
        nextAttempt = nil
        unreachableSince = nil
    }

    /// Tells when the next attempt is made, and what waited and is to fail because no connection stands. `jitter`, from
    /// 0 to 1, spreads the attempts of many clients.
    mutating func connectFailed(
        slot: Int,
        now: Instant,
        jitter: Double
    ) -> (retryIn: Duration, failed: [QueuedJob<Job>]) {
        slots[slot] = .down
        statistics.connectFailures += 1
        // Attempts that ran side by side count as one.
        if nextAttempt.map({ $0 <= now }) ?? true {
            failedAttempts += 1
            nextAttempt = now + delay(jitter: jitter)
        }
        let retryIn = nextAttempt.map { now.duration(to: $0) } ?? .zero
        // Another attempt that is still under way may yet serve those that wait.
        guard !isConnected, !hasAttempt else { return (retryIn, []) }
        unreachableSince = unreachableSince ?? now
        return (retryIn, removeQueued())
    }

    /// The connection, on which nothing was under way, was closed to be made anew.
    mutating func retired(slot: Int) {
        slots[slot] = .down
    }

    mutating func lost(slot: Int, now: Instant, jitter: Double) {
        slots[slot] = .down
        statistics.connectionsLost += 1
        let earliest = now + delay(jitter: jitter)
        nextAttempt = max(nextAttempt ?? earliest, earliest)
    }

    /// The wait before the next attempt: doubled with each failure, then shortened by up to half.
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

    /// Everything sent on `slot` has been answered.
    mutating func finished(slot: Int) {
        slots[slot] = .idle
    }

    /// Queues again what was sent and neither answered nor applied.
    mutating func putBack(_ jobs: [QueuedJob<Job>], now: Instant) {
        statistics.sentAgain += jobs.count
        for var queued in jobs {
            queued.deadline = now + limits.queueWait
            repeats.append(queued)
        }
    }

    mutating func count(answered: Int) {
        statistics.answered += answered
    }

    // MARK: Time

    /// What is to be done at `now`. Connections that `connect` and `send` name are taken to be connecting and busy.
    mutating func actions(now: Instant) -> [Action] {
        var actions: [Action] = []
        expire(now: now, into: &actions)
        for slot in slots.indices {
            switch slots[slot] {
            case .down:
                guard mayConnect(now: now) else { continue }
                slots[slot] = .connecting(until: now + limits.connectTimeout)
                actions.append(.connect(slot: slot))
            case .connecting(let until):
                if until <= now { actions.append(.abandonAttempt(slot: slot)) }
            case .idle:
                guard queuedCount > 0, let batch = takeBatch() else { continue }
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
        return actions
    }

    /// When `actions` has to be asked again if nothing happens before; `nil` when nothing is waited for. While a
    /// connection is not free this is never further away than `queueWait`, so that nobody needs to be woken for the
    /// deadline of a job that finds no free connection.
    func nextDeadline(now: Instant) -> Instant? {
        var next: Instant?
        func consider(_ instant: Instant) { next = min(next ?? instant, instant) }
        if let first = queue.first { consider(first.deadline) }
        if let first = repeats.first { consider(first.deadline) }
        for slot in slots {
            switch slot {
            case .down: if failedAttempts == 0 || !hasAttempt { consider(nextAttempt ?? now) }
            case .connecting(let until): consider(until)
            case .idle: continue
            case .busy(let callersDeadline, let connectionDeadline): consider(callersDeadline ?? connectionDeadline)
            }
            consider(now + limits.queueWait)
        }
        return next
    }

    private var hasAttempt: Bool {
        slots.contains { if case .connecting = $0 { true } else { false } }
    }

    /// After a failure one attempt at a time, so that a server in trouble is not besieged.
    private func mayConnect(now: Instant) -> Bool {
        guard nextAttempt.map({ $0 <= now }) ?? true else { return false }
        return failedAttempts == 0 || !hasAttempt
    }

    private mutating func expire(now: Instant, into actions: inout [Action]) {
        var expired: [QueuedJob<Job>] = []
        while let first = queue.first, first.deadline <= now { expired.append(queue.removeFirst()) }
        while let first = repeats.first, first.deadline <= now { expired.append(repeats.removeFirst()) }
        guard !expired.isEmpty else { return }
        statistics.queueTimeouts += expired.count
        actions.append(.expire(expired))
    }

    /// The next batch: what is repeated first; else a fair share of the queue, so that no free connection stays empty.
    private mutating func takeBatch() -> LaneBatch<Job>? {
        var jobs = limits.take(limits.jobsPerBatchMax, from: &repeats)
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
    /// Takes jobs that somebody still waits for: up to `jobsMax`, and as many statements as go into one batch.
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
            next.sendings += 1
            jobs.append(next)
        }
        return jobs
    }
}

extension LaneState.Slot {
    var isConnected: Bool {
        switch self {
        case .idle, .busy: true
        case .down, .connecting: false
        }
    }

    var isBusy: Bool {
        switch self {
        case .busy: true
        case .down, .connecting, .idle: false
        }
    }
}
