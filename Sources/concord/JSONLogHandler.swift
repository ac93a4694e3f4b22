import AccountLinking
import AccountOperations
import Glibc
import JSON
import Logging

/// Writes each message as one JSON object in a line of standard error.
struct JSONLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // One write for each line, so that lines of several threads do not mix. A failed write loses its line.
        let line = line(of: event, at: Effects.system.now())
        _ = write(STDERR_FILENO, line, line.count)
    }

    /// Returns the line: time (RFC 3339), level and message, then the metadata sorted by name.
    func line(of event: LogEvent, at now: Timestamp) -> [UInt8] {
        var fields = metadata
        if let provided = metadataProvider?.get() { fields.merge(provided) { $1 } }
        if let ofEvent = event.metadata { fields.merge(ofEvent) { $1 } }
        var line = JSONWriter.object { writer in
            writer.field("time", RFC3339.text(now))
            writer.field("level", event.level.rawValue)
            writer.field("message", event.message.description)
            for (name, value) in fields.sorted(by: { $0.key < $1.key }) { writer.field(name, Self.json(value)) }
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Numbers remain numbers. Everything else is text.
    private static func json(_ value: Logger.Metadata.Value) -> JSONValue {
        guard case .stringConvertible(let convertible) = value else { return .string(value.description) }
        switch convertible {
        case let number as Int: return .integer(Int64(number))
        case let number as Double: return .double(number)
        default: return .string(convertible.description)
        }
    }
}
