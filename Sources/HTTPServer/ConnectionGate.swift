import Glibc
import NIOCore
import Synchronization

/// What is told about the connections of a listener, on its event loop: nothing in it waits.
package protocol ListenerObserver: Sendable {
    /// How many are open, after each that came or went.
    func connectionsOpen(_ count: Int)
    /// The next one has to wait, after a time in which none had to.
    func connectionsShort(_ shortage: ConnectionShortage)
    /// For a while none has had to wait.
    func connectionsPlenty()
}

/// Why a connection has to wait.
package enum ConnectionShortage: Sendable {
    /// As many are open as may be.
    case limit(Int)
    /// The system has no more for this process, in its words.
    case system(String)
}

/// Accepts connections for as long as there are places for them (ADR 0076).
///
/// Where there are none it lets newcomers wait in the system's queue, and asks those to leave that have made the server wait
/// longest. Lives on the event loop of the socket that listens.
final class ConnectionGate: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    /// Places for newcomers while all others are busy: `Listener` says what is answered there.
    static let sparePlaces = 16
    /// How often it is looked for a place while there is none.
    private static let lookInterval = TimeAmount.milliseconds(250)
    /// A client that was just accepted, or answered, gets this long to ask.
    private static let grace = TimeAmount.seconds(1)
    /// Looks that found neither a place nor anybody to make one before the spare ones are opened: longer than the grace, or
    /// those who come in the place of the silent would be told that there is none.
    private static let looksBeforeSparing = 8
    /// How long there have to be places before the shortage is over.
    private static let calm = TimeAmount.seconds(10)

    private let connections: OpenConnections
    private let hasSparePlaces: Bool
    private let observer: (any ListenerObserver)?
    private var context: ChannelHandlerContext?
    private var isAccepting = true
    private var looksInVain = 0
    /// How many there may be since the system had no more.
    private var ceiling = Int.max
    private var lastShort = NIODeadline.uptimeNanoseconds(0)
    /// The next look, while a shortage lasts.
    private var nextLook: Scheduled<Void>?

    init(_ connections: OpenConnections, hasSparePlaces: Bool, observer: (any ListenerObserver)?) {
        self.connections = connections
        self.hasSparePlaces = hasSparePlaces
        self.observer = observer
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextLook?.cancel()
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
        // Some are given back at once and not taken again: whoever else in this process has to open a file may take it
        // badly that it cannot. libdispatch does, and ends the process.
        ceiling = min(ceiling, max(1, connections.count - Self.sparePlaces))
        makeRoom(2 * Self.sparePlaces, silentFor: .zero, at: context.eventLoop.now)
        stop(.system(String(cString: strerror(error.errnoCode))))
    }

    private var isFull: Bool { connections.count >= min(connections.max, ceiling) }

    private var hasPlace: Bool {
        let hasSpare = hasSparePlaces && looksInVain >= Self.looksBeforeSparing && ceiling == .max
        return !isFull || hasSpare && connections.count < connections.max + Self.sparePlaces
    }

    private func accept(_ accepts: Bool) {
        guard let context, context.channel.isActive else { return }
        isAccepting = accepts
        try? context.channel.syncOptions?.setOption(.autoRead, value: accepts)
    }

    private func stop(_ shortage: ConnectionShortage) {
        accept(false)
        guard nextLook == nil else { return }
        observer?.connectionsShort(shortage)
        look()
    }

    private func look() {
        guard let context, context.channel.isActive else { return }
        let now = context.eventLoop.now
        if !isAccepting || isFull {
            lastShort = now
            // An eighth: who comes next finds a place, and is not looked for.
            let makesRoom = makeRoom(max(8, connections.max / 8), silentFor: Self.grace, at: now)
            looksInVain = makesRoom ? 0 : looksInVain + 1
            if hasPlace { accept(true) }
        } else {
            looksInVain = 0
        }
        guard now - lastShort < Self.calm else {
            nextLook = nil
            ceiling = .max
            observer?.connectionsPlenty()
            return
        }
        nextLook = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lookInterval) { [self] in look() }
    }
}

extension ConnectionGate {
    /// Asks those that are silent longest to leave.
    /// - Returns: whether there are any.
    @discardableResult
    private func makeRoom(_ count: Int, silentFor least: TimeAmount, at now: NIODeadline) -> Bool {
        let silent = connections.longestSilent(count, for: least, at: now)
        for channel in silent { channel.pipeline.fireUserInboundEventTriggered(MakeRoomEvent()) }
        return !silent.isEmpty
    }
}

/// Asks a connection to end unless its request is being answered.
struct MakeRoomEvent: Sendable {}

/// The connections of a listener. Each is entered before its own event loop hears of it.
final class OpenConnections: Sendable {
    struct Connection: Sendable {
        let channel: any Channel
        let silence = Silence()
        /// Whether it came when there was no place.
        let isSpare: Bool
    }

    let max: Int
    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    init(max: Int) {
        self.max = max
    }

    var count: Int { connections.withLock { $0.count } }

    subscript(channel: any Channel) -> Connection? { connections.withLock { $0[ObjectIdentifier(channel)] } }

    /// - Returns: how many there are then.
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

    /// Those whose client has been silent longest, and for at least `least`: who asks nothing before who is still asking.
    func longestSilent(_ count: Int, for least: TimeAmount, at now: NIODeadline) -> [any Channel] {
        let silent = connections.withLock { connections in
            connections.values.compactMap { connection in
                connection.silence.rank(for: least, at: now).map { (rank: $0, channel: connection.channel) }
            }
        }
        return silent.sorted { $0.rank < $1.rank }.prefix(count).map(\.channel)
    }
}

/// Since when a connection has waited for its client; written by its event loop and read by another.
final class Silence: Sendable {
    /// Nanoseconds of uptime, with `inRequest` set where something of a request has come.
    private let began = Atomic<UInt64>(.max)
    private static let inRequest: UInt64 = 1 << 63

    func begin(at now: NIODeadline, inRequest: Bool) {
        began.store(now.uptimeNanoseconds | (inRequest ? Self.inRequest : 0), ordering: .relaxed)
    }

    func end() {
        began.store(.max, ordering: .relaxed)
    }

    /// The less, the sooner it may be ended; `nil` where the client has been waited for less than `least`, or is waiting
    /// itself.
    func rank(for least: TimeAmount, at now: NIODeadline) -> UInt64? {
        let rank = began.load(ordering: .relaxed)
        guard rank != .max else { return nil }
        let lasts = now - NIODeadline.uptimeNanoseconds(rank & ~Self.inRequest)
        return lasts >= least ? rank : nil
    }
}
