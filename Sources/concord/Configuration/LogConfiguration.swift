import Logging

/// The level and the format of logs. Logs go to standard error.
struct LogConfiguration: Sendable, Hashable {
    /// The form of a line.
    enum Format: String, Sendable, Hashable, CaseIterable {
        /// One JSON object in each line.
        case json
        /// For people.
        case text
    }

    let level: Logger.Level
    let format: Format
}

extension LogConfiguration {
    static let entries: [ConfigurationEntry] = [levelKey.entry, formatKey.entry]

    private static let levelKey = ConfigurationKey(
        "log.level",
        .choice,
        default: Logger.Level.info,
        "Lowest level that is logged"
    )
    private static let formatKey = ConfigurationKey(
        "log.format",
        .choice,
        default: Format.text,
        "One JSON object per line, or text for people"
    )

    /// Reads the `log` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        level = reader.value(Self.levelKey)
        format = reader.value(Self.formatKey)
    }
}
