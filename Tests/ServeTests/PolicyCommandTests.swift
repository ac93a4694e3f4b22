import AccountLinking
import AccountTestSupport
import Foundation
import Glibc
import JSON
import Postgres
import Subprocess
import Testing

/// `concord policy`, the real program, on a real database.
struct PolicyCommandTests {
    /// A project with passwords, GitHub and a few accounts.
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                UPDATE project_config SET settings = '{"signIn": {"email": {"enabled": true}}}';
                INSERT INTO provider_configs (provider_id, enabled, client_id, accepts_id_token, accepts_code,
                        apple_bundle_ids, created_at, updated_at)
                    VALUES ('github.com', true, 'client', true, true, '{}', now(), now());
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                    SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', 'mailed-code', now(), now(), now()
                    FROM generate_series(1, 12) AS n;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
                INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                    SELECT user_id, 'password', 'session', now() FROM users;
                INSERT INTO password_credentials (user_id, hash, updated_at)
                    SELECT user_id, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', now() FROM users;
                INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
                    VALUES ('user-7', 'github.com', '7', now(), now());
                INSERT INTO identifiers (kind, value, user_id) VALUES ('federated', 'github.com' || E'\\x1F' || '7', 'user-7');
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule, policy_version, decisions)
                    VALUES ('user-7', '019387d0-0000-7000-8000-000000000001', to_timestamp(1733200000), 'refused', 'S4', 1,
                        '[{"rule": "S4", "answer": {"kind": "refuse"}, "alternatives": {},
                        "facts": {"question": "signInWithPassword", "passwordMatches": false,
                            "owner": {"id": "user-7", "version": 1, "sessionEpoch": 7, "password": true}},
                        "policy": {"oneAccountPerEmail": true, "protectsEmailEnumeration": true, "passwordSignIn": true,
                            "emailLinkSignIn": false, "anonymousSignUp": false, "clientSignUp": true, "phoneSignIn": false,
                            "secondFactors": false, "resetUnlinksProviders": true, "keepsLastMethod": false}}]')
                """
            )
            try await body(database)
        }
    }

    private static func concord(
        _ arguments: [String],
        _ text: String,
        _ database: TestDatabase
    ) async throws -> ConcordCommand.Ending {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("policy-\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        var ending = try await ConcordCommand.run(["policy"] + arguments + [path], database)
        for place in [path, path.replacingOccurrences(of: "/private", with: "")] {
            ending.output = ending.output.replacingOccurrences(of: place, with: "policy.yaml")
            ending.error = ending.error.replacingOccurrences(of: place, with: "policy.yaml")
        }
        return ending
    }

    private static let window = ["--since", "2024-12-01T00:00:00Z"]
    private static let noPasswords = """
        signIn.email.enabled: false
        concord.displayName: Shop
        """

    @Test func `people read what would change, how many it meets, and some of them`() async throws {
        try await Self.withAccounts { database in
            let (status, output, error) = try await Self.concord(
                ["simulate"] + Self.window,
                Self.noPasswords,
                database
            )
            #expect(status == .exited(1) && error == "", "\(error)")
            #expect(
                output == """
                    Version 1 is in force; policy.yaml proposes:
                      signIn.email.enabled  true → false
                      concord.displayName   - → Shop  (no account is judged by it)

                    12 accounts
                      11  locked-out   Something lets the user in now, and nothing would.
                       1  method-lost  A sign-in method that works now would not; another one stays.

                    locked-out
                      user-1                        methods: password
                      user-10                       methods: password
                      user-11                       methods: password
                      user-12                       methods: password
                      user-2                        methods: password
                      user-3                        methods: password
                      user-4                        methods: password
                      user-5                        methods: password
                      user-6                        methods: password
                      user-8                        methods: password
                      and 1 more; --format ndjson tells of all

                    method-lost
                      user-7                        methods: password

                    Since 2024-12-01T00:00:00.000Z: 1 decision asked again, 1 question
                      COUNT  ACCOUNTS  PROVIDER  NOW                                   PROPOSED                          FOR EXAMPLE
                          1         1  -         S4 refused (invalidLoginCredentials)  S1 refused (operationNotAllowed)  user-7, 019387d0-0000-7000-8000-000000000001

                    """
            )
        }
    }

    @Test func `programs read an object a line, tables a row`() async throws {
        try await Self.withAccounts { database in
            let trust = "concord.emailTrust: [{provider: github.com, trust: verifying}]"
            let ndjson = try await Self.concord(["simulate", "--format", "ndjson"] + Self.window, trust, database)
            #expect(ndjson.status == .exited(0), "\(ndjson.error)")
            let lines = try ndjson.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
            try #require(lines.map { $0["type"]?.string } == Array(repeating: "effect", count: 11) + ["summary"])
            #expect(lines.allSatisfy { $0["effect"]?.string ?? "would-link" == "would-link" })
            #expect(lines[0]["evidence"]?["address"] == "a…@example.com")
            #expect(lines[11]["effects"]?["would-link"] == 11 && lines[11]["effects"]?["locked-out"] == 0)
            #expect(lines[11]["history"]?["questions"] == 1 && lines[11]["history"]?["changed"] == 0)
            #expect(lines[11]["version"] == 1)
            let csv = try await Self.concord(
                ["simulate", "--format", "csv", "--show-identifiers"] + Self.window,
                trust,
                database
            )
            let rows = csv.output.split(separator: "\r\n")
            #expect(rows.count == 12 && rows[0] == "effect,tenant,user,others,evidence")
            #expect(rows[1].hasPrefix("would-link,,user-1,,\"{\"\"address\"\":\"\"ada.1@example.com\"\""))
        }
    }

    @Test func `the exit code says whether anything is met that matters`() async throws {
        try await Self.withAccounts { database in
            for (arguments, text, status) in [
                (["--fail-on", "never"], Self.noPasswords, 0), (["--fail-on", "would-split"], Self.noPasswords, 0),
                (["--fail-on", "would-split,method-lost"], Self.noPasswords, 1),
                (["--fail-on", "would-split,"], Self.noPasswords, 64), (["--fail-on", "x"], Self.noPasswords, 64),
                (["--since", "yesterday"], Self.noPasswords, 64), (["--after", "nonsense"], Self.noPasswords, 64),
                (["--connections", "0"], Self.noPasswords, 64), (["--tenant", "acme"], Self.noPasswords, 64),
                ([], "signIn: perhaps", 78),
                ([], "providers: {google.com: removed}", 78),
            ] {
                let ending = try await Self.concord(["simulate"] + arguments, text, database)
                #expect(ending.status == .exited(TerminationStatus.Code(status)), "\(arguments): \(ending.error)")
            }
            let unregistered = try await Self.concord(["simulate"], "\nproviders:\n  google.com: removed\n", database)
            #expect(unregistered.error.hasPrefix("concord: policy.yaml:3: providers.google.com: not registered"))
        }
    }

    @Test func `what was simulated is applied, unless somebody was faster, and shown`() async throws {
        try await Self.withAccounts { database in
            let text = "signIn.allowDuplicateEmails: true\nproviders: {github.com: {enabled: false}}\n"
            let applied = try await Self.concord(["apply", "--if-version", "1"], text, database)
            #expect(applied.status == .exited(0) && applied.output == "version 2 is in force\n", "\(applied.error)")
            let late = try await Self.concord(["apply", "--if-version", "1"], Self.noPasswords, database)
            #expect(late.status == .exited(1) && late.error.contains("changed meanwhile"))
            let unregistered = try await Self.concord(["apply"], "providers: {google.com: removed}", database)
            #expect(unregistered.status == .exited(78) && unregistered.error.contains("policy.yaml:1:"))
            let shown = try await ConcordCommand.run(["policy", "show"], database)
            #expect(shown.output.hasPrefix("# Version 2."))
            #expect(shown.output.contains("allowDuplicateEmails: true\n"))
            #expect(shown.output.contains("providers:\n  github.com: {enabled: false}\n"))
            let again = try await Self.concord(["simulate"], shown.output, database)
            #expect(again.output.contains("nothing that is not so already") && again.status == .exited(0))
            let idle = try await Self.concord(["apply"], shown.output, database)
            #expect(
                idle.status == .exited(0)
                    && idle.output == "version 2 is in force already; nothing was changed\n",
                "\(idle)"
            )
            #expect(try await database.count("SELECT max(version) FROM project_config_versions") == 2)
            let other = try await Self.concord(["apply"], shown.output + "\nconcord.displayName: Shop\n", database)
            #expect(other.output == "version 3 is in force\n", "\(other)")
        }
    }

    // MARK: Cut short

    @Test func `Ctrl-C ends a run before anything was told, and a lost connection is told`() async throws {
        try await Self.withAccounts { database in
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("policy-\(UUID()).yaml").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try Self.noPasswords.write(toFile: path, atomically: true, encoding: .utf8)
            let arguments = ["policy", "simulate", "--format", "ndjson", path]
            let ending = try await ConcordCommand.interrupted(arguments, database, until: "told to stop") {
                process,
                _ in
                #expect(kill(process, SIGINT) == 0)
            }
            #expect(ending.status == .exited(75), "\(ending.error)")
            #expect(ending.output == "" && ending.error.contains("interrupted; nothing was told yet"))
            // After user-6.
            let rest = try await ConcordCommand.run(arguments + ["--after", "H3VzZXItNg"], database)
            let told = rest.output.split(separator: "\n").filter { $0.contains("effect\":\"") }
            #expect(told.count == 3 && rest.output.contains("\"accounts\":3") && rest.status == .exited(1))
            let lost = try await ConcordCommand.interrupted(arguments, database) { _, database in
                try await database.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'concord policy'
                    """
                )
            }
            #expect(lost.status == .exited(69) && lost.error.contains("stopped; nothing was told yet"))
        }
    }
}
