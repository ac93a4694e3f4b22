import AccountLinking
import AccountOperations
import Glibc
import JSON
import Logging

/// Writes each message as one JSON object in a line of standard error.
struct JSONLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let merged = metadata.merging(event.metadata ?? [:]) { _, event in event }
        var line = JSONWriter.object { writer in
            writer.field("time_us", Effects.system.now().microsecondsSinceEpoch)
            writer.field("level", event.level.rawValue)
            writer.field("message", event.message.description)
            for (name, value) in merged.sorted(by: { $0.key < $1.key }) { writer.field(name, value.description) }
        }
        line.append(UInt8(ascii: "\n"))
        // One write for each line, so that lines of several threads do not mix. A failed write loses its line.
        _ = write(STDERR_FILENO, line, line.count)
    }
}
