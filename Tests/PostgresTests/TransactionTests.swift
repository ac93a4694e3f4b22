import Glibc
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct TransactionTests {
    @Test func `a transaction commits what its body did`() async throws {
        try await withClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            let sum = try await client.transaction("sum") { tx throws(PostgresError) in
                try tx.execute("INSERT INTO t SELECT generate_series(1, \(Int64(4)))")
                try tx.execute(script: "INSERT INTO t VALUES (5); INSERT INTO t VALUES (6)")
                return try tx.fetch("SELECT sum(x)::int8 FROM t" as Query<Int64>)
            }
            #expect(sum == [21])
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [6])
        }
    }

    @Test func `a transaction whose body throws is rolled back`() async throws {
        try await withClient(.adjusted { $0.leasedConnections = 1 }) { client, configuration in
            try await execute("CREATE TABLE t (x int8 PRIMARY KEY)", on: configuration)
            let error = await failure {
                try await client.transaction("twice") { tx throws(PostgresError) in
                    try tx.execute("INSERT INTO t VALUES (1)")
                    try tx.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.code == .server(.uniqueViolation))
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [0])
            // The same connection serves the next transaction.
            try await client.transaction("once") { tx throws(PostgresError) in
                _ = try tx.execute("INSERT INTO t VALUES (1)")
            }
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [1])
        }
    }

    @Test func `a body that ignores a failure cannot commit`() async throws {
        try await withClient { client, configuration in
            try await execute("CREATE TABLE t (x int8 PRIMARY KEY)", on: configuration)
            let error = await failure {
                try await client.transaction("swallows") { tx throws(PostgresError) in
                    try tx.execute("INSERT INTO t VALUES (1)")
                    _ = try? tx.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.code == .rolledBack)
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [0])
        }
    }

    @Test func `serialization failures run the body again until all succeed`() async throws {
        try await withClient(.adjusted { $0.transactionAttemptsMax = 50 }) { client, configuration in
            try await execute("CREATE TABLE t (x int8); INSERT INTO t VALUES (0)", on: configuration)
            let runs = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await client.transaction("increment") { tx throws(PostgresError) in
                            runs.increment()
                            try tx.execute(script: "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                            let x = try tx.fetch("SELECT x FROM t" as Query<Int64>).first ?? 0
                            try tx.execute("UPDATE t SET x = \(x + 1)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await client.expect("SELECT x FROM t" as Query<Int64>, returns: [20])
            #expect(runs.value >= 20)
        }
    }

    @Test func `a deadlock runs one body again and both succeed`() async throws {
        try await withClient { client, configuration in
            try await execute(
                "CREATE TABLE t (id int8, x int8); INSERT INTO t VALUES (1, 0), (2, 0)",
                on: configuration
            )
            let runs = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (first, second) in [(Int64(1), Int64(2)), (2, 1)] {
                    group.addTask {
                        try await client.transaction("crossing") { tx throws(PostgresError) in
                            let run = runs.increment()
                            try tx.execute("UPDATE t SET x = x + 1 WHERE id = \(first)")
                            // The first two runs each wait until the other holds its first row.
                            if run <= 2 { try tx.execute(script: "SELECT pg_sleep(0.2)") }
                            try tx.execute("UPDATE t SET x = x + 1 WHERE id = \(second)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await client.expect("SELECT sum(x)::int8 FROM t" as Query<Int64>, returns: [4])
        }
    }

    @Test func `cancelling the task cancels the statement on the server`() async throws {
        try await withClient(
            .adjusted {
                $0.leasedConnections = 1
                $0.writeStatementTimeout = .seconds(600)
            }
        ) { client, configuration in
            let started = Wakeup()
            let task = Task {
                await failure {
                    try await client.transaction("sleeps") { tx throws(PostgresError) in
                        try tx.execute(script: "SELECT 1")
                        started.signal()
                        try tx.execute(script: "SELECT pg_sleep(600)")
                    }
                }
            }
            await runOnNewThread { started.wait() }
            task.cancel()
            let error = await task.value
            #expect(error?.code == .cancelled)
            let answer = try await client.transaction("next") { tx throws(PostgresError) in
                try tx.fetch("SELECT 1::int8" as Query<Int64>)
            }
            #expect(answer == [1])
        }
    }

    @Test func `a cancelled task sends no further statement and commits nothing`() async throws {
        try await withClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            let started = Wakeup()
            let cancelled = Wakeup()
            let task = Task {
                await failure {
                    try await client.transaction("inserts") { tx throws(PostgresError) in
                        try tx.execute("INSERT INTO t VALUES (1)")
                        started.signal()
                        cancelled.wait()
                        try tx.execute("INSERT INTO t VALUES (2)")
                    }
                }
            }
            await runOnNewThread { started.wait() }
            task.cancel()
            cancelled.signal()
            let error = await task.value
            #expect(error?.code == .cancelled)
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [0])
        }
    }

    /// Holds the only lease while `body` runs.
    private func whileLeased(_ client: PostgresClient, _ body: () async throws -> Void) async throws {
        let started = Wakeup()
        let release = Wakeup()
        async let holder: Void = client.transaction("holds") { _ throws(PostgresError) in
            started.signal()
            release.wait()
        }
        await runOnNewThread { started.wait() }
        defer { release.signal() }
        try await body()
        release.signal()
        try await holder
    }

    @Test func `a lease that is not returned in time is a queue timeout`() async throws {
        try await withClient(
            .adjusted {
                $0.leasedConnections = 1
                $0.queueWait = .milliseconds(20)
            }
        ) { client, _ in
            try await whileLeased(client) {
                let error = await failure { try await client.transaction("waits") { _ throws(PostgresError) in } }
                #expect(error?.code == .queueTimeout)
            }
            try await client.transaction("free") { _ throws(PostgresError) in }
        }
    }

    @Test func `a caller that waits for a lease gets it or gives up, and one beyond the limit is refused at once`()
        async throws
    {
        try await withClient(
            .adjusted {
                $0.leasedConnections = 1
                $0.queueMax = 1
            }
        ) { client, _ in
            try await whileLeased(client) {
                let waiter = Task {
                    await failure { try await client.transaction("waits") { _ throws(PostgresError) in } }
                }
                try await eventually { client.state.leaseWaiters > 0 }
                let refused = await failure { try await client.transaction("refused") { _ throws(PostgresError) in } }
                #expect(refused?.code == .queueFull)
                waiter.cancel()
                let cancelled = await waiter.value
                #expect(cancelled?.code == .cancelled)
            }
            try await client.transaction("free") { _ throws(PostgresError) in }
            #expect(client.state.leasesInUse == 0)
        }
    }

    @Test func `bodies that block do not block the program's threads`() async throws {
        let bodies = 8
        try await withClient(.adjusted { $0.leasedConnections = bodies }) { client, _ in
            let arrived = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<bodies {
                    group.addTask {
                        try await client.transaction("meets") { _ throws(PostgresError) in
                            arrived.increment()
                            // Each waits for all others, which are more than the machine has cores.
                            while arrived.value < bodies { usleep(1000) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private enum Request {
        @TaskLocal static var id = 0
    }

    @Test func `a body sees its task's locals`() async throws {
        try await withClient { client, _ in
            let seen = try await Request.$id.withValue(42) {
                try await client.transaction("local") { _ throws(PostgresError) in Request.id }
            }
            #expect(seen == 42)
        }
    }

    @Test func `a stale plan in a transaction runs the body again`() async throws {
        try await withClient(.adjusted { $0.leasedConnections = 1 }) { client, configuration in
            try await execute("CREATE TABLE t (id int8); INSERT INTO t VALUES (1)", on: configuration)
            let runs = Counter()
            let body: @Sendable (inout Transaction) throws(PostgresError) -> Int = { tx throws(PostgresError) in
                runs.increment()
                return try tx.execute("SELECT * FROM t WHERE id = \(Int64(1))")
            }
            #expect(try await client.transaction("selects", body) == 1)
            try await execute("ALTER TABLE t ADD name text", on: configuration)
            let rows = try await client.transaction("selects", body)
            #expect(rows == 1)
            #expect(runs.value == 3)
        }
    }
}
