import AccountAPI
import HTTPServer
import Logging

/// The process's one logger, on standard error. Lines that a request causes carry its id.
func makeLogger(_ configuration: LogConfiguration) -> Logger {
    var logger = Logger(label: "concord") { _ in
        LogLineHandler(configuration.format, metadataProvider: RequestID.metadataProvider)
    }
    logger.logLevel = configuration.level
    return logger
}

extension RequestLog {
    /// The log of requests in production.
    init(_ configuration: LogConfiguration, to logger: Logger) {
        self.init(configuration.requests, sample: configuration.requestsSample, to: logger)
    }

    /// The log of requests in development: a line for people on standard error.
    static let development = RequestLog(.all) { entry in emit(entry.developmentLine + "\n") }
}

extension RequestLog.Entry {
    /// `200  POST /v1/accounts:signUp  12 ms  decision ID`.
    var developmentLine: String {
        let time = milliseconds < 1 ? "<1" : String(Int(milliseconds.rounded()))
        let decision = decisionID.map { "  decision \($0)" } ?? ""
        let request = status >= 500 ? "  request \(requestID)" : ""
        return "\(status)  \(method) \(route)  \(time) ms\(decision)\(request)"
    }
}
