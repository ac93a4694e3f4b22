import Testing

@testable import Postgres

@Suite struct PoolStateTests {
    private let start = currentInstant()

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    @Test func `workers are granted until none is left, then callers wait in order`() {
        var pool = PoolState<Int>(workers: 2, waitersMax: 10, wait: .seconds(1))
        #expect(pool.lease(1, now: at(0)) == .granted(worker: 0))
        #expect(pool.lease(2, now: at(0)) == .granted(worker: 1))
        #expect(pool.lease(3, now: at(0)) == .waits)
        #expect(pool.lease(4, now: at(0)) == .waits)
        #expect(pool.leasedCount == 2)
        #expect(pool.waitersCount == 2)
        #expect(pool.release(worker: 1) == 3)
        #expect(pool.release(worker: 0) == 4)
        #expect(pool.release(worker: 1) == nil)
        #expect(pool.release(worker: 0) == nil)
        #expect(pool.isIdle)
        #expect(pool.lease(5, now: at(0)) == .granted(worker: 0), "the one released last")
    }

    @Test func `a caller beyond the queue's limit is refused`() {
        var pool = PoolState<Int>(workers: 0, waitersMax: 1, wait: .seconds(1))
        #expect(pool.lease(1, now: at(0)) == .waits)
        #expect(pool.lease(2, now: at(0)) == .refused(.queueFull))
    }

    @Test func `callers that have waited too long are removed`() {
        var pool = PoolState<Int>(workers: 0, waitersMax: 10, wait: .seconds(1))
        _ = pool.lease(1, now: at(0))
        _ = pool.lease(2, now: at(0.5))
        #expect(pool.nextDeadline == at(1))
        #expect(pool.expire(now: at(0.9)) == [])
        #expect(pool.expire(now: at(1)) == [1])
        #expect(pool.nextDeadline == at(1.5))
        #expect(pool.expire(now: at(9)) == [2])
        #expect(pool.nextDeadline == nil)
    }

    @Test func `a closed pool refuses new callers and returns the waiting ones`() {
        var pool = PoolState<Int>(workers: 1, waitersMax: 10, wait: .seconds(1))
        _ = pool.lease(1, now: at(0))
        _ = pool.lease(2, now: at(0))
        #expect(pool.close() == [2])
        #expect(pool.lease(3, now: at(0)) == .refused(.shutDown))
        #expect(!pool.isIdle)
        #expect(pool.release(worker: 0) == nil)
        #expect(pool.isIdle)
    }
}

@Suite struct ReplyTests {
    @Test func `the first answer counts, and later ones are reported as too late`() async {
        let reply = Reply<Int>()
        #expect(reply.start())
        #expect(reply.finish { _ in 1 })
        #expect(!reply.finish { _ in 2 })
        #expect(!reply.start())
        let value = await reply.value { _ in 3 }
        #expect(value == 1)
        #expect(!reply.finish { _ in 4 })
    }

    @Test func `a waiting caller is woken by the answer`() async {
        let reply = Reply<Int>()
        async let value = reply.value { _ in 3 }
        await Task.yield()
        #expect(reply.finish { _ in 1 })
        let taken = await value
        #expect(taken == 1)
    }

    @Test(arguments: [true, false])
    func `cancellation is an answer that depends on whether work had begun`(isStarted: Bool) async {
        let reply = Reply<Bool>()
        if isStarted { _ = reply.start() }
        let task = Task { await reply.value { $0 } }
        task.cancel()
        let knew = await task.value
        #expect(knew == isStarted)
        #expect(!reply.start())
    }

    @Test func `if many answers race, exactly one counts`() async {
        for round in 0..<200 {
            let reply = Reply<Int>()
            let waiter = Task { await reply.value { _ in -1 } }
            let winners = await withTaskGroup(of: Int.self) { group in
                for candidate in 0..<4 {
                    group.addTask { reply.finish { _ in candidate } ? candidate : -2 }
                }
                if round.isMultiple(of: 2) { waiter.cancel() }
                return await group.filter { $0 >= 0 }.reduce(into: []) { $0.append($1) }
            }
            let value = await waiter.value
            #expect(winners == (value == -1 ? [] : [value]))
        }
    }
}
