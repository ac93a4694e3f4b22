import Testing

@testable import Postgres

/// A job that is a number.
struct FakeJob: LaneJob {
    var id: Int
    var statementCount = 1
    /// `true` while its caller waits.
    var isWanted = true
    /// Jobs of one kind can be merged; `nil` for a job that cannot be.
    var kind: Int?

    func start() -> Bool { isWanted }

    func canMerge(with other: FakeJob) -> Bool { kind != nil && kind == other.kind }
}

/// Sequences of events and the actions that a lane returns for them.
@Suite struct LaneStateTests {
    private let start = currentInstant()

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    private func lane(
        connections: Int = 2,
        queueMax: Int = 100,
        jobsPerBatchMax: Int = 10,
        mergedJobsMax: Int = 1,
        statementsPerBatchMax: Int = 10,
        idleTimeout: Duration? = nil
    ) -> LaneState<FakeJob> {
        LaneState(
            limits: LaneState.Limits(
                connections: connections,
                queueMax: queueMax,
                jobsPerBatchMax: jobsPerBatchMax,
                mergedJobsMax: mergedJobsMax,
                statementsPerBatchMax: statementsPerBatchMax,
                queueWait: .seconds(1),
                answerWait: .seconds(3),
                connectTimeout: .seconds(5),
                reconnectDelayMin: .seconds(1),
                reconnectDelayMax: .seconds(6),
                idleTimeout: idleTimeout
            )
        )
    }

    /// A lane with all connections open.
    private func connectedLane(
        connections: Int = 2,
        _ adjust: (inout LaneState<FakeJob>) -> Void = { _ in }
    ) -> LaneState<FakeJob> {
        var lane = lane(connections: connections)
        _ = lane.actions(now: at(0))
        for slot in 0..<connections { lane.connected(slot: slot) }
        adjust(&lane)
        return lane
    }

