import Testing

@testable import Postgres

/// The modes for connection poolers that support no startup options, and perhaps no prepared statements.
@Suite(.timeLimit(.minutes(20))) struct UnnamedModeTests {
    /// A kind of pooler, by the support that it lacks.
    enum Pooler: CaseIterable {
        case withoutOptions
        case withoutNamedStatements

        func apply(to configuration: inout PostgresConfiguration) {
            switch self {
            case .withoutOptions: configuration.sessionSettings = .transaction
            case .withoutNamedStatements: configuration.statementMode = .unnamed
            }
        }
    }

    private func withClient(
        behind pooler: Pooler = .withoutNamedStatements,
        _ adjustment: Adjustment = .none,
        _ body: @escaping @Sendable (PostgresClient, PostgresConfiguration) async throws -> Void
    ) async throws {
        let adjusted = Adjustment.adjusted {
            pooler.apply(to: &$0)
            adjustment.apply(&$0)
        }
        try await PostgresTests.withClient(adjusted, body)
    }

    @Test func `nothing stays prepared in a session`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            for n in Int64(0)..<10 { try await client.expect("SELECT \(n)" as Query<Int64>, returns: [n]) }
            try await client.expect("SELECT count(*) FROM pg_prepared_statements" as Query<Int64>, returns: [0])
        }
    }

    @Test(arguments: Pooler.allCases)
    func `limits hold within a transaction and do not change the session`(_ pooler: Pooler) async throws {
        try await withClient(
            behind: pooler,
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

    @Test(arguments: Pooler.allCases)
    func `a read that writes is refused in this mode`(_ pooler: Pooler) async throws {
        try await withClient(behind: pooler) { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            let error = await failure { try await client.read("INSERT INTO t VALUES (1) RETURNING x" as Query<Int64>) }
            #expect(error?.code == .server(.readOnlyTransaction))
        }
    }

    @Test(arguments: Pooler.allCases)
    func `concurrent calls, batches and transactions work as in the other mode`(_ pooler: Pooler) async throws {
        try await withClient(behind: pooler) { client, configuration in
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

    @Test func `the settings are prepared once, and again after the session forgets them`() async throws {
        try await withClient(behind: .withoutOptions, .adjusted { $0.readConnections = 1 }) { client, _ in
            let settings: Query<Int64> = "SELECT count(*) FROM pg_prepared_statements WHERE name = 'read_settings'"
            for _ in 0..<3 { try await client.expect(settings, returns: [1]) }
            // DEALLOCATE ALL is no write. The statements that follow fail on a name that is gone, and are sent again.
            _ = await failure { try await client.read("DEALLOCATE ALL" as Query<Int64>) }
            for _ in 0..<3 { try await client.expect(settings, returns: [1]) }
        }
    }
}
