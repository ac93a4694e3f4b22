import Glibc
package import NIOCore
import NIOExtras
import NIOHTTP1
import NIOPosix
package import NIOSSL
import ServiceLifecycle

/// A socket that serves HTTP/1.1 (RFC 9112) until it is shut down.
///
/// Requests are answered on the event loop that received them. A request moves to another thread only if it waits for
/// one.
package struct Listener: Service, CustomStringConvertible {
    /// The name in ServiceLifecycle's logs.
    package var description: String { "listener at \(address)" }

    package enum Address: Sendable, Hashable, CustomStringConvertible {
        /// With port 0 the system chooses one.
        case tcp(host: String, port: Int)
        /// A path of a Unix socket. A socket left by an earlier process is removed; one that is in use is not.
        case unixSocket(path: String)

        package var description: String {
            switch self {
            case .tcp(let host, let port): "\(host):\(port)"
            case .unixSocket(let path): path
            }
        }
    }

    private let address: Address
    private let tls: (@Sendable () -> NIOSSLContext)?
    private let limits: ServerLimits
    private let eventLoops: any EventLoopGroup
    private let whenListening: @Sendable (SocketAddress?) -> Void
    private let responder: any Responder
    private let connectionsMax: Int
    private let responderWhenFull: (any Responder)?
    private let observer: (any ListenerObserver)?

    /// - `tls`: called for each connection; `nil` for plain HTTP.
    /// - `connectionsMax`: the limit of open connections. At the limit, idle ones are closed and new ones wait.
    /// - `responderWhenFull`: answers one request of each new connection while all others are busy. If `nil`, they
    ///   wait.
    /// - `whenListening`: called once, with the address of the listening socket.
    package init(
        address: Address,
        tls: (@Sendable () -> NIOSSLContext)? = nil,
        limits: ServerLimits,
        eventLoops: any EventLoopGroup,
        responder: any Responder,
        connectionsMax: Int,
        responderWhenFull: (any Responder)? = nil,
        observer: (any ListenerObserver)? = nil,
        whenListening: @escaping @Sendable (SocketAddress?) -> Void = { _ in }
    ) {
        self.address = address
        self.tls = tls
        self.limits = limits
        self.eventLoops = eventLoops
        self.responder = responder
        self.connectionsMax = connectionsMax
        self.responderWhenFull = responderWhenFull
        self.observer = observer
        self.whenListening = whenListening
    }

    /// Connections that wait to be accepted.
    private static let backlog: Int32 = 1024

    /// Listens until the task's graceful shutdown, then answers the requests that have arrived and closes all
    /// connections. If the task is cancelled, returns without waiting for the answers.
    /// - Throws: `CannotListen` if the address cannot be bound.
    package func run() async throws {
        let quiescing = ServerQuiescingHelper(group: eventLoops)
        let channel: any Channel
        do {
            channel = try await bind(quiescing)
        } catch {
            throw CannotListen(address, error)
        }
        whenListening(channel.localAddress)
        let closed = channel.eventLoop.makePromise(of: Void.self)
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await closed.futureResult.get()
            } onGracefulShutdown: {
                quiescing.initiateShutdown(promise: closed)
            }
        } onCancel: {
            channel.close(promise: nil)
            closed.fail(CancellationError())
        }
    }

    private func bind(_ quiescing: ServerQuiescingHelper) async throws -> any Channel {
        let connections = OpenConnections(max: connectionsMax)
        let bootstrap = ServerBootstrap(group: eventLoops)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One at a time, because each changes the number of free places.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { [responderWhenFull, observer] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        quiescing.makeServerChannelHandler(channel: channel)
                    )
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionGate(connections, hasSparePlaces: responderWhenFull != nil, observer: observer)
                    )
                }
            }
            // A client may close its half of the connection after its request.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try configure(channel, connections[channel]) }
            }
        switch address {
        case .tcp(let host, let port):
            return try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: host, port: port).get()
        case .unixSocket(let path):
            guard await !isAnswered(at: path) else { throw IOError(errnoCode: EADDRINUSE, reason: "bind") }
            return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        }
    }

    /// Returns `true` if another process listens at `path`, so that its socket must not be removed.
    private func isAnswered(at path: String) async -> Bool {
        let connection = try? await ClientBootstrap(group: eventLoops).connect(unixDomainSocketPath: path).get()
        try? await connection?.close()
        return connection != nil
    }

    /// - `connection`: `nil` if it has been closed since.
    private func configure(_ channel: any Channel, _ connection: OpenConnections.Connection?) throws {
        guard let connection else { return }
        if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls())) }
        let spare = connection.isSpare ? responderWhenFull : nil
        try channel.pipeline.syncOperations.addHTTPServer(
            limits: spare == nil ? limits : limits.spare,
            responder: spare ?? responder,
            idleClock: connection.idleClock,
            answersOnce: spare != nil
        )
    }
}

/// The address cannot be bound: another process uses it, or this process has no permission.
package struct CannotListen: Error, CustomStringConvertible {
    package let address: Listener.Address
    /// The system's error number; `nil` if the failure was not the system's.
    package let code: Int32?
    package let description: String

    package init(_ address: Listener.Address, _ error: any Error) {
        self.address = address
        code = (error as? IOError)?.errnoCode
        let reason = code.map { String(cString: strerror($0)) } ?? "\(error)"
        description = "cannot listen at \(address): \(reason)"
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Adds the handlers between bytes and `responder`.
    func addHTTPServer(
        limits: ServerLimits,
        responder: any Responder,
        idleClock: IdleClock = IdleClock(),
        answersOnce: Bool = false
    ) throws {
        var headLimits = NIOHTTPDecoderLimitConfiguration()
        headLimits.maxHeaderFieldSize = 32 << 10
        headLimits.maxHeaderListSize = 64 << 10
        headLimits.maxHeaderFieldCount = 100
        let decoder = HTTPRequestDecoder(limitConfiguration: headLimits)
        try addHandler(ByteToMessageHandler(decoder))
        try addHandler(
            RequestHandler(limits: limits, responder: responder, idleClock: idleClock, answersOnce: answersOnce)
        )
    }
}
