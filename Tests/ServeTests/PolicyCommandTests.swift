import AccountLinking
import AccountTestSupport
import Foundation
import Glibc
import JSON
import NIOHTTP1
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
                UPDATE project_config_versions SET settings = (SELECT settings FROM project_config);
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
        try await withFile(text) { try await ConcordCommand.run(["policy"] + arguments + [$0], database) }
    }

    /// Runs `body` with the path of a file that holds `text`; the output names it `policy.yaml`.
    private static func withFile(
        _ text: String,
        _ body: (_ path: String) async throws -> ConcordCommand.Ending
    ) async throws -> ConcordCommand.Ending {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("policy-\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        var ending = try await body(path)
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

    @Test func `a simulation shows the changed outcomes, their counts and examples`() async throws {
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
                      concord.displayName   - → Shop  (not simulated)

                    12 accounts
                      11  locked-out   The user can sign in now, and no method would let them in.
                       1  method-lost  A sign-in method that works now would stop working; another one stays.

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
                      and 1 more; --format ndjson lists all

                    method-lost
                      user-7                        methods: password

                    Since 2024-12-01T00:00:00.000Z: repeated 1 decision, 1 question
                      COUNT  ACCOUNTS  PROVIDER  NOW                                                   PROPOSED                                                     FOR EXAMPLE
                          1         1  -         wrongPassword (S4) refused (invalidLoginCredentials)  passwordSignInNotEnabled (S1) refused (operationNotAllowed)  user-7, 019387d0-0000-7000-8000-000000000001

                    """
            )
        }
    }

    // MARK: Sessions

    /// Two sessions of `user-1` and one of `user-2` that were unused for 40 days, and one of `user-3` that was used today.
    private static func addSessions(_ database: TestDatabase) async throws {
        try await database.execute(
            """
            INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider,
                    last_used_at, used_day)
                SELECT 'user-' || account, decode(lpad(n::text, 32, '0'), 'hex'), decode(repeat('00', 32), 'hex'), 7,
                    now() - interval '40 days', 'password', now() - days * interval '1 day',
                    floor(extract(epoch FROM now()) / 86400)::integer - 40
                FROM (VALUES (1, 1, 40), (2, 1, 40), (3, 2, 40), (4, 3, 0)) AS made (n, account, days)
            """
        )
    }

    private static let thirtyDays = "concord.sessions.inactivitySeconds: 2592000"

    @Test func `a simulation counts the sessions that a shorter limit on inactivity ends`() async throws {
        try await Self.withAccounts { database in
            try await Self.addSessions(database)
            let text = try await Self.concord(["simulate"] + Self.window, Self.thirtyDays, database)
            #expect(text.status == .exited(0), "\(text.error)")
            #expect(
                text.output.hasPrefix(
                    """
                    Version 1 is in force; policy.yaml proposes:
                      concord.sessions.inactivitySeconds  0 → 2592000

                    12 accounts
                    no account is affected

                    3 sessions of 2 accounts would end at once: unused for the proposed limit

                    Since 2024-12-01T00:00:00.000Z:
                    """
                ),
                "\(text.output)"
            )
            for (change, sessions, accounts) in [
                (Self.thirtyDays, 3, 2), ("concord.sessions.inactivitySeconds: 15552000", 0, 0),
                ("concord.displayName: Shop", 0, 0),
            ] {
                let ndjson = try await Self.concord(["simulate", "--format", "ndjson"] + Self.window, change, database)
                let summary = try JSONValue(parsing: Array(#require(ndjson.output.split(separator: "\n").last).utf8))
                #expect(
                    summary["sessionsEnded"]
                        == ["sessions": .integer(Int64(sessions)), "accounts": .integer(Int64(accounts))],
                    "\(change)"
                )
            }
            let longer = try await Self.concord(
                ["simulate"] + Self.window,
                "concord.sessions.inactivitySeconds: 15552000",
                database
            )
            #expect(longer.output.contains("\n\nno session would end\n\n"), "\(longer.output)")
        }
    }

    @Test func `an apply shows the sessions that end`() async throws {
        try await Self.withAccounts { database in
            try await Self.addSessions(database)
            let applied = try await Self.concord(["apply", "--yes"], Self.thirtyDays, database)
            #expect(applied.status == .exited(0), "\(applied.error)")
            #expect(
                applied.output == """
                    Version 1 is in force; policy.yaml proposes:
                      concord.sessions.inactivitySeconds  0 → 2592000

                    3 sessions of 2 accounts would end at once: unused for the proposed limit
                    version 2 is in force

                    """
            )
            let again = try await Self.concord(
                ["apply", "--dry-run"],
                "concord.sessions.inactivitySeconds: 2505600",
                database
            )
            #expect(again.output.hasSuffix("\n\nno session would end\n"), "the present limit has ended them already")
        }
    }

    @Test func `the JSON format has one object in each line, and CSV one row`() async throws {
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

    @Test func `the exit code shows if an account has one of the given effects`() async throws {
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

    // MARK: Applying

    private static let versions: Query<Int64?> = "SELECT max(version) FROM project_config_versions"

    @Test func `a simulated policy is applied and shown, unless another change came first`() async throws {
        try await Self.withAccounts { database in
            let text = "signIn.allowDuplicateEmails: true\nproviders: {github.com: {enabled: false}}\n"
            let applied = try await Self.concord(["apply", "--yes", "--if-version", "1"], text, database)
            #expect(applied.status == .exited(0), "\(applied)")
            #expect(
                applied.output.hasPrefix(
                    """
                    Version 1 is in force; policy.yaml proposes:
                      signIn.allowDuplicateEmails  false → true
                      github.com                   enabled → disabled

                    12 accounts

                    """
                ) && applied.output.hasSuffix("\nversion 2 is in force\n"),
                "\(applied.output)"
            )
            let late = try await Self.concord(["apply", "--yes", "--if-version", "1"], Self.noPasswords, database)
            #expect(
                late.status == .exited(1) && late.output == ""
                    && late.error.contains("changed meanwhile: version 2 by cli:")
            )
            let unregistered = try await Self.concord(["apply", "--yes"], "providers: {google.com: removed}", database)
            #expect(unregistered.status == .exited(78) && unregistered.error.contains("policy.yaml:1:"))
            let shown = try await ConcordCommand.run(["policy", "show"], database)
            #expect(shown.output.hasPrefix("# Version 2."))
            #expect(shown.output.contains("allowDuplicateEmails: true\n"))
            #expect(shown.output.contains("providers:\n  github.com: {enabled: false}\n"))
            let again = try await Self.concord(["simulate"], shown.output, database)
            #expect(again.output.contains("  no change") && again.status == .exited(0))
            let idle = try await Self.concord(["apply"], shown.output, database)
            #expect(
                idle.status == .exited(0)
                    && idle.output == "version 2 is in force already; nothing was changed\n",
                "\(idle)"
            )
            #expect(try await database.count(Self.versions) == 2)
            let other = try await Self.concord(
                ["apply", "--yes"],
                shown.output + "\nconcord.displayName: Shop\n",
                database
            )
            #expect(
                other.output == """
                    Version 2 is in force; policy.yaml proposes:
                      concord.displayName  - → Shop  (not simulated)
                    version 3 is in force

                    """,
                "\(other)"
            )
        }
    }

    @Test func `a policy that locks users out is refused with their number, also with --yes`() async throws {
        try await Self.withAccounts { database in
            let refused = try await Self.concord(["apply", "--yes"], Self.noPasswords, database)
            #expect(refused.status == .exited(1), "\(refused)")
            #expect(
                refused.output == """
                    Version 1 is in force; policy.yaml proposes:
                      signIn.email.enabled  true → false
                      concord.displayName   - → Shop  (not simulated)

                    12 accounts
                      11  locked-out   The user can sign in now, and no method would let them in.
                       1  method-lost  A sign-in method that works now would stop working; another one stays.

                    """
            )
            #expect(
                refused.error == """
                    concord: 11 users would be locked out, and --max-locked-out allows 0; nothing was changed. List them: \
                    concord policy simulate policy.yaml. To lock them out: --max-locked-out 11

                    """
            )
            let almost = try await Self.concord(
                ["apply", "--yes", "--max-locked-out", "10"],
                Self.noPasswords,
                database
            )
            #expect(almost.status == .exited(1) && almost.error.contains("allows 10;"), "\(almost)")
            #expect(try await database.count(Self.versions) == 1)
            let allowed = try await Self.concord(
                ["apply", "--yes", "--max-locked-out", "11"],
                Self.noPasswords,
                database
            )
            #expect(allowed.status == .exited(0) && allowed.output.hasSuffix("version 2 is in force\n"), "\(allowed)")
            #expect(try await database.count(Self.versions) == 2)
        }
    }

    @Test func `a dry run, a missing confirmation or an invalid reason changes nothing`() async throws {
        try await Self.withAccounts { database in
            let harmless = "concord.displayName: Shop"
            for (arguments, text, status, words) in [
                (["--dry-run"], Self.noPasswords, 1, "11 users would be locked out"),
                (["--dry-run", "--max-locked-out", "11"], Self.noPasswords, 0, ""),
                (["--dry-run", "--yes"], harmless, 0, ""),
                ([], harmless, 1, "concord: nothing was changed; answer y, or give --yes\n"),
                (["--yes", "--reason", "two\nlines"], harmless, 64, "--reason"),
                (["--yes", "--reason", ""], harmless, 64, "--reason"),
                (["--yes", "--max-locked-out", "-1"], harmless, 64, ""),
                (["--yes", "--connections", "0"], harmless, 64, "--connections"),
            ] {
                let ending = try await Self.concord(["apply"] + arguments, text, database)
                #expect(ending.status == .exited(TerminationStatus.Code(status)), "\(arguments): \(ending)")
                #expect(words.isEmpty ? status == 64 || ending.error == "" : ending.error.contains(words), "\(ending)")
            }
            let said = try await Self.withFile(harmless) { path in
                try await ConcordCommand.asked(["policy", "apply", path], database, answer: .text("n\n"))
            }
            #expect(said.status == .exited(1) && said.error.contains("Bring this policy into force? [y/N] "))
            #expect(try await database.count(Self.versions) == 1)
            let agreed = try await Self.withFile(harmless) { path in
                try await ConcordCommand.asked(["policy", "apply", path], database, answer: .text("y\n"))
            }
            #expect(agreed.status == .exited(0) && agreed.output.hasSuffix("version 2 is in force\n"), "\(agreed)")
        }
    }

    /// The agreed policy is not the one that would come into force.
    @Test func `if the policy changes before the confirmation, the apply is refused`() async throws {
        try await Self.withAccounts { database in
            let meanwhile: [@Sendable () async throws -> Void] = [
                { _ = try await Self.concord(["apply", "--yes"], "concord.displayName: Other", database) },
                // By `concord providers apply` or over HTTP: that makes no version.
                { try await database.execute("UPDATE provider_configs SET enabled = false") },
            ]
            for (index, change) in meanwhile.enumerated() {
                let late = try await Self.withFile("signIn.allowDuplicateEmails: true") { path in
                    try await ConcordCommand.asked(
                        ["policy", "apply", path],
                        database,
                        meanwhile: change,
                        answer: .text("y\n")
                    )
                }
                #expect(late.status == .exited(1), "\(late)")
                #expect(
                    late.error.contains(
                        index == 0
                            ? "changed meanwhile: version 2 by cli:" : "changed meanwhile: a provider's registration"
                    ),
                    "\(late)"
                )
            }
            #expect(try await database.count(Self.versions) == 2)
        }
    }

    @Test func `if applies race, one creates each version, and each version names its author`() async throws {
        try await Self.withAccounts { database in
            let statuses = try await withThrowingTaskGroup { group in
                for number in 1...12 {
                    group.addTask {
                        try await Self.concord(
                            ["apply", "--yes", "--reason", "run \(number)"],
                            "concord.displayName: run \(number)",
                            database
                        ).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = Int64(statuses.count { $0 == .exited(0) })
            #expect(winners >= 1 && statuses.allSatisfy { $0 == .exited(0) || $0 == .exited(1) }, "\(statuses)")
            #expect(try await database.count("SELECT count(*) FROM project_config_versions") == winners + 1)
            #expect(try await database.count(Self.versions) == winners + 1)
            #expect(
                try await database.count(
                    """
                    SELECT count(*) FROM project_config_versions
                    WHERE settings #>> '{concord,displayName}' = reason AND author LIKE 'cli:%@%'
                    """
                ) == winners
            )
            #expect(
                try await database.count(
                    "SELECT count(*) FROM project_config JOIN project_config_versions USING (version, settings)"
                ) == 1
            )
        }
    }

    @Test func `the history shows who changed what, when and why`() async throws {
        try await Self.withAccounts { database in
            let closing = ["apply", "--yes", "--max-locked-out", "11", "--reason", "passwords leaked"]
            #expect(try await Self.concord(closing, Self.noPasswords, database).status == .exited(0))
            let providers = "providers: {github.com: {enabled: false}}"
            let second = ["apply", "--yes", "--max-locked-out", "1"]
            #expect(try await Self.concord(second, providers, database).status == .exited(0))
            try await database.execute(
                """
                UPDATE project_config_versions SET author = 'cli:ada@ops' WHERE author LIKE 'cli:_%@_%';
                UPDATE project_config_versions SET changed_at = to_timestamp(1795503600 + version * 3600)
                """
            )
            let table = try await ConcordCommand.run(["policy", "history"], database)
            #expect(
                table.output == """
                    VERSION  CHANGED                   AUTHOR       REASON
                    3        2026-11-24T10:00:00.000Z  cli:ada@ops  -
                        github.com  enabled → disabled
                    2        2026-11-24T09:00:00.000Z  cli:ada@ops  passwords leaked
                        signIn.email.enabled  true → false
                        concord.displayName   - → Shop
                    1        2026-11-24T08:00:00.000Z  unknown      -

                    """,
                "\(table)"
            )
            let json = try await ConcordCommand.run(["policy", "history", "--format", "json", "--max", "2"], database)
            let versions = try JSONValue(parsing: Array(json.output.utf8)).array ?? []
            #expect(versions.map { $0["version"] } == [3, 2])
            #expect(versions.last?["reason"] == "passwords leaked" && versions.first?["reason"] == .null)
            #expect(
                versions.last?["changes"]
                    == [
                        ["name": "signIn.email.enabled", "before": true, "after": false],
                        ["name": "concord.displayName", "before": .null, "after": "Shop"],
                    ]
            )
            for arguments in [["--max", "0"], ["--format", "csv"]] {
                let ending = try await ConcordCommand.run(["policy", "history"] + arguments, database)
                #expect(ending.status == .exited(64), "\(ending)")
            }
        }
    }

    @Test func `applying a shown version restores it`() async throws {
        try await Self.withAccounts { database in
            let before = try await ConcordCommand.run(["policy", "show"], database).output
            let change = "signIn.allowDuplicateEmails: true\nproviders: {github.com: {enabled: false}}\n"
            #expect(try await Self.concord(["apply", "--yes"], change, database).status == .exited(0))
            let back = try await Self.concord(["apply", "--yes", "--reason", "back"], before, database)
            #expect(back.status == .exited(0), "\(back)")
            let after = try await ConcordCommand.run(["policy", "show"], database).output
            func rest(_ text: String) -> [Substring] {
                text.split(separator: "\n").dropFirst().map { $0.split(separator: "  #").first ?? "" }
            }
            #expect(rest(after) == rest(before))
            // The preset's values are not fixed by being spelled out.
            let stored = try await database.rows(
                "SELECT settings ->> 'linkPolicy' FROM project_config" as Query<String?>
            )
            #expect(stored == [#"{"preset": "strict"}"#])
        }
    }

    @Test func `a running server logs each new version with its author and reason`() async throws {
        try await TwoServers.with { servers in
            let administrator = try await Administrator(of: servers)
            let applied = try await Self.concord(
                ["apply", "--yes", "--reason", "a name at last"],
                "concord.displayName: Shop",
                servers.database
            )
            #expect(applied.status == .exited(0), "\(applied)")
            let message = "a new version of the policy is in use"
            for server in [servers.first, servers.second] {
                let line = try #require(await server.log.line(saying: message))
                #expect(line["version"] == "2" && line["reason"] == "a name at last")
                #expect(line["author"]?.string?.hasPrefix("cli:") == true, "\(line.text)")
            }
            let changed = try await administrator.send(
                .PATCH,
                "/v2/projects/\(TestService.projectID)/config?updateMask=signIn.allowDuplicateEmails",
                ["signIn": ["allowDuplicateEmails": true]],
                to: servers.first
            )
            #expect(changed.status == 200, "\(changed.text)")
            let replaced = try await administrator.send(
                .PUT,
                "/concord/v1/policy",
                ["emailTrust": [["provider": "oidc.one", "trust": "asserting"]]],
                to: servers.second
            )
            #expect(replaced.status == 200, "\(replaced.text)")
            for server in [servers.first, servers.second] {
                for version in 3...4 {
                    while !server.log.lines(of: "notice").contains(where: {
                        $0.contains(message) && $0.contains("\"version\":\"\(version)\"")
                            && $0.contains("\"author\":\"service-account:backend@") && !$0.contains("\"reason\"")
                    }) { try await Task.sleep(for: .milliseconds(50)) }
                }
                // Once each.
                #expect(server.log.lines(of: "notice").count { $0.contains(message) } == 3, "\(server.log.text)")
            }
            #expect(
                try await servers.database.count(
                    """
                    SELECT count(*) FROM project_config_versions
                    JOIN service_accounts ON author = 'service-account:' || email || '/' || key_id WHERE reason IS NULL
                    """
                ) == 2
            )
        }
    }

    // MARK: Cut short

    @Test func `Ctrl-C ends a run without output, and a lost connection is reported`() async throws {
        try await Self.withAccounts { database in
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("policy-\(UUID()).yaml").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try Self.noPasswords.write(toFile: path, atomically: true, encoding: .utf8)
            let arguments = ["policy", "simulate", "--format", "ndjson", path]
            let ending = try await ConcordCommand.interrupted(arguments, database, until: "stopping after") {
                process,
                _ in
                #expect(kill(process, SIGINT) == 0)
            }
            #expect(ending.status == .exited(75), "\(ending.error)")
            #expect(ending.output == "" && ending.error.contains("interrupted; nothing was printed yet"))
            // After user-6.
            let rest = try await ConcordCommand.run(arguments + ["--after", "H3VzZXItNg"], database)
            let reported = rest.output.split(separator: "\n").filter { $0.contains("effect\":\"") }
            #expect(reported.count == 3 && rest.output.contains("\"accounts\":3") && rest.status == .exited(1))
            let lost = try await ConcordCommand.interrupted(arguments, database) { _, database in
                try await database.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'concord policy'
                    """
                )
            }
            #expect(lost.status == .exited(69) && lost.error.contains("stopped; nothing was printed yet"))
        }
    }
}
