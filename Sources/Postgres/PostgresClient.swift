import Metrics
package import Spans
import Synchronization
import Tracing

/// The program's access to PostgreSQL: a few connections, shared by all callers.
///
/// Statements of many callers are sent together in libpq's pipeline mode, driven by one thread. A caller waits without
/// holding a thread and decodes its rows itself. Reads and write batches have their own connections and queues;
/// interactive transactions lease a connection. Every queue and every wait is bounded.
///
/// All methods can be called from any number of tasks at once. A cancelled task stops waiting at once. A statement that
/// it sent on a shared connection still runs, because cancelling it would hit other callers.
package final class PostgresClient: Sendable {
    private enum Lifecycle {
        case notStarted
        case running
        case ended
    }

    package let configuration: PostgresConfiguration
    private let core: ClientCore
    private let metrics: PostgresMetrics?
    private let spans: Spans
    private let lifecycle = Mutex(Lifecycle.notStarted)

    /// Starts nothing: callers wait until `run` is called.
    package init(
        configuration: PostgresConfiguration,
        observer: (any PostgresObserver)? = nil,
        metrics: PostgresMetrics? = nil,
        spans: Spans = .off
    ) {
        self.configuration = configuration
        self.metrics = metrics
        self.spans = spans
        core = ClientCore(configuration, observer: observer, metrics: metrics)
    }

    /// Connects, serves and reconnects until `shutDown` is called or the task is cancelled. Accepted work is then
    /// finished, for at most `PostgresConfiguration.drainWait`. Afterwards no caller waits.
    ///
    /// Runs once: later calls return at once.
    package func run() async {
        let starts = lifecycle.withLock { lifecycle in
            guard lifecycle == .notStarted else { return false }
            lifecycle = .running
            return true
        }
        guard starts else { return }
        await withTaskCancellationHandler {
            await runOnNewThread { [core] in Reactor(core).run() }
        } onCancel: {
            shutDown()
        }
        lifecycle.withLock { $0 = .ended }
    }

    /// Refuses new work and makes `run` return. Returns at once.
    package func shutDown() {
        core.close()
        let neverRan = lifecycle.withLock { lifecycle in
            defer { if lifecycle == .notStarted { lifecycle = .ended } }
            return lifecycle == .notStarted
        }
        if neverRan { core.failWaiting(PostgresError(.shutDown, "client was shut down")) }
    }

    // MARK: Reads

    /// Returns the rows of `query`, which must change nothing: the server refuses writes. It is sent again if a
    /// connection is lost or another caller's statement fails beside it.
    ///
    /// A lookup may share its statement with equal lookups of other callers. Each gets its own rows and its own
    /// failure.
    /// - Throws: `.server`, `.connectionLost`, `.unavailable`, `.queueFull`, `.queueTimeout`, `.statementTimeout`,
    ///   `.cancelled`, `.shutDown`, `.decoding`, `.tooManyRows`, `.valueTooLarge`.
    package func read<Row>(_ query: Query<Row>) async throws(PostgresError) -> [Row] {
        try await findEngine(for: query.sql)
        let statement = named(query.sql)
        let job = Job([statement], merging: query.keyColumn.flatMap { merging(statement, keyColumn: $0) })
        let results = try await submit([job], to: .read)
        return try results[0].decode(rowsMax: configuration.rowsMax)
    }

    /// Returns the rows of several queries, sent together. Each sees what was committed when it runs, so two of them
    /// can see different states of the database. Queries that are no lookups run in the given order; lookups run at any
    /// point.
    /// - Throws: as `read` of one query, if any of them fails.
    package func read<each Row>(
        _ queries: repeat Query<each Row>
    ) async throws(PostgresError) -> (repeat [each Row]) {
        var plain: [NamedStatement] = []
        var lookups: [Job] = []
        for query in repeat each queries {
            try await findEngine(for: query.sql)
            let statement = named(query.sql)
            if let keyColumn = query.keyColumn {
                lookups.append(Job([statement], merging: merging(statement, keyColumn: keyColumn)))
            } else {
                plain.append(statement)
            }
        }
        let results = try await submit((plain.isEmpty ? [] : [Job(plain)]) + lookups, to: .read)
        var answers = Answers(plain: results.prefix(plain.count), lookups: results.dropFirst(plain.count))
        let rowsMax = configuration.rowsMax
        return (repeat try answers.takeRows(of: each queries, rowsMax: rowsMax))
    }

    /// Like `read` of several queries, for any number of queries with one type of row.
    package func read<Row>(_ queries: [Query<Row>]) async throws(PostgresError) -> [[Row]] {
        guard !queries.isEmpty else { return [] }
        for query in queries { try await findEngine(for: query.sql) }
        let plain = queries.filter { $0.keyColumn == nil }.map { named($0.sql) }
        let lookups = queries.compactMap { query in
            query.keyColumn.map { keyColumn in
                let statement = named(query.sql)
                return Job([statement], merging: merging(statement, keyColumn: keyColumn))
            }
        }
        let results = try await submit((plain.isEmpty ? [] : [Job(plain)]) + lookups, to: .read)
        var answers = Answers(plain: results.prefix(plain.count), lookups: results.dropFirst(plain.count))
        var rows: [[Row]] = []
        for query in queries { rows.append(try answers.takeRows(of: query, rowsMax: configuration.rowsMax)) }
        return rows
    }

    /// The answers to several queries, with the answers to lookups apart.
    private struct Answers {
        var plain: ArraySlice<ResultSet>
        var lookups: ArraySlice<ResultSet>

        /// Returns the rows of the next query, which is `query`.
        mutating func takeRows<Row>(of query: Query<Row>, rowsMax: Int) throws(PostgresError) -> [Row] {
            let result = query.keyColumn == nil ? plain.removeFirst() : lookups.removeFirst()
            return try result.decode(rowsMax: rowsMax)
        }
    }

    // MARK: Writes

    /// Applies the statements of `batch` as one transaction, in one round trip. Returns once the commit is confirmed.
    ///
    /// Never sent twice, unless the server has reported that nothing of it was applied. A shared batch may be applied
    /// in one transaction with others.
    /// - Throws: as `read`, and `.commitOutcomeUnknown` if the batch was sent and neither success nor failure came
    ///   back: the connection broke, the server did not answer in time, or the task was cancelled. After any other
    ///   error nothing of the batch has been or will be applied.
    @discardableResult
    package func write(_ batch: WriteBatch) async throws(PostgresError) -> WriteResult {
        let start = currentInstant()
        defer { metrics?.timer(ofCall: batch.name.description).record(since: start) }
        guard !batch.isEmpty else { return WriteResult(results: [], rowsMax: configuration.rowsMax) }
        for statement in batch.statements { try await findEngine(for: statement) }
        let statements = batch.statements.map(named)
        let span = spans.call(batch.name, statementCount: statements.count)
        defer { span?.end() }
        func send() async throws(PostgresError) -> [ResultSet] {
            let merging = batch.isShared ? Merging(statements, order: batch.order) : nil
            return try await submit([Job(statements, merging: merging)], to: .write)
        }
        let results: [ResultSet]
        do throws(PostgresError) {
            do throws(PostgresError) {
                results = try await send()
            } catch {
                guard error.meansNewPartition else { throw error }
                results = try await send()
            }
        } catch {
            span?.fail(error)
            core.writeFailed(error)
            throw error
        }
        if core.areWritesRefused { core.writeDone(results) }
        return WriteResult(results: batch.isShared ? [] : results, rowsMax: configuration.rowsMax)
    }

    /// Returns the answers to the statements of `jobs`, in their order.
    private func submit(_ jobs: [Job], to name: PostgresLane) async throws(PostgresError) -> [ResultSet] {
        try check(jobs)
        // A cancelled caller starts nothing. After this point its statement may be answered before the cancellation is
        // noticed.
        guard !Task.isCancelled else { throw PostgresError(.cancelled, "the task was cancelled") }
        let lane = core.lane(name)
        let readSpans = name == .read && spans.areRecorded ? jobs.map(spans.reads) : []
        defer { for span in readSpans.joined() { span.end() } }
        let start = currentInstant()
        switch lane.state.withLock({ $0.submit(jobs, now: start) }) {
        case .queued(let wakes):
            if wakes { core.wake() }
        case .refused(let code):
            let error = refusal(code)
            for span in readSpans.joined() { span.fail(error) }
            throw error
        }
        var results: [ResultSet] = []
        for (index, job) in jobs.enumerated() {
            let answer = await job.reply.value(cancelled: { .failure(lane.cancelled(isStarted: $0)) })
            if name == .read { for statement in job.statements { statement.timer?.record(since: start) } }
            switch answer {
            case .success(let answers):
                results += answers
                if !readSpans.isEmpty { for span in readSpans[index] { span.end() } }
            case .failure(let error):
                for span in readSpans.dropFirst(index).joined() { span.fail(error) }
                for other in jobs[(index + 1)...] { other.fail(error) }
                throw error
            }
        }
        return results
    }

    private func check(_ jobs: [Job]) throws(PostgresError) {
        guard jobs.reduce(0, { $0 + $1.statementCount }) <= configuration.statementsPerCallMax else {
            throw PostgresError(.misuse, "more than \(configuration.statementsPerCallMax) statements in one call")
        }
        for job in jobs where !job.statements.allSatisfy({ $0.sql.fits(valueBytesMax: configuration.valueBytesMax) }) {
            throw PostgresError(.valueTooLarge, "parameter is longer than \(configuration.valueBytesMax) bytes")
        }
    }

    /// True if statements are sent in their form for Citus.
    private var isOnCitus: Bool { engine == .citus }

    /// Waits for the first connection, if `statement` has another form for Citus and the engine is not known yet.
    private func findEngine(for statement: SQL) async throws(PostgresError) {
        guard engine == nil, statement.onCitus != nil else { return }
        _ = try await submit([Job([named("SELECT 1")])], to: .read)
    }

    /// The form for Citus of a lookup has no array of keys, so it cannot be merged.
    private func merging(_ statement: NamedStatement, keyColumn: Int) -> Merging? {
        statement.sql.mergePoint == nil ? nil : Merging([statement], keyColumn: keyColumn)
    }

    private func named(_ statement: SQL) -> NamedStatement {
        let statement = isOnCitus ? statement.onCitus ?? statement : statement
        let entry = core.catalog.entry(of: statement)
        return NamedStatement(
            sql: statement,
            name: configuration.statementMode == .named ? entry?.name : nil,
            timer: entry?.timer
        )
    }

    private func refusal(_ code: PostgresError.Code) -> PostgresError {
        switch code {
        case .queueFull: PostgresError(code, "\(configuration.queueMax) callers wait already")
        case .shutDown: PostgresError(code, "client was shut down")
        default: PostgresError(code, "database cannot be reached")
        }
    }

    // MARK: Interactive transactions

    /// Runs `body` in a transaction on a leased connection, and commits.
    ///
    /// `body` is synchronous, so it cannot wait for anything outside the database while it holds locks. It runs on the
    /// connection's thread, with the task's locals. It must be safe to run again: after a serialization failure, a
    /// deadlock or a connection lost before the commit it runs again after a short wait, up to
    /// `PostgresConfiguration.transactionAttemptsMax` times in all. Cancelling the task cancels the running statement,
    /// and no further one is sent.
    /// - Parameters:
    ///   - name: for logs and metrics; a closed set. The observer gets it if the body runs again.
    ///   - body: the statements.
    /// - Throws: the error of `body`, and as `write`.
    /// - Returns: the result of `body` in the run that was committed.
    package func transaction<Output: Sendable>(
        _ name: StaticString,
        _ body: @escaping @Sendable (inout Transaction) throws(PostgresError) -> Output
    ) async throws(PostgresError) -> Output {
        let start = currentInstant()
        defer { metrics?.timer(ofCall: name.description).record(since: start) }
        let span = spans.call(name)
        defer { span?.end() }
        var attempt = 1
        while true {
            if core.lane(.write).state.withLock({ $0.unreachableSince != nil }) {
                let error = refusal(.unavailable)
                span?.fail(error)
                throw error
            }
            let outcome: LeaseWorker.Attempt<Output>
            do throws(PostgresError) {
                outcome = try await core.leases.withWorker(waits: core.wake) { await $0.transaction(body) }
            } catch {
                span?.fail(error)
                throw error
            }
            switch outcome.result {
            case .success(let output):
                return output
            case .failure(let error):
                core.writeFailed(error)
                let mayRunAgain = outcome.hadStalePreparation || isTransient(error)
                guard mayRunAgain, attempt < configuration.transactionAttemptsMax, !Task.isCancelled else {
                    span?.fail(error)
                    throw error
                }
                core.observe(.transactionRepeated(name: name.description, error))
                await pause(attempt: attempt)
                attempt += 1
            }
        }
    }

    private func isTransient(_ error: PostgresError) -> Bool {
        error.code == .connectionLost || error.sqlState == .serializationFailure || error.sqlState == .deadlockDetected
            || error.meansNewPartition
    }

    /// Waits up to 2 ms, 4 ms, 8 ms, …: long enough for the other transaction to end, and at random so that two callers
    /// differ.
    private func pause(attempt: Int) async {
        let microsecondsMax = 1000 << min(attempt, 6)
        let microseconds = Int.random(in: microsecondsMax / 4...microsecondsMax)
        try? await Task.sleep(for: .microseconds(microseconds))
    }

    // MARK: State

    /// The engine of the database; `nil` before the first connection. Cheap.
    package var engine: DatabaseEngine? { core.engine }

    /// Sets the gauges of queues and connections. Cheap.
    package func report() {
        metrics?.set(state)
    }

    /// The reason why the server refused the last write, within the last seconds; `nil` otherwise. Cheap.
    package var writeRefusal: PostgresError? { core.writeRefusal }

    /// A snapshot; cheap.
    var state: PostgresClientState {
        let lanes = core.lanes.map { lane in
            lane.state.withLock { state in
                (
                    lane: PostgresClientState.Lane(
                        connections: state.connectionCount,
                        busyConnections: state.busyCount,
                        queued: state.queuedCount,
                        statistics: state.statistics
                    ),
                    unreachableSince: state.unreachableSince
                )
            }
        }
        let reachability: PostgresClientState.Reachability =
            if let since = lanes.compactMap(\.unreachableSince).min() {
                .unreachable(since: since)
            } else if lanes.allSatisfy({ $0.lane.connections > 0 }) {
                .connected
            } else {
                .connecting
            }
        return PostgresClientState(
            reachability: reachability,
            areWritesRefused: core.areWritesRefused,
            read: lanes[0].lane,
            write: lanes[1].lane,
            leasesInUse: core.leases.inUse,
            leaseWaiters: core.leases.waiters
        )
    }
}

extension PostgresError {
    /// True if a row was on its way to the default partition while a partition for it was created. Nothing was written,
    /// and the same statement finds the new partition. PostgreSQL names no constraint, unlike for every other 23514.
    fileprivate var meansNewPartition: Bool { sqlState == .checkViolation && constraint == nil }
}
