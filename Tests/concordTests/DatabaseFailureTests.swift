import ArgumentParser
import Migrations
import PostgresCluster
import Testing

@testable import Postgres
@testable import concord

/// The text and the exit code of a command after a failure of the database.
struct DatabaseFailureTests {
    private static let place = "db.example.com:5432"

    private static func connect(
        _ state: SQLState?,
        _ reason: String,
        place: String = place,
        user: String = "concord",
        database: String = "accounts"
    ) -> PostgresError {
        let failure = ConnectFailure(place: place, user: user, database: database, state: state, reason: reason)
        return PostgresError(.unavailable, "libpq's line", connectFailure: failure)
    }

    private static let cases: [(error: PostgresError, words: String, code: ExitCode)] = [
        (
            connect("28000", "role \"concord\" does not exist"),
            "cannot connect to db.example.com:5432: role \"concord\" does not exist. Create it: createuser concord",
            .databaseUnreachable
        ),
        (
            connect("28000", "role \"it's\" does not exist", user: "it's"),
            "cannot connect to db.example.com:5432: role \"it's\" does not exist. Create it: createuser 'it'\\''s'",
            .databaseUnreachable
        ),
        (
            connect("28000", "Rolle »concord« existiert nicht"),
            "cannot connect to db.example.com:5432: Rolle »concord« existiert nicht. Check that the role exists and that pg_hba.conf allows it",
            .databaseUnreachable
        ),
        (
            connect(
                "28000",
                "no pg_hba.conf entry for host \"10.0.0.9\", user \"concord\", database \"accounts\", no encryption"
            ),
            "cannot connect to db.example.com:5432: no pg_hba.conf entry for host \"10.0.0.9\", user \"concord\", database \"accounts\", no encryption. Allow it there, or check user, database and sslmode in database.url",
            .databaseUnreachable
        ),
        (
            connect("28000", "Peer authentication failed for user \"concord\"", place: "/run/postgresql/.s.PGSQL.5432"),
            "cannot connect to /run/postgresql/.s.PGSQL.5432: Peer authentication failed for user \"concord\". Run the command as that user of the operating system, or give a password and a host: postgresql://concord:PASSWORD@127.0.0.1/accounts",
            .databaseUnreachable
        ),
        (
            connect("28000", "role \"concord\" is not permitted to log in"),
            "cannot connect to db.example.com:5432: role \"concord\" is not permitted to log in. Allow it: ALTER ROLE \"concord\" LOGIN",
            .databaseUnreachable
        ),
        (
            connect("28P01", "password authentication failed for user \"concord\""),
            "cannot connect to db.example.com:5432: password authentication failed for user \"concord\". Check user and password in database.url",
            .databaseUnreachable
        ),
        (
            connect("3D000", "database \"accounts\" does not exist"),
            "cannot connect to db.example.com:5432: database \"accounts\" does not exist. Create it: createdb --owner concord accounts",
            .databaseUnreachable
        ),
        (
            connect("42501", "permission denied for database \"accounts\""),
            "cannot connect to db.example.com:5432: permission denied for database \"accounts\". Allow it: GRANT CONNECT ON DATABASE \"accounts\" TO \"concord\"",
            .databaseUnreachable
        ),
        (
            connect("53300", "sorry, too many clients already"),
            "cannot connect to db.example.com:5432: sorry, too many clients already. Raise max_connections of PostgreSQL, or reduce the connections of its clients",
            .databaseUnreachable
        ),
        (
            connect("57P03", "the database system is starting up"),
            "cannot connect to db.example.com:5432: the database system is starting up. Try again in a moment",
            .databaseUnreachable
        ),
        (
            connect(nil, "Connection refused"),
            "cannot connect to db.example.com:5432: connection refused. Is PostgreSQL running there?",
            .databaseUnreachable
        ),
        (
            connect(nil, "No such file or directory", place: "/run/postgresql/.s.PGSQL.5432"),
            "cannot connect to /run/postgresql/.s.PGSQL.5432: no such file or directory. Is PostgreSQL running, and is its socket there (unix_socket_directories)?",
            .databaseUnreachable
        ),
        (
            connect(nil, "could not translate host name \"db.example.com\" to address: Name or service not known"),
            "cannot connect to db.example.com:5432: could not translate host name \"db.example.com\" to address: Name or service not known. Check the host in database.url, and the name servers of this machine",
            .databaseUnreachable
        ),
        (
            connect(nil, "SSL error: certificate verify failed"),
            "cannot connect to db.example.com:5432: SSL error: certificate verify failed. Check sslmode and sslrootcert in database.url, and the certificate of PostgreSQL",
            .databaseUnreachable
        ),
        (
            connect(nil, "no answer in time"),
            "cannot connect to db.example.com:5432: no answer in time. Check host and port in database.url, and whether a firewall is in between",
            .databaseUnreachable
        ),
        (
            connect(nil, "fe_sendauth: no password supplied"),
            "cannot connect to db.example.com:5432: fe_sendauth: no password supplied. Give one in database.url, or in ~/.pgpass",
            .databaseUnreachable
        ),
        (
            PostgresError(.server("42P01"), "relation \"users\" does not exist"),
            "the schema of db.example.com:5432 is not the one that this Concord needs: relation \"users\" does not exist. Run `concord migrate up`",
            .badConfiguration
        ),
        (
            PostgresError(.server("42703"), "column \"author\" does not exist"),
            "the schema of db.example.com:5432 is not the one that this Concord needs: column \"author\" does not exist. Run `concord migrate up`",
            .badConfiguration
        ),
        (
            PostgresError(.server("42501"), "permission denied for table users"),
            "db.example.com:5432 refuses that: permission denied for table users. Use the role that owns the tables, or grant the missing privilege",
            .badConfiguration
        ),
        (
            PostgresError(.server("25006"), "cannot execute INSERT in a read-only transaction"),
            "db.example.com:5432 refuses writes: cannot execute INSERT in a read-only transaction. Connect to the server that takes them: target_session_attrs=primary in database.url",
            .databaseUnreachable
        ),
        (
            PostgresError(.server("57014"), "canceling statement due to statement timeout"),
            "db.example.com:5432 took too long: canceling statement due to statement timeout. Try again, or raise database.read_statement_timeout and database.write_statement_timeout",
            .databaseUnreachable
        ),
        (
            PostgresError(.server("55P03"), "canceling statement due to lock timeout"),
            "db.example.com:5432 is busy: canceling statement due to lock timeout. Find the blocking session in pg_stat_activity, or try again",
            .databaseUnreachable
        ),
        (
            PostgresError(.connectionLost, "connection to the server lost"),
            "lost the connection to db.example.com:5432: connection to the server lost. Run the command again",
            .databaseUnreachable
        ),
        (
            PostgresError(.commitOutcomeUnknown, "connection lost while committing"),
            "lost the connection to db.example.com:5432 during a commit: connection lost while committing. The change may have been made: check before you run the command again",
            .databaseUnreachable
        ),
        (
            PostgresError(.queueTimeout, "no connection became free in time"),
            "db.example.com:5432 gave no connection in time: no connection became free in time. Try again, or raise database.queue_wait_timeout",
            .databaseUnreachable
        ),
        (
            PostgresError(.server("42601"), "syntax error"),
            "db.example.com:5432 refuses that: syntax error (SQLSTATE 42601)", .bug
        ),
    ]

