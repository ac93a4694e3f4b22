import Glibc
import Testing

@testable import Postgres

/// The errors of callers after timeouts, cancellation, broken connections and a stopped server.
@Suite(.timeLimit(.minutes(20))) struct FailureTests {
    /// At most two backends, easy to find and to kill.
    private func withSmallClient(
        _ adjustment: Adjustment = .none,
        of configuration: PostgresConfiguration? = nil,
        _ body: @escaping @Sendable (PostgresClient, PostgresConfiguration) async throws -> Void
    ) async throws {
        let small = Adjustment.adjusted {
            $0.readConnections = 1
            $0.writeConnections = 1
            $0.leasedConnections = 1
            $0.reconnectDelayMin = .milliseconds(1)
            $0.reconnectDelayMax = .milliseconds(20)
            adjustment.apply(&$0)
        }
        try await withClient(small, of: configuration, body)
    }

    private let sleep: Query<Bool> = "SELECT true FROM pg_sleep(600)"
    private let one: Query<Int64> = "SELECT 1::int8"

    /// Waits until some statement containing `text` runs in the database.
    private func waitUntilRunning(_ text: String, on configuration: PostgresConfiguration) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            let running: Query<Int64> = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
                AND strpos(query, \(text)) > 0
                """
            let deadline = currentInstant() + .seconds(60)
            while try connection.query(running) == [0], currentInstant() < deadline { usleep(1000) }
        }
    }

    /// Ends the other sessions of the database.
    private func killSessions(of configuration: PostgresConfiguration) async throws {
        try await execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """,
            on: configuration
        )
    }

    // MARK: Time

    @Test func `a caller stops waiting if the server does not answer in time, and the connection is replaced`()
        async throws
    {
        try await withSmallClient(
            .adjusted {
                $0.readStatementTimeout = .seconds(2)
                $0.answerGrace = .seconds(2)
            }
        ) { client, configuration in
            // The setting is per session. It disables the server's own limit, as if the server had stopped.
            _ = await failure { try await client.read("SET statement_timeout = 0" as Query<Int64>) }
            let error = await failure { try await client.read(sleep) }
            #expect(error?.code == .statementTimeout)
            try await eventually { client.state.read.statistics.connectionsLost > 0 }
            try await client.expect(one, returns: [1])
        }
    }

    @Test func `a write that is not answered in time has an unknown outcome`() async throws {
        try await withSmallClient(
            .adjusted {
                $0.writeStatementTimeout = .seconds(2)
                $0.answerGrace = .seconds(2)
            }
        ) { client, configuration in
            var batch = WriteBatch("sleeps")
            batch.append("SET LOCAL statement_timeout = 0")
            batch.append("SELECT pg_sleep(600)")
            let error = await failure { [batch] in try await client.write(batch) }
            #expect(error?.code == .commitOutcomeUnknown)
        }
    }

    @Test func `a statement that is not sent in time fails with a queue timeout`() async throws {
        try await withSmallClient(.adjusted { $0.queueWait = .seconds(2) }) { client, configuration in
            try await eventually { client.state.reachability == .connected }
            let sleeper = Task { await failure { try await client.read(sleep) } }
            try await eventually { client.state.read.busyConnections > 0 }
            let error = await failure { try await client.read(one) }
            #expect(error?.code == .queueTimeout)
            #expect(client.state.read.statistics.queueTimeouts == 1)
            sleeper.cancel()
            let cancelled = await sleeper.value
            #expect(cancelled?.code == .cancelled)
        }
    }

    @Test func `a full queue refuses at once`() async throws {
        try await withSmallClient(.adjusted { $0.queueMax = 3 }) { client, _ in
            try await client.expect(one, returns: [1])
            let sleeper = Task { await failure { try await client.read(sleep) } }
            try await eventually { client.state.read.busyConnections > 0 }
            let waiting = (0..<3).map { _ in Task { await failure { try await client.read(one) } } }
            try await eventually { client.state.read.queued >= 3 }
            let error = await failure { try await client.read(one) }
            #expect(error?.code == .queueFull)
            #expect(client.state.read.statistics.refusedQueueFull == 1)
            for task in waiting { task.cancel() }
            sleeper.cancel()
            for task in waiting {
                let error = await task.value
                #expect(error?.code == .cancelled)
            }
            _ = await sleeper.value
        }
    }

    // MARK: Cancellation

    @Test func `cancelling a caller returns at once and does not affect other callers`() async throws {
        try await withSmallClient { client, configuration in
            for _ in 0..<20 {
                let sleeper = Task {
                    await failure { try await client.read("SELECT true FROM pg_sleep(0.02)" as Query<Bool>) }
                }
                let neighbours = (0..<8).map { n in Task { try await client.read("SELECT \(Int64(n))" as Query<Int64>) }
                }
                sleeper.cancel()
                let error = await sleeper.value
                #expect(error == nil || error?.code == .cancelled)
                for (n, task) in neighbours.enumerated() {
                    let answer = try await task.value
                    #expect(answer == [Int64(n)])
                }
            }
            #expect(client.state.read.statistics.connectionsLost == 0)
        }
    }

    @Test func `a write cancelled before it is sent is not applied, and one cancelled later has an unknown outcome`()
        async throws
    {
        try await withSmallClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            func batch(_ x: Int64) -> WriteBatch {
                var batch = WriteBatch("insert")
                batch.append("INSERT INTO t VALUES (\(x))")
                batch.append("SELECT pg_advisory_xact_lock(1)")
                return batch
            }
            let held = Wakeup()
            let release = Wakeup()
            async let holder: Void = PostgresConnection.withConnection(configuration) { connection in
                try connection.execute(script: "SELECT pg_advisory_lock(1)")
                held.signal()
                release.wait()
            }
            await runOnNewThread { held.wait() }
            let sent = Task { await failure { try await client.write(batch(1)) } }
            try await waitUntilRunning("advisory_xact_lock", on: configuration)
            let queued = Task { await failure { try await client.write(batch(2)) } }
            try await eventually { client.state.write.queued > 0 }
            queued.cancel()
            sent.cancel()
            let queuedError = await queued.value
            let sentError = await sent.value
            #expect(queuedError?.code == .cancelled)
            #expect(sentError?.code == .commitOutcomeUnknown)
            release.signal()
            try await holder
            // The batch that was sent is applied in the end, the other one is not.
            _ = try await client.write(batch(3))
            try await client.expect("SELECT x FROM t ORDER BY x" as Query<Int64>, returns: [1, 3])
        }
    }

    @Test func `a call from a cancelled task fails at once`() async throws {
        try await withSmallClient { client, _ in
            try await client.expect(one, returns: [1])
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await failure { try await client.read(one) }
            }
            task.cancel()
            let error = await task.value
            #expect(error?.code == .cancelled)
        }
    }

    // MARK: Lost connections

    @Test func `a read whose backend is killed is sent again on the next connection`() async throws {
        try await withSmallClient { client, configuration in
            try await execute(
                "CREATE SEQUENCE runs; CREATE TABLE gate (open bool); INSERT INTO gate VALUES (false)",
                on: configuration
            )
            let reader = Task {
                try await client.read(
                    "SELECT 7::int8 FROM pg_sleep(CASE WHEN (SELECT open FROM gate) THEN 0 ELSE 600 END)"
                        as Query<Int64>
                )
            }
            try await waitUntilRunning("7::int8", on: configuration)
            try await execute("UPDATE gate SET open = true", on: configuration)
            try await killSessions(of: configuration)
            let answer = try await reader.value
            #expect(answer == [7])
            #expect(client.state.read.statistics.connectionsLost >= 1)
            #expect(client.state.read.statistics.sentAgain == 1)
        }
    }

    @Test func `a read that kills its own backend is given up after a few attempts`() async throws {
        try await withSmallClient { client, _ in
            let suicide: Query<Bool> = "SELECT pg_terminate_backend(pg_backend_pid())"
            let error = await failure { try await client.read(suicide) }
            #expect(error?.code == .connectionLost)
            #expect(client.state.read.statistics.sentAgain == 2)
            try await client.expect(one, returns: [1])
        }
    }

    @Test func `a batch whose backend is killed before its commit is lost, not unknown`() async throws {
        try await withSmallClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            var batch = WriteBatch("killed")
            batch.append("INSERT INTO t VALUES (1)")
            batch.append("SELECT pg_terminate_backend(pg_backend_pid())")
            let error = await failure { [batch] in try await client.write(batch) }
            #expect(error?.code == .connectionLost)
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [0])
        }
    }

    @Test func `killed idle connections are replaced without a failing call`() async throws {
        try await withSmallClient { client, configuration in
            try await client.expect(one, returns: [1])
            for round in 1...5 {
                try await killSessions(of: configuration)
                try await eventually { client.state.read.statistics.connectionsLost >= round }
                try await client.expect(one, returns: [1])
            }
        }
    }

    @Test func `a leased connection that was killed while idle is replaced`() async throws {
        try await withSmallClient(.adjusted { $0.leasedConnections = 1 }) { client, configuration in
            for _ in 0..<3 {
                let answer = try await client.transaction("one") { tx throws(PostgresError) in try tx.fetch(one) }
                #expect(answer == [1])
                try await killSessions(of: configuration)
            }
        }
    }

    // MARK: The server goes away

    @Test func `callers fail at once while the server is stopped, and are served after it restarts`() async throws {
        let cluster = try TestCluster()
        defer { cluster.dispose() }
        try await withSmallClient(of: try cluster.configuration()) { client, configuration in
            try await client.expect(one, returns: [1])
            for mode in ["fast", "immediate"] {
                try cluster.stop(mode: mode)
                try await eventually { if case .unreachable = client.state.reachability { true } else { false } }
                // Each lane notices the failure separately.
                var codes: Set<PostgresError.Code> = []
                while !codes.contains(.unavailable) {
                    if let error = await failure({ try await client.read(one) }) { codes.insert(error.code) }
                }
                let leased = await failure { try await client.transaction("away") { _ throws(PostgresError) in } }
                #expect(leased?.code == .unavailable || leased?.code == .connectionLost)
                try cluster.start()
                try await eventually { await failure { try await client.read(one) } == nil }
                try await eventually { client.state.reachability == .connected }
                var batch = WriteBatch("back")
                batch.append("SELECT 1")
                _ = try await client.write(batch)
                let answer = try await client.transaction("back") { tx throws(PostgresError) in try tx.fetch(one) }
                #expect(answer == [1])
            }
        }
    }

    @Test func `callers fail if the server was never reachable`() async throws {
        let configuration = try PostgresConfiguration(connectionString: "host=/nowhere/at/all dbname=x")
        try await withClient(of: configuration) { client, _ in
            let read = await failure { try await client.read(one) }
            #expect(read?.code == .unavailable)
            var batch = WriteBatch("away")
            batch.append("SELECT 1")
            let write = await failure { [batch] in try await client.write(batch) }
            #expect(write?.code == .unavailable)
            let leased = await failure { try await client.transaction("away") { _ throws(PostgresError) in } }
            #expect(leased?.code == .unavailable)
            #expect(client.state.read.statistics.connectFailures > 0)
        }
    }

    @Test func `an observer gets events of new and lost connections and of failed attempts`() async throws {
        let cluster = try TestCluster()
        defer { cluster.dispose() }
        let listener = Listener()
        let client = PostgresClient(configuration: try cluster.configuration(), observer: listener)
        let run = Task { await client.run() }
        try await eventually { client.state.reachability == .connected }
        #expect(listener.heard { $0 == .connected(.read) })
        #expect(listener.heard { $0 == .connected(.write) })
        try cluster.stop()
        try await eventually {
            listener.heard { if case .connectFailed(.read, _, _) = $0 { true } else { false } }
        }
        #expect(listener.heard { if case .connectionLost(.read, _) = $0 { true } else { false } })
        run.cancel()
        await run.value
    }

    // MARK: Shutting down

    @Test func `shutting down finishes accepted work and refuses new work`() async throws {
        try await withSmallClient { client, configuration in
            try await client.expect(one, returns: [1])
            let readers = (0..<50).map { n in
                Task { try await client.read("SELECT \(Int64(n)) FROM pg_sleep(0.002)" as Query<Int64>) }
            }
            try await eventually { client.state.read.statistics.accepted >= 51 }
            client.shutDown()
            let error = await failure { try await client.read(one) }
            #expect(error?.code == .shutDown)
            let leased = await failure { try await client.transaction("late") { _ throws(PostgresError) in } }
            #expect(leased?.code == .shutDown)
            for (n, task) in readers.enumerated() {
                let answer = try await task.value
                #expect(answer == [Int64(n)])
            }
        }
    }

    @Test func `shutting down waits at most the drain time for a statement that does not end`() async throws {
        try await withSmallClient(.adjusted { $0.drainWait = .milliseconds(50) }) { client, configuration in
            try await client.expect(one, returns: [1])
            let sleeper = Task { await failure { try await client.read(sleep) } }
            var batch = WriteBatch("sleeps")
            batch.append("SELECT pg_sleep(600)")
            let writer = Task { [batch] in await failure { try await client.write(batch) } }
            try await eventually { client.state.read.busyConnections + client.state.write.busyConnections >= 2 }
            let waiter = Task { await failure { try await client.read(one) } }
            try await eventually { client.state.read.queued > 0 }
            let leased = Task {
                await failure {
                    try await client.transaction("sleeps") { tx throws(PostgresError) in _ = try tx.fetch(sleep) }
                }
            }
            try await waitUntilRunning("true FROM pg_sleep", on: configuration)
            try await eventually { client.state.leasesInUse == 1 }
            client.shutDown()
            let codes = (
                read: await sleeper.value?.code, write: await writer.value?.code, queued: await waiter.value?.code
            )
            #expect(codes.read == .shutDown)
            #expect(codes.write == .commitOutcomeUnknown)
            #expect(codes.queued == .shutDown)
            let leasedError = await leased.value
            #expect(leasedError?.code == .shutDown)
        }
    }

    @Test func `shutting down a client that never ran fails its waiting callers`() async throws {
        let client = PostgresClient(configuration: try TestCluster.shared.get().configuration())
        let waiter = Task { await failure { try await client.read(one) } }
        try await eventually { client.state.read.queued > 0 }
        client.shutDown()
        let error = await waiter.value
        #expect(error?.code == .shutDown)
        await client.run()
    }

    @Test func `cancelling the task that runs the client shuts it down`() async throws {
        var configuration = try TestCluster.shared.get().configuration()
        configuration.queueWait = .seconds(60)
        let client = PostgresClient(configuration: configuration)
        let run = Task { await client.run() }
        try await client.expect(one, returns: [1])
        run.cancel()
        await run.value
        let error = await failure { try await client.read(one) }
        #expect(error?.code == .shutDown)
    }
}
