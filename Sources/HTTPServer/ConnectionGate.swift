import Glibc
import NIOCore
import Synchronization

/// Receives events of a listener's connections, on its event loop. No method may wait.
package protocol ListenerObserver: Sendable {
    /// The number of open connections has changed.
    func connectionsOpen(_ count: Int)
    /// New connections have begun to wait.
    func shortageBegan(_ shortage: ConnectionShortage)
    /// No connection has had to wait for a while.
    func shortageEnded()
}

/// The reason why a connection has to wait.
package enum ConnectionShortage: Sendable {
    /// The limit is reached.
    case limit(Int)
    /// The system refused a connection to this process, with this message.
    case system(String)
}

/// Accepts connections up to a limit (ADR 0076).
///
/// At the limit, new connections wait in the system's queue, and the gate closes those that have been idle longest. It
/// runs on the event loop of the listening socket.
final class ConnectionGate: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    /// Connections beyond the limit that are accepted while every other one is busy. `Listener` decides what they get.
    static let sparePlaces = 16
    /// The time between two polls during a shortage.
    private static let pollInterval = TimeAmount.milliseconds(250)
    /// The time that a client has to send a request, once its connection was accepted or its last request answered.
    /// Afterwards the connection counts as idle.
    private static let gracePeriod = TimeAmount.seconds(1)
    /// Consecutive polls that find neither a free place nor an idle connection before the spare places are opened. They
    /// must last longer than the grace period, or clients that replace closed idle connections would get 503.
    private static let failedPollsMax = 8
    /// The time without a waiting connection after which a shortage is over.
    private static let recoveryPeriod = TimeAmount.seconds(10)

    private let connections: OpenConnections
    private let hasSparePlaces: Bool
    private let observer: (any ListenerObserver)?
    private var context: ChannelHandlerContext?
    private var isAccepting = true
    private var failedPolls = 0
    /// The limit in force since the system refused a connection.
    private var ceiling = Int.max
    private var lastShort = NIODeadline.uptimeNanoseconds(0)
    /// The next poll, while a shortage lasts.
    private var nextPoll: Scheduled<Void>?

    init(_ connections: OpenConnections, hasSparePlaces: Bool, observer: (any ListenerObserver)?) {
        self.connections = connections
        self.hasSparePlaces = hasSparePlaces
        self.observer = observer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextPoll?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        let count = connections.add(channel)
        observer?.connectionsOpen(count)
        channel.closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete { [self] _ in
            let count = connections.remove(channel)
            observer?.connectionsOpen(count)
            if !isAccepting, hasPlace { accept(true) }
        }
        context.fireChannelRead(data)
        if !hasPlace { stop(.limit(connections.max)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        // Frees some descriptors at once for other code of this process, which fails if it cannot open a file.
        // libdispatch would end the process.
        ceiling = min(ceiling, max(1, connections.count - Self.sparePlaces))
        makeRoom(2 * Self.sparePlaces, idleFor: .zero, at: context.eventLoop.now)
        stop(.system(String(cString: strerror(error.errnoCode))))
    }

    private var isFull: Bool { connections.count >= min(connections.max, ceiling) }

    private var hasPlace: Bool {
        let hasSpare = hasSparePlaces && failedPolls >= Self.failedPollsMax && ceiling == .max
        return !isFull || hasSpare && connections.count < connections.max + Self.sparePlaces
    }

    private func accept(_ accepts: Bool) {
        guard let context, context.channel.isActive else { return }
        isAccepting = accepts
        try? context.channel.syncOptions?.setOption(.autoRead, value: accepts)
    }

    private func stop(_ shortage: ConnectionShortage) {
        accept(false)
        guard nextPoll == nil else { return }
        observer?.shortageBegan(shortage)
        poll()
    }

    private func poll() {
        guard let context, context.channel.isActive else { return }
        let now = context.eventLoop.now
        if !isAccepting || isFull {
            lastShort = now
            // An eighth at a time, so that the next clients find a place without a poll.
            let makesRoom = makeRoom(max(8, connections.max / 8), idleFor: Self.gracePeriod, at: now)
            failedPolls = makesRoom ? 0 : failedPolls + 1
            if hasPlace { accept(true) }
        } else {
            failedPolls = 0
        }
        guard now - lastShort < Self.recoveryPeriod else {
            nextPoll = nil
            ceiling = .max
            observer?.shortageEnded()
            return
        }
        nextPoll = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pollInterval) { [self] in poll() }
    }
}

extension ConnectionGate {
    /// Asks the connections that have been idle longest to close. Returns `true` if there are any.
    @discardableResult
    private func makeRoom(_ count: Int, idleFor least: TimeAmount, at now: NIODeadline) -> Bool {
        let idle = connections.longestIdle(count, for: least, at: now)
        for channel in idle { channel.pipeline.fireUserInboundEventTriggered(CloseIfIdleEvent()) }
        return !idle.isEmpty
    }
}

/// Asks a connection to close unless its request is being answered.
struct CloseIfIdleEvent: Sendable {}

/// The connections of a listener. Each is added before its own event loop knows it.
final class OpenConnections: Sendable {
    struct Connection: Sendable {
        let channel: any Channel
        let idleClock = IdleClock()
        /// `true` if it was accepted beyond the limit.
        let isSpare: Bool
    }

    let max: Int
    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    init(max: Int) {
        self.max = max
    }

    var count: Int { connections.withLock { $0.count } }

    subscript(channel: any Channel) -> Connection? { connections.withLock { $0[ObjectIdentifier(channel)] } }

    /// - Returns: the number of connections with this one.
    func add(_ channel: any Channel) -> Int {
        connections.withLock { connections in
            connections[ObjectIdentifier(channel)] = Connection(channel: channel, isSpare: connections.count >= max)
            return connections.count
        }
    }

    func remove(_ channel: any Channel) -> Int {
        connections.withLock { connections in
            connections[ObjectIdentifier(channel)] = nil
            return connections.count
        }
    }

    /// Returns the connections that have been idle longest, and for at least `least`. Connections without a request
    /// come before those whose request is still arriving.
    func longestIdle(_ count: Int, for least: TimeAmount, at now: NIODeadline) -> [any Channel] {
        let idle = connections.withLock { connections in
            connections.values.compactMap { connection in
                connection.idleClock.rank(for: least, at: now).map { (rank: $0, channel: connection.channel) }
            }
        }
        return idle.sorted { $0.rank < $1.rank }.prefix(count).map(\.channel)
    }
}

/// Measures the time that a connection has waited for its client. Its event loop writes it; another one reads it.
final class IdleClock: Sendable {
    /// Nanoseconds of uptime, with `inRequest` set if part of a request has arrived.
    private let started = Atomic<UInt64>(.max)
    private static let inRequest: UInt64 = 1 << 63

    func start(at now: NIODeadline, inRequest: Bool) {
        started.store(now.uptimeNanoseconds | (inRequest ? Self.inRequest : 0), ordering: .relaxed)
    }

    func stop() {
        started.store(.max, ordering: .relaxed)
    }

    /// The order in which connections are closed, smallest first; `nil` if the connection has waited for less than
    /// `least` or its client waits for an answer.
    func rank(for least: TimeAmount, at now: NIODeadline) -> UInt64? {
        let rank = started.load(ordering: .relaxed)
        guard rank != .max else { return nil }
        let lasts = now - NIODeadline.uptimeNanoseconds(rank & ~Self.inRequest)
        return lasts >= least ? rank : nil
    }
}
