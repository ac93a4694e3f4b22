import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import concord

/// Requests that take too long to arrive, under an event loop whose time the test moves.
@Suite struct ArrivalGuardTests {
    private func channel() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false
        )
        try channel.pipeline.syncOperations.addHandler(ArrivalGuard(timeout: .seconds(10)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func send(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private func answer(on channel: EmbeddedChannel) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    private let whole = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"

    @Test func `a head that trickles in is cut, however steadily it comes`() throws {
        let channel = try channel()
        try send("POST / HTTP/1.1\r\n", to: channel)
        for _ in 0..<9 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try send("x-a: b\r\n", to: channel)
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a body that trickles in is cut`() throws {
        let channel = try channel()
        try send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n", to: channel)
        for _ in 0..<9 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try send("x", to: channel)
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a request that has arrived is not cut, nor is the silence after its answer`() throws {
        let channel = try channel()
        for _ in 0..<3 {
            try send(whole, to: channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(channel.isActive, "while it is being answered")
            try answer(on: channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
            #expect(channel.isActive, "between two requests")
        }
    }

    @Test func `each request on a connection has its own time`() throws {
        let channel = try channel()
        try send(whole, to: channel)
        try answer(on: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        try send("POST / HTTP/1.1\r\n", to: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a beginning that came before the last answer counts from that answer`() throws {
        let channel = try channel()
        try send(whole, to: channel)
        try send("POST / HT", to: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(channel.isActive)
        try answer(on: channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(10))
        #expect(!channel.isActive)
    }
}
