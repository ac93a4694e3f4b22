import AccountTestSupport
import Glibc
import Postgres
import Synchronization
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

    @Test func `every tenant that has users or claims is found, in order`() async throws {
        try await TestDatabase.with { database in
            try await PostgresConnection.withConnection(database.configuration) { connection in
                #expect(try connection.query(AuditedUserRow.tenants).isEmpty)
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
                #expect(try connection.query(AuditedUserRow.tenants) == ["", "a", "b", "claims", "zoo"])
            }
        }
    }

    @Test func `whoever reads whole tables gives way`() async throws {
        try await TestDatabase.with { database in
            let readers = SnapshotReaders(database.configuration, connections: 2, applicationName: "test")
            let batch: Int32 = 3
            let policies = Mutex<[Int32]>([])
            try await readers.run { _, _ in policies.withLock { $0.append(sched_getscheduler(0)) } }
            #expect(policies.withLock { $0 } == [batch, batch], "SCHED_BATCH of sched(7)")
            // Of its threads alone, not of the program.
            #expect(sched_getscheduler(getpid()) == 0)
        }
    }

    @Test func `whose a row is need not be asked in tables of one tenant alone`() async throws {
        let tables = Set(AuditedTable.allCases.map(\.name) + StoredTable.allCases.map(\.name))
        try await TestDatabase.with { database in
            try await PostgresConnection.withConnection(database.configuration) { connection in
                func tablesOnly(of tenant: String) throws -> Set<String> {
                    Set(try connection.query(SnapshotTransaction.tablesOnly(of: tenant)).compactMap(\.self))
                }
                #expect(try tablesOnly(of: "").isEmpty, "there are no rows")
                try connection.execute(script: "SET session_replication_role = replica")
                var tenants: [String] = []
                for (number, added) in ["b", "c", "a"].enumerated() {
                    try connection.execute(script: Self.rowOfEveryTable(added, number))
                    tenants.append(added)
                    for tenant in ["", "a", "b", "c", "d"] {
                        #expect(
                            try tablesOnly(of: tenant) == (tenants == [tenant] ? tables : []),
                            "\(tenant) of \(tenants)"
                        )
                    }
                }
                try connection.execute(
                    script: "DELETE FROM sessions WHERE tenant_id <> 'c'; DELETE FROM users WHERE tenant_id <> 'a'"
                )
                #expect(try tablesOnly(of: "c") == ["sessions"])
                #expect(try tablesOnly(of: "a") == ["users"])
            }
        }
    }

    private static func rowOfEveryTable(_ tenant: String, _ number: Int) -> String {
        let (id, digest) = ("decode(repeat('0\(number)', 16), 'hex')", "decode(repeat('0\(number)', 32), 'hex')")
        return """
            INSERT INTO users (tenant_id, user_id, session_epoch, valid_since, created_at)
                VALUES ('\(tenant)', 'u', 1, now(), now());
            INSERT INTO password_credentials (tenant_id, user_id, hash, updated_at) VALUES ('\(tenant)', 'u', 'h', now());
            INSERT INTO linked_providers (tenant_id, user_id, provider_id, subject, linked_at, updated_at)
                VALUES ('\(tenant)', 'u', 'google.com', 's', now(), now());
            INSERT INTO sign_in_methods (tenant_id, user_id, method, proof, proven_at)
                VALUES ('\(tenant)', 'u', 'password', 'session', now());
            INSERT INTO second_factors (tenant_id, user_id, enrollment_id, slot, sealed_secret, last_step, enrolled_at)
                VALUES ('\(tenant)', 'u', 'f', 1, '\\x00', 0, now());
            INSERT INTO sessions (tenant_id, user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                VALUES ('\(tenant)', 'u', \(id), \(digest), 1, now(), 'password');
            INSERT INTO one_time_codes (tenant_id, code_hash, kind, user_id, email, email_key, created_at, expires_at)
                VALUES ('\(tenant)', \(digest), 'PASSWORD_RESET', 'u', 'a@b.example', 'a@b.example', now(), now());
            INSERT INTO conflicts (tenant_id, user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                    sealed_credential, opened_at, expires_at)
                VALUES ('\(tenant)', 'u', \(id), 'open', 'credential-already-in-use', 'google.com', \(digest), '{}', '',
                    now(), now() + interval '1 hour');
            INSERT INTO identifiers (tenant_id, kind, value, user_id) VALUES ('\(tenant)', 'email', 'a@b.example', 'u');
            """
    }
}
