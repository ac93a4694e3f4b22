import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import HTTPServer

/// Over real sockets, where answers wait in the system's buffers.
@Suite struct ListenerTests {
    private struct LargeAnswer: Responder {
        static let bytes = 32 << 20

        func respond(to request: ServerRequest) async -> ServerResponse {
            ServerResponse(status: .ok, body: ByteBuffer(repeating: 0x61, count: Self.bytes))
        }
    }

    /// Counts what arrives.
    private final class Counter: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let bytes = Atomic(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes.add(unwrapInboundIn(data).readableBytes, ordering: .relaxed)
        }
    }

    @Test func `a client that takes its answer slowly gets all of it, however long that takes`() async throws {
        let (addresses, found) = AsyncStream.makeStream(of: SocketAddress?.self)
        let listener = Listener(
            address: .tcp(host: "127.0.0.1", port: 0),
            limits: ServerLimits(bodyBytesMax: 100, requestTimeout: .milliseconds(500)),
            eventLoops: MultiThreadedEventLoopGroup.singleton,
            responder: LargeAnswer(),
            whenListening: { found.yield($0) }
        )
        let running = Task { try await listener.run() }
        let address = try #require(await addresses.first { _ in true } ?? nil)
        let counter = Counter()
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 64 << 10)
            .channelInitializer { channel in channel.pipeline.addHandler(counter) }
            .connect(to: address).get()
        try await client.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"))
        while client.isActive {
            client.read()
            try await Task.sleep(for: .milliseconds(2))
        }
        // The head comes on top.
        #expect(counter.bytes.load(ordering: .relaxed) > LargeAnswer.bytes)
        running.cancel()
        _ = await running.result
    }
}
