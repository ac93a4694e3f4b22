import Testing

@testable import Postgres

/// The message of a failed connection.
@Suite(.timeLimit(.minutes(20))) struct ConnectFailureTests {
    @Test func `a message of libpq is split into its parts in every language of the server`() {
        let rows: [(text: String, line: String, state: SQLState?, reason: String)] = [
            (
                """
                connection to server at "db.example.com" (10.0.0.1), port 5432 failed: FATAL:  28000: role "x" does not exist
                LOCATION:  InitializeSessionUserId, miscinit.c:797

                """,
                """
                connection to server at "db.example.com" (10.0.0.1), port 5432 failed: FATAL:  role "x" does not exist
                """,
                "28000", "role \"x\" does not exist"
            ),
            (
                "connection to server at \"h\", port 1 failed: FATAL:  3D000: Datenbank »x« existiert nicht\n",
                "connection to server at \"h\", port 1 failed: FATAL:  Datenbank »x« existiert nicht",
                "3D000", "Datenbank »x« existiert nicht"
            ),
            (
                "connection to server on socket \"/a/.s.PGSQL.1\" failed: No such file or directory\n\tIs the server…\n",
                "connection to server on socket \"/a/.s.PGSQL.1\" failed: No such file or directory", nil,
                "No such file or directory"
            ),
            (
                "could not translate host name \"a\"", "could not translate host name \"a\"", nil,
                "could not translate host name \"a\""
            ),
            (
                "connection to server at \"h\", port 1 failed: FATAL:  sorry: no code",
                "connection to server at \"h\", port 1 failed: FATAL:  sorry: no code",
                nil, "FATAL:  sorry: no code"
            ),
            ("", "no reason given", nil, "no reason given"),
        ]
        for row in rows {
            let message = ConnectMessage(row.text)
            #expect(
                message.line == row.line && message.state == row.state && message.reason == row.reason,
                "\(message)"
            )
        }
    }

    @Test func `a failure names place, user and database, and the server's code`() async throws {
        let server = try await TestCluster.shared.get().makeDatabase()
        let host = try #require(server.value(of: "host"))
        let port = server.value(of: "port") ?? "5432"
        let rows: [(connectionString: String, place: String, state: SQLState?, reason: String)] = [
            (
                "host=\(host) port=\(port) user=nobody_here dbname=postgres", "\(host)/.s.PGSQL.\(port)",
                .invalidAuthorization, "role \"nobody_here\" does not exist"
            ),
            ("postgresql://u:s3cret@127.0.0.1:1/d", "127.0.0.1:1", nil, "Connection refused"),
            ("postgresql://u:s3cret@[::1]:1/d", "[::1]:1", nil, ""),
            ("postgresql://u:s3cret@%2Fnowhere/d", "/nowhere/.s.PGSQL.5432", nil, "No such file or directory"),
        ]
        for row in rows {
            let configuration = try PostgresConfiguration(connectionString: row.connectionString)
            let error = await failure { try await PostgresConnection.withConnection(configuration) { _ in } }
            let parts = try #require(error?.connectFailure, "\(row)")
            #expect(parts.place == row.place && parts.state == row.state, "\(parts)")
            #expect(parts.reason.hasPrefix(row.reason), "\(parts)")
            #expect(configuration.place == row.place)
            let said = "\(parts) \(error?.description ?? "nothing")"
            #expect(!said.contains("s3cret"))
        }
        let missing = await failure {
            try await PostgresConnection.withConnection(server.withDatabase("nowhere")) { _ in }
        }
        #expect(missing?.connectFailure?.state == .unknownDatabase && missing?.connectFailure?.database == "nowhere")
        #expect(
            missing?.message.hasSuffix("FATAL:  database \"nowhere\" does not exist") == true,
            "\(String(describing: missing))"
        )
    }

    /// libpq takes the text after the first @ for the host, and reports that it cannot find it.
    @Test func `a password that is not percent-encoded is refused, so that no message shows a part of it`() throws {
        for text in [
            "postgresql://u:s3@cret@db.example.com/d", "postgresql://u:s3/cret@db.example.com/d",
            "postgresql://u:s3@cret@db.example.com,other/d",
        ] {
            let error = #expect(throws: PostgresError.self) { _ = try PostgresConfiguration(connectionString: text) }
            #expect(error?.code == .configuration && error?.message.contains("percent-encode") == true)
            #expect(error?.message.contains("cret") == false)
        }
        for text in ["postgresql://u:s3%40cret@db.example.com/d", "host=@abstract", "host=a,b port=1,2", "port=5432"] {
            _ = try PostgresConfiguration(connectionString: text)
        }
    }

    @Test func `a configuration shows its address and the options that are not secret`() throws {
        let configuration = try PostgresConfiguration(
            connectionString: "postgresql://u:s3cret@a,b:5433/d?sslmode=verify-full"
        )
        #expect(configuration.place == "a:5432, b:5433" && configuration.value(of: "sslmode") == "verify-full")
        #expect(configuration.value(of: "password") == nil)
        #expect(try PostgresConfiguration(connectionString: "dbname=d").place == nil)
    }
}
