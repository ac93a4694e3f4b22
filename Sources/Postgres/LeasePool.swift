import Glibc
import Metrics
import Synchronization

/// The connections for interactive transactions. Each has a thread on which the transaction's body runs.
final class LeasePool: Sendable {
    typealias Grant = Result<Int, PostgresError>

    private let state: Mutex<PoolState<Reply<Grant>>>
    private let workers: [LeaseWorker]
    private let waitTimer: Timer?

    init(_ configuration: PostgresConfiguration, _ hosts: DatabaseHosts, waitTimer: Timer?) {
        self.waitTimer = waitTimer
        state = Mutex(
            PoolState(
                workers: configuration.leasedConnections,
                waitersMax: configuration.queueMax,
                wait: configuration.queueWait
            )
        )
        workers = (0..<configuration.leasedConnections).map { _ in LeaseWorker(configuration, hosts) }
    }

    var inUse: Int { state.withLock(\.leasedCount) }
    var waiters: Int { state.withLock(\.waitersCount) }
    var isIdle: Bool { state.withLock(\.isIdle) }
    var nextDeadline: Instant? { state.withLock(\.nextDeadline) }

    func expire(now: Instant) -> [Reply<Grant>] {
        state.withLock { $0.expire(now: now) }
    }

    /// Leases a worker, runs `body` with it, and releases it. `waits` is called if the lease has to wait, so that the
    /// reactor watches its deadline.
    func withWorker<Output: Sendable>(
        waits: () -> Void,
        _ body: (LeaseWorker) async -> Output
    ) async throws(PostgresError) -> Output {
        let start = currentInstant()
        let worker = try await lease(waits: waits)
        waitTimer?.record(since: start)
        let output = await body(workers[worker])
        release(worker)
        return output
    }

    private func lease(waits: () -> Void) async throws(PostgresError) -> Int {
        let reply = Reply<Grant>()
        switch state.withLock({ $0.lease(reply, now: currentInstant()) }) {
        case .granted(let worker):
            return worker
        case .refused(let code):
            throw PostgresError(code, code == .shutDown ? "client was shut down" : "too many transactions wait")
        case .waits:
            waits()
            return try await reply.value { _ in .failure(PostgresError(.cancelled, "task was cancelled")) }.get()
        }
    }

    private func release(_ worker: Int) {
        while let next = state.withLock({ $0.release(worker: worker) }) {
            if next.finish({ _ in .success(worker) }) { return }
        }
    }

    /// Refuses new and waiting leases.
    func close() {
        let error = PostgresError(.shutDown, "client was shut down")
        for waiter in state.withLock({ $0.close() }) { waiter.finish { _ in .failure(error) } }
    }

    /// Cancels running transactions and ends the threads.
    func stop() {
        for worker in workers { worker.stop() }
    }
}

/// A thread with its connection.
final class LeaseWorker: Sendable {
    private let configuration: PostgresConfiguration
    private let hosts: DatabaseHosts
    private let executor = ThreadExecutor()
    /// Opened when first needed. The lock is never contended, because only the holder of the lease uses it.
    private let connection = Mutex<PostgresConnection?>(nil)
    /// The cancellation of the running transaction.
    private let running = Mutex<Cancellation?>(nil)

    init(_ configuration: PostgresConfiguration, _ hosts: DatabaseHosts) {
        self.configuration = configuration
        self.hosts = hosts
    }

    /// The result of one run of a transaction's body.
    struct Attempt<Output: Sendable>: Sendable {
        var result: Result<Output, PostgresError>
        /// `true` if it failed only because of a statement that the connection, which is closed now, had prepared.
        var hadStalePreparation = false
    }

    /// Runs `body` in a transaction, once. Cancelling the calling task cancels the running statement on the server.
    func transaction<Output: Sendable>(
        _ body: @escaping @Sendable (inout Transaction) throws(PostgresError) -> Output
    ) async -> Attempt<Output> {
        let cancellation = Cancellation()
        running.withLock { $0 = cancellation }
        defer { running.withLock { $0 = nil } }
        return await withTaskExecutorPreference(executor) {
            await withTaskCancellationHandler {
                await self.runHere(body, cancellation)
            } onCancel: {
                cancellation.cancel(PostgresError(.cancelled, "task was cancelled"))
            }
        }
    }

    func stop() {
        running.withLock(\.self)?.cancel(PostgresError(.shutDown, "client was shut down"))
        executor.stop()
    }

    /// Runs on the executor that the task prefers: this worker's thread.
    @concurrent
    private func runHere<Output: Sendable>(
        _ body: @Sendable (inout Transaction) throws(PostgresError) -> Output,
        _ cancellation: Cancellation
    ) async -> Attempt<Output> {
        connection.withLock { slot in
            do throws(PostgresError) {
                let current = if let slot { slot } else { try connect() }
                defer { slot = current.isReusable ? current : nil }
                do throws(PostgresError) {
                    return Attempt(result: .success(try run(body, on: current, cancellation)))
                } catch {
                    return Attempt(result: .failure(error), hadStalePreparation: current.hasStalePreparation)
                }
            } catch {
                return Attempt(result: .failure(error))
            }
        }
    }

    private func connect() throws(PostgresError) -> PostgresConnection {
        try PostgresConnection(
            configuration,
            role: .write,
            hosts: hosts,
            answerWait: configuration.writeStatementTimeout + configuration.answerGrace
        )
    }

    private func run<Output: Sendable>(
        _ body: (inout Transaction) throws(PostgresError) -> Output,
        on connection: PostgresConnection,
        _ cancellation: Cancellation
    ) throws(PostgresError) -> Output {
        if let reason = cancellation.arm(connection.cancelHandle()) { throw reason }
        connection.interruption = { cancellation.reason }
        defer {
            connection.interruption = nil
            // A cancel request that is still on its way must not hit the next transaction's statement.
            if cancellation.disarm() != nil { connection.retire() }
        }
        do {
            let settings = configuration.transactionSettings(for: .write, on: connection.greetedEngine)
            return try connection.transaction(settings: settings, body)
        } catch {
            guard error.sqlState == .queryCanceled, let reason = cancellation.reason else { throw error }
            throw reason
        }
    }
}

/// Cancels a running transaction on the server.
private final class Cancellation: Sendable {
    private struct State {
        var handle: CancelHandle?
        var reason: PostgresError?
    }

    private let state = Mutex(State())

    /// The reason to end the transaction, if there is one.
    var reason: PostgresError? { state.withLock(\.reason) }

    private var isArmed: Bool { state.withLock { $0.handle != nil } }

    /// Uses `handle` for cancellation from now on. Returns the reason if cancellation was already requested.
    func arm(_ handle: CancelHandle?) -> PostgresError? {
        state.withLock { state in
            state.handle = handle
            return state.reason
        }
    }

    /// Stops cancelling. Returns the reason if cancellation was requested.
    func disarm() -> PostgresError? {
        state.withLock { state in
            state.handle = nil
            return state.reason
        }
    }

    func cancel(_ reason: PostgresError) {
        let handle = state.withLock { state in
            state.reason = state.reason ?? reason
            return state.handle
        }
        guard let handle else { return }
        // A cancel request opens a connection and blocks, which the caller must not. The server ignores the request if
        // it has not started the statement yet, so it is repeated.
        startThread {
            while self.isArmed {
                handle.cancel()
                usleep(20_000)
            }
        }
    }
}
