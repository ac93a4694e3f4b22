import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// The transactions in which audits and exports read.
struct SnapshotTransactionTests {
    @Test func `nothing can be written in it`() async throws {
        try await TestDatabase.with { database in
            try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.execute(SnapshotTransaction.begin)
                let refusal = #expect(throws: PostgresError.self) { try connection.execute("DELETE FROM users") }
                #expect(refusal?.sqlState?.rawValue == "25006", "read_only_sql_transaction")
            }
        }
    }

    @Test func `time limits of the database do not apply to reads of all accounts`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET statement_timeout = 60000', current_database());
                    EXECUTE format(
                        'ALTER DATABASE %I SET idle_in_transaction_session_timeout = 60000', current_database());
                END $$
                """
            )
            let limits: Query<String?> = """
                SELECT current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')
                """
            let usual = try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.query(limits)
            }
            #expect(usual == ["1min 1min"])
            let lifted = try await SnapshotConnections.with(database.configuration, tables: 2) { connections in
                try ([connections.main] + connections.forTables).flatMap { try $0.query(limits) }
            }
            #expect(lifted == ["0 0", "0 0", "0 0"])
        }
    }

    @Test func `every tenant that has users or claims is found, in order`() async throws {
        try await TestDatabase.with { database in
            func tenants() throws -> [String] {
                try SnapshotConnections(database.configuration, tables: 0, wholly: true, isDistributed: false).tenants()
                    .map(\.rawValue)
            }
            #expect(try tenants() == [])
            try await PostgresConnection.withConnection(database.configuration) { connection in
                try connection.execute(
                    script: """
                        INSERT INTO users (tenant_id, user_id, version, session_epoch, valid_since, created_at)
                        SELECT tenant, user_id, 1, 1, now(), now()
                        FROM unnest(ARRAY['zoo', '', 'b']) AS tenant, unnest(ARRAY['ada', 'bob']) AS user_id;
                        SET session_replication_role = replica;
                        INSERT INTO identifiers (tenant_id, kind, value, user_id)
                        SELECT tenant, 'email', address, 'ada'
                        FROM unnest(ARRAY['a', 'b', 'claims']) AS tenant, unnest(ARRAY['x@y.example', 'z@y.example']) AS address;
                        """
                )
            }
            #expect(try tenants() == ["", "a", "b", "claims", "zoo"])
        }
    }
}
