import AccountOperations
import Glibc
import Logging
import Metrics
import Postgres
import Synchronization

/// Collects log lines, and writes them on one thread, so that no request waits for the reader of the log.
///
/// Lines are written in the order of `append`. If they come faster than the reader takes them, or if writes fail, lines
/// are dropped and counted, and a line of the log says how many.
final class LogWriter: Sendable {
    /// The reason why a line was dropped.
    enum DropReason: String, Sendable, CaseIterable {
        /// The reader did not take earlier lines in time.
        case full
        /// The write of the line or of earlier ones failed: the disk is full, or the reader is gone.
        case failed
    }

    /// Bounds of the collected lines.
    struct Limits {
        /// Bytes of lines that are not yet written.
        var bytesMax = 1 << 20
        /// The part of `bytesMax` that only warnings and errors may use.
        var urgentBytes = 64 << 10
    }

    private struct State {
        var bytes: [UInt8] = []
        /// Bytes that the thread has taken and not yet written.
        var takenCount = 0
        /// Lines that did not fit since the log last reported them.
        var unreported = 0
        /// Lines that did not fit while writes failed, since the thread last took the number.
        var lostCount = 0
        var dropped: [DropReason: Int] = [:]
        /// True while the thread writes.
        var isWriting = false
        /// True if the last write failed.
        var isFailing = false
        /// True while the thread waits for a signal.
        var isThreadIdle = false
        var isClosed = false

        /// True if everything is written, also the report of dropped lines.
        var isDone: Bool { bytes.isEmpty && !isWriting && unreported == 0 }

        /// Returns true if the caller must wake the thread.
        mutating func takeIdleThread() -> Bool {
            defer { isThreadIdle = false }
            return isThreadIdle
        }
    }

    /// Lines that the thread took at once.
    private struct Batch {
        var bytes: [UInt8]
        /// Lines that were dropped after these because the buffer was full.
        var droppedCount: Int
        /// Lines that were dropped while writes failed.
        var lostCount: Int
    }

    /// Pause between two writes. The lines of the pause share a write, and need no signal to the thread.
    private static let pauseMicroseconds: UInt32 = 5000
    /// Pause after a failed write.
    private static let failurePauseMicroseconds: UInt32 = 200_000
    /// Interval of attempts to report lost lines while no line comes.
    private static let reportMilliseconds: Int32 = 1000
    /// Arrays above this size are freed after use.
    private static let retainedBytesMax = 64 << 10
    private static let newline = UInt8(ascii: "\n")

    private let descriptor: Int32
    private let format: LogConfiguration.Format
    private let limits: Limits
    private let state = Mutex(State())
    private let wakeup = Wakeup()

    /// - `format`: the format of the lines about dropped lines.
    init(_ format: LogConfiguration.Format, descriptor: Int32 = STDERR_FILENO, limits: Limits = Limits()) {
        self.format = format
        self.descriptor = descriptor
        self.limits = limits
        // A write to a reader that is gone returns an error instead of a signal that ends the process.
        signal(SIGPIPE, SIG_IGN)
        startThread { self.writeLines() }
    }

    /// Adds a line, which ends with a newline, or drops it. Never waits for the reader.
    ///
    /// - `isUrgent`: true for warnings and errors.
    func append(_ line: [UInt8], isUrgent: Bool) {
        let wakes = state.withLock { state in
            let room = limits.bytesMax - (isUrgent ? 0 : limits.urgentBytes)
            guard state.takenCount + state.bytes.count + line.count <= room else {
                if state.isFailing { state.lostCount += 1 } else { state.unreported += 1 }
                state.dropped[state.isFailing ? .failed : .full, default: 0] += 1
                return state.takeIdleThread()
            }
            state.bytes += line
            return state.takeIdleThread()
        }
        if wakes { wakeup.signal() }
    }

    /// Number of dropped lines since the start.
    func droppedCount(_ reason: DropReason) -> Int { state.withLock { $0.dropped[reason] ?? 0 } }

    /// Waits until every line is written or dropped, at most for `limit`.
    func flush(within limit: Duration = .seconds(1)) {
        let deadline = ContinuousClock.now + limit
        while !state.withLock(\.isDone), ContinuousClock.now < deadline { usleep(1000) }
    }

