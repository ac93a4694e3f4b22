import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// A proxy between an app and a server that holds one exchange for ever: the app then waits, and a test can kill it
/// there.
final class HoldingProxy: Sendable {
    /// The part of an exchange that does not arrive.
    enum Part: String, Sendable, CaseIterable {
        /// The server never gets the request.
        case request
        /// The server acts, and the app never gets the answer.
        case answer
    }

    private struct State {
        var held: (number: Int, part: Part)?
        var count = 0
        var isHolding = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    let url: String
    private let upstream: Int
    private let state = Mutex(State())

    private init(port: Int, upstream: Int) {
        url = "http://127.0.0.1:\(port)"
        self.upstream = upstream
    }

    /// Runs `body` with a proxy before the server at `address`, `http://127.0.0.1:PORT`.
    static func run<Output: Sendable>(
        before address: String,
        _ body: @Sendable (HoldingProxy) async throws -> Output
    ) async throws -> Output {
        guard let upstream = address.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw Missing(what: "a port in \(address)")
        }
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in wrapped(channel) }
        let proxy = HoldingProxy(port: listener.channel.localAddress?.port ?? 0, upstream: upstream)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await listener.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask { await proxy.relay(connection) }
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await body(proxy)
        }
    }

    /// Holds the exchange `number`, counted from 1 from now on.
    func hold(_ part: Part, ofExchange number: Int) {
        state.withLock { $0 = State(held: (number, part)) }
    }

    /// Lets all exchanges pass, and ends the waits for a held one.
    func pass() {
        let waiters = state.withLock { state in
            defer { state = State() }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: false) }
    }

    /// The number of requests since the last ``hold(_:ofExchange:)`` or ``pass()``.
    var count: Int { state.withLock(\.count) }

    /// Waits until the exchange is held. Returns false if all exchanges passed.
    func isHeld() async -> Bool {
        await withCheckedContinuation { continuation in
            let isHolding = state.withLock { state in
                if !state.isHolding { state.waiters.append(continuation) }
                return state.isHolding
            }
            if isHolding { continuation.resume(returning: true) }
        }
    }

    /// Kills the process `processID` by SIGKILL once the exchange is held.
    func kill(_ processID: Int32) async {
        if await isHeld() { Glibc.kill(processID, SIGKILL) }
    }

    /// The state of one connection.
    private final class Exchange: Sendable {
        let holdsAnswer = Mutex(false)
    }

    private typealias Stream = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static func wrapped(_ channel: any Channel) -> EventLoopFuture<Stream> {
        channel.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: channel) }
    }

    /// Relays one connection. A failure of one side closes the other.
    private func relay(_ app: Stream) async {
        let exchange = Exchange()
        try? await app.executeThenClose { fromApp, toApp in
            let server = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: upstream) { channel in Self.wrapped(channel) }
            try await server.executeThenClose { fromServer, toServer in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await part in fromApp {
                            switch Self.beginsRequest(part) ? self.next() : nil {
                            case .request:
                                self.announce()
                                try await Task.sleep(for: .seconds(600))
                            case .answer: exchange.holdsAnswer.withLock { $0 = true }
                            case nil: break
                            }
                            try await toServer.write(part)
                        }
                    }
                    group.addTask {
                        for try await part in fromServer {
                            if exchange.holdsAnswer.withLock({ $0 }) {
                                self.announce()
                                try await Task.sleep(for: .seconds(600))
                            }
                            try await toApp.write(part)
                        }
                    }
                    // The end of one direction ends the connection.
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    /// Counts a request. Returns the part of its exchange to hold.
    private func next() -> Part? {
        state.withLock { state in
            state.count += 1
            guard let held = state.held, held.number == state.count else { return nil }
            return held.part
        }
    }

    private func announce() {
        let waiters = state.withLock { state in
            state.isHolding = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    private static func beginsRequest(_ part: ByteBuffer) -> Bool {
        ["GET /", "POST /", "DELETE /", "PATCH /"].contains { part.readableBytesView.starts(with: $0.utf8) }
    }
}
