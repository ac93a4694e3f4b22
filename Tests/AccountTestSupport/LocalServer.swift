package import JSON
import NIOCore
package import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A small HTTP server on a free loopback port. A function from request to reply simulates an external service.
package final class LocalServer: Sendable {
    package struct Request: Sendable {
        package let method: HTTPMethod
        /// True if the request came over HTTP/2.
        package let isHTTP2: Bool
        /// The target as sent: path and query.
        package let target: String
        package let headers: HTTPHeaders
        package let body: [UInt8]

        /// The target without its query, as sent.
        package var path: String { String(target.prefix { $0 != "?" }) }

        /// The decoded query. The first of repeated names counts.
        package var query: [String: String] {
            PercentEncoding.pairs(Array(target.dropFirst(path.count + 1).utf8), plusIsSpace: true)
        }

        /// The body, decoded as a form. The first of repeated names counts.
        package var form: [String: String] { PercentEncoding.pairs(body, plusIsSpace: true) }

        /// The body as JSON; `null` if it is not JSON.
        package var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    }

    package struct Reply: Sendable {
        package var status = HTTPResponseStatus.ok
        package var headers: [(String, String)] = []
        package var body: [UInt8] = []
        /// Delay before the reply.
        package var delay = Duration.zero
        /// Stops before the head or in the middle of the body and never continues, or closes the connection without a
        /// reply.
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

        /// The body also has the URL, for clients that do not read headers.
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
    private let speaksHTTP2: Bool

    private init(tls: NIOSSLContext?, speaksHTTP2: Bool, answer: @escaping Answer) {
        self.tls = tls
        self.speaksHTTP2 = speaksHTTP2
        self.answer = answer
    }

    package var port: Int { boundPort.withLock { $0 } }
    /// The requests so far, in the order of arrival.
    package var requests: [Request] { seen.withLock { $0 } }
    package var targets: [String] { requests.map(\.target) }
    package var connectionCount: Int { connections.withLock { $0 } }
    package var hosts: [String] { requests.map { $0.headers.first(name: "host") ?? "" } }

    package func address(_ path: String, host: String = "127.0.0.1") -> String {
        "http\(tls == nil ? "" : "s")://\(host):\(port)\(path)"
    }

    /// Runs `body` against a server that replies with `answer`.
    ///
    /// - `https`: the server's identity; it then speaks only HTTP/1.1 over TLS.
    /// - `http2`: the server's identity; it then speaks only HTTP/2 over TLS.
    /// - `clients`: if not empty, the server accepts only clients with a certificate from one of these.
    /// - `socketPath`: a Unix socket to listen at, instead of a port.
    @discardableResult
    package static func run<Output>(
        https: TLSIdentity? = nil,
        http2: TLSIdentity? = nil,
        clients: [TLSIdentity] = [],
        socketPath: String? = nil,
        answer: @escaping Answer,
        _ body: (LocalServer) async throws -> Output
    ) async throws -> Output {
        let tls = try (http2 ?? https)?.context(protocol: http2 == nil ? "http/1.1" : "h2", clients: clients)
        let server = LocalServer(tls: tls, speaksHTTP2: http2 != nil, answer: answer)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    server.connections.withLock { $0 += 1 }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = server.tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    guard server.speaksHTTP2 else {
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(Handler(server: server))
                        return
                    }
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
        let channel =
            if let socketPath {
                try await bootstrap.bind(unixDomainSocketPath: socketPath).get()
            } else {
                try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            }
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
                    isHTTP2: server.speaksHTTP2,
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