    /// Actions as text.
    private func reported(_ actions: [LaneState<FakeJob>.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .connect(let slot): "connect \(slot)"
            case .abandonAttempt(let slot): "abandon \(slot)"
            case .send(let slot, let batch):
                "send \(slot): \(batch.jobs.map(\.job.id))\(batch.isSeparate ? " separately" : "")"
            case .expire(let jobs): "expire \(jobs.map(\.job.id))"
            case .releaseCallers(let slot): "release callers of \(slot)"
            case .drop(let slot): "drop \(slot)"
            case .rest(let slot): "rest \(slot)"
            }
        }
    }

    private func actions(_ lane: inout LaneState<FakeJob>, at seconds: Double) -> [String] {
        reported(lane.actions(now: at(seconds)))
    }

    private func submit(_ ids: ClosedRange<Int>, to lane: inout LaneState<FakeJob>, at seconds: Double) {
        for id in ids { _ = lane.submit([FakeJob(id: id)], now: at(seconds)) }
    }

    @Test func `all connections are opened at the start, and queued jobs are sent once they are open`() {
        var lane = lane()
        #expect(lane.submit([FakeJob(id: 1)], now: at(0)) == .queued(wakes: false))
        #expect(actions(&lane, at: 0) == ["connect 0", "connect 1"])
        #expect(actions(&lane, at: 0.1) == [])
        lane.connected(slot: 1)
        #expect(actions(&lane, at: 0.2) == ["send 1: [1]"])
        #expect(lane.isConnected)
        #expect(lane.busyCount == 1)
    }

    @Test func `a caller wakes the lane only when a connection is free`() {
        var lane = connectedLane(connections: 1)
        #expect(lane.submit([FakeJob(id: 1)], now: at(0)) == .queued(wakes: true))
        #expect(actions(&lane, at: 0) == ["send 0: [1]"])
        #expect(lane.submit([FakeJob(id: 2)], now: at(0)) == .queued(wakes: false))
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [2]"])
    }

    @Test func `jobs of one caller are queued together or not at all`() {
        var lane = connectedLane(connections: 1)
        submit(1...Int(lane.limits.queueMax - 1), to: &lane, at: 0)
        let two = [FakeJob(id: 1001), FakeJob(id: 1002)]
        #expect(lane.submit(two, now: at(0)) == .refused(.queueFull))
        #expect(lane.queuedCount == lane.limits.queueMax - 1)
        #expect(lane.statistics.refusedQueueFull == 2)
        #expect(lane.submit([FakeJob(id: 1003)], now: at(0)) == .queued(wakes: true))
    }

    @Test func `jobs queued while a connection was busy are sent together`() {
        var lane = connectedLane(connections: 1)
        submit(1...1, to: &lane, at: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [1]"])
        submit(2...13, to: &lane, at: 0.1)
        #expect(actions(&lane, at: 0.1) == [])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0.2) == ["send 0: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0.3) == ["send 0: [12, 13]"])
    }

    @Test func `mergeable jobs are sent together, in a number that is a power of two`() {
        var lane = lane(connections: 1, jobsPerBatchMax: 1, mergedJobsMax: 8)
        _ = lane.actions(now: at(0))
        lane.connected(slot: 0)
        func submit(_ id: Int, kind: Int?, isWanted: Bool = true) {
            _ = lane.submit([FakeJob(id: id, isWanted: isWanted, kind: kind)], now: at(0))
        }
        for (id, kind) in [(1, 7), (2, nil), (3, 7), (4, 8), (5, 7), (6, 7), (7, 8), (8, 7)] as [(Int, Int?)] {
            submit(id, kind: kind)
        }
        var sent: [String] = []
        while lane.queuedCount > 0 {
            sent += actions(&lane, at: 0)
            lane.finished(slot: 0)
        }
        // Of the five jobs of kind 7 four are merged at once. Merged jobs come from further back, so their order is
        // free.
        #expect(sent == ["send 0: [1, 6, 5, 3]", "send 0: [2]", "send 0: [4, 7]", "send 0: [8]"])
        for id in 11...30 { submit(id, kind: 1) }
        #expect(actions(&lane, at: 0) == ["send 0: [11, 18, 17, 16, 15, 14, 13, 12]"], "no more than are allowed")
        lane.finished(slot: 0)
        _ = actions(&lane, at: 0)
        lane.finished(slot: 0)
        _ = actions(&lane, at: 0)
        #expect(lane.queuedCount == 0)
        lane.finished(slot: 0)
        submit(31, kind: 1)
        submit(32, kind: 1, isWanted: false)
        submit(33, kind: 1)
        submit(34, kind: 1)
        #expect(actions(&lane, at: 0) == ["send 0: [31, 34, 33]"], "one whose caller has gone is left out")
    }

    @Test func `free connections share mergeable jobs, and retries are sent alone`() {
        var lane = lane(connections: 2, jobsPerBatchMax: 1, mergedJobsMax: 8)
        _ = lane.actions(now: at(0))
        for slot in 0..<2 { lane.connected(slot: slot) }
        for id in 1...8 { _ = lane.submit([FakeJob(id: id, kind: 1)], now: at(0)) }
        #expect(actions(&lane, at: 0) == ["send 0: [1, 4, 3, 2]", "send 1: [5, 8, 7, 6]"])
        lane.finished(slot: 0)
        lane.requeue(
            (1...4).map { QueuedJob(job: FakeJob(id: $0, kind: 1), deadline: at(1), sendCount: 1) },
            now: at(0)
        )
        #expect(actions(&lane, at: 0) == ["send 0: [1] separately"])
    }

    @Test func `on Citus, mergeable jobs are sent one by one`() {
        var lane = lane(connections: 1, jobsPerBatchMax: 1, mergedJobsMax: 8)
        _ = lane.actions(now: at(0))
        lane.stopMerging()
        lane.connected(slot: 0)
        for id in 1...2 { _ = lane.submit([FakeJob(id: id, kind: 1)], now: at(0)) }
        #expect(actions(&lane, at: 0) == ["send 0: [1]"])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [2]"])
    }

    @Test func `free connections share the queued jobs`() {
        var lane = connectedLane(connections: 3)
        submit(1...7, to: &lane, at: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [1, 2, 3]", "send 1: [4, 5]", "send 2: [6, 7]"])
    }

    @Test func `a batch has at most the allowed number of statements, but at least one job`() {
        var lane = connectedLane(connections: 1)
        for (id, count) in [(1, 25), (2, 6), (3, 4), (4, 1)] {
            _ = lane.submit([FakeJob(id: id, statementCount: count)], now: at(0))
        }
        #expect(actions(&lane, at: 0) == ["send 0: [1]"])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [2, 3]"])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [4]"])
        #expect(lane.statistics.statements == 36)
    }

    @Test func `abandoned jobs are not sent and take no place in a batch`() {
        var lane = connectedLane(connections: 1)
        for id in 1...12 { _ = lane.submit([FakeJob(id: id, isWanted: id > 10)], now: at(0)) }
        #expect(actions(&lane, at: 0) == ["send 0: [11, 12]"])
        for id in 1...3 { _ = lane.submit([FakeJob(id: id, isWanted: false)], now: at(0)) }
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0) == [])
        #expect(lane.isIdle)
    }

    @Test func `abandoned retries do not keep queued jobs from a free connection`() {
        var lane = connectedLane(connections: 1)
        lane.requeue([QueuedJob(job: FakeJob(id: 1, isWanted: false), deadline: at(1))], now: at(0))
        submit(2...2, to: &lane, at: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [2]"])
    }

    @Test func `a full queue refuses`() {
        var lane = lane(queueMax: 2)
        submit(1...2, to: &lane, at: 0)
        #expect(lane.submit([FakeJob(id: 3)], now: at(0)) == .refused(.queueFull))
        #expect(lane.statistics.refusedQueueFull == 1)
        #expect(lane.queuedCount == 2)
    }

    @Test func `jobs that wait too long expire in order`() {
        var lane = lane(connections: 1)
        submit(1...1, to: &lane, at: 0)
        submit(2...2, to: &lane, at: 0.5)
        #expect(actions(&lane, at: 0.9) == ["connect 0"])
        #expect(lane.nextDeadline(now: at(0.9)) == at(1))
        #expect(actions(&lane, at: 1) == ["expire [1]"])
        #expect(actions(&lane, at: 1.6) == ["expire [2]"])
        #expect(lane.statistics.queueTimeouts == 2)
    }

    @Test func `retries are sent first, with a Sync each, and are counted`() {
        var lane = connectedLane(connections: 1)
        submit(1...3, to: &lane, at: 0)
        guard case .send(_, let batch) = lane.actions(now: at(0)).first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(batch.jobs.map(\.sendCount) == [1, 1, 1])
        lane.requeue(Array(batch.jobs.dropFirst()), now: at(0.5))
        submit(4...4, to: &lane, at: 0.5)
        lane.finished(slot: 0)
        guard case .send(_, let again) = lane.actions(now: at(0.5)).first else {
            Issue.record("nothing was sent again")
            return
        }
        #expect(again.isSeparate)
        #expect(again.jobs.map(\.job.id) == [2, 3])
        #expect(again.jobs.map(\.sendCount) == [2, 2])
        lane.finished(slot: 0)
        #expect(actions(&lane, at: 0.5) == ["send 0: [4]"])
    }

    @Test func `callers are released if the answer is late, and the connection is dropped if nothing arrives`() {
        var lane = connectedLane(connections: 1)
        submit(1...2, to: &lane, at: 0)
        #expect(actions(&lane, at: 0) == ["send 0: [1, 2]"])
        lane.progressed(slot: 0, now: at(2))
        #expect(lane.nextDeadline(now: at(2.9)) == at(3))
        #expect(actions(&lane, at: 3) == ["release callers of 0"])
        #expect(actions(&lane, at: 4) == [])
        #expect(actions(&lane, at: 5) == ["drop 0"])
        lane.lost(slot: 0, now: at(5), jitter: 0)
        #expect(actions(&lane, at: 5.5) == [])
        #expect(actions(&lane, at: 6) == ["connect 0"])
        #expect(lane.statistics.connectionsLost == 1)
    }

    @Test func `after a failed attempt one runs at a time, with growing delays, and callers fail at once`() {
        var lane = lane(connections: 3)
        submit(1...2, to: &lane, at: 0)
        #expect(actions(&lane, at: 0) == ["connect 0", "connect 1", "connect 2"])
        // Attempts that run at the same time count as one, and callers wait while one of them still runs.
        let first = lane.connectFailed(slot: 0, now: at(0), jitter: 0)
        #expect(first.retryIn == .seconds(1))
        #expect(first.failed.isEmpty)
        #expect(lane.unreachableSince == nil)
        #expect(lane.connectFailed(slot: 1, now: at(0.1), jitter: 0).retryIn == .seconds(0.9))
        let last = lane.connectFailed(slot: 2, now: at(0.1), jitter: 0)
        #expect(last.retryIn == .seconds(0.9))
        #expect(last.failed.map(\.job.id) == [1, 2])
        #expect(lane.unreachableSince == at(0.1))
        #expect(lane.submit([FakeJob(id: 3)], now: at(0.1)) == .refused(.unavailable))
        for (seconds, delay) in [(1.0, 2.0), (3, 4), (7, 6), (13, 6)] {
            #expect(actions(&lane, at: seconds - 0.01) == [])
            #expect(actions(&lane, at: seconds) == ["connect 0"])
            #expect(lane.connectFailed(slot: 0, now: at(seconds), jitter: 0).retryIn == .seconds(delay))
        }
        #expect(lane.unreachableSince == at(0.1))
        #expect(lane.statistics.connectFailures == 7)
        // After one success the others follow at once.
        #expect(actions(&lane, at: 19) == ["connect 0"])
        lane.connected(slot: 0)
        #expect(lane.unreachableSince == nil)
        #expect(lane.submit([FakeJob(id: 4)], now: at(19)) == .queued(wakes: true))
        #expect(actions(&lane, at: 19) == ["send 0: [4]", "connect 1", "connect 2"])
    }

    @Test func `a lane with one connection left goes on`() {
        var lane = connectedLane(connections: 2)
        lane.lost(slot: 0, now: at(0), jitter: 0)
        #expect(actions(&lane, at: 1) == ["connect 0"])
        submit(1...1, to: &lane, at: 1)
        #expect(lane.connectFailed(slot: 0, now: at(1), jitter: 0).failed.isEmpty)
        #expect(lane.unreachableSince == nil)
        #expect(actions(&lane, at: 1) == ["send 1: [1]"])
    }

    @Test func `jitter shortens a delay by up to half`() {
        var lane = lane(connections: 1)
        _ = lane.actions(now: at(0))
        #expect(lane.connectFailed(slot: 0, now: at(0), jitter: 1).retryIn == .seconds(0.5))
    }

    @Test func `an attempt that takes too long is abandoned`() {
        var lane = lane(connections: 1)
        #expect(actions(&lane, at: 0) == ["connect 0"])
        #expect(actions(&lane, at: 4.9) == [])
        #expect(actions(&lane, at: 5) == ["abandon 0"])
    }

    @Test func `a closed lane refuses new jobs and finishes accepted ones`() {
        var lane = connectedLane(connections: 1)
        submit(1...2, to: &lane, at: 0)
        lane.close()
        #expect(lane.submit([FakeJob(id: 3)], now: at(0)) == .refused(.shutDown))
        #expect(!lane.isIdle)
        #expect(actions(&lane, at: 0) == ["send 0: [1, 2]"])
        #expect(!lane.isIdle)
        lane.finished(slot: 0)
        #expect(lane.isIdle)
    }

    @Test func `an idle lane has no deadline, and any other has one within the queue's wait`() {
        var lane = connectedLane(connections: 2)
        #expect(lane.nextDeadline(now: at(0)) == nil)
        submit(1...1, to: &lane, at: 0)
        #expect(lane.nextDeadline(now: at(0)) == at(1))
        _ = lane.actions(now: at(0))
        #expect(lane.nextDeadline(now: at(0)) == at(1))
        lane.finished(slot: 0)
        lane.lost(slot: 1, now: at(0), jitter: 0.5)
        #expect(lane.nextDeadline(now: at(0)) == at(0.75))
    }

    // MARK: Unused connections

    /// A lane of three open connections that rest after 60 seconds, and a job in flight on the first since second 50.
    private func lightlyUsedLane() -> LaneState<FakeJob> {
        var lane = lane(connections: 3, jobsPerBatchMax: 1, idleTimeout: .seconds(60))
        _ = lane.actions(now: at(0))
        for slot in 0..<3 { lane.connected(slot: slot) }
        _ = lane.submit([FakeJob(id: 0)], now: at(50))
        #expect(reported(lane.actions(now: at(50))) == ["send 0: [0]"])
        lane.finished(slot: 0)
        return lane
    }

    @Test func `unused connections close after the timeout, except the last one`() {
        var lane = lightlyUsedLane()
        #expect(lane.nextDeadline(now: at(50)) == at(60))
        #expect(reported(lane.actions(now: at(59))) == [])
        #expect(reported(lane.actions(now: at(60))) == ["rest 2", "rest 1"])
        #expect(lane.slots == [.idle, .resting, .resting])
        #expect(lane.nextDeadline(now: at(60)) == nil)
        #expect(reported(lane.actions(now: at(1000))) == [])
        #expect(lane.isConnected && lane.unreachableSince == nil)
    }

    @Test func `a connection in use does not close`() {
        var lane = lane(connections: 2, jobsPerBatchMax: 1, idleTimeout: .seconds(60))
        _ = lane.actions(now: at(0))
        for slot in 0..<2 { lane.connected(slot: slot) }
        _ = lane.submit([FakeJob(id: 1), FakeJob(id: 2)], now: at(59))
        #expect(reported(lane.actions(now: at(59))) == ["send 0: [1]", "send 1: [2]"])
        #expect(reported(lane.actions(now: at(61))) == [])
        lane.finished(slot: 0)
        lane.finished(slot: 1)
        #expect(reported(lane.actions(now: at(62))) == [])
        #expect(reported(lane.actions(now: at(119))) == ["rest 1"])
    }

    @Test func `closed connections open again when jobs wait, while the open one goes on`() {
        var lane = lightlyUsedLane()
        _ = lane.actions(now: at(60))
        // One job needs no second connection.
        #expect(lane.submit([FakeJob(id: 1)], now: at(70)) == .queued(wakes: true))
        #expect(reported(lane.actions(now: at(70))) == ["send 0: [1]"])
        // A second one wakes the reactor, although no connection is idle.
        #expect(lane.submit([FakeJob(id: 2)], now: at(70)) == .queued(wakes: true))
        #expect(lane.nextDeadline(now: at(70)) == at(70))
        #expect(reported(lane.actions(now: at(70))) == ["connect 1"])
        // One connection is being opened for one job.
        #expect(reported(lane.actions(now: at(70))) == [])
        lane.finished(slot: 0)
        #expect(reported(lane.actions(now: at(70.1))) == ["send 0: [2]"])
        lane.connected(slot: 1)
        lane.finished(slot: 0)
        #expect(reported(lane.actions(now: at(70.2))) == [])
        #expect(reported(lane.actions(now: at(130))) == ["rest 1"])
    }

    @Test func `all closed connections open for as many jobs`() {
        var lane = lightlyUsedLane()
        _ = lane.actions(now: at(60))
        _ = lane.submit((1...5).map { FakeJob(id: $0) }, now: at(70))
        #expect(reported(lane.actions(now: at(70))) == ["send 0: [1]", "connect 1", "connect 2"])
    }

    @Test func `after a failed attempt the closed connections rest until jobs wait again`() {
        var lane = lightlyUsedLane()
        _ = lane.actions(now: at(60))
        _ = lane.submit((1...5).map { FakeJob(id: $0) }, now: at(70))
        _ = lane.actions(now: at(70))
        _ = lane.connectFailed(slot: 1, now: at(70.1), jitter: 0)
        _ = lane.connectFailed(slot: 2, now: at(70.1), jitter: 0)
        #expect(lane.unreachableSince == nil, "one connection is open")
        #expect(reported(lane.actions(now: at(70.2))) == [])
        #expect(lane.slots[1...] == [.resting, .resting])
        #expect(reported(lane.actions(now: at(71.2))) == ["expire [2, 3, 4, 5]"])
        #expect(lane.submit([FakeJob(id: 6)], now: at(71.3)) == .queued(wakes: true))
        #expect(reported(lane.actions(now: at(71.3))) == ["connect 1"])
        // The delay after a second failure is 2 seconds.
        _ = lane.connectFailed(slot: 1, now: at(71.4), jitter: 0)
        _ = lane.submit([FakeJob(id: 7)], now: at(72.8))
        #expect(reported(lane.actions(now: at(72.8))) == ["expire [6]"])
        #expect(lane.nextDeadline(now: at(72.8)) == at(73))
        #expect(reported(lane.actions(now: at(73.5))) == ["release callers of 0", "drop 0", "connect 1"])
        lane.lost(slot: 0, now: at(73.5), jitter: 0)
        lane.connected(slot: 1)
        #expect(reported(lane.actions(now: at(73.6))) == ["connect 0", "send 1: [7]"])
    }

    @Test func `a closed connection whose attempt fails is down if no other connection is open`() {
        var lane = lightlyUsedLane()
        _ = lane.actions(now: at(60))
        _ = lane.submit((1...2).map { FakeJob(id: $0) }, now: at(70))
        #expect(reported(lane.actions(now: at(70))) == ["send 0: [1]", "connect 1"])
        lane.lost(slot: 0, now: at(70), jitter: 0)
        _ = lane.connectFailed(slot: 1, now: at(70.1), jitter: 0)
        #expect(lane.slots == [.down, .down, .resting])
    }
}
