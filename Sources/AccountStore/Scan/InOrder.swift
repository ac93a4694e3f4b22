import Synchronization

/// Hands on what comes out of order, in order.
final class InOrder<Output: Sendable>: Sendable {
    private struct State {
        var next = 0
        var early: [Int: Output] = [:]
        /// Taken nothing more: whoever takes has thrown.
        var isOver = false
    }

    private let state = Mutex(State())
    private let take: @Sendable (Output) throws -> Void

    init(_ take: @escaping @Sendable (Output) throws -> Void) {
        self.take = take
    }

    /// Whoever delivers while something is taken waits until it is.
    func deliver(_ index: Int, _ output: Output) throws {
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
