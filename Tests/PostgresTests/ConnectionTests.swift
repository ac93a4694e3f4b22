import Testing

@testable import Postgres

/// The connection that blocks its thread.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    private func withConnection<Output: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws -> Output
    ) async throws -> Output {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        return try await PostgresConnection.withConnection(configuration, body)
    }

    @Test func `a script runs several statements as one transaction`() async throws {
        try await withConnection { connection in
            try connection.execute(
                script: "CREATE TABLE t (x int8); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)"
            )
            #expect(throws: PostgresError.self) {
                try connection.execute(script: "INSERT INTO t VALUES (3); SELECT 1 / 0; INSERT INTO t VALUES (4)")
            }
            let rows: [Int64] = try connection.query("SELECT x FROM t ORDER BY x")
            #expect(rows == [1, 2])
        }
    }

    @Test func `a statement with parameters is prepared once and survives a changed table`() async throws {
        try await withConnection { connection in
            try connection.execute(script: "CREATE TABLE t (x int8); INSERT INTO t VALUES (1)")
            for x in Int64(0)..<3 {
                let changed = try connection.execute("SELECT * FROM t WHERE x <> \(x + 100)")
                #expect(changed == 1)
            }
            let prepared: [Int64] = try connection.query("SELECT count(*) FROM pg_prepared_statements")
            #expect(prepared == [1])
            try connection.execute(script: "ALTER TABLE t ADD y int8 DEFAULT 0")
            let rows: [Pair<Int64, Int64>] = try connection.query("SELECT * FROM t WHERE x <> \(Int64(9))")
            #expect(rows.count == 1)
        }
    }

    @Test func `a transaction commits or rolls back`() async throws {
        try await withConnection { connection in
            try connection.execute(script: "CREATE TABLE t (x int8 PRIMARY KEY)")
            try connection.transaction { tx throws(PostgresError) in try tx.execute(script: "INSERT INTO t VALUES (1)")
            }
            #expect(throws: PostgresError.self) {
                try connection.transaction { tx throws(PostgresError) in
                    try tx.execute("INSERT INTO t VALUES (2)")
                    try tx.execute("INSERT INTO t VALUES (1)")
                }
            }
            let rows: [Int64] = try connection.query("SELECT x FROM t")
            #expect(rows == [1])
            #expect(connection.isReusable)
        }
    }

    @Test func `connecting to no server fails with a reason and without the password`() async throws {
        let configuration = try PostgresConfiguration(
            connectionString: "postgresql://user:s3cret@%2Fnowhere%2Fat%2Fall/database"
        )
        let error = await failure { try await PostgresConnection.withConnection(configuration) { _ in } }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("s3cret") == false)
        #expect(error?.message.isEmpty == false)
    }

    @Test func `a configuration hides its password`() throws {
        let configuration = try PostgresConfiguration(
            connectionString: "postgresql://user:s3cret@db.example.com:6432/accounts?sslmode=require"
        )
        #expect(
            configuration.description
                == "user=user password=*** dbname=accounts host=db.example.com port=6432 sslmode=require"
        )
        let other = configuration.withDatabase("other")
        #expect(other.description.contains("dbname=other"))
        #expect(!other.description.contains("accounts"))
        #expect(throws: PostgresError.self) { try PostgresConfiguration(connectionString: "postgresql://[::1") }
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(connectionString: "password=s3cret nonsense")
        }
        #expect(error?.code == .configuration)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `a read-only connection asks for a primary instead of a writable server`() throws {
        let configuration = try PostgresConfiguration(connectionString: "host=a,b target_session_attrs=read-write")
        func asked(_ role: PostgresConfiguration.Role) -> String? {
            configuration.connectionParameters(for: role).first { $0.keyword == "target_session_attrs" }?.value
        }
        #expect(asked(.read) == "primary")
        #expect(asked(.write) == "read-write")
        #expect(asked(.unlimited) == "read-write")
    }

    @Test func `settings are sent with the connection, or with each transaction`() throws {
        var configuration = try PostgresConfiguration(connectionString: "host=h options='-c search_path=x'")
        let named = configuration.connectionParameters(for: .read)
        #expect(
            named.first { $0.keyword == "options" }?.value
                == """
                -c search_path=x -c enable_seqscan=off -c jit=off -c enable_hashjoin=off -c enable_mergejoin=off \
                -c max_parallel_workers_per_gather=0 -c plan_cache_mode=force_generic_plan \
                -c statement_timeout=2000 -c default_transaction_read_only=on
                """
        )
        #expect(configuration.transactionSettings(for: .read) == nil)
        #expect(
            configuration.connectionParameters(for: .write).first { $0.keyword == "options" }?.value
                == """
                -c search_path=x -c enable_seqscan=off -c jit=off -c enable_hashjoin=off -c enable_mergejoin=off \
                -c max_parallel_workers_per_gather=0 -c plan_cache_mode=force_generic_plan \
                -c statement_timeout=5000 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000
                """
        )
        configuration.statementMode = .unnamed
        let unnamed = configuration.connectionParameters(for: .write)
        #expect(unnamed.first { $0.keyword == "options" }?.value == "-c search_path=x")
        #expect(
            configuration.transactionSettings(for: .write)
                == "SELECT pg_catalog.set_config('enable_seqscan', 'off', true), "
                + "pg_catalog.set_config('jit', 'off', true), "
                + "pg_catalog.set_config('enable_hashjoin', 'off', true), "
                + "pg_catalog.set_config('enable_mergejoin', 'off', true), "
                + "pg_catalog.set_config('max_parallel_workers_per_gather', '0', true), "
                + "pg_catalog.set_config('statement_timeout', '5000', true), "
                + "pg_catalog.set_config('lock_timeout', '2000', true), "
                + "pg_catalog.set_config('idle_in_transaction_session_timeout', '10000', true)"
        )
        #expect(configuration.transactionSettings(for: .unlimited) == nil)
        configuration.statementMode = .named
        configuration.sessionSettings = .transaction
        #expect(
            configuration.connectionParameters(for: .read).first { $0.keyword == "options" }?.value
                == "-c search_path=x"
        )
        #expect(
            configuration.transactionSettings(for: .read)
                == "SELECT pg_catalog.set_config('enable_seqscan', 'off', true), "
                + "pg_catalog.set_config('jit', 'off', true), "
                + "pg_catalog.set_config('enable_hashjoin', 'off', true), "
                + "pg_catalog.set_config('enable_mergejoin', 'off', true), "
                + "pg_catalog.set_config('max_parallel_workers_per_gather', '0', true), "
                + "pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true), "
                + "pg_catalog.set_config('statement_timeout', '2000', true), "
                + "pg_catalog.set_config('transaction_read_only', 'on', true)"
        )
        for role in [PostgresConfiguration.Role.read, .write] {
            let onCitus = configuration.transactionSettings(for: role, on: .citus) ?? ""
            #expect(onCitus.contains("pg_catalog.set_config('plan_cache_mode', 'auto', true)"))
            #expect(!onCitus.contains("force_generic_plan"))
        }
    }
}
