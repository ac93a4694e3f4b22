import AccountTestSupport
import Testing

@testable import Postgres

/// The creation of roles and databases, with names that need quotes.
struct DatabaseCreationTests {
    @Test func `names are quoted, and passwords are sent as verifiers`() async throws {
        try await PostgresConnection.withConnection(try TestCluster.shared.get().configuration()) { connection in
            #expect(try connection.identifier("a\"b") == "\"a\"\"b\"")
            let clause = try connection.passwordClause("it's \\ x", role: "a\"b")
            #expect(clause.hasPrefix("PASSWORD 'SCRAM-SHA-256$4096:") && !clause.contains("it's"))
        }
    }

    @Test func `a connection string without user or database names nothing to create`() throws {
        for text in ["postgresql://h/d", "postgresql://u@h", "postgresql:///"] {
            #expect(DatabaseCreation(for: try PostgresConfiguration(connectionString: text)) == nil, "\(text)")
        }
    }

    @Test func `two programs at once create the role and the database once`() async throws {
        try await TestDatabase.with { database in
            let suffix = UInt32.random(in: .min ... .max)
            let name = "it's \"odd\" \(suffix)"
            let encoded = "it%27s%20%22odd%22%20\(suffix)"
            let wanted = try PostgresConfiguration(connectionString: "postgresql://\(encoded):p%27w%5C@h/\(encoded)")
            let creation = try #require(DatabaseCreation(for: wanted))
            let administrator = database.configuration
            let results = try await withThrowingTaskGroup(of: [DatabaseCreation.Object].self) { group in
                for _ in 0..<2 { group.addTask { try await creation.run(as: administrator) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.flatMap(\.self).filter(\.isNew).map(\.kind).sorted() == ["database", "role"], "\(results)")
            let facts: Query<String?> = """
                SELECT pg_get_userbyid(datdba)::text || ' ' || pg_encoding_to_char(encoding) || ' '
                    || (SELECT count(*) FROM pg_authid WHERE rolname = \(name) AND rolcanlogin AND rolpassword LIKE 'SCRAM-SHA-256$%')
                FROM pg_database WHERE datname = \(name)
                """
            #expect(try await database.rows(facts) == ["\(name) UTF8 1"])
            let again = try await creation.run(as: administrator)
            #expect(!again.contains { $0.isNew })
            let quoted = try await PostgresConnection.withConnection(administrator) { try $0.identifier(name) }
            try await database.execute("DROP DATABASE \(quoted)")
            try await database.execute("DROP ROLE \(quoted)")
        }
    }
}
