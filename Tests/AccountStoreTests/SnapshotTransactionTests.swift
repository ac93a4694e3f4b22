import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// What an audit reads in.
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
}
