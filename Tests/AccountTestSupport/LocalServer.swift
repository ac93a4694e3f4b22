package import JSON
import NIOCore
package import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A tiny HTTP server on a free loopback port: somebody else's service, made of a function from request to reply.
package final class LocalServer: Sendable {
    /// A request, complete.
    package struct Request: Sendable {
        package let method: HTTPMethod
        /// Whether it came over HTTP/2.
        package let isHTTP2: Bool
        /// The target as it was sent: the path with its query.
        package let target: String
        package let headers: HTTPHeaders
        package let body: [UInt8]

        /// The target without its query, as it was sent.
        package var path: String { String(target.prefix { $0 != "?" }) }

        /// The query, decoded; of repeated names the first counts.
        package var query: [String: String] {
            PercentEncoding.pairs(Array(target.dropFirst(path.count + 1).utf8), plusIsSpace: true)
        }

        /// The body as a form, decoded; of repeated names the first counts.
        package var form: [String: String] { PercentEncoding.pairs(body, plusIsSpace: true) }

        /// The body as JSON; `null` where it is none.
        package var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    }

    package struct Reply: Sendable {
        package var status = HTTPResponseStatus.ok
        package var headers: [(String, String)] = []
        package var body: [UInt8] = []
        /// How long it takes to come.
        package var delay = Duration.zero
        /// Whether to stop before the head, or in the middle of the body, and never go on; or to close the connection
        /// instead of anything.
        package var stops = Stop.never
        package enum Stop: Sendable { case never, beforeHead, insideBody, byClosing }

        package init(
            status: HTTPResponseStatus = .ok,
            headers: [(String, String)] = [],
            body: [UInt8] = [],
            stops: Stop = .never
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.stops = stops
        }

        package static func text(
            _ text: String,
            status: HTTPResponseStatus = .ok,
            headers: [(String, String)] = []
        ) -> Self {
            Self(status: status, headers: headers, body: Array(text.utf8))
        }

        package static func json(_ value: JSONValue, status: HTTPResponseStatus = .ok) -> Self {
            .text(value.text, status: status, headers: [("content-type", "application/json")])
        }

        /// The address is in the body too, for clients that do not look at fields.
        package static func redirect(to location: String, status: HTTPResponseStatus = .found) -> Self {
            .text(location, status: status, headers: [("location", location)])
        }
    }

    package typealias Answer = @Sendable (_ request: Request, _ server: LocalServer) -> Reply

    private let answer: Answer
    private let seen = Mutex<[Request]>([])
    private let boundPort = Mutex(0)
    private let connections = Mutex(0)
    private let tls: NIOSSLContext?

    private init(tls: NIOSSLContext?, answer: @escaping Answer) {
        self.tls = tls
        self.answer = answer
    }

    package var port: Int { boundPort.withLock { $0 } }
    /// What was asked until now, in the order in which it arrived.
    package var requests: [Request] { seen.withLock { $0 } }
    package var targets: [String] { requests.map(\.target) }
    /// Connections that were opened until now.
    package var connectionCount: Int { connections.withLock { $0 } }
    package var hosts: [String] { requests.map { $0.headers.first(name: "host") ?? "" } }

    package func address(_ path: String, host: String = "127.0.0.1") -> String {
        "http\(tls == nil ? "" : "s")://\(host):\(port)\(path)"
    }

    /// Runs `body` against a server that gives `answer`.
    ///
    /// `http2`: speaks HTTP/2 over TLS, and nothing else, as the identity's owner; with `clients`, to those only who show a
    /// certificate that came from one of them.
    @discardableResult
    package static func run<Output>(
        http2: TLSIdentity? = nil,
        clients: [TLSIdentity] = [],
        answer: @escaping Answer,
        _ body: (LocalServer) async throws -> Output
    ) async throws -> Output {
        let server = LocalServer(tls: try http2.map { try $0.http2Context(clients: clients) }, answer: answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    server.connections.withLock { $0 += 1 }
                    let pipeline = channel.pipeline.syncOperations
                    guard let tls = server.tls else {
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(Handler(server: server))
                        return
                    }
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    _ = try pipeline.configureHTTP2Pipeline(
                        mode: .server,
                        connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration(),
                        streamConfiguration: NIOHTTP2Handler.StreamConfiguration()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                            try stream.pipeline.syncOperations.addHandler(Handler(server: server))
                        }
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        server.boundPort.withLock { $0 = channel.localAddress?.port ?? 0 }
        do {
            let output = try await body(server)
            try await channel.close()
            return output
        } catch {
            try? await channel.close()
            throw error
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart

        let server: LocalServer
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(server: LocalServer) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = []
            case .body(let part): body += part.readableBytesView
            case .end:
                guard let head else { return }
                let request = Request(
                    method: head.method,
                    isHTTP2: server.tls != nil,
                    target: head.uri,
                    headers: head.headers,
                    body: body
                )
                server.seen.withLock { $0.append(request) }
                let reply = server.answer(request, server)
                guard reply.delay > .zero else { return Self.send(reply, on: context.channel) }
                let channel = context.channel
                channel.eventLoop.scheduleTask(in: TimeAmount(reply.delay)) { Self.send(reply, on: channel) }
            }
        }

        private static func send(_ reply: Reply, on channel: any Channel) {
            switch reply.stops {
            case .beforeHead: return
            case .byClosing: return channel.close(promise: nil)
            case .never, .insideBody: break
            }
            var headers = HTTPHeaders(reply.headers)
            headers.replaceOrAdd(name: "content-length", value: String(reply.body.count))
            let head = HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers)
            let sent = reply.stops == .insideBody ? reply.body.prefix(reply.body.count / 2) : reply.body[...]
            var parts: [HTTPServerResponsePart] = [.head(head), .body(.byteBuffer(ByteBuffer(bytes: sent)))]
            if reply.stops == .never { parts.append(.end(nil)) }
            for part in parts { channel.writeAndFlush(part, promise: nil) }
        }
    }
}
