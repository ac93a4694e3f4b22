import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// The statements of `concord doctor`.
@Suite(.store)
struct DiagnosisTests {
    @Test func `the server describes itself`() async throws {
        let facts = try #require(try await StoreScene.shared.database.rows(ServerFacts.current).first)
        #expect(facts.versionNumber >= 150_000 && facts.encoding == "UTF8")
        #expect(facts.connectionsMax > 0 && !facts.role.isEmpty && !facts.isInRecovery)
    }

    @Test func `a role without rights is reported with its tables`() async throws {
        try await StoreScene.with { scene in
            #expect(try await scene.database.rows(ServerFacts.tablesWithoutRights) == [])
            let tables = try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                try connection.execute(script: "SET ROLE pg_read_all_data")
                return try connection.query(ServerFacts.tablesWithoutRights)
            }
            #expect(tables.contains("users") && !tables.contains("schema_migrations"), "\(tables)")
        }
    }

    @Test func `overdue rows are counted up to a limit`() async throws {
        try await StoreScene.with { scene in
            try await scene.database.execute(
                """
                INSERT INTO outbox (message_id, kind, state, sealed_payload, created_at, expires_at, next_attempt_at)
                SELECT gen_random_uuid(), 'mail', 'failed', 'x', now(), now() - make_interval(days => n), now()
                FROM generate_series(1, 5) AS n
                """
            )
            let now = try await scene.store.clock()
            let count = { try await scene.store.expiredRowCount(before: now.adding(seconds: $0), countMax: $1) }
            #expect(try await count(-2 * 86_400 - 60, 100) == 3)
            #expect(try await count(0, 2) == 2)
        }
    }
}
