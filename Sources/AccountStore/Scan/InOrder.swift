import Synchronization

/// Hands on what comes out of order, in order, and lets nobody get far ahead of whoever is next.
final class InOrder<Output: Sendable>: Sendable {
    private struct State {
        var next = 0
        var early: [Int: Output] = [:]
        /// Taken nothing more: whoever takes has thrown.
        var isOver = false
    }

    /// What is early is kept in memory.
    static var aheadMax: Int { 16 }

    private let state = Mutex(State())
    private let take: @Sendable (Output) throws -> Void

    init(_ take: @escaping @Sendable (Output) throws -> Void) {
        self.take = take
    }

    /// Whoever delivers while something is taken, or too early, waits.
    ///
    /// - Throws: what `take` throws, and what another that `gate` is told of failed with.
    func deliver(_ index: Int, _ output: Output, _ gate: ReadersGate) throws {
        try gate.wait { state.withLock { index - $0.next <= Self.aheadMax } }
        try state.withLock { state in
            if state.isOver { return }
            state.early[index] = output
            state.isOver = true
            while let output = state.early.removeValue(forKey: state.next) {
                state.next += 1
                try take(output)
            }
            state.isOver = false
        }
    }
}
