import AccountTestSupport
import Foundation
import Glibc
import JSON
import Postgres
import Subprocess
import SystemPackage
import Testing

/// The behaviour of every command of the real program if its standard output accepts nothing.
struct StandardOutputTests {
    /// Commands that have nothing to say on standard output, or whose work is not what they say.
    private static let others: Set<String> = [
        "service-account revoke",
        // Prints only if a server runs.
        "healthcheck",
        // Prints only on Citus.
        "migrate distribute",
        // Prints only if a receiver has a secret that can be opened.
        "webhook test",
        // Servers log to standard error; an unread banner ends neither.
        "serve", "dev",
    ]

    /// A command, and what it is called with.
    private struct Run {
        var command: String
        var arguments: [String]

        init(_ command: String, _ arguments: String...) {
            self.command = command
            self.arguments = arguments
        }

        var line: [String] { command.split(separator: " ").map(String.init) + arguments }
    }

    private static let merge = "00000000-0000-4000-8000-000000000001"
    /// Sixteen zeros and `ada`.
    private static let conflict = "AAAAAAAAAAAAAAAAAAAAAGFkYQ"
    private static let message = "00000000-0000-4000-8000-000000000002"
    private static let endpoint = "00000000-0000-4000-8000-000000000003"

    /// A database with something to say of everything.
    private static func fill(_ database: TestDatabase) async throws {
        try await database.execute(
            """
            UPDATE project_config SET settings = '{"signIn": {"email": {"enabled": true}}}';
            INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, disabled, valid_since,
                    created_at)
                SELECT name, 7, name || '@example.com', 'mailed-code', now(), name < 'd', now(), now()
                FROM unnest(ARRAY['ada', 'bob', 'cid', 'dee', 'fay']) AS name;
            INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users
                WHERE user_id <> 'cid';
            INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                SELECT user_id, decode(md5(user_id), 'hex'), decode(repeat('00', 32), 'hex'), 7, now(), 'password'
                FROM users WHERE disabled;
            INSERT INTO merges (merge_id, survivor_id, absorbed_id, choices, asked_by, reason, survivor_version,
                    absorbed_version, prepared_at, deadline_at)
                VALUES ('\(merge)', 'ada', 'bob', '{}', 'administrator', 'one', 1, 1, now(), now() + interval '1 day');
            INSERT INTO outbox (message_id, kind, state, sealed_payload, created_at, expires_at, next_attempt_at)
                VALUES ('\(message)', 'mail', 'failed', 'x', now(), now() + interval '1 day', now());
            INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, created_at, disabled_at, disabled_reason)
                VALUES ('\(endpoint)', 1, 'https://receiver.example', 'x', now(), now(), 'failing');
            INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                    sealed_credential, opened_at, expires_at)
                VALUES ('ada', decode(repeat('00', 16), 'hex'), 'open', 'email-already-in-use', 'google.com',
                    decode(repeat('00', 32), 'hex'), '{}', 'x', now(), now() + interval '1 day')
            """
        )
    }

