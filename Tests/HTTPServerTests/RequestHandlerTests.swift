import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPServer

/// One connection, on an event loop whose time the test controls.
@Suite struct RequestHandlerTests {
    /// A connection to a server with limits of 10 seconds and 100 bytes.
    private struct Connection {
        let channel = EmbeddedChannel()
        let responder = HeldResponder()
        let idleClock = IdleClock()

        init(answersOnce: Bool = false) throws {
            try channel.pipeline.syncOperations.addHTTPServer(
                limits: ServerLimits(bodyBytesMax: 100, requestTimeout: .seconds(10)),
                responder: responder,
                idleClock: idleClock,
                answersOnce: answersOnce
            )
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func send(_ text: String) throws {
            try channel.writeInbound(ByteBuffer(string: text))
            channel.embeddedEventLoop.run()
        }

        /// Answers the oldest request that waits.
        func answer(_ body: String = "ok", status: HTTPResponse.Status = .ok, headers: HTTPHeaders = [:]) {
            responder.answer(ServerResponse(status: status, headers: headers, body: ByteBuffer(string: body)))
            channel.embeddedEventLoop.run()
        }

        /// Returns the output since the last call.
        func written() throws -> String {
            var text = ""
            while let buffer = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: buffer) }
            return text
        }

        func pass(_ seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }

