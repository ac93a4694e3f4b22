import Synchronization

/// The ended spans that wait to be exported. If the queue is full, new spans are dropped and counted: no caller waits.
package final class SpanQueue: Sendable {
    private struct State {
        var spans: [SpanRecord] = []
    }

    private let spansMax: Int
    private let batchMax: Int
    private let state = Mutex(State())
    private let dropped = Atomic<Int64>(0)
    private let wakeup: AsyncStream<Void>.Continuation
    /// One element when a batch is complete, or when `wake` is called.
    let wakeups: AsyncStream<Void>

    /// - Parameters:
    ///   - spansMax: the limit of waiting spans.
    ///   - batchMax: the limit of spans in one request.
    package init(spansMax: Int = 2048, batchMax: Int = 512) {
        self.spansMax = spansMax
        self.batchMax = batchMax
        (wakeups, wakeup) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The number of spans that were dropped because the queue was full.
    package var droppedCount: Int64 { dropped.load(ordering: .relaxed) }

    var count: Int { state.withLock { $0.spans.count } }

    /// True if as many spans wait as one request takes.
    var hasBatch: Bool { count >= batchMax }

    func add(_ span: SpanRecord) {
        let count = state.withLock { state -> Int? in
            guard state.spans.count < spansMax else { return nil }
            state.spans.append(span)
            return state.spans.count
        }
        guard let count else {
            dropped.add(1, ordering: .relaxed)
            return
        }
        if count == batchMax { wake() }
    }

    /// Removes and returns the oldest spans, at most one batch.
    package func takeBatch() -> [SpanRecord] {
        state.withLock { state in
            let batch = Array(state.spans.prefix(batchMax))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Returns spans to the head of the queue. Those that have no room are dropped.
    func putBack(_ batch: [SpanRecord]) {
        let lost = state.withLock { state in
            let kept = batch.prefix(max(0, spansMax - state.spans.count))
            state.spans.insert(contentsOf: kept, at: 0)
            return batch.count - kept.count
        }
        dropped.add(Int64(lost), ordering: .relaxed)
    }

    func wake() { wakeup.yield() }

    /// Ends `wakeups`.
    func finishWakeups() { wakeup.finish() }
}
