import Metrics
import MetricsTestKit
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct MetricsTests {
    @Test func `calls are measured by their names, and calls without a name together`() async throws {
        let recorded = TestMetrics()
        var configuration = try await TestCluster.shared.get().makeDatabase()
        configuration.queueWait = .seconds(60)
        configuration.readStatementTimeout = .seconds(60)
        configuration.writeStatementTimeout = .seconds(60)
        try await execute("CREATE TABLE things (n int8 PRIMARY KEY)", on: configuration)
        let client = PostgresClient(
            configuration: configuration,
            metrics: PostgresMetrics(recorded, calls: ["read-things", "thing-add", "thing-change"])
        )
        async let running: Void = client.run()
        for number in 0..<3 {
            var batch = WriteBatch("thing-add")
            batch.append("INSERT INTO things VALUES (\(Int64(number)))")
            _ = try await client.write(batch)
        }
        _ = try await client.read("SELECT n FROM \(table: "things")" as Query<Int64>)
        _ = try await client.read(
            Query<Int64>(keyColumn: 0, "SELECT n FROM \(table: "things") WHERE n = ANY(\([Int64(1)]))"),
            "SELECT 1::int8" as Query<Int64>
        )
        try await client.transaction("thing-change") { tx throws(PostgresError) in
            _ = try tx.execute("UPDATE things SET n = n + 10")
        }
        // Failures are measured too.
        await #expect(throws: PostgresError.self) {
            var batch = WriteBatch("thing-add")
            batch.append("INSERT INTO things VALUES (10)")
            _ = try await client.write(batch)
        }
        func count(_ label: String, _ name: String, _ value: String) throws -> Int {
            try recorded.expectTimer(label, [(name, value)]).values.count
        }
        #expect(try count(PostgresMetrics.callSeconds, "call", "thing-add") == 4)
        #expect(try count(PostgresMetrics.callSeconds, "call", "read-things") == 2)
        #expect(try count(PostgresMetrics.callSeconds, "call", "thing-change") == 1)
        #expect(try count(PostgresMetrics.callSeconds, "call", PostgresMetrics.otherCall) == 1)
        #expect(try count(PostgresMetrics.queueWaitSeconds, "queue", "write") == 4)
        #expect(try count(PostgresMetrics.queueWaitSeconds, "queue", "read") == 3)
        #expect(try count(PostgresMetrics.queueWaitSeconds, "queue", "lease") == 1)
        client.report()
        #expect(try recorded.expectMeter(PostgresMetrics.connections, [("queue", "read")]).lastValue ?? 0 > 0)
        #expect(try recorded.expectMeter(PostgresMetrics.queued, [("queue", "lease")]).lastValue == 0)
        client.shutDown()
        await running
    }

    @Test func `the wait for a connection is measured`() async throws {
        let recorded = TestMetrics()
        var configuration = try await TestCluster.shared.get().makeDatabase()
        configuration.writeConnections = 1
        configuration.queueWait = .seconds(60)
        configuration.writeStatementTimeout = .seconds(60)
        let client = PostgresClient(configuration: configuration, metrics: PostgresMetrics(recorded, calls: ["nap"]))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var batch = WriteBatch("nap")
                    batch.append("SELECT pg_sleep(0.2)")
                    _ = try await client.write(batch)
                }
            }
            // Nothing is sent before all three wait.
            try await eventually { client.state.write.queued == 3 }
            group.addTask { await client.run() }
            for _ in 0..<3 { try await group.next() }
            client.shutDown()
            try await group.waitForAll()
        }
        // The last call waited for the naps of the two before it.
        let waits = try recorded.expectTimer(PostgresMetrics.queueWaitSeconds, [("queue", "write")]).values
        #expect(waits.count == 3 && waits.allSatisfy { $0 >= 0 })
        #expect(waits.max() ?? 0 >= 400_000_000)
        let calls = try recorded.expectTimer(PostgresMetrics.callSeconds, [("call", "nap")]).values
        #expect(calls.max() ?? 0 >= 600_000_000)
    }

    @Test func `a read is measured by the first table that its statement marks`() {
        let fragment: SQL = "SELECT a FROM \(table: "users")"
        let statement: SQL = "\(fragment) JOIN \(table: "sessions") USING (a) WHERE b = \(Int64(1))"
        #expect(statement.table?.description == "users" && fragment.asOnePiece.table?.description == "users")
        #expect(statement.text == "SELECT a FROM users JOIN sessions USING (a) WHERE b = $1")
        #expect(("SELECT a FROM users" as SQL).table == nil)
    }
}
