import Synchronization

/// Hands on what comes out of order, in order, and lets nobody get far ahead of whoever is next.
///
/// What is delivered has a number, of which there may be several in a row, or none: whoever delivers says when a number is
/// over.
final class InOrder<Output: Sendable>: Sendable {
    private struct State {
        /// The number of which everything is handed on as it comes.
        var next = 0
        var early: [Int: [Output]] = [:]
        var earlyCount = 0
        /// Numbers behind `next` of which nothing more comes.
        var over: Set<Int> = []
        /// Taken nothing more: whoever takes has thrown.
        var hasFailed = false
    }

    /// What is early is kept in memory.
    static var aheadMax: Int { 64 }

    private let state = Mutex(State())
    private let take: @Sendable (Output) throws -> Void

    init(_ take: @escaping @Sendable (Output) throws -> Void) {
        self.take = take
    }

    /// Whoever delivers while something is taken, or too early, waits.
    ///
    /// - Throws: what `take` throws, and what another that `gate` is told of failed with.
    func deliver(_ number: Int, _ output: Output, _ gate: ReadersGate) throws {
        try gate.wait { state.withLock { $0.next == number || $0.earlyCount < Self.aheadMax } }
        try state.withLock { state in
            guard state.next == number else {
                state.early[number, default: []].append(output)
                state.earlyCount += 1
                return
            }
            try hand(on: output, &state)
        }
    }

    /// Nothing more comes of a number.
    ///
    /// - Throws: what `take` throws.
    func finish(_ number: Int) throws {
        try state.withLock { state in
            state.over.insert(number)
            while state.over.remove(state.next) != nil {
                state.next += 1
                let early = state.early.removeValue(forKey: state.next) ?? []
                state.earlyCount -= early.count
                for output in early { try hand(on: output, &state) }
            }
        }
    }

    private func hand(on output: Output, _ state: inout State) throws {
        if state.hasFailed { return }
        state.hasFailed = true
        try take(output)
        state.hasFailed = false
    }
}
