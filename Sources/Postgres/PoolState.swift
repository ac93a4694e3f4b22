import DequeModule

/// The leases of a fixed number of workers, and the queue for them. Pure, like `LaneState`.
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
        // The worker released last is leased first: its connection is the most likely to be alive.
        free = Array((0..<workers).reversed())
        self.waitersMax = waitersMax
        self.wait = wait
    }

    var waitersCount: Int { waiting.count }

    /// `true` if nothing is leased and no caller waits.
    var isIdle: Bool { leasedCount == 0 && waiting.isEmpty }

    /// The deadline of the caller that has waited longest.
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

    /// Takes `worker` back, or leases it to the caller that has waited longest and returns that caller. If it has gone
    /// meanwhile, release again.
    mutating func release(worker: Int) -> Waiter? {
        if let next = waiting.popFirst() { return next.waiter }
        leasedCount -= 1
        free.append(worker)
        return nil
    }

    /// Removes and returns the callers whose deadline has passed.
    mutating func expire(now: Instant) -> [Waiter] {
        var expired: [Waiter] = []
        while let first = waiting.first, first.deadline <= now { expired.append(waiting.removeFirst().waiter) }
        return expired
    }

    /// Refuses new leases. Current leases go on; the waiting callers are returned.
    mutating func close() -> [Waiter] {
        isClosed = true
        defer { waiting.removeAll() }
        return waiting.map(\.waiter)
    }
}
