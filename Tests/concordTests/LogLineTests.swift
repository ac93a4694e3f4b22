import AccountAPI
import AccountLinking
import AccountTestSupport
import HTTPServer
import HTTPTypes
import JSON
import Logging
import NIOHTTP1
import Synchronization
import Testing

@testable import concord

/// The lines of the log, as JSON and as text.
struct LogLineTests {
    private static let now = Timestamp(microsecondsSinceEpoch: 1_795_000_000_123_456)

    private static func line(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ metadata: Logger.Metadata,
        of handler: LogLineHandler = LogLineHandler(.json)
    ) throws -> JSONValue {
        let bytes = handler.line(of: event(level, message, metadata), at: now)
        #expect(bytes.last == UInt8(ascii: "\n") && !bytes.dropLast().contains(UInt8(ascii: "\n")))
        return try JSONValue(parsing: Array(bytes.dropLast()))
    }

    private static func event(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) -> LogEvent
    {
        LogEvent(
            level: level,
            message: message,
            error: nil,
            metadata: metadata,
            source: "test",
            file: "",
            function: "",
            line: 1
        )
    }

    @Test func `text has time, level, message and fields, always on one line`() {
        func text(_ message: Logger.Message, _ metadata: Logger.Metadata) -> String {
            String(
                decoding: LogLineHandler(.text).line(of: Self.event(.info, message, metadata), at: Self.now),
                as: UTF8.self
            )
        }
        #expect(
            text("request answered", ["status": .stringConvertible(200), "route": "/v1/token"])
                == "2026-11-18T11:06:40.123Z info request answered route=/v1/token status=200\n"
        )
        let hostile = text("a\nb", ["error": "x\ny=\"z\"", "empty": "", "words": "two words"])
        #expect(hostile.filter { $0 == "\n" }.count == 1 && hostile.hasSuffix("\n"))
        #expect(
            hostile.contains(#" "a\nb" "#) && hostile.contains(#" empty="" "#)
                && hostile.contains(#" words="two words""#)
        )
        #expect(hostile.contains(#" error="x\ny=\"z\"" "#))
    }

    @Test func `a line has time, level and message, and numbers remain numbers`() throws {
        let line = try Self.line(
            .warning,
            "request \"answered\"\n",
            ["status": .stringConvertible(503), "duration_ms": .stringConvertible(1.25), "route": "/v1/token"]
        )
        #expect(
            line == [
                "time": "2026-11-18T11:06:40.123Z", "level": "warning", "message": "request \"answered\"\n",
                "status": 503, "duration_ms": .double(1.25), "route": "/v1/token",
            ]
        )
    }

    @Test func `the metadata of a line replaces that of its logger, which replaces that of the request`() throws {
        var handler = LogLineHandler(.json, metadataProvider: RequestID.metadataProvider)
        handler[metadataKey: "listener"] = "public"
        try RequestID.$current.withValue(RequestID(["X-Request-Id": "a-1"])) {
            let line = try Self.line(.info, "message", [:], of: handler)
            #expect(line["request_id"] == "a-1" && line["listener"] == "public")
            #expect(try Self.line(.info, "message", ["listener": "admin"], of: handler)["listener"] == "admin")
        }
        #expect(try Self.line(.info, "message", [:], of: handler)["request_id"] == nil)
    }

    /// The entries of a request without a route, which is refused, and of one that fails.
    private static func answered() async -> [RequestLog.Entry] {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let entries = Collected()
        let log = RequestLog(.all) { entries.append($0) }
        let service = ServiceHandle()
        let edge = API(
            service: service,
            callers: DevelopmentCallers(),
            development: DevelopmentRoutes(),
            jsonDepthMax: 64,
            trustedProxies: [],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            requests: log
        ).responder()
        for target in ["/nowhere?a=b", "/v1/accounts:signUp"] {
            let request = ServerRequest(
                method: .post,
                target: target,
                headers: ["Host": "localhost", "X-Request-Id": "a-1", "traceparent": trace],
                body: .tooLarge,
                peer: nil
            )
            _ = await edge.respond(to: request)
        }
        return entries.all
    }

    @Test(arguments: [LogConfiguration.Format.text, .json])
    func `the line of a request is that of its fields as metadata`(_ format: LogConfiguration.Format) async {
        let entries = await Self.answered()
        #expect(entries.map(\.level) == [.info, .warning])
        for entry in entries {
            let handler = LogLineHandler(format)
            let metadata = Logger.Metadata(uniqueKeysWithValues: entry.fields.map { ($0.key, $0.value) })
            #expect(metadata["trace_id"] != nil)
            let line = handler.line(entry.level, RequestLog.message, entry.fields, at: Self.now)
            #expect(line == handler.line(of: Self.event(entry.level, RequestLog.message, metadata), at: Self.now))
        }
    }

    @Test func `development shows a request in one line, with its decision, or with its id if it fails`() async {
        let entries = await Self.answered()
        let lines = entries.map { $0.developmentLine(isColored: false) }
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("404  POST unmatched  ") == true && lines.first?.hasSuffix(" ms") == true)
        #expect(lines.last?.hasPrefix("503  POST /v1/accounts:signUp  ") == true)
        #expect(lines.last?.hasSuffix(" ms  request a-1") == true)
        let colored = entries.map { $0.developmentLine(isColored: true) }
        #expect(colored.first?.hasPrefix("\u{1B}[33m404\u{1B}[0m  POST") == true)
        #expect(colored.last?.hasPrefix("\u{1B}[31;1m503\u{1B}[0m  POST") == true)
    }
}

private final class Collected: Sendable {
    private let entries = Mutex<[RequestLog.Entry]>([])

    var all: [RequestLog.Entry] { entries.withLock { $0 } }

    func append(_ entry: RequestLog.Entry) { entries.withLock { $0.append(entry) } }
}
