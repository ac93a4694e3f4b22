import Glibc
import Metrics
import Synchronization

/// The connections for interactive transactions: each with a thread of its own, on which the transaction's body runs.
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
    var isQuiet: Bool { state.withLock(\.isQuiet) }
    var nextDeadline: Instant? { state.withLock(\.nextDeadline) }

    func expire(now: Instant) -> [Reply<Grant>] {
        state.withLock { $0.expire(now: now) }
    }

    /// Leases a worker, runs `body` with it, and releases it. `waits` is called when the lease has to wait, so that
    /// somebody watches its deadline.
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

    /// Refuses everything from now on, and those that wait.
    func close() {
        let error = PostgresError(.shutDown, "client was shut down")
        for waiter in state.withLock({ $0.close() }) { waiter.finish { _ in .failure(error) } }
    }

    /// Cancels what still runs, and ends the threads.
    func stop() {
        for worker in workers { worker.stop() }
    }
}

/// A thread and the connection that is used on it.
final class LeaseWorker: Sendable {
    private let configuration: PostgresConfiguration
    private let hosts: DatabaseHosts
    private let executor = ThreadExecutor()
    /// Made when first needed. The lock is never contended: whoever holds the lease is alone here.
    private let connection = Mutex<PostgresConnection?>(nil)
    /// Of the transaction that runs.
    private let running = Mutex<Cancellation?>(nil)

    init(_ configuration: PostgresConfiguration, _ hosts: DatabaseHosts) {
        self.configuration = configuration
        self.hosts = hosts
    }

    /// What came of running a transaction's body once.
    struct Attempt<Output: Sendable>: Sendable {
        var result: Result<Output, PostgresError>
        /// Whether it failed only because of what the connection, gone now, had prepared.
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

    /// On the executor that the task prefers, which is this worker's thread.
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
            // A request to cancel that is still under way must not meet somebody else's statement.
            if cancellation.disarm() != nil { connection.retire() }
        }
        do {
            return try connection.transaction(settings: configuration.transactionSettings(for: .write), body)
        } catch {
            guard error.sqlState == .queryCanceled, let reason = cancellation.reason else { throw error }
            throw reason
        }
    }
}

/// Carries the wish to end a transaction to the server, while it runs.
private final class Cancellation: Sendable {
    private struct State {
        var handle: CancelHandle?
        var reason: PostgresError?
    }

    private let state = Mutex(State())

    /// Why the transaction is to end, if it is.
    var reason: PostgresError? { state.withLock(\.reason) }

    private var isArmed: Bool { state.withLock { $0.handle != nil } }

    /// From now on `handle` is used to cancel; unless that was asked for before, for the reason returned.
    func arm(_ handle: CancelHandle?) -> PostgresError? {
        state.withLock { state in
            state.handle = handle
            return state.reason
        }
    }

    /// From now on nothing is cancelled. Returns the reason if something was.
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
        // The request is a connection of its own, and blocks; whoever cancels must not. It is lost on a server that has
        // not begun with the statement yet, and so repeated.
        startThread {
            while self.isArmed {
                handle.cancel()
                usleep(20_000)
            }
        }
    }
}
