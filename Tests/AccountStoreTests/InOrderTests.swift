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
                seen.withLock { $0.delivered += 1 }
            }
        }
        while seen.withLock({ $0.delivered }) < InOrder<Int>.aheadMax { try await Task.sleep(for: .milliseconds(1)) }
        // Time to do what must not be done.
        try await Task.sleep(for: .milliseconds(50))
        #expect(seen.withLock { $0.delivered } == InOrder<Int>.aheadMax)
        #expect(seen.withLock { $0.taken }.isEmpty)
        try order.deliver(0, 0, gate)
        await others
        #expect(seen.withLock { $0.taken } == Array(0...100))
    }

    @Test func `whoever waits for its turn hears that another has failed`() async throws {
        let order = InOrder<Int> { _ in }
        let gate = ReadersGate()
        async let waiting = runOnNewThread { Result { try order.deliver(1000, 1000, gate) } }
        _ = gate.fail(PostgresError(.connectionLost, "gone"))
        let result = await waiting
        #expect(throws: PostgresError.self) { try result.get() }
    }
}