    /// Flushes, and ends the thread. Later lines are not written.
    func close() {
        flush()
        state.withLock { $0.isClosed = true }
        wakeup.signal()
    }

    // MARK: The thread

    private func writeLines() {
        // Lines that failed writes lost since the log last reported them, and the reason.
        var (lostCount, loss) = (0, "")
        // True if the last write ended within a line.
        var isTorn = false
        while let batch = nextBatch(hasLosses: lostCount > 0) {
            lostCount += batch.lostCount
            let before = (isTorn ? [Self.newline] : []) + report(lostCount, loss)
            let after = report(batch.droppedCount, "the reader of the log is too slow")
            let bytes = before.isEmpty && after.isEmpty ? batch.bytes : before + batch.bytes + after
            let (written, failure) = writePrefix(of: bytes[...], to: descriptor)
            if written > 0 { isTorn = bytes[written - 1] != Self.newline }
            if written >= before.count { lostCount = 0 }
            if let failure {
                let end = before.count + batch.bytes.count
                let lost = written >= end ? 0 : bytes[max(written, before.count)..<end].count { $0 == Self.newline }
                lostCount += lost
                loss = String(cString: strerror(failure))
                finish(failedCount: lost, unreportedCount: batch.droppedCount, isFailing: true)
                usleep(Self.failurePauseMicroseconds)
            } else {
                finish(failedCount: 0, unreportedCount: 0, isFailing: false)
                usleep(Self.pauseMicroseconds)
            }
        }
    }

    /// Waits for lines, or for the time to report lost ones: then the batch is empty. `nil` after `close`.
    private func nextBatch(hasLosses: Bool) -> Batch? {
        var reports = false
        while true {
            let (batch, isClosed): (Batch?, Bool) = state.withLock { state in
                let hasWork = !state.bytes.isEmpty || state.unreported > 0 || state.lostCount > 0
                guard hasWork || (reports && !state.isClosed) else {
                    state.isThreadIdle = true
                    return (nil, state.isClosed)
                }
                let batch = Batch(
                    bytes: state.bytes,
                    droppedCount: state.unreported,
                    lostCount: state.lostCount
                )
                state.lostCount = 0
                state.isThreadIdle = false
                state.takenCount = batch.bytes.count
                state.isWriting = true
                state.bytes = []
                state.bytes.reserveCapacity(min(batch.bytes.count, Self.retainedBytesMax))
                state.unreported = 0
                return (batch, false)
            }
            if let batch { return batch }
            if isClosed { return nil }
            if hasLosses {
                reports = !wakeup.wait(milliseconds: Self.reportMilliseconds)
            } else {
                wakeup.wait()
            }
        }
    }

    /// Ends a batch.
    ///
    /// - `unreportedCount`: dropped lines that the log does not report yet.
    private func finish(failedCount: Int, unreportedCount: Int, isFailing: Bool) {
        state.withLock { state in
            state.takenCount = 0
            state.isWriting = false
            state.isFailing = isFailing
            state.unreported += unreportedCount
            if failedCount > 0 { state.dropped[.failed, default: 0] += failedCount }
        }
    }

    /// The line that reports dropped lines; nothing for none.
    private func report(_ count: Int, _ reason: String) -> [UInt8] {
        guard count > 0 else { return [] }
        return LogLineHandler(format).line(
            .warning,
            "log lines were dropped",
            [("count", .stringConvertible(count)), ("reason", .string(reason))],
            at: Effects.system.now()
        )
    }
}

/// The number of log lines that a server dropped.
struct LogMetrics: Sendable {
    static let dropped = "concord_log_lines_dropped_total"

    private let meters: [(LogWriter.DropReason, Meter)]

    init(_ factory: any MetricsFactory) {
        meters = LogWriter.DropReason.allCases.map { reason in
            (reason, Meter(label: Self.dropped, dimensions: [("reason", reason.rawValue)], factory: factory))
        }
    }

    func read(_ writer: LogWriter) {
        for (reason, meter) in meters { meter.set(writer.droppedCount(reason)) }
    }
}
