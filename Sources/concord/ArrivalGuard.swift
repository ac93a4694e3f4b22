import NIOCore
import NIOHTTP1

/// Closes connections whose next request takes too long to arrive: from its first byte to its last, head and body.
///
/// An idle timeout alone is not enough, because a byte now and then is not idle. Added behind the HTTP decoder, it puts a
/// watch on either side of it.
final class ArrivalGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let timeout: TimeAmount

    init(timeout: TimeAmount) {
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let clock = ArrivalClock(channel: context.channel, timeout: timeout)
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(PartWatch(clock), position: .after(decoder))
            try pipeline.addHandler(ByteWatch(clock), position: .first)
        } catch {
            context.close(promise: nil)
        }
    }
}

/// Where a connection stands between its requests. Used on the connection's event loop only.
private final class ArrivalClock {
    private let channel: any Channel
    private let timeout: TimeAmount
    /// Runs while a request is arriving.
    private var deadline: Scheduled<Void>?
    /// Requests that have arrived and are not answered yet.
    private var unanswered = 0
    /// Whether something of a further request may have come meanwhile.
    private var hasMore = false

    init(channel: any Channel, timeout: TimeAmount) {
        self.channel = channel
        self.timeout = timeout
    }

    func bytesArrived() {
        guard unanswered == 0 else {
            hasMore = true
            return
        }
        guard deadline == nil else { return }
        deadline = channel.eventLoop.scheduleTask(in: timeout) { [channel] in channel.close(promise: nil) }
    }

    func requestArrived() {
        stop()
        unanswered += 1
        hasMore = false
    }

    func answered() {
        unanswered = max(0, unanswered - 1)
        guard unanswered == 0, hasMore else { return }
        hasMore = false
        bytesArrived()
    }

    func stop() {
        deadline?.cancel()
        deadline = nil
    }
}

/// Sees bytes before anything else does.
private final class ByteWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let clock: ArrivalClock

    init(_ clock: ArrivalClock) {
        self.clock = clock
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        clock.bytesArrived()
        context.fireChannelRead(data)
    }
}

/// Sees where requests and answers end.
private final class PartWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    private let clock: ArrivalClock

    init(_ clock: ArrivalClock) {
        self.clock = clock
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { clock.requestArrived() }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { clock.answered() }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        clock.stop()
        context.fireChannelInactive()
    }
}