        var isOpen: Bool { channel.isActive }
    }

    /// Answers when the test calls it; a cancelled request at once, with 503.
    private final class HeldResponder: Responder {
        private struct State {
            var requests: [ServerRequest] = []
            var waiting: [CheckedContinuation<ServerResponse, Never>] = []
        }

        private let state = Mutex(State())

        var requests: [ServerRequest] { state.withLock { $0.requests } }

        func respond(to request: ServerRequest) async -> ServerResponse {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    state.withLock { state in
                        state.requests.append(request)
                        state.waiting.append(continuation)
                    }
                }
            } onCancel: {
                answer(ServerResponse(status: .serviceUnavailable))
            }
        }

        func answer(_ response: ServerResponse) {
            let continuation = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            continuation?.resume(returning: response)
        }
    }

    private let whole = "POST /a?b=c HTTP/1.1\r\nhost: a\r\nx-b: 1\r\ncontent-length: 2\r\n\r\n{}"

    // MARK: Requests and answers

    @Test func `a request is passed on in full and its answer written`() throws {
        let connection = try Connection()
        try connection.send(String(whole.dropLast()))
        #expect(connection.responder.requests.isEmpty)
        try connection.send("}")
        let request = try #require(connection.responder.requests.first)
        #expect(request.method == .post && request.target == "/a?b=c" && request.peer?.ipAddress == "127.0.0.1")
        #expect(request.headers.first(name: "X-B") == "1")
        guard case .complete(let body) = request.body else { throw Missing() }
        #expect(String(buffer: body) == "{}")
        connection.answer("yes", headers: ["X-C": "d"])
        let lines = try connection.written().split(separator: "\r\n")
        #expect(lines.first == "HTTP/1.1 200 OK" && lines.last == "yes")
        #expect(lines.contains("X-C: d") && lines.contains("Content-Length: 3"))
        #expect(lines.contains { $0.hasPrefix("Date: ") && $0.hasSuffix(" GMT") })
        #expect(!lines.contains { $0.hasPrefix("Connection") })
        #expect(connection.isOpen)
    }

    private struct Missing: Error {}

    @Test func `requests sent at once are answered one after the other`() throws {
        let connection = try Connection()
        try connection.send("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n" + whole)
        for target in ["/1", "/2", "/a?b=c"] {
            #expect(connection.responder.requests.last?.target == target)
            connection.answer(target)
            #expect(try connection.written().hasSuffix("\r\n\r\n" + target))
        }
        #expect(connection.responder.requests.count == 3 && connection.isOpen)
        try connection.send("GET /4 HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(connection.responder.requests.last?.target == "/4")
    }

    @Test func `a request waits until the client has accepted the answer before it, or its time is over`()
        throws
    {
        let connection = try Connection()
        try connection.send("GET /1 HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.channel.isWritable = false
        connection.answer()
        try connection.send("GET /2 HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(connection.responder.requests.count == 1 && connection.isOpen)
        connection.channel.isWritable = true
        connection.channel.pipeline.fireChannelWritabilityChanged()
        connection.channel.embeddedEventLoop.run()
        #expect(connection.responder.requests.last?.target == "/2")
        connection.channel.isWritable = false
        connection.answer()
        try connection.send("GET /3 HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.pass(10)
        #expect(connection.responder.requests.count == 2 && !connection.isOpen)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", nil, true),
        ("GET / HTTP/1.1\r\nhost: a\r\nConnection: close\r\n\r\n", "close", false),
        ("GET / HTTP/1.0\r\n\r\n", "close", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", true),
    ])
    func `a connection stays open if the client wants it`(request: String, header: String?, isKept: Bool) throws {
        let connection = try Connection()
        try connection.send(request)
        connection.answer()
        let written = try connection.written()
        #expect(written.contains("Connection: \(header ?? "")") == (header != nil))
        #expect(connection.isOpen == isKept)
    }

    @Test(arguments: ["chunked", "gzip, chunked"])
    func `a request of version 1-0 with a transfer coding is the last of its connection`(coding: String) throws {
        let connection = try Connection()
        let head = "POST / HTTP/1.0\r\nhost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: \(coding)\r\n\r\n"
        try? connection.send(head + "2\r\n{}\r\n0\r\n\r\nGET /smuggled HTTP/1.0\r\n\r\n")
        if !connection.responder.requests.isEmpty { connection.answer() }
        #expect(!connection.isOpen)
        #expect(connection.responder.requests.allSatisfy { $0.target != "/smuggled" })
        #expect(try !connection.written().contains("keep-alive"))
    }

    @Test func `HEAD sends the length and no body, 204 sends no length`() throws {
        let connection = try Connection()
        try connection.send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.answer("four")
        let head = try connection.written()
        #expect(head.contains("Content-Length: 4\r\n") && head.hasSuffix("\r\n\r\n"))
        try connection.send("OPTIONS / HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.answer("", status: .noContent)
        #expect(try !connection.written().contains("Content-Length"))
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b"])
    func `a field whose value could end it is left out`(_ value: String) throws {
        let connection = try Connection()
        try connection.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        connection.answer(headers: ["X-A": value, "X-B": "b"])
        let written = try connection.written()
        #expect(!written.contains("X-A") && !written.contains("X-Evil") && written.contains("X-B: b\r\n"))
    }

    // MARK: Bad input

    @Test(arguments: ["content-length: 101\r\n\r\n", "transfer-encoding: chunked\r\n\r\n65\r\n"])
    func `a body that is too large is read to its end and dropped`(_ rest: String) throws {
        let connection = try Connection()
        let body = String(repeating: "x", count: 101)
        let end = rest.hasPrefix("transfer") ? "\r\n0\r\n\r\n" : ""
        try connection.send("POST / HTTP/1.1\r\nhost: a\r\n\(rest)\(body)\(end)")
        guard case .tooLarge = try #require(connection.responder.requests.first).body else { throw Missing() }
        connection.answer()
        #expect(connection.isOpen)
        try connection.send(whole)
        #expect(connection.responder.requests.count == 2)
    }

    @Test func `Expect: 100-continue is answered with 100, or at once with 413`() throws {
        let connection = try Connection()
        try connection.send("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        #expect(try connection.written() == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.send("{}")
        connection.answer()
        #expect(try connection.written().hasPrefix("HTTP/1.1 200"))
        try connection.send("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 101\r\n\r\n")
        guard case .tooLarge = try #require(connection.responder.requests.last).body else { throw Missing() }
        connection.answer()
        #expect(!connection.isOpen)
    }

    @Test func `Expect of an HTTP version 1-0 client is ignored`() throws {
        let connection = try Connection()
        try connection.send("POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        #expect(try connection.written().isEmpty)
        try connection.send("{}")
        connection.answer()
        #expect(try connection.written().contains(" 200 "))
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "GET / HTTP/1.1\r\nx: y\r\n\r\n", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n", "GET /\u{0} HTTP/1.1\r\nhost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nx: " + String(repeating: "x", count: 40_000) + "\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n" + String(repeating: "a: b\r\n", count: 200) + "\r\n",
    ])
    func `invalid HTTP and a head that is too large are answered with 400 and end the connection`(_ text: String) throws
    {
        let connection = try Connection()
        try? connection.send(text)
        #expect(try connection.written().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(!connection.isOpen && connection.responder.requests.isEmpty)
    }

    @Test func `a 400 after a whole head carries the request id`() throws {
        for (head, rest) in [
            ("GET / HTTP/1.1\r\nx-request-id: a-1\r\n\r\n", ""),
            ("POST / HTTP/1.1\r\nhost: a\r\nx-request-id: a-1\r\ntransfer-encoding: chunked\r\n\r\n", "x\r\n"),
        ] {
            let connection = try Connection()
            try connection.send(head)
            if !rest.isEmpty { try connection.send(rest) }
            let written = try connection.written()
            #expect(written.hasPrefix("HTTP/1.1 400 "))
            #expect(written.contains("\r\nX-Request-Id: a-1\r\n"), "\(written)")
        }
    }

    @Test func `a 400 without a whole head has no request id, also after another request`() throws {
        let connection = try Connection()
        try connection.send("GET /1 HTTP/1.1\r\nhost: a\r\nx-request-id: a-1\r\n\r\n")
        #expect(connection.responder.requests.first?.id.text == "a-1")
        connection.answer()
        _ = try connection.written()
        try connection.send("nonsense\r\n\r\n")
        let written = try connection.written()
        #expect(written.hasPrefix("HTTP/1.1 400 ") && !written.contains("X-Request-Id"), "\(written)")
    }

    @Test func `invalid bytes after a request do not prevent its answer`() throws {
        let connection = try Connection()
        try? connection.send("GET / HTTP/1.1\r\nhost: a\r\n\r\nnonsense\r\n\r\n")
        connection.answer()
        #expect(try connection.written().hasPrefix("HTTP/1.1 200"))
        #expect(!connection.isOpen)
    }

    @Test func `half a request is not answered`() throws {
        let connection = try Connection()
        try connection.send(String(whole.dropLast()))
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(connection.responder.requests.isEmpty && !connection.isOpen)
    }

    @Test func `a client that closes its half after a request gets its answer`() throws {
        let connection = try Connection()
        try connection.send(whole)
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(connection.isOpen)
        connection.answer()
        #expect(try connection.written().contains("Connection: close"))
        #expect(!connection.isOpen)
    }

    // MARK: The end

    @Test func `a server that stops closes idle connections and answers the others first`() throws {
        let idle = try Connection()
        idle.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!idle.isOpen)
        let busy = try Connection()
        try busy.send(whole)
        busy.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(busy.isOpen)
        busy.answer()
        #expect(try busy.written().contains("Connection: close"))
        #expect(!busy.isOpen)
        let arriving = try Connection()
        try arriving.send(String(whole.dropLast()))
        arriving.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        try arriving.send("}")
        arriving.answer()
        #expect(try arriving.written().contains("Connection: close"))
        #expect(!arriving.isOpen)
    }

    @Test func `a connection that is asked to make room closes, unless a request is being answered`() throws {
        let idle = try Connection()
        let arriving = try Connection()
        try arriving.send(String(whole.dropLast()))
        let answering = try Connection()
        try answering.send(whole)
        for connection in [idle, arriving, answering] {
            connection.channel.pipeline.fireUserInboundEventTriggered(CloseIfIdleEvent())
            connection.channel.embeddedEventLoop.run()
        }
        #expect(!idle.isOpen && !arriving.isOpen && answering.isOpen)
        answering.answer()
        #expect(try answering.written().hasPrefix("HTTP/1.1 200") && answering.isOpen)
    }

    @Test
    func `idle connections rank before arriving requests, the longest idle first, and waiting clients have no rank`()
        throws
    {
        let connections = try (0..<4).map { _ in try Connection() }
        func ranks(after seconds: Int64) -> [UInt64?] {
            connections.map { $0.idleClock.rank(for: .seconds(1), at: .uptimeNanoseconds(0) + .seconds(seconds)) }
        }
        for connection in connections { connection.pass(2) }
        try connections[0].send(String(whole.dropLast()))
        try connections[1].send(whole)
        connections[2].pass(1)
        try connections[2].send(whole)
        connections[2].answer()
        #expect(ranks(after: 2).map { $0 != nil } == [false, false, false, true])
        let later = ranks(after: 4)
        let (asking, answering, answered, silent) = (later[0], later[1], later[2], later[3])
        #expect(answering == nil)
        #expect(try #require(silent) < #require(answered) && #require(answered) < #require(asking))
    }

    @Test func `a connection for one request ends with its answer`() throws {
        let connection = try Connection(answersOnce: true)
        try connection.send(whole)
        connection.answer()
        #expect(try connection.written().contains("\r\nConnection: close\r\n") && !connection.isOpen)
    }

    // MARK: Time

    @Test func `a head that arrives in trickles is cut off at the time limit`() throws {
        let connection = try Connection()
        try connection.send("POST / HTTP/1.1\r\n")
        for _ in 0..<9 {
            connection.pass(1)
            try connection.send("x-a: b\r\n")
        }
        #expect(connection.isOpen)
        connection.pass(1)
        #expect(!connection.isOpen)
    }

    @Test func `a body that arrives in trickles is cut off at the time limit`() throws {
        let connection = try Connection()
        try connection.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n")
        for _ in 0..<9 {
            connection.pass(1)
            try connection.send("x")
        }
        #expect(connection.isOpen)
        connection.pass(1)
        #expect(!connection.isOpen)
    }

    @Test func `each request on a connection has its own time limit`() throws {
        let connection = try Connection()
        try connection.send(whole)
        connection.answer()
        connection.pass(9)
        try connection.send("POST / HTTP/1.1\r\n")
        connection.pass(9)
        #expect(connection.isOpen)
        connection.pass(1)
        #expect(!connection.isOpen)
    }

    @Test func `a connection that is idle between two requests is closed`() throws {
        let connection = try Connection()
        try connection.send(whole)
        connection.answer()
        connection.pass(9)
        #expect(connection.isOpen)
        connection.pass(1)
        #expect(!connection.isOpen)
    }

    /// A client that accepts nothing: written bytes stay in the channel.
    private final class TakesNothing: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func flush(context: ChannelHandlerContext) {}
    }

    @Test func `an answer may take longer while the client accepts bytes, and is cut off otherwise`() throws {
        let connection = try Connection()
        try connection.send(whole)
        try connection.channel.pipeline.syncOperations.addHandler(TakesNothing(), position: .first)
        connection.answer()
        // At the first check the client has accepted something, at the second nothing more.
        connection.pass(10)
        #expect(connection.isOpen)
        connection.pass(10)
        #expect(!connection.isOpen)
    }

    @Test func `a request whose time is over is cancelled, and its answer is written`() throws {
        let connection = try Connection()
        try connection.send(whole)
        connection.pass(9)
        #expect(try connection.written().isEmpty)
        connection.pass(1)
        connection.channel.embeddedEventLoop.run()
        #expect(try connection.written().hasPrefix("HTTP/1.1 503"))
        #expect(connection.isOpen)
        try connection.send(whole)
        connection.answer()
        #expect(try connection.written().hasPrefix("HTTP/1.1 200"))
    }
}

@Suite struct DateHeaderTests {
    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_709_164_799, "Wed, 28 Feb 2024 23:59:59 GMT"), (1_709_208_000, "Thu, 29 Feb 2024 12:00:00 GMT"),
    ])
    func `a date has the form of RFC 9110`(second: Int, text: String) {
        #expect(DateHeader.text(of: second) == text)
    }
}
