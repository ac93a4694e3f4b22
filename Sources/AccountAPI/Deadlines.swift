import Synchronization

/// Cancels requests that take too long. One timer serves them all, because a timer for each would cost more than many of
/// the requests do.
///
/// Safe to use from any task.
final class Deadlines: Sendable {
    private struct State {
        var running: [UInt64: (end: ContinuousClock.Instant, cancel: @Sendable () -> Void)] = [:]
        var lastID: UInt64 = 0
        /// Whether somebody is looking. Nobody is while nothing runs.
        var isWatched = false
    }

    private let timeout: Duration
    private let state = Mutex(State())

    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// How late a deadline may be noticed: a tenth of it, at most a second.
    private var tolerance: Duration { min(timeout / 10, .seconds(1)) }

    /// Runs `work` and cancels it when its time is over. It is waited for until it has noticed.
    func run<Output: Sendable>(_ work: @escaping @Sendable () async throws -> Output) async throws -> Output {
        let task = Task { try await work() }
        let id = add { task.cancel() }
        defer { state.withLock { _ = $0.running.removeValue(forKey: id) } }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func add(_ cancel: @escaping @Sendable () -> Void) -> UInt64 {
        let end = ContinuousClock.now + timeout
        let (id, startsWatching) = state.withLock { state in
            state.lastID += 1
            state.running[state.lastID] = (end, cancel)
            let startsWatching = !state.isWatched
            state.isWatched = true
            return (state.lastID, startsWatching)
        }
        if startsWatching { Task { await watch() } }
        return id
    }

    /// Looks again and again, as long as anything runs.
    private func watch() async {
        while true {
            try? await Task.sleep(for: tolerance)
            let now = ContinuousClock.now
            let (late, isDone) = state.withLock { state in
                let late = state.running.filter { $0.value.end <= now }
                for id in late.keys { state.running[id] = nil }
                state.isWatched = !state.running.isEmpty
                return (late.values.map(\.cancel), !state.isWatched)
            }
            for cancel in late { cancel() }
            if isDone { return }
        }
    }
}
