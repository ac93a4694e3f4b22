import AccountTestSupport
import Glibc
import Postgres
import Subprocess
import Testing

/// `concord setup`, asked of the real program.
struct SetupCommandTests {
    private static func url(_ database: TestDatabase, _ options: String) -> String {
        database.url + (database.url.contains("?") ? "&" : "?") + options
    }

    @Test func `without a terminal, missing answers are named with their options, and nothing is changed`()
        async throws
    {
        try await TestDatabase.with { database in
            let ending = try await ConcordCommand.run(["setup", "--sign-in", "email"], database)
            #expect(ending.status == .exited(64) && ending.output == "", "\(ending)")
            #expect(ending.error.contains("give --project, --authorized-domain"), "\(ending.error)")
            #expect(try await database.count("SELECT count(*) FROM project_config") == 0)
            let wrong = try await ConcordCommand.run(["setup", "--project", "X"], database)
            #expect(wrong.status == .exited(64))
        }
    }

    @Test func `role, database, schema and project are created, and a second run says that they are there`()
        async throws
    {
        try await TestDatabase.with { database in
            let name = "setup_\(UInt32.random(in: .min ... .max))"
            let url = Self.url(database, "user=\(name)&dbname=\(name)")
            let arguments = [
                "setup", "--database-url", url, "--create-database", database.url, "--project", "demo-setup",
                "--sign-in", "email", "--authorized-domain", "app.example.com",
            ]
            let settings: [Environment.Key: String] = ["CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com"]
            async let other = ConcordCommand.run(arguments, database, settings)
            let one = try await ConcordCommand.run(arguments, database, settings)
            for ending in [one, try await other] {
                #expect(ending.status == .exited(0), "\(ending)")
                #expect(ending.output.contains("authDomain: 'id.example.com'"), "\(ending.output)")
            }
            let again = try await ConcordCommand.run(arguments, database, settings)
            #expect(again.status == .exited(0), "\(again)")
            #expect(again.output.contains("nothing was changed: everything is already there"), "\(again.output)")
            #expect(again.output.contains("role \(name)") && again.output.contains("database \(name)"))

            let created = TestDatabase(configuration: try PostgresConfiguration(connectionString: url), url: url)
            let counts: Query<String?> = """
                SELECT concat_ws(' ', (SELECT count(*) FROM project_config), (SELECT count(*) FROM api_keys),
                    (SELECT count(*) FROM project_config_versions))
                """
            #expect(try await created.rows(counts) == ["1 1 2"])
            try await database.execute("DROP DATABASE \(name) WITH (FORCE)")
            try await database.execute("DROP ROLE \(name)")
        }
    }

    @Test func `at a terminal, every missing answer is asked for`() async throws {
        try await TestDatabase.with { database in
            let ending = try await ConcordCommand.asked(
                ["setup"],
                database,
                question: "Project id: ",
                answer: .text("NO\ndemo-asked\ny\nn\nn\nn\napp.example.com\n\n")
            )
            #expect(ending.status == .exited(0), "\(ending)")
            #expect(ending.error.contains("not allowed: a project id has"), "\(ending.error)")
            #expect(ending.output.contains("project demo-asked") && ending.output.contains("turned on"))
            let project: Query<Int64?> = """
                SELECT count(*) FROM project_config WHERE project_id = 'demo-asked'
                    AND settings #>> '{signIn,email,enabled}' = 'true'
                    AND settings -> 'authorizedDomains' = '["app.example.com"]'
                """
            #expect(try await database.count(project) == 1)
        }
    }

    @Test func `Ctrl-C at a question changes nothing`() async throws {
        try await TestDatabase.with { database in
            let ending = try await ConcordCommand.asked(
                ["setup"],
                database,
                question: "Project id: ",
                answer: .signal(SIGINT)
            )
            #expect(ending.status == .exited(75) && ending.error.contains("nothing was changed"), "\(ending)")
            #expect(try await database.count("SELECT count(*) FROM project_config") == 0)
        }
    }
}
