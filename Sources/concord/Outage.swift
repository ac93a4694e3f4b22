import Logging
import Synchronization

/// Logs once when a repeated task begins to fail (`warning`), and once when it succeeds again (`notice`).
struct Outage {
    private let logger: Logger
    private let failure: Logger.Message
    private let recovery: Logger.Message
    private var isReported = false

    init(_ logger: Logger, failure: Logger.Message, recovery: Logger.Message) {
        self.logger = logger
        self.failure = failure
        self.recovery = recovery
    }

    mutating func failed(_ error: any Error, _ metadata: Logger.Metadata = [:]) {
        guard !isReported else { return }
        isReported = true
        logger.warning(failure, metadata: metadata.merging(["error": "\(error)"]) { $1 })
    }

    mutating func succeeded(_ metadata: Logger.Metadata = [:]) {
        guard isReported else { return }
        isReported = false
        logger.notice(recovery, metadata: metadata)
    }
}

/// The same for a task that several workers run.
final class SharedOutage: Sendable {
    private let outage: Mutex<Outage>

    init(_ outage: Outage) {
        self.outage = Mutex(outage)
    }

    func failed(_ error: any Error) {
        outage.withLock { $0.failed(error) }
    }

    func succeeded() {
        outage.withLock { $0.succeeded() }
    }
}
