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

/// The lines of the JSON log.
struct JSONLogTests {
    private static func line(
        _ level: Logger.Level,
        _ message: Logger.Message,
        _ metadata: Logger.Metadata,
        of handler: JSONLogHandler = JSONLogHandler()
    ) throws -> JSONValue {
        let event = LogEvent(
            level: level,
            message: message,
            error: nil,
            metadata: metadata,
            source: "test",
            file: "",
            function: "",
            line: 1
        )
        let bytes = handler.line(of: event, at: Timestamp(microsecondsSinceEpoch: 1_795_000_000_123_456))
        #expect(bytes.last == UInt8(ascii: "\n") && !bytes.dropLast().contains(UInt8(ascii: "\n")))
        return try JSONValue(parsing: Array(bytes.dropLast()))
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
        var handler = JSONLogHandler(metadataProvider: RequestID.metadataProvider)
        handler[metadataKey: "listener"] = "public"
        try RequestID.$current.withValue(RequestID(["X-Request-Id": "a-1"])) {
            let line = try Self.line(.info, "message", [:], of: handler)
            #expect(line["request_id"] == "a-1" && line["listener"] == "public")
            #expect(try Self.line(.info, "message", ["listener": "admin"], of: handler)["listener"] == "admin")
        }
        #expect(try Self.line(.info, "message", [:], of: handler)["request_id"] == nil)
    }

    @Test func `development shows a request in one line, with its decision, or with its id if it fails`() async {
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
                headers: ["Host": "localhost", "X-Request-Id": "a-1"],
                body: .tooLarge,
                peer: nil
            )
            _ = await edge.respond(to: request)
        }
        let lines = entries.all.map(\.developmentLine)
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("404  POST unmatched  ") == true && lines.first?.hasSuffix(" ms") == true)
        #expect(lines.last?.hasPrefix("503  POST /v1/accounts:signUp  ") == true)
        #expect(lines.last?.hasSuffix(" ms  request a-1") == true)
    }
}

private final class Collected: Sendable {
    private let entries = Mutex<[RequestLog.Entry]>([])

    var all: [RequestLog.Entry] { entries.withLock { $0 } }

    func append(_ entry: RequestLog.Entry) { entries.withLock { $0.append(entry) } }
}
