import AccountTestSupport
import JSON
import Postgres
import Subprocess
import Testing

/// The commands that change or list accounts, and those that show the project, its policy and its webhooks; the real
/// program.
struct AdministrationCommandTests {
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                    SELECT name, 7, name || '@example.com', 'mailed-code', now(), now(), now()
                    FROM unnest(ARRAY['ada', 'bob', 'cid']) AS name;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
                INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                    SELECT user_id, decode(md5(user_id), 'hex'), decode(repeat('00', 32), 'hex'), 7, now(), 'password'
                    FROM users
                """
            )
            try await body(database)
        }
    }

    private static func succeed(
        _ arguments: [String],
        _ database: TestDatabase
    ) async throws -> ConcordCommand.Ending {
        let ending = try await ConcordCommand.run(arguments, database)
        #expect(ending.status == .exited(0), "\(arguments): \(ending.error)")
        return ending
    }

    @Test func `accounts are listed by uid, page by page`() async throws {
        try await Self.withAccounts { database in
            let first = try await Self.succeed(["account", "list", "--max", "2"], database)
            let lines = first.output.split(separator: "\n")
            #expect(
                lines.count == 3 && lines[0].hasPrefix("USER  ADDRESS") && lines[1].hasPrefix("ada   a…@example.com")
            )
            #expect(first.error == "concord: there are more: --after bob\n")
            let rest = try await Self.succeed(["account", "list", "--after", "bob", "--format", "ndjson"], database)
            #expect(try JSONValue(parsing: Array(rest.output.utf8))["userId"]?.string == "cid" && rest.error == "")
        }
    }

    @Test func `an account is disabled and enabled as an administrator does it`() async throws {
        try await Self.withAccounts { database in
            let unsure = try await ConcordCommand.run(["account", "disable", "ada"], database)
            #expect(unsure.status == .exited(1) && unsure.error.contains("nothing was changed"))
            #expect(try await database.count("SELECT count(*) FROM users WHERE disabled") == 0)

            _ = try await Self.succeed(["account", "disable", "ada", "--yes"], database)
            #expect(
                try await database.count(
                    "SELECT count(*) FROM users WHERE user_id = 'ada' AND disabled AND version > 1"
                )
                    == 1,
                "other servers see the new version"
            )
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE user_id = 'ada'") == 1)
            let again = try await Self.succeed(["account", "disable", "ada", "--yes"], database)
            #expect(again.output.contains("it is disabled already"))
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE user_id = 'ada'") == 1)

            let enabled = try await Self.succeed(["account", "enable", "ada"], database)
            #expect(enabled.output.hasSuffix("enabled\n"))
            #expect(try await database.count("SELECT count(*) FROM users WHERE disabled") == 0)
        }
    }

    @Test func `sign-out ends the sessions of one account, and delete frees its address`() async throws {
        try await Self.withAccounts { database in
            _ = try await Self.succeed(["account", "sign-out", "ada", "--yes"], database)
            #expect(
                try await database.count(
                    "SELECT count(*) FROM sessions JOIN users USING (user_id, session_epoch) WHERE user_id = 'ada'"
                ) == 0
            )
            #expect(
                try await database.count(
                    "SELECT count(*) FROM sessions JOIN users USING (user_id, session_epoch) WHERE user_id = 'bob'"
                ) == 1
            )
            let refused = try await ConcordCommand.asked(["account", "delete", "bob"], database, answer: .text("n\n"))
            #expect(refused.status == .exited(1) && refused.error.contains("It cannot be restored. [y/N]"))
            #expect(try await database.count("SELECT count(*) FROM users") == 3)
            _ = try await Self.succeed(["account", "delete", "bob", "--yes"], database)
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE user_id = 'bob'") == 0)
            for verb in ["disable", "enable", "sign-out", "delete"] {
                let unknown = try await ConcordCommand.run(
                    ["account", verb, "bob"] + (verb == "enable" ? [] : ["--yes"]),
                    database
                )
                #expect(unknown.status == .exited(1) && unknown.output == "", "\(verb)")
                #expect(unknown.error.contains("there is no such account"), "\(verb): \(unknown.error)")
            }
        }
    }

    @Test func `project show prints the API key and what is enabled`() async throws {
        try await TestDatabase.with { database in
            let made = try await Self.succeed(
                ["project", "init", "--id", "demo-shop", "--format", "json"],
                database
            )
            let key = try #require(
                try JSONValue(parsing: Array(made.output.utf8))["apiKeys"]?.array?.first?.string
            )
            try await database.execute(
                """
                UPDATE project_config SET settings = '{"signIn": {"email": {"enabled": true}}}'
                """
            )
            let shown = try await Self.succeed(["project", "show"], database).output
            #expect(shown.contains("demo-shop") && shown.contains(key), "\(shown)")
            #expect(shown.split(separator: "\n").contains { $0.hasPrefix("Enabled") && $0.hasSuffix("email") })
            let json = try await Self.succeed(["project", "show", "--format", "json"], database).output
            #expect(try JSONValue(parsing: Array(json.utf8))["enabled"] == .array([.string("email")]))
        }
    }

    @Test func `policy diff compares two versions in both directions`() async throws {
        try await Self.withAccounts { database in
            try await Folder.with { folder in
                for (name, text) in [("a", "concord.displayName: Shop\n"), ("b", "concord.displayName: Market\n")] {
                    try folder.write(name, text)
                    _ = try await Self.succeed(["policy", "apply", "--yes", folder.path(name)], database)
                }
                let diff = try await Self.succeed(["policy", "diff", "2", "3"], database).output
                #expect(diff == "concord.displayName  Shop → Market\n")
                let back = try await Self.succeed(["policy", "diff", "3", "2"], database).output
                #expect(back == "concord.displayName  Market → Shop\n")
                #expect(try await Self.succeed(["policy", "diff", "3"], database).output == "no difference\n")
                let unknown = try await ConcordCommand.run(["policy", "diff", "1", "9"], database)
                #expect(unknown.status == .exited(1) && unknown.error.contains("the newest is 3"), "\(unknown.error)")
            }
        }
    }

    @Test func `a message of the outbox is shown without its content`() async throws {
        try await Self.withAccounts { database in
            let message = "00000000-0000-4000-8000-000000000002"
            try await database.execute(
                """
                INSERT INTO outbox (message_id, kind, state, sealed_payload, created_at, expires_at, next_attempt_at, reason)
                    VALUES ('\(message)', 'mail', 'failed', 'x', now(), now() + interval '1 day', now(), '550 5.1.1')
                """
            )
            let shown = try await Self.succeed(["outbox", "show", message], database).output
            #expect(shown.contains("state     failed") && shown.contains("reason    550 5.1.1"), "\(shown)")
            let json = try await Self.succeed(["outbox", "show", message, "--format", "json"], database).output
            #expect(try JSONValue(parsing: Array(json.utf8))["id"]?.string == message)
            let unknown = try await ConcordCommand.run(
                ["outbox", "show", "00000000-0000-4000-8000-000000000009"],
                database
            )
            #expect(unknown.status == .exited(1) && unknown.error.contains("there is no such message"))
            #expect(try await ConcordCommand.run(["outbox", "show", "x"], database).status == .exited(64))
        }
    }

    @Test func `webhook endpoints are added, listed and deleted`() async throws {
        try await Self.withAccounts { database in
            let empty = try await Self.succeed(["webhook", "list"], database).output
            #expect(empty.hasPrefix("there is no endpoint"))
            let added = try await Self.succeed(
                ["webhook", "add", "https://receiver.example/hook", "--format", "json"],
                database
            )
            let made = try JSONValue(parsing: Array(added.output.utf8))
            #expect(made["secret"]?.string?.hasPrefix("whsec_") == true)
            let id = try #require(made["id"]?.string)
            let listed = try await Self.succeed(["webhook", "list"], database).output
            #expect(
                listed.contains(id) && listed.contains("https://receiver.example/hook") && !listed.contains("whsec_")
            )
            let refused = try await ConcordCommand.run(["webhook", "add", "http://receiver.example/hook"], database)
            #expect(refused.status == .exited(1) && refused.error.contains("the URL is refused"), "\(refused.error)")
            _ = try await Self.succeed(["webhook", "enable", id], database)
            _ = try await Self.succeed(["webhook", "delete", id, "--yes"], database)
            #expect(try await database.count("SELECT count(*) FROM webhook_endpoints") == 0)
            let gone = try await ConcordCommand.run(["webhook", "delete", id, "--yes"], database)
            #expect(gone.status == .exited(1) && gone.error.contains("concord webhook list"), "\(gone.error)")
        }
    }

    @Test func `beside a development server, webhook endpoints may be on this machine without TLS`() async throws {
        try await Self.withAccounts { database in
            // A port where nothing listens.
            let add = ["webhook", "add", "http://127.0.0.1:9/hook", "--format", "json"]
            let refused = try await ConcordCommand.run(add, database)
            #expect(refused.status == .exited(1) && refused.error.contains("the URL is refused"), "\(refused.error)")
            let development: [Environment.Key: String] = ["CONCORD_DEVELOPMENT": "1"]
            let added = try await ConcordCommand.run(add, database, development)
            #expect(added.status == .exited(0), "\(added.error)")
            let id = try #require(try JSONValue(parsing: Array(added.output.utf8))["id"]?.string)
            let test = ["webhook", "test", id, "--format", "json"]
            func failure(_ settings: [Environment.Key: String]) async throws -> String? {
                let tested = try await ConcordCommand.run(test, database, settings)
                #expect(tested.status == .exited(69), "\(tested.error)")
                return try JSONValue(parsing: Array(tested.output.utf8))["failure"]?.string
            }
            #expect(try await failure(development) == "unreachable", "the address is allowed")
            #expect(try await failure([:]) == "address-not-allowed")
        }
    }
}
