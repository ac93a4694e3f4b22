import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A tiny HTTP server on a free loopback port: an issuer made of a function from path to answer.
final class LocalServer: Sendable {
    struct Reply: Sendable {
        var status = HTTPResponseStatus.ok
        var headers: [(String, String)] = []
        var body: [UInt8] = []
        /// Whether to stop before the head, or in the middle of the body, and never go on.
        var stops = Stop.never
        enum Stop: Sendable { case never, beforeHead, insideBody }

        static func text(_ text: String, headers: [(String, String)] = []) -> Self {
            Self(headers: headers, body: Array(text.utf8))
        }

        static func redirect(to location: String, status: HTTPResponseStatus = .found) -> Self {
            Self(status: status, headers: [("location", location)])
        }
    }

    typealias Answer = @Sendable (_ path: String, _ server: LocalServer) -> Reply

    private let answer: Answer
    private let seen = Mutex<[(path: String, host: String)]>([])
    private let boundPort = Mutex(0)

    private init(answer: @escaping Answer) {
        self.answer = answer
    }

    var port: Int { boundPort.withLock { $0 } }
    var paths: [String] { seen.withLock { $0.map { $0.path } } }
    var hosts: [String] { seen.withLock { $0.map { $0.host } } }

    func address(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Runs `body` against a server that gives `answer`.
    static func run(answer: @escaping Answer, _ body: (LocalServer) async throws -> Void) async throws {
        let server = LocalServer(answer: answer)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(server: server))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        server.boundPort.withLock { $0 = channel.localAddress?.port ?? 0 }
        do {
            try await body(server)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        let server: LocalServer

        init(server: LocalServer) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            let host = head.headers.first(name: "host") ?? ""
            server.seen.withLock { $0.append((head.uri, host)) }
            let reply = server.answer(head.uri, server)
            if reply.stops == .beforeHead { return }
            var headers = HTTPHeaders(reply.headers)
            headers.replaceOrAdd(name: "content-length", value: String(reply.body.count))
            context.write(
                wrapOutboundOut(.head(.init(version: .http1_1, status: reply.status, headers: headers))),
                promise: nil
            )
            let sent = reply.stops == .insideBody ? reply.body.prefix(reply.body.count / 2) : reply.body[...]
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: sent)))), promise: nil)
            if reply.stops == .never { context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil) }
        }
    }
}
