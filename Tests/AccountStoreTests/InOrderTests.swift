import Synchronization
import Testing

@testable import AccountStore
@testable import Postgres

struct InOrderTests {
    /// What was handed on, and how many were delivered by then.
    private struct Seen {
        var taken: [Int] = []
        var delivered = 0
    }

    @Test func `what is next is waited for, and nobody gets far ahead of it`() async throws {
        let seen = Mutex(Seen())
        let order = InOrder<Int> { number in seen.withLock { $0.taken.append(number) } }
        let gate = ReadersGate()
        async let others: Void = runOnNewThread {
            for number in 1...100 {
                try? order.deliver(number, number, gate)
                try? order.finish(number)
                seen.withLock { $0.delivered += 1 }
            }
        }
        while seen.withLock({ $0.delivered }) < InOrder<Int>.aheadMax { try await Task.sleep(for: .milliseconds(1)) }
        // Time to do what must not be done.
        try await Task.sleep(for: .milliseconds(50))
        #expect(seen.withLock { $0.delivered } == InOrder<Int>.aheadMax)
        #expect(seen.withLock { $0.taken }.isEmpty)
        try order.deliver(0, 0, gate)
        try order.finish(0)
        await others
        #expect(seen.withLock { $0.taken } == Array(0...100))
    }

    @Test func `a number may have several, or none`() throws {
        let seen = Mutex(Seen())
        let order = InOrder<Int> { number in seen.withLock { $0.taken.append(number) } }
        let gate = ReadersGate()
        try order.deliver(2, 20, gate)
        try order.deliver(3, 30, gate)
        try order.deliver(2, 21, gate)
        try order.deliver(0, 1, gate)
        try order.deliver(0, 2, gate)
        try order.finish(3)
        #expect(seen.withLock { $0.taken } == [1, 2])
        try order.finish(0)
        #expect(seen.withLock { $0.taken } == [1, 2])
        try order.finish(1)
        #expect(seen.withLock { $0.taken } == [1, 2, 20, 21])
        try order.deliver(2, 22, gate)
        try order.finish(2)
        #expect(seen.withLock { $0.taken } == [1, 2, 20, 21, 22, 30])
        try order.deliver(4, 40, gate)
        #expect(seen.withLock { $0.taken }.last == 40)
    }

    @Test func `when taking has failed nothing more is taken`() throws {
        let seen = Mutex(Seen())
        let order = InOrder<Int> { number in
            seen.withLock { $0.taken.append(number) }
            throw PostgresError(.misuse, "no")
        }
        let gate = ReadersGate()
        try order.deliver(1, 1, gate)
        #expect(throws: PostgresError.self) { try order.deliver(0, 0, gate) }
        try order.finish(0)
        try order.deliver(1, 2, gate)
        #expect(seen.withLock { $0.taken } == [0])
    }

    @Test func `whoever waits for its turn hears that another has failed`() async throws {
        let order = InOrder<Int> { _ in }
        let gate = ReadersGate()
        for number in 1...InOrder<Int>.aheadMax { try order.deliver(number, number, gate) }
        async let waiting = runOnNewThread { Result { try order.deliver(1000, 1000, gate) } }
        _ = gate.fail(PostgresError(.connectionLost, "gone"))
        let result = await waiting
        #expect(throws: PostgresError.self) { try result.get() }
    }
}
