package import Logging
import Synchronization

/// Records all log entries of every level, with their metadata.
package final class RecordedLog: Sendable {
    package struct Entry: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: Logger.Metadata
    }

    private let kept = Mutex<[Entry]>([])

    package init() {}

    package var entries: [Entry] { kept.withLock { $0 } }

    package var lines: [String] { entries.map { "\($0.level) \($0.message) \($0.metadata)" } }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: RecordedLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            log.kept.withLock {
                $0.append(Entry(level: event.level, message: event.message.description, metadata: all))
            }
        }
    }
}
