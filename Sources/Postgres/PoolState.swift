import DequeModule

/// Which of a fixed number of workers is leased, and who waits for one; pure, like `LaneState`.
struct PoolState<Waiter: Sendable>: Sendable {
    enum Lease: Sendable, Hashable {
        case granted(worker: Int)
        case waits
        case refused(PostgresError.Code)
    }

    private struct Waiting: Sendable {
        let waiter: Waiter
        let deadline: Instant
    }

    let waitersMax: Int
    let wait: Duration
    private var free: [Int]
    private var waiting: Deque<Waiting> = []
    private(set) var leasedCount = 0
    private var isClosed = false

    init(workers: Int, waitersMax: Int, wait: Duration) {
        // The worker released last is leased first: its connection is the likeliest to be alive.
        free = Array((0..<workers).reversed())
        self.waitersMax = waitersMax
        self.wait = wait
    }

    var waitersCount: Int { waiting.count }

    /// Whether nothing is leased and nobody waits.
    var isQuiet: Bool { leasedCount == 0 && waiting.isEmpty }

    /// When the first of those that wait has waited long enough.
    var nextDeadline: Instant? { waiting.first?.deadline }

    mutating func lease(_ waiter: Waiter, now: Instant) -> Lease {
        if isClosed { return .refused(.shutDown) }
        if let worker = free.popLast() {
            leasedCount += 1
            return .granted(worker: worker)
        }
        guard waiting.count < waitersMax else { return .refused(.queueFull) }
        waiting.append(Waiting(waiter: waiter, deadline: now + wait))
        return .waits
    }

    /// Takes `worker` back, or passes it on to the one that waited longest, who is returned. When that one has gone
    /// meanwhile, release again.
    mutating func release(worker: Int) -> Waiter? {
        if let next = waiting.popFirst() { return next.waiter }
        leasedCount -= 1
        free.append(worker)
        return nil
    }

    /// Takes out those that have waited long enough.
    mutating func expire(now: Instant) -> [Waiter] {
        var expired: [Waiter] = []
        while let first = waiting.first, first.deadline <= now { expired.append(waiting.removeFirst().waiter) }
        return expired
    }

    /// Refuses everything from now on. Leases go on; those that wait are returned.
    mutating func close() -> [Waiter] {
        isClosed = true
        defer { waiting.removeAll() }
        return waiting.map(\.waiter)
    }
}
