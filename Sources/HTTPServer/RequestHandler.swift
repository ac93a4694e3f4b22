import HTTPTypes
import NIOCore
import NIOHTTP1

/// One connection: collects a request, lets `Responder` answer it, writes the answer, and closes connections that take
/// too long.
///
/// Lives on its connection's event loop. It follows NIO's decoder directly and writes bytes: a handler for each concern
/// would cost more than the request itself.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// Between two requests, or before the first.
        case idle
        /// Part of a request has arrived.
        case arriving
        /// The request has arrived in full.
        case answering(Task<Void, Never>)
        /// The last answer is being written. The client's further bytes are read and dropped: closing a connection with
        /// unread bytes resets it, and a reset can overtake the answer (RFC 9112 §9.6).
        case draining
        /// The last answer is being written, and the connection closes after it.
        case closing
    }

    private let limits: ServerLimits
    private let responder: any Responder
    private var phase = Phase.idle
    private var head: HTTPRequestHead?
    private var body: ByteBuffer?
    private var isTooLarge = false
    /// `true` if the request is answered before its body has arrived.
    private var isAnsweredEarly = false
    /// `true` if another request may follow the current one.
    private var keepsAlive = true
    /// `true` if the next answer is the last one.
    private var isEnding: Bool
    /// Parts that arrived before their turn. Nothing more is read meanwhile.
    private var waiting: CircularBuffer<HTTPServerRequestPart> = []
    /// The end of the time for the current phase.
    private var deadline = NIODeadline.distantFuture
    /// One timer for the whole connection, which checks the current deadline. A timer for each request would cost more
    /// than some requests.
    private var timer: Scheduled<Void>?
    /// Bytes of answers that the client had not accepted at the last check of the timer.
    private var unacceptedBytes = 0
    private let idleClock: IdleClock
    private var executor: EventLoopExecutor?
    private var peer: SocketAddress?

    /// - `idleClock`: runs while the server waits for the client.
    /// - `answersOnce`: if `true`, one request is answered and no other.
    init(limits: ServerLimits, responder: any Responder, idleClock: IdleClock, answersOnce: Bool) {
        self.limits = limits
        self.responder = responder
        self.idleClock = idleClock
        isEnding = answersOnce
    }

    private var timeout: TimeAmount { TimeAmount(limits.requestTimeout) }

    func handlerAdded(context: ChannelHandlerContext) {
        executor = EventLoopExecutor(context.eventLoop)
        if context.channel.isActive { connected(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        connected(context)
        context.fireChannelActive()
    }

    private func connected(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        peer = context.remoteAddress
        enter(.idle, context)
        watch(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        // The client has gone. The task still finishes or undoes what it has begun.
        if case .answering(let task) = phase { task.cancel() }
        phase = .closing
        context.fireChannelInactive()
    }

    // MARK: A request arrives

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard !waiting.isEmpty || mustWait(context) else { return take(part, context) }
        if waiting.isEmpty { setReading(false, context) }
        waiting.append(part)
    }

    /// Returns `true` if the next part must wait: for the current answer, or for the client to accept earlier answers.
    private func mustWait(_ context: ChannelHandlerContext) -> Bool {
        if case .answering = phase { return true }
        return !context.channel.isWritable
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        takeNext(context)
        context.fireChannelWritabilityChanged()
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch phase {
        case .draining, .closing: return
        case .idle, .arriving, .answering: break
        }
        switch part {
        case .head(let head): begin(head, context)
        case .body(let part): append(part)
        case .end: if case .arriving = phase { answer(context) }
        }
    }

    /// Processes parts that arrived before their turn.
    private func takeNext(_ context: ChannelHandlerContext) {
        guard !waiting.isEmpty else { return }
        while !mustWait(context), let part = waiting.popFirst() { take(part, context) }
        if waiting.isEmpty { setReading(true, context) }
    }

    private func setReading(_ reads: Bool, _ context: ChannelHandlerContext) {
        do {
            try context.channel.syncOptions?.setOption(.autoRead, value: reads)
        } catch {
            leave(context)
        }
    }

    /// Called after every read, also if it completed no part: a head has then begun to arrive.
    func channelReadComplete(context: ChannelHandlerContext) {
        if case .idle = phase, waiting.isEmpty { enter(.arriving, context) }
        context.fireChannelReadComplete()
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        // Exactly one: a request with none or several is not HTTP/1.1 (RFC 9112 §3.2).
        guard head.version == .http1_0 || head.headers["Host"].count == 1 else {
            return writeLast(ResponseWriter.badRequest(head, context.channel.allocator), drains: true, context)
        }
        if case .idle = phase { enter(.arriving, context) }
        self.head = head
        // HTTP/1.0 has no transfer codings, so the end of such a message is uncertain (RFC 9112 §6.1).
        let hasDoubtfulEnd = head.version == .http1_0 && head.headers.contains(name: "Transfer-Encoding")
        keepsAlive = head.isKeepAlive && !isEnding && !hasDoubtfulEnd
        body = nil
        isTooLarge = false
        isAnsweredEarly = false
        if let length = head.headers.first(name: "Content-Length"), let bytes = Int(length) {
            isTooLarge = bytes > limits.bodyBytesMax
        }
        // `Expect` of HTTP/1.0 is ignored (RFC 9110 §10.1.1).
        let expects = head.headers.first(name: "Expect")?.lowercased()
        guard head.version != .http1_0, expects == "100-continue" else { return }
        if isTooLarge {
            keepsAlive = false
            isAnsweredEarly = true
            answer(context)
        } else {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        }
    }

    /// A body that is too large is read to its end nevertheless: a client that still sends would not see the answer.
    private func append(_ part: ByteBuffer) {
        guard !isTooLarge else { return }
        guard (body?.readableBytes ?? 0) + part.readableBytes <= limits.bodyBytesMax else {
            isTooLarge = true
            body = nil
            return
        }
        if body == nil {
            body = part
        } else {
            body?.writeImmutableBuffer(part)
        }
    }

    // MARK: It is answered

    private func answer(_ context: ChannelHandlerContext) {
        guard let head, let executor else { return }
        let request = ServerRequest(
            method: HTTPRequest.Method(head.method),
            target: head.uri,
            headers: head.headers,
            body: isTooLarge ? .tooLarge : .complete(body ?? ByteBuffer()),
            peer: peer
        )
        body = nil
        let connection = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let task = Task(executorPreference: executor) { [responder] in
            let response = await responder.respond(to: request)
            connection.value.handler.write(response, connection.value.context)
        }
        enter(.answering(task), context)
    }

    private func write(_ response: ServerResponse, _ context: ChannelHandlerContext) {
        guard case .answering = phase, let head else { return }
        let connection: ResponseWriter.Connection? =
            !keepsAlive ? .close : head.version == .http1_0 ? .keepAlive : nil
        let bytes = ResponseWriter.bytes(
            of: response,
            isHead: head.method == .HEAD,
            connection,
            context.channel.allocator
        )
        guard keepsAlive else { return writeLast(bytes, drains: isAnsweredEarly, context) }
        self.head = nil
        enter(.idle, context)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        takeNext(context)
    }

    /// - `drains`: `true` if the client may still be sending.
    private func writeLast(_ bytes: ByteBuffer, drains: Bool, _ context: ChannelHandlerContext) {
        enter(drains ? .draining : .closing, context)
        let isWritten = context.eventLoop.makePromise(of: Void.self)
        isWritten.futureResult.assumeIsolated().whenComplete { _ in
            context.close(mode: drains ? .output : .all, promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: isWritten)
        if drains { takeNext(context) }
    }

    // MARK: It ends

    private var waitsForClient: Bool {
        switch phase {
        case .idle, .arriving, .draining: true
        case .answering, .closing: false
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            keepsAlive = false
            if waitsForClient { leave(context) }
        } else if event is ChannelShouldQuiesceEvent {
            isEnding = true
            keepsAlive = false
            switch phase {
            case .idle, .draining: leave(context)
            case .arriving, .answering, .closing: break
            }
        } else if event is CloseIfIdleEvent {
            if waitsForClient { leave(context) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch phase {
        case .idle, .arriving:
            guard error is HTTPParserError else { return leave(context) }
            writeLast(ResponseWriter.badRequest(head, context.channel.allocator), drains: true, context)
        case .draining, .closing:
            break
        case .answering:
            // Valid earlier requests are answered first.
            keepsAlive = false
        }
    }

    private func leave(_ context: ChannelHandlerContext) {
        if case .answering(let task) = phase { task.cancel() }
        phase = .closing
        context.close(promise: nil)
    }

    // MARK: Time

    private func enter(_ next: Phase, _ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        switch next {
        case .idle, .draining: idleClock.start(at: now, inRequest: false)
        case .arriving: idleClock.start(at: now, inRequest: true)
        case .answering, .closing: idleClock.stop()
        }
        phase = next
        deadline = now + timeout
        unacceptedBytes = .max
    }

    private func watch(_ context: ChannelHandlerContext) {
        let at = min(deadline, context.eventLoop.now + timeout)
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: at) { [self] in
            guard context.channel.isActive else { return }
            if deadline <= context.eventLoop.now { expire(context) }
            if context.channel.isActive { watch(context) }
        }
    }

    private func expire(_ context: ChannelHandlerContext) {
        switch phase {
        case .arriving:
            leave(context)
        case .answering(let task):
            // The task answers 503 as soon as it notices the cancellation.
            task.cancel()
            deadline = .distantFuture
        case .idle, .draining, .closing:
            let unaccepted = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            guard unaccepted > 0, unaccepted < unacceptedBytes else { return leave(context) }
            // The client is slow but still reads.
            unacceptedBytes = unaccepted
            deadline = context.eventLoop.now + timeout
        }
    }
}

/// Runs a request's task on the event loop of its connection.
private final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension HTTPRequest.Method {
    fileprivate init(_ method: HTTPMethod) {
        switch method {
        case .GET: self = .get
        case .POST: self = .post
        case .PUT: self = .put
        case .PATCH: self = .patch
        case .DELETE: self = .delete
        case .HEAD: self = .head
        case .OPTIONS: self = .options
        // The decoder accepts only tokens, and every token is a method (RFC 9110 §9.1).
        default: self = HTTPRequest.Method(method.rawValue) ?? .trace
        }
    }
}

extension TimeAmount {
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
