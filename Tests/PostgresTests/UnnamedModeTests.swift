import Testing

@testable import Postgres

/// The mode for connection poolers that support neither prepared statements nor startup options.
@Suite(.timeLimit(.minutes(20))) struct UnnamedModeTests {
    private func withUnnamedClient(
        _ adjustment: Adjustment = .none,
        _ body: @escaping @Sendable (PostgresClient, PostgresConfiguration) async throws -> Void
    ) async throws {
        let unnamed = Adjustment.adjusted {
            $0.statementMode = .unnamed
            adjustment.apply(&$0)
        }
        try await withClient(unnamed, body)
    }

    @Test func `nothing stays prepared in a session`() async throws {
        try await withUnnamedClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            for n in Int64(0)..<10 { try await client.expect("SELECT \(n)" as Query<Int64>, returns: [n]) }
            try await client.expect("SELECT count(*) FROM pg_prepared_statements" as Query<Int64>, returns: [0])
        }
    }

    @Test func `limits hold within a transaction and do not change the session`() async throws {
        try await withUnnamedClient(
            .adjusted {
                $0.readConnections = 1
                $0.readStatementTimeout = .milliseconds(1500)
                $0.writeStatementTimeout = .milliseconds(2500)
            }
        ) { client, _ in
            let timeout: Query<String> = "SELECT current_setting('statement_timeout')"
            try await client.expect(timeout, returns: ["1500ms"])
            var batch = WriteBatch("timeout")
            batch.append("SELECT current_setting('statement_timeout')")
            let result = try await client.write(batch)
            #expect(try result.rows(0, as: String.self) == ["2500ms"])
            let leased = try await client.transaction("timeout") { tx throws(PostgresError) in try tx.fetch(timeout) }
            #expect(leased == ["2500ms"])
            let sessions = try await client.read(
                """
                SELECT count(*) FROM pg_settings
                WHERE name IN ('statement_timeout', 'default_transaction_read_only') AND source = 'client'
                """ as Query<Int64>
            )
            #expect(sessions == [0])
        }
    }

    @Test func `a read that writes is refused in this mode`() async throws {
        try await withUnnamedClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            let error = await failure { try await client.read("INSERT INTO t VALUES (1) RETURNING x" as Query<Int64>) }
            #expect(error?.code == .server(.readOnlyTransaction))
        }
    }

    @Test func `concurrent calls, batches and transactions work as in the other mode`() async throws {
        try await withUnnamedClient { client, configuration in
            try await execute("CREATE TABLE t (x int8 PRIMARY KEY)", on: configuration)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in Int64(0)..<100 {
                    group.addTask {
                        if task % 4 == 0 {
                            let error = await failure {
                                try await client.read("SELECT 1 / \(Int64(0))" as Query<Int64>)
                            }
                            #expect(error?.code == .server(.divisionByZero))
                        } else if task % 4 == 1 {
                            var batch = WriteBatch("insert")
                            batch.append("INSERT INTO t VALUES (\(task)) RETURNING x")
                            let result = try await client.write(batch)
                            #expect(try result.rows(0, as: Int64.self) == [task])
                        } else {
                            try await client.expect("SELECT \(task)" as Query<Int64>, returns: [task])
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [25])
        }
    }
}
