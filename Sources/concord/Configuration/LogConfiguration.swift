import AccountAPI
import Logging

/// The level and the format of logs, and the requests in them. Logs go to standard error.
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
    /// The requests that have a line.
    var requests = RequestLog.Scope.all
    /// The share of requests that have a line, from 0 to 1. Failures always have one.
    var requestsSample = 1.0
}

extension LogConfiguration {
    static let entries: [ConfigurationEntry] = [
        levelKey.entry, formatKey.entry, requestsKey.entry, requestsSampleKey.entry,
    ]

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
    private static let requestsKey = ConfigurationKey(
        "log.requests",
        .choice,
        default: RequestLog.Scope.all,
        "Requests that are logged, one line each; `errors` are answers with 500 and above"
    )
    private static let requestsSampleKey = ConfigurationKey(
        "log.requests_sample",
        .share,
        default: 1.0,
        "Share of requests that `all` logs: 0.1 logs one in ten. Errors are always logged"
    )

    /// Reads the `log` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        level = reader.value(Self.levelKey)
        format = reader.value(Self.formatKey)
        requests = reader.value(Self.requestsKey)
        requestsSample = reader.value(Self.requestsSampleKey)
    }
}

extension ConfigurationForm where Value == Double {
    static let share = Self(
        allowed: "a number from 0 to 1, such as 0.1",
        parse: { text in
            text.wholeMatch(of: #/[01]|0\.[0-9]{1,6}|1\.0{1,6}/#).flatMap { Double($0.output) }
        },
        format: { "\($0)" }
    )
}
