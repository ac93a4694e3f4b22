import Postgres
import Testing

@testable import concord

/// Which ways to PostgreSQL are safe from an attacker in between.
struct DatabaseTransportTests {
    private static let rows: [(url: String, environment: [String: String], transport: DatabaseTransport)] = [
        ("postgresql://u@db.example.com/d", [:], .unverified(sslmode: "prefer")),
        ("postgresql://u@db.example.com/d?sslmode=disable", [:], .unverified(sslmode: "disable")),
        ("postgresql://u@db.example.com/d?sslmode=allow", [:], .unverified(sslmode: "allow")),
        ("postgresql://u@db.example.com/d?sslmode=require", [:], .unverified(sslmode: "require")),
        ("postgresql://u@db.example.com/d?sslmode=verify-ca", [:], .unnamedServer),
        ("postgresql://u@db.example.com/d?sslmode=verify-full", [:], .verified),
        ("postgresql://u@db.example.com/d?gssencmode=require", [:], .verified),
        ("postgresql://u@db.example.com/d?gssencmode=prefer", [:], .unverified(sslmode: "prefer")),
        ("postgresql://u@10.0.0.7/d", [:], .unverified(sslmode: "prefer")),
        ("postgresql://u@[2001:db8::1]/d", [:], .unverified(sslmode: "prefer")),
        ("postgresql://u@localhost/d", [:], .verified),
        ("postgresql://u@127.0.0.1/d", [:], .verified),
        ("postgresql://u@127.8.9.1:6432/d", [:], .verified),
        ("postgresql://u@[::1]/d", [:], .verified),
        ("postgresql://u@%2Frun%2Fpostgresql/d", [:], .verified),
        ("postgresql:///d?host=@abstract", [:], .verified),
        ("dbname=d", [:], .verified),
        // One that is away is enough.
        ("postgresql://u@localhost,standby.example.com/d", [:], .unverified(sslmode: "prefer")),
        ("host=localhost hostaddr=10.0.0.7", [:], .unverified(sslmode: "prefer")),
        ("host=db.example.com hostaddr=127.0.0.1", [:], .verified),
        ("host=db.example.com,b hostaddr=127.0.0.1,", [:], .unverified(sslmode: "prefer")),
        // What libpq takes from its variables.
        ("dbname=d", ["PGHOST": "db.example.com"], .unverified(sslmode: "prefer")),
        ("dbname=d", ["PGHOSTADDR": "10.0.0.7", "PGHOST": "localhost"], .unverified(sslmode: "prefer")),
        ("dbname=d", ["PGHOST": "db.example.com", "PGSSLMODE": "verify-full"], .verified),
        ("postgresql://u@db.example.com/d", ["PGSSLMODE": "verify-ca"], .unnamedServer),
        (
            "postgresql://u@db.example.com/d?sslmode=require", ["PGSSLMODE": "verify-full"],
            .unverified(sslmode: "require")
        ),
        ("postgresql://u@localhost/d", ["PGHOST": "db.example.com"], .verified),
        ("dbname=d", ["PGHOST": ""], .verified),
    ]

    @Test func `only this machine and verified encryption are safe`() throws {
        for row in Self.rows {
            let postgres = try PostgresConfiguration(connectionString: row.url)
            let transport = DatabaseTransport(postgres, environment: row.environment)
            #expect(transport == row.transport, "\(row.url) \(row.environment)")
            #expect((transport.warning == nil) == (transport == .verified))
        }
        let database = DatabaseConfiguration(
            postgres: try PostgresConfiguration(connectionString: "postgresql:///d"),
            replica: DatabaseConfiguration.Replica(
                postgres: try PostgresConfiguration(connectionString: "postgresql://u@db.example.com/d"),
                ageMax: .seconds(10)
            )
        )
        let warnings = database.transportWarnings(environment: [:])
        #expect(warnings.count == 1 && warnings[0].contains("in database.replica_url"), "\(warnings)")
        #expect(DatabaseTransport.unverified(sslmode: "require").warning?.contains("sslmode=require") == true)
    }
}