    @Test func `every failure reports the place, the reason and the next step`() {
        for row in Self.cases {
            let failure = DatabaseFailure(row.error, at: Self.place)
            #expect(failure.description == row.words)
            #expect(ExitCode(for: failure) == row.code && ExitCode(for: row.error) == row.code, "\(row.words)")
        }
    }

    @Test func `a failed migration is named before the place and the reason`() async throws {
        let postgres = try PostgresConfiguration(connectionString: "host=db.example.com user=concord dbname=accounts")
        let place = MigrationPlace(file: try #require(MigrationFileName("0002_users.up.sql")), line: 7)
        for (cause, words, code) in [
            (
                PostgresError(.server("23514"), "check constraint is violated by some row"),
                "refuses that: check constraint is violated by some row (SQLSTATE 23514)", ExitCode.answerIsNo
            ),
            (
                PostgresError(.server("55P03"), "canceling statement due to lock timeout"),
                "is busy: canceling statement due to lock timeout. Find the blocking session in pg_stat_activity, or try again",
                .answerIsNo
            ),
        ] {
            let failure = await #expect(throws: DatabaseFailure.self) {
                try await namingDatabase(postgres) { throw MigrationFailure.stepFailed(place, cause: cause) }
            }
            #expect(failure?.description == "0002_users.up.sql:7: db.example.com:5432 \(words)")
            #expect(failure.map { ExitCode(for: $0) } == code)
        }
    }

    @Test func `an unknown place is called the database`() {
        let failure = DatabaseFailure(PostgresError(.unavailable, "gone"), at: nil)
        #expect(failure.description == "cannot connect to the database: gone. Check host and port in database.url")
    }

    @Test func `an unusable private cluster is a configuration error`() {
        let inUse = PostgresClusterError.inUse(directory: ".concord/postgres", processID: 1)
        #expect(ExitCode(for: inUse) == .badConfiguration)
        #expect(ExitCode(for: PostgresClusterError.notADataDirectory("x")) == .badConfiguration)
        #expect(ExitCode(for: PostgresClusterError.startFailed(output: "", log: "")) == .databaseUnreachable)
        #expect(ExitCode(for: PostgresClusterError.notRunning) == .bug)
    }
}