    /// The runs in their order; a run that cannot write leaves the state that the next one needs.
    private static func runs(_ folder: Folder) throws -> [Run] {
        try folder.write("policy.yaml", "concord.displayName: Shop\n")
        try folder.write(
            "providers.yaml",
            "providers:\n  oidc.a:\n    enabled: true\n    issuer: https://id.example\n    clientId: a\n"
        )
        try folder.write("users.json", #"{"users": [{"localId":"eve","email":"eve@example.com"}]}"#)
        let formats = ["text", "ndjson", "csv", "sarif"].map { Run("audit run", "--fail-on", "never", "--format", $0) }
        let simulations = ["text", "ndjson", "csv"].map {
            Run("policy simulate", "--fail-on", "never", "--format", $0, folder.path("policy.yaml"))
        }
        let exports = ["json", "csv", "ndjson"].map { Run("account export", "--format", $0) }
        let listings = ["text", "json"].flatMap { format in
            ["config print", "migrate status", "outbox list", "audit rules", "audit plans", "keys list"].map {
                Run($0, "--format", format)
            }
        }
        return formats + simulations + exports + listings + [
            Run("config check"), Run("doctor"), Run("version"), Run("setup"), Run("migrate up"),
            Run("migrate down", "--to", "1", "--dry-run"),
            Run("migrate verify"),
            Run("migrate create", "--migrations", folder.path(""), "users"),
            Run("outbox show", message), Run("outbox retry", message), Run("outbox discard", message, "--yes"),
            Run("project init", "--id", "demo-other"),
            Run("providers apply", folder.path("providers.yaml")), Run("providers list"),
            Run("policy apply", folder.path("policy.yaml")), Run("policy show"), Run("policy history"),
            Run("policy diff", "1"), Run("project show"), Run("branding show"),
            Run("branding set", "--accent", "#0a664c", "--yes"), Run("branding reset", "--yes"), Run("webhook list"),
            Run("webhook add", "https://other.example/hook"), Run("webhook enable", endpoint),
            Run("webhook delete", endpoint, "--yes"), Run("account list"), Run("account disable", "dee", "--yes"),
            Run("account enable", "dee"), Run("account sign-out", "dee", "--yes"),
            Run("account delete", "dee", "--yes"),
            Run("service-account create", "--name", "backend", "--base-url", "https://id.example"),
            Run("account import", "--format", "json", folder.path("users.json")), Run("account find", "ada"),
            Run("account show", "ada"), Run("account merge run", "dee", "fay", "--dry-run"),
            Run("account merge show", merge), Run("account merge undo", merge), Run("account merge abort", merge),
            Run("keys reseal", "--yes"), Run("keys rotate", "encryption", "--output", folder.path("key")),
            Run("conflict list"), Run("conflict show", conflict), Run("conflict decline", conflict, "--yes"),
            Run("audit plan"), Run("audit apply", "--yes", folder.path("plan")),
        ]
    }

    @Test(.notOnCitus("`migrate down` refuses a distributed database"))
    func `every command that cannot write its output ends with 74`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                var done: Set<String> = []
                func expectFailure(_ run: Run) async throws {
                    done.insert(run.command)
                    let (status, error) = try await ConcordCommand.run(
                        run.line,
                        database,
                        into: try FileDescriptor.open("/dev/full", .writeOnly)
                    )
                    #expect(status == .exited(74), "\(run.line): \(error)")
                    #expect(
                        error.hasSuffix("concord: standard output: No space left on device\n"),
                        "\(run.line): \(error)"
                    )
                }
                try await expectFailure(Run("project init", "--id", "demo-first"))
                #expect(try await database.count("SELECT count(*) FROM project_config") == 1)
                try await database.execute("TRUNCATE project_config CASCADE")
                try await database.makeProject()
                try await Self.fill(database)
                let plan = try await ConcordCommand.run(["audit", "plan", "--all"], database)
                try folder.write("plan", plan.output)
                let runs = try Self.runs(folder)
                for run in runs where run.command != "project init" { try await expectFailure(run) }

                let keys: Query<Int64?> = "SELECT count(*) FROM service_accounts"
                #expect(try await database.count(keys) == 0, "no backend would hold the key")
                let create = Run("service-account create", "--name", "backend", "--base-url", "https://id.example")
                #expect(try await ConcordCommand.run(create.line, database).status == .exited(0))
                #expect(try await database.count(keys) == 1)
                try await expectFailure(Run("service-account list"))
                #expect(
                    try await database.count("SELECT count(*) FROM audit_plans") == 0,
                    "the operator did not see what it would do"
                )
                let applied = try await ConcordCommand.run(["audit", "apply", "--yes", folder.path("plan")], database)
                #expect(applied.status == .exited(0), "\(applied.error)")
                try await expectFailure(Run("audit undo", "--yes", folder.path("plan")))
                #expect(
                    try await database.count("SELECT count(*) FROM users WHERE disabled AND session_epoch = 7") == 0,
                    "the operator did not see what would be undone"
                )

                let commands = try await ConcordCommand.all(database)
                #expect(commands == done.union(Self.others), "a new command stands here too")
                for command in commands.sorted() { try await expectFailure(Run(command, "--help")) }
                for line in ["--version", "help", "help account merge", "account --help", "--experimental-dump-help"] {
                    try await expectFailure(Run(line))
                }
            }
        }
    }

    @Test func `if the reader closes the pipe, the command ends without a message`() async throws {
        try await TestDatabase.with { database in
            let (reader, writer) = try FileDescriptor.pipe()
            try reader.close()
            let (status, error) = try await ConcordCommand.run(["audit", "rules"], database, into: writer)
            #expect(status == .signaled(SIGPIPE) && error == "", "\(status) \(error)")
        }
    }

    @Test func `skipped rows are written to a file, or the import ends with 74`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try folder.write(
                    "users.json",
                    #"{"users": [{"localId":"ada","email":"nowhere"}, {"localId":"bob","email":"bob@example.com"}]}"#
                )
                let ending = try await ConcordCommand.run(
                    ["account", "import", "--format", "json", "--errors", "/dev/full", folder.path("users.json")],
                    database
                )
                #expect(ending.status == .exited(74))
                #expect(ending.error == "concord: /dev/full: No space left on device\n")
                #expect(try await database.count("SELECT count(*) FROM users") == 1)
            }
        }
    }
}
