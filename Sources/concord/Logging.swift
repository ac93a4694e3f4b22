import AccountAPI
import HTTPServer
import Logging

/// The process's one logger, on standard error. Lines that a request causes carry its id.
///
/// - `writer`: the writer of a server's lines; `nil` writes each line at once, for commands.
func makeLogger(_ configuration: LogConfiguration, to writer: LogWriter? = nil) -> Logger {
    var logger = Logger(label: "concord") { _ in
        LogLineHandler(configuration.format, to: writer, metadataProvider: RequestID.metadataProvider)
    }
    logger.logLevel = configuration.level
    return logger
}

extension RequestLog {
    /// The log of requests in production.
    init(_ configuration: LogConfiguration, to writer: LogWriter) {
        let handler = LogLineHandler(configuration.format, to: writer)
        self.init(configuration.requests, sample: configuration.requestsSample, level: configuration.level) { entry in
            handler.log(entry)
        }
    }

    /// The log of requests in development: a line for people.
    static func development(to writer: LogWriter) -> RequestLog {
        RequestLog(.all) { [isColored = Terminal.errorIsColored] entry in
            writer.append(Array("\(entry.developmentLine(isColored: isColored))\n".utf8), isUrgent: false)
        }
    }
}

extension RequestLog.Entry {
    /// `200  POST /v1/accounts:signUp  12 ms  decision ID`. With colours, the status of a refusal is yellow, and of a
    /// failure red.
    func developmentLine(isColored: Bool) -> String {
        let time = milliseconds < 1 ? "<1" : String(Int(milliseconds.rounded()))
        let decision = decisionID.map { "  decision \($0)" } ?? ""
        let request = status >= 500 ? "  request \(requestID)" : ""
        var status = String(status)
        if isColored, self.status >= 400 { status = "\u{1B}[\(self.status >= 500 ? "31;1" : "33")m\(status)\u{1B}[0m" }
        return "\(status)  \(method) \(route)  \(time) ms\(decision)\(request)"
    }
}
