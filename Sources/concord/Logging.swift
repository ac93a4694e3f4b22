import Logging

/// The process's one logger, on standard error.
func makeLogger(_ configuration: LogConfiguration) -> Logger {
    var logger = Logger(label: "concord") { label in
        switch configuration.format {
        case .text: StreamLogHandler.standardError(label: label)
        case .json: JSONLogHandler()
        }
    }
    logger.logLevel = configuration.level
    return logger
}
