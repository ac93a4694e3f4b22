import AccountTestSupport
import JSON
import Postgres
import Subprocess
import Testing

/// The error of every command of the real program about a database that it cannot use.
struct DatabaseFailureCommandTests {
    /// Commands that use no database, or wait for it (`serve`), or bring one (`dev`), or report it among other findings
    /// (`doctor`).
    private static let others: Set<String> = [
        "audit rules", "config check", "config print", "doctor", "healthcheck", "migrate create", "serve", "dev",
        "version",
    ]
    /// Commands that bring the schema up, so that a missing one is no failure.
    private static let migrations: Set<String> = [
        "migrate up", "migrate down", "migrate status", "migrate verify", "migrate distribute", "setup",
    ]

    private static let merge = "00000000-0000-4000-8000-000000000001"
    private static let conflict = "nobodys-conflict"

    private static func lines(_ folder: Folder) throws -> [(command: String, arguments: [String])] {
        try folder.write("policy.yaml", "concord.displayName: Shop\n")
        try folder.write(
            "providers.yaml",
            "providers:\n  oidc.a:\n    enabled: true\n    issuer: https://id.example\n    clientId: a\n"
        )
        try folder.write("users.json", #"{"users": [{"localId":"eve","email":"eve@example.com"}]}"#)
        return [
            ("migrate up", []), ("migrate down", ["--to", "1", "--yes"]), ("migrate status", []),
            ("migrate verify", []), ("migrate distribute", []),
            ("setup", ["--project", "demo-first", "--sign-in", "none", "--authorized-domain", "none"]),
            ("project init", ["--id", "demo-first"]), ("providers apply", [folder.path("providers.yaml")]),
            ("providers list", []), ("policy apply", ["--yes", folder.path("policy.yaml")]),
            ("policy simulate", [folder.path("policy.yaml")]), ("policy show", []), ("policy history", []),
            ("service-account create", ["--name", "backend", "--base-url", "https://id.example"]),
            ("service-account list", []), ("service-account revoke", ["key"]), ("outbox list", []),
            ("outbox retry", ["--failed"]), ("outbox discard", ["--all-pending", "--yes"]),
            ("keys list", []), ("keys reseal", ["--yes"]), ("keys rotate", ["signing"]),
            ("conflict list", []), ("conflict show", [conflict]), ("conflict decline", [conflict, "--yes"]),
            ("account find", ["ada"]), ("account show", ["ada"]), ("account list", []),
            ("account disable", ["ada", "--yes"]), ("account enable", ["ada"]),
            ("account sign-out", ["ada", "--yes"]), ("account delete", ["ada", "--yes"]), ("project show", []),
            ("branding show", []), ("branding set", ["--accent", "#0a664c", "--yes"]),
            ("branding reset", ["--yes"]), ("policy diff", ["1"]), ("outbox show", [merge]), ("webhook list", []),
            ("webhook add", ["https://receiver.example"]), ("webhook enable", [merge]),
            ("webhook delete", [merge, "--yes"]), ("webhook test", [merge]),
            ("account import", ["--format", "json", folder.path("users.json")]),
            ("account export", ["--format", "ndjson"]), ("account merge run", ["a", "b", "--dry-run"]),
            ("account merge show", [merge]), ("account merge undo", [merge]), ("account merge abort", [merge]),
            ("audit run", []), ("audit plan", []), ("audit plans", []),
            ("audit undo", ["--yes", merge]), ("audit apply", ["--yes", folder.path("plan")]),
        ]
    }

    /// The database that the URL of `database` names, with `options` in the URL.
    private static func url(_ database: TestDatabase, _ options: String) -> String {
        database.url + (database.url.contains("?") ? "&" : "?") + options
    }

    private static func failures(_ database: TestDatabase) -> [(url: String, words: [String])] {
        [
            (
                "postgresql://concord:s3cret@127.0.0.1:1/accounts",
                ["cannot connect to 127.0.0.1:1: connection refused. Is PostgreSQL running there?"]
            ),
            (
                "postgresql://concord:s3cret@/accounts?host=/nowhere/at/all",
                ["cannot connect to /nowhere/at/all/.s.PGSQL.5432: no such file or directory. Is PostgreSQL running"]
            ),
            (
                "postgresql://concord:s3cret@nowhere.invalid/accounts",
                [
                    "cannot connect to nowhere.invalid:5432: could not translate host name",
                    "Check the host in database.url",
                ]
            ),
            (
                url(database, "user=nobody_here&password=s3cret"),
                [": role \"nobody_here\" does not exist. Create it: createuser nobody_here\n"]
            ),
            (
                url(database, "dbname=nowhere&password=s3cret"),
                [": database \"nowhere\" does not exist. Create it: createdb --owner ", " nowhere\n"]
            ),
        ]
    }

    @Test func `every command reports the place, the reason and the next step, and never the password`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                let lines = try Self.lines(folder)
                let commands = try await ConcordCommand.all(database)
                #expect(commands == Set(lines.map(\.command)).union(Self.others), "a new command stands here too")
                try await database.makeProject()
                let plan = try await ConcordCommand.run(["audit", "plan"], database)
                try folder.write("plan", plan.output)
                for failure in Self.failures(database) {
                    for line in lines {
                        let words = line.command.split(separator: " ").map(String.init) + line.arguments
                        let ending = try await ConcordCommand.run(
                            words,
                            database,
                            ["CONCORD_DATABASE_URL": failure.url]
                        )
                        #expect(ending.status == .exited(69), "\(words): \(ending)")
                        #expect(failure.words.allSatisfy(ending.error.contains), "\(words): \(ending.error)")
                        #expect(!ending.error.contains("s3cret") && !ending.output.contains("s3cret"), "\(words)")
                    }
                }
            }
        }
    }

    @Test(.notOnCitus("the test drops the schema of the extension"))
    func `a missing or outdated schema is reported with the command that fixes it`()
        async throws
    {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let plan = try await ConcordCommand.run(["audit", "plan"], database)
                try folder.write("plan", plan.output)
                let lines = try Self.lines(folder).filter { !Self.migrations.contains($0.command) }
                for script in [
                    "DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)",
                    "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
                ] {
                    try await database.execute(script)
                    for line in lines {
                        let words = line.command.split(separator: " ").map(String.init) + line.arguments
                        let ending = try await ConcordCommand.run(words, database)
                        #expect(ending.status == .exited(78), "\(words): \(ending)")
                        #expect(ending.error.contains("run `concord migrate up`"), "\(words): \(ending.error)")
                        #expect(!ending.error.contains("server_"), "\(words): \(ending.error)")
                    }
                }
            }
        }
    }

    @Test func `a server that waits for its database logs the reason and the next step`() async throws {
        try await TestDatabase.with { database in
            let url = Self.url(database, "user=nobody_here&password=s3cret")
            try await ServeProcess.launch(database: url) { starting in
                let line = try #require(await starting.log.line(saying: "waiting for the database"))
                let error = try #require(line["error"]?.string)
                #expect(error.hasPrefix("cannot connect to "), "\(error)")
                #expect(
                    error.hasSuffix(": role \"nobody_here\" does not exist. Create it: createuser nobody_here"),
                    "\(error)"
                )
                #expect(!starting.log.text.contains("s3cret"))
            }
        }
    }
}
