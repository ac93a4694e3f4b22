import AccountTestSupport
import JSON
import Postgres
import Subprocess
import Testing

/// `--format json` of the commands that read, the real program.
struct JSONOutputTests {
    private static func json(
        _ arguments: [String],
        _ database: TestDatabase,
        status: Int32 = 0
    ) async throws -> JSONValue {
        let ending = try await ConcordCommand.run(arguments + ["--format", "json"], database)
        #expect(ending.status == .exited(status), "\(arguments): \(ending.error)")
        return try JSONValue(parsing: Array(ending.output.utf8))
    }

    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, display_name, valid_since,
                        created_at)
                    VALUES ('ada', 7, 'ada@example.com', 'mailed-code', '2026-01-02', 'Ada', now(), '2026-01-01 00:00Z'),
                        ('bob', 7, NULL, NULL, NULL, NULL, now(), '2026-01-02 00:00Z');
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users
                    WHERE email IS NOT NULL;
                INSERT INTO password_credentials (user_id, hash, updated_at) VALUES ('ada', '$2b$10$secret', '2026-01-01');
                INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                    VALUES ('ada', 'password', 'sign-up', '2026-01-01')
                """
            )
            try await body(database)
        }
    }

    @Test func `account find and show print masked JSON`() async throws {
        try await Self.withAccounts { database in
            let found = try await Self.json(["account", "find", "ada@example.com"], database)
            #expect(found.array?.count == 1)
            let ada = found.array?.first
            #expect(ada?["userId"]?.string == "ada" && ada?["email"]?.string == "a…@example.com")
            #expect(ada?["methods"]?.array == [.string("password")] && ada?["disabled"]?.bool == false)
            #expect(ada?["createdAt"]?.string == "2026-01-01T00:00:00.000Z")

            let shown = try await Self.json(["account", "show", "ada"], database)
            #expect(shown["email"]?.string == "a…@example.com" && shown["emailProof"]?.string == "mailed-code")
            #expect(shown["methods"]?.array?.first?["method"]?.string == "password")
            #expect(shown["findings"]?.array?.contains { $0["rule"]?.string == "weak-password-hash" } == true)
            let open = try await Self.json(["account", "show", "ada", "--show-identifiers"], database)
            #expect(open["email"]?.string == "ada@example.com")

            #expect(try await Self.json(["account", "find", "no one"], database, status: 1) == .array([]))
        }
    }

    @Test func `a merge prints its preview, and afterwards itself`() async throws {
        try await Self.withAccounts { database in
            let preview = try await Self.json(["account", "merge", "ada", "bob", "--dry-run"], database)
            #expect(preview["survivor"]?.string == "ada" && preview["absorbed"]?.string == "bob")
            #expect(preview["fields"]?.array?.first?["field"]?.string != nil && preview["undecided"]?.array != nil)
            #expect(!preview.text.contains("ada@example.com"), "addresses are masked")
            let none = try await Self.json(["account", "merge", "show", "ada"], database, status: 1)
            #expect(none["merges"] == .array([]))
        }
    }

    @Test func `the lists of service accounts and providers are arrays`() async throws {
        try await Self.withAccounts { database in
            #expect(try await Self.json(["service-account", "list"], database) == .array([]))
            let created = try await ConcordCommand.run(
                ["service-account", "create", "--name", "backend", "--base-url", "https://id.example"],
                database
            )
            #expect(created.status == .exited(0), "\(created.error)")
            let accounts = try await Self.json(["service-account", "list"], database)
            #expect(accounts.array?.first?["keyId"]?.string != nil && accounts.array?.first?["createdAt"] != nil)
            #expect(try await Self.json(["providers", "list"], database).array != nil)
        }
    }

    @Test func `the policy that is shown is a policy that can be applied`() async throws {
        try await Self.withAccounts { database in
            try await Folder.with { folder in
                let shown = try await Self.json(["policy", "show"], database)
                #expect(shown["version"]?.integer == 1)
                try folder.write("policy.yaml", (shown["policy"] ?? .null).text)
                let applied = try await ConcordCommand.run(
                    ["policy", "apply", "--yes", folder.path("policy.yaml")],
                    database
                )
                #expect(applied.status == .exited(0), "\(applied.error)")
            }
        }
    }

    @Test(.notOnCitus("`migrate down` refuses a distributed database"))
    func `migrate reports its plan, its run and its check`() async throws {
        try await Self.withAccounts { database in
            let up = try await Self.json(["migrate", "up"], database)
            #expect(up["migrations"] == .array([]) && up["dryRun"]?.bool == false && up["version"]?.integer != nil)
            let down = try await Self.json(["migrate", "down", "--to", "1", "--dry-run"], database)
            #expect(down["dryRun"]?.bool == true && down["migrations"]?.array?.isEmpty == false)
            let verified = try await Self.json(["migrate", "verify"], database)
            #expect(verified["unchanged"]?.bool == true && verified["refusals"] == .array([]))
        }
    }

    @Test(.notOnCitus("refused only without the extension"))
    func `migrate distribute reports why it is refused`() async throws {
        try await TestDatabase.with { database in
            for arguments in [["migrate", "distribute"], ["migrate", "distribute", "--dry-run"]] {
                let refused = try await Self.json(arguments, database, status: 1)
                #expect(refused["tables"] == .array([]))
                #expect(refused["refusals"]?.array?.first?.string?.contains("CREATE EXTENSION citus") == true)
            }
        }
    }

    @Test(.onCitus)
    func `migrate distribute reports its plan and its run`() async throws {
        try await TestDatabase.with { database in
            try await database.execute("SELECT undistribute_table('kept_answers')")
            let plan = try await Self.json(["migrate", "distribute", "--dry-run"], database)
            #expect(plan["dryRun"]?.bool == true && plan["tables"]?.array?.count == 1)
            #expect(plan["tables"]?.array?.first?["place"]?.string == "by user_id")
            let run = try await Self.json(["migrate", "distribute"], database)
            #expect(run["dryRun"]?.bool == false && run["tables"]?.array?.first?["table"]?.string == "kept_answers")
            let again = try await Self.json(["migrate", "distribute"], database)
            #expect(again["tables"] == .array([]))
        }
    }

    @Test func `project init prints the API key`() async throws {
        try await TestDatabase.with { database in
            let made = try await Self.json(
                ["project", "init", "--id", "demo-shop", "--authorized-domain", "shop.example"],
                database
            )
            #expect(made["projectId"]?.string == "demo-shop")
            #expect(made["apiKeys"]?.array?.first?.string?.hasPrefix("AIza") == true)
            #expect(made["authorizedDomains"] == .array([.string("shop.example")]))
        }
    }

    @Test func `the summary of an import is an object`() async throws {
        try await Self.withAccounts { database in
            let ending = try await ConcordCommand.run(
                ["account", "import", "--format", "json", "--summary-format", "json", "-"],
                database,
                input: #"{"users": [{"localId":"eve","email":"eve@example.com"}]}"#
            )
            #expect(ending.status == .exited(0), "\(ending.error)")
            #expect(
                ending.output == """
                    {"accounts":1,"created":1,"leftOut":0,"replaced":0,"unchanged":0}

                    """
            )
        }
    }
}
