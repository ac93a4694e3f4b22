import AccountTestSupport
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A receiver of webhooks on this machine, over TLS with a separate certificate.
final class LocalReceiver: Sendable {
    struct Request: Sendable {
        let target: String
        let headers: HTTPHeaders
        let body: [UInt8]

        var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    }

    /// The answer to a request.
    enum Reply: Sendable {
        case status(Int)
        case redirect(String)
        /// Nothing; the connection stays open.
        case silence
    }

    let url: String
    let certificatePath: String
    private let state: Mutex<State>

    private struct State {
        var requests: [Request] = []
        var reply: @Sendable (_ request: Request, _ number: Int) -> Reply = { _, _ in .status(200) }
    }

    private init(url: String, certificatePath: String) {
        self.url = url
        self.certificatePath = certificatePath
        state = Mutex(State())
    }

    var requests: [Request] { state.withLock(\.requests) }

    /// Answers from now on with what `reply` says to a request and its number, counted from 1.
    func reply(_ reply: @escaping @Sendable (_ request: Request, _ number: Int) -> Reply) {
        state.withLock { $0.reply = reply }
    }

    private func take(_ request: Request) -> Reply {
        let (reply, number) = state.withLock { state in
            state.requests.append(request)
            return (state.reply, state.requests.count)
        }
        return reply(request, number)
    }

    /// Listens for as long as `body` runs.
    static func run<Output: Sendable>(_ body: (LocalReceiver) async throws -> Output) async throws -> Output {
        let identity = try TLSIdentity()
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(identity.pem.utf8), format: .pem))],
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
            )
        )
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-receiver-\(UUID().uuidString).pem").path
        try identity.pem.write(toFile: path, atomically: true, encoding: .utf8)
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Handler { box.receiver.withLock(\.self)?.take($0) ?? .silence })
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let receiver = LocalReceiver(
            url: "https://127.0.0.1:\(channel.localAddress?.port ?? 0)/hooks",
            certificatePath: path
        )
        box.receiver.withLock { $0 = receiver }
        func close() async throws {
            try await channel.close()
            try FileManager.default.removeItem(atPath: path)
        }
        do {
            let output = try await body(receiver)
            try await close()
            return output
        } catch {
            try await close()
            throw error
        }
    }

    private final class Box: Sendable {
        let receiver = Mutex<LocalReceiver?>(nil)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let take: @Sendable (Request) -> Reply
        private var target = ""
        private var headers = HTTPHeaders()
        private var body: [UInt8] = []

        init(_ take: @escaping @Sendable (Request) -> Reply) {
            self.take = take
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                target = head.uri
                headers = head.headers
                body = []
            case .body(let part): body += part.readableBytesView
            case .end: answer(take(Request(target: target, headers: headers, body: body)), context)
            }
        }

        private func answer(_ reply: Reply, _ context: ChannelHandlerContext) {
            var headers: HTTPHeaders = ["content-length": "0"]
            let status: HTTPResponseStatus
            switch reply {
            case .silence: return
            case .status(let code): status = HTTPResponseStatus(statusCode: code)
            case .redirect(let location):
                status = .temporaryRedirect
                headers.add(name: "location", value: location)
            }
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
