import AccountAPI
import AccountLinking
import AccountOperations
import Glibc
import JSON
import Logging

/// Writes each message as one line, as a JSON object or as text.
struct LogLineHandler: LogHandler {
    let format: LogConfiguration.Format
    /// `nil` writes each line to standard error at once.
    let writer: LogWriter?
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?

    init(
        _ format: LogConfiguration.Format,
        to writer: LogWriter? = nil,
        metadataProvider: Logger.MetadataProvider? = nil
    ) {
        self.format = format
        self.writer = writer
        self.metadataProvider = metadataProvider
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        write(line(of: event, at: Effects.system.now()), event.level)
    }

    /// Writes the line of an answered request. Its fields are complete and sorted, which saves half of the time that a
    /// line takes.
    func log(_ request: RequestLog.Entry) {
        write(line(request.level, RequestLog.message, request.fields, at: Effects.system.now()), request.level)
    }

    private func write(_ line: [UInt8], _ level: Logger.Level) {
        if let writer {
            writer.append(line, isUrgent: level >= .warning)
        } else {
            // One write for each line, so that lines of several threads do not mix. A failed write loses its line.
            _ = Glibc.write(STDERR_FILENO, line, line.count)
        }
    }

    /// Returns the line: time (RFC 3339), level and message, then the metadata sorted by name.
    func line(of event: LogEvent, at now: Timestamp) -> [UInt8] {
        var fields = event.metadata ?? [:]
        if !metadata.isEmpty { fields.merge(metadata) { event, _ in event } }
        if let provided = metadataProvider?.get(), !provided.isEmpty { fields.merge(provided) { known, _ in known } }
        return line(event.level, event.message, fields.sorted { $0.key < $1.key }, at: now)
    }

    /// Returns the line with `fields` in their order.
    func line(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ fields: [(key: String, value: Logger.Metadata.Value)],
        at now: Timestamp
    ) -> [UInt8] {
        var line =
            switch format {
            case .json: Self.json(level, message, fields, now)
            case .text: Self.text(level, message, fields, now)
            }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private typealias Fields = [(key: String, value: Logger.Metadata.Value)]

    private static func json(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ fields: Fields,
        _ now: Timestamp
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("time", RFC3339.text(now))
            writer.field("level", level.rawValue)
            writer.field("message", message.description)
            for (name, value) in fields { writer.field(name, json(value)) }
        }
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

    /// `TIME LEVEL MESSAGE NAME=VALUE …`, always on one line.
    private static func text(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ fields: Fields,
        _ now: Timestamp
    ) -> [UInt8] {
        var line = Array(RFC3339.text(now).utf8)
        line.reserveCapacity(256)
        func append(_ text: String) { line.append(contentsOf: text.utf8) }
        append(" ")
        append(level.rawValue)
        append(" ")
        let message = message.description
        append(message.utf8.allSatisfy { $0 >= 0x20 } ? message : quoted(message))
        for (name, value) in fields {
            let value = value.description
            append(" ")
            append(name)
            append("=")
            append(isWord(value) ? value : quoted(value))
        }
        return line
    }

    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }
}
