import Testing

@testable import Postgres

/// The engine that connections find, and what they do for it. PostgreSQL with a row in its catalogue plays Citus.
@Suite(.timeLimit(.minutes(20))) struct EngineTests {
    private let planning: Query<String> = "SELECT current_setting('plan_cache_mode')"

    /// Adds the extension `citus` to the catalogue, without its contents.
    private func addCitus(to configuration: PostgresConfiguration) async throws {
        try await execute(
            """
            SET allow_system_table_mods = on;
            INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
                VALUES (99999, 'citus', 10, 'pg_catalog'::regnamespace, false, '13.2-1')
            """,
            on: configuration
        )
    }

    private func planningOfWrites(_ client: PostgresClient) async throws -> [String] {
        var batch = WriteBatch("planning")
        batch.append("SELECT current_setting('plan_cache_mode')")
        return try await client.write(batch).rows(0, as: String.self)
    }

    private func planningOfTransactions(_ client: PostgresClient) async throws -> [String] {
        try await client.transaction("planning") { [planning] tx throws(PostgresError) in try tx.fetch(planning) }
    }

    @Test func `on PostgreSQL, statements have generic plans`() async throws {
        try await withClient { client, configuration in
            try await client.expect(planning, returns: ["force_generic_plan"])
            #expect(try await planningOfWrites(client) == ["force_generic_plan"])
            #expect(try await planningOfTransactions(client) == ["force_generic_plan"])
            #expect(client.engine == .postgres)
            let found = try await PostgresConnection.withConnection(configuration) { try $0.engine() }
            #expect(found == .postgres)
        }
    }

    @Test func `on Citus, PostgreSQL chooses the kind of plan`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        try await addCitus(to: configuration)
        try await withClient(of: configuration) { client, _ in
            try await client.expect(planning, returns: ["auto"])
            #expect(try await planningOfWrites(client) == ["auto"])
            #expect(try await planningOfTransactions(client) == ["auto"])
            #expect(client.engine == .citus)
            let found = try await PostgresConnection.withConnection(configuration) { try $0.engine() }
            #expect(found == .citus)
        }
    }

    @Test func `on Citus, transactions that send their settings leave the kind of plan to PostgreSQL`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        try await addCitus(to: configuration)
        try await withClient(.adjusted { $0.sessionSettings = .transaction }, of: configuration) { client, _ in
            try await client.expect(planning, returns: ["auto"])
            #expect(try await planningOfWrites(client) == ["auto"])
            #expect(try await planningOfTransactions(client) == ["auto"])
        }
    }

    @Test func `on Citus, a pooled session is left as it was in unnamed mode`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        try await addCitus(to: configuration)
        try await withClient(.adjusted { $0.statementMode = .unnamed }, of: configuration) { client, _ in
            try await client.expect(planning, returns: ["auto"])
            #expect(client.engine == .citus)
        }
    }

    @Test func `on Citus, each caller has its own statement`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        try await addCitus(to: configuration)
        try await execute(
            "CREATE TABLE numbers (n int8 PRIMARY KEY); INSERT INTO numbers SELECT generate_series(1, 200)",
            on: configuration
        )
        try await withClient(.adjusted { $0.readConnections = 1 }, of: configuration) { client, _ in
            try await eventually { client.state.reachability == .connected }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for n in Int64(1)...200 {
                    group.addTask {
                        let one = Query<Int64>(keyColumn: 0, "SELECT n FROM numbers WHERE n = ANY(\(keys: [n]))")
                        try await client.expect(one, returns: [n])
                    }
                }
                try await group.waitForAll()
            }
            #expect(client.state.read.statistics.statements >= 200)
        }
    }

    @Test func `connections are replaced after the database has become Citus`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        let renewing = Adjustment.adjusted {
            $0.readConnections = 1
            $0.reconnectDelayMax = .milliseconds(20)
        }
        try await execute("CREATE TABLE t (x int8)", on: configuration)
        try await withClient(renewing, of: configuration) { client, _ in
            try await client.expect(planning, returns: ["force_generic_plan"])
            #expect(try await planningOfWrites(client) == ["force_generic_plan"])
            #expect(try await planningOfTransactions(client) == ["force_generic_plan"])
            try await addCitus(to: configuration)
            // Refused as Citus refuses a generic plan: 0A000.
            try await eventually {
                let error = await failure {
                    try await client.read("SELECT count(*) FROM t GROUP BY x FOR UPDATE" as Query<Int64>)
                }
                #expect(error?.code == .server(.featureNotSupported))
                var batch = WriteBatch("refused")
                batch.append("SELECT count(*) FROM t GROUP BY x FOR UPDATE")
                let refused = await failure { [batch] in try await client.write(batch) }
                #expect(refused?.code == .server(.featureNotSupported))
                _ = await failure {
                    try await client.transaction("refused") { tx throws(PostgresError) in
                        try tx.execute("SELECT count(*) FROM t GROUP BY x FOR UPDATE")
                    }
                }
                let read = try await client.read(planning)
                let written = try await planningOfWrites(client)
                let leased = try await planningOfTransactions(client)
                return read == ["auto"] && written == ["auto"] && leased == ["auto"]
            }
            #expect(client.engine == .citus)
        }
    }
}
