import AccountTestSupport
import Glibc
import JSON
import Postgres
import Subprocess
import Testing

/// `concord account merge`, the real program: what it shows, that it asks, and what its end says to a script.
struct AccountMergeCommandTests {
    private static func concord(_ arguments: [String], _ database: TestDatabase) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["account", "merge"] + arguments, database)
    }

    /// Ada, with an address and a password; and Bob, with a provider and a number.
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, display_name, valid_since,
                        created_at)
                    VALUES ('ada', 7, 'ada@example.com', 'mailed-code', '2026-01-02', 'Ada', now(), now());
                INSERT INTO users (user_id, session_epoch, phone_number, display_name, photo_url, valid_since, created_at)
                    VALUES ('bob', 7, '+15550001111', E'Ada\\x1B[2J', 'https://example.com/b.png', now(), now());
                INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
                    VALUES ('bob', 'google.com', 'google-subject-1', now(), now());
                INSERT INTO identifiers (kind, value, user_id) VALUES ('email', 'ada@example.com', 'ada'),
                    ('phone', '+15550001111', 'bob'), ('federated', E'google.com\\x1Fgoogle-subject-1', 'bob');
                INSERT INTO password_credentials (user_id, hash, updated_at) VALUES ('ada', '$2b$10$secret', '2026-01-01');
                INSERT INTO sign_in_methods (user_id, method, proof, proven_at) VALUES
                    ('ada', 'password', 'sign-up', '2026-01-01'), ('bob', 'phone', 'message', '2026-01-03'),
                    ('bob', 'google.com', 'provider-credential', '2026-01-04');
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule) VALUES
                    ('ada', '019a0000-0000-7000-8000-000000000001', '2026-01-01', 'user-created', 'P5'),
                    ('bob', '019a0000-0000-7000-8000-000000000002', '2026-01-01', 'user-created', 'P5')
                """
            )
            try await body(database)
        }
    }

    @Test func `two addresses that look alike when masked are marked`() async throws {
        try await Self.withAccounts { database in
            try await database.execute(
                """
                UPDATE users SET email = 'alan@example.com', email_proof = 'mailed-code', email_proven_at = now()
                    WHERE user_id = 'bob';
                INSERT INTO identifiers (kind, value, user_id) VALUES ('email', 'alan@example.com', 'bob')
                """
            )
            let preview = try await Self.concord(["ada", "bob", "--dry-run", "--keep", "displayName"], database)
            #expect(preview.status == .exited(1) && preview.error.contains("--take or --keep: email"))
            #expect(preview.output.contains("a…@example.com (differs)"), "\(preview.output)")
            let open = try await Self.concord(["ada", "bob", "--dry-run", "--show-identifiers"], database)
            #expect(open.output.contains("ada@example.com") && !open.output.contains("(differs)"))
        }
    }

    @Test func `two accounts can be previewed, merged, shown and separated again`() async throws {
        try await Self.withAccounts { database in
            let preview = try await Self.concord(["ada", "bob", "--dry-run", "--take", "displayName"], database)
            #expect(preview.status == .exited(0), "\(preview.error)")
            #expect(!preview.output.contains("google-subject") && !preview.output.contains("0001111"))
            #expect(!preview.output.contains("\u{1B}"), "nothing of a user's reaches the terminal")
            let lines = preview.output.split(separator: "\n").map { $0.split(separator: "  ").map(String.init) }
                .map { $0.map { $0.filter { $0 != " " } }.filter { !$0.isEmpty } }
            for line in [
                ["STAYS", "GOES", "THEN", "FROM"],
                ["email", "a…@example.com", "-", "a…@example.com", "theaccountthatstays"],
                ["password", "seton2026-01-01", "-", "seton2026-01-01", "theaccountthatstays"],
                ["phoneNumber", "-", "+15…11", "+15…11", "theaccountthatgoes"],
                ["displayName", "Ada", "Ada[2J", "Ada[2J", "theaccountthatgoes"],
                ["Dropped"], ["displayName", "Ada", "oftheaccountthatstays"],
            ] {
                #expect(lines.contains(line), "\(line)\n\(preview.output)")
            }
            let open = try await Self.concord(["ada", "bob", "--dry-run"], database)
            #expect(open.status == .exited(1) && open.error.contains("--take or --keep: displayName"))
            let unsure = try await Self.concord(["ada", "bob", "--keep", "displayName", "--reason", "one"], database)
            #expect(unsure.status == .exited(1) && unsure.error.contains("--yes"), "nobody could be asked")
            let interrupted = try await ConcordCommand.asked(
                ["account", "merge", "ada", "bob", "--keep", "displayName", "--reason", "one"],
                database,
                answer: .signal(SIGINT)
            )
            #expect(interrupted.status == .exited(75) && interrupted.error.contains("nothing was changed"))
            #expect(try await database.count("SELECT count(*) FROM merges") == 0)

            // One of them is in a merge that waits for a receiver.
            let other = "019a0000-0000-7000-8000-000000000003"
            try await database.execute(
                """
                INSERT INTO merges (merge_id, survivor_id, absorbed_id, choices, asked_by, reason, survivor_version,
                        absorbed_version, prepared_at, deadline_at)
                    VALUES ('\(other)', 'eve', 'bob', '{}', 'administrator', 'one', 1, 1, now(), now() + interval '1 day')
                """
            )
            for options in [["--dry-run"], ["--reason", "ticket 1", "--yes"]] {
                let waiting = try await Self.concord(["ada", "bob", "--keep", "displayName"] + options, database)
                #expect(waiting.status == .exited(1) && waiting.output.contains("THEN"), "\(waiting)")
                #expect(waiting.error.contains("merge \(other), bob into eve, waits"), "\(waiting.error)")
            }
            try await database.execute("DELETE FROM merges")

            let merged = try await Self.concord(
                ["ada", "bob", "--keep", "displayName", "--reason", "ticket 1", "--yes"],
                database
            )
            #expect(merged.status == .exited(0), "\(merged.error)")
            #expect(merged.output.contains("committed") && merged.output.contains("administrator: ticket 1"))
            #expect(try await database.count("SELECT count(*) FROM users") == 1)
            let shown = try await Self.concord(["show", "bob"], database)
            #expect(shown.status == .exited(0) && shown.output.hasPrefix("bob is now ada\n"), "\(shown.output)")
            let gone = try await ConcordCommand.run(["account", "show", "bob"], database)
            #expect(gone.status == .exited(1) && gone.error.contains("merged into ada"), "\(gone.error)")
            let id = try #require(shown.output.firstMatch(of: #/Merge +([0-9a-f-]{36})/#).map { String($0.1) })
            let again = ["ada", "bob", "--keep", "displayName"]
            for options in [["--dry-run"], ["--reason", "ticket 1", "--yes"]] {
                let repeated = try await Self.concord(again + options, database)
                #expect(repeated.status == .exited(1) && repeated.output == "", "\(repeated)")
                #expect(repeated.error.contains("committed before") && repeated.error.contains("merge undo \(id)"))
            }
            let asked = try await Self.concord(["undo", id], database)
            #expect(asked.status == .exited(1))
            #expect(try await Self.concord(["undo", id, "--dry-run"], database).status == .exited(0))
            try await database.execute("UPDATE users SET photo_url = 'https://c.example/'")
            for options in [["--dry-run"], ["--yes"]] {
                let refused = try await Self.concord(["undo", id] + options, database)
                #expect(refused.status == .exited(1) && refused.output.hasSuffix("  ada: picture, which can stay\n"))
                #expect(refused.error.contains("--keep-later-changes"), "\(refused.error)")
            }
            let dry = try await Self.concord(["undo", id, "--dry-run", "--keep-later-changes"], database)
            #expect(dry.status == .exited(0) && dry.error == "", "\(dry.error)")
            try await database.execute(
                """
                UPDATE users SET phone_number = '+15550002222';
                DELETE FROM identifiers WHERE kind = 'phone';
                INSERT INTO identifiers (kind, value, user_id) SELECT 'phone', phone_number, user_id FROM users
                """
            )
            for options in [["--dry-run"], ["--yes"], ["--dry-run", "--keep-later-changes"]] {
                let refused = try await Self.concord(["undo", id] + options, database)
                #expect(refused.status == .exited(1), "\(refused)")
                #expect(refused.output.contains("  ada: phone number, which prevents the undo\n"), "\(refused.output)")
                #expect(!refused.error.contains("--keep-later-changes"), "it would not help: \(refused.error)")
                #expect(!refused.output.contains("_") && !refused.output.contains("0002222"))
            }
            try await database.execute(
                """
                UPDATE users SET phone_number = '+15550001111';
                DELETE FROM identifiers WHERE kind = 'phone';
                INSERT INTO identifiers (kind, value, user_id) SELECT 'phone', phone_number, user_id FROM users
                """
            )
            let undone = try await Self.concord(["undo", id, "--yes", "--keep-later-changes"], database)
            #expect(undone.status == .exited(0), "\(undone.error)")
            for text in ["undone: bob is an account again", "later changes that stay: picture\n"] {
                #expect(undone.output.contains(text), "\(undone.output)")
            }
            #expect(try await Self.concord(["undo", id, "--yes"], database).status == .exited(1))
            #expect(try await Self.concord(["abort", id], database).status == .exited(1))
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE user_id = 'bob'") == 2)
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `Ctrl-C ends a command that waits for webhook receivers, and the merge continues`() async throws {
        try await Self.withAccounts { database in
            // Nothing is sent: no server runs.
            try await database.execute(
                """
                INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, created_at)
                VALUES ('00000000-0000-0000-0000-000000000001', 1, 'https://hooks.example', '', now())
                """
            )
            let arguments = ["ada", "bob", "--keep", "displayName", "--reason", "one", "--yes"]
            let ending = try await ConcordCommand.asked(
                ["account", "merge"] + arguments,
                database,
                question: "continues without this command",
                answer: .signal(SIGINT)
            )
            #expect(ending.status == .exited(75), "\(ending)")
            let id = try #require(ending.error.firstMatch(of: #/merge show ([0-9a-f-]{36})\n$/#).map { String($0.1) })
            let shown = try await Self.concord(["show", id], database)
            #expect(shown.output.contains("prepared"), "\(shown)")
        }
    }

    @Test func `an invalid command line is reported and does nothing`() async throws {
        try await Self.withAccounts { database in
            for arguments in [
                ["ada"], ["ada", "bob"], ["ada", "bob", "--reason", " "], ["ada", "bob", "--reason", "a\u{1B}[2J"],
                ["ada", "bob", "--dry-run", "--take", "uid"],
                ["ada", "bob", "--dry-run", "--take", "email", "--keep", "email"],
            ] {
                #expect(try await Self.concord(arguments, database).status == .exited(64), "\(arguments)")
            }
            for (arguments, reason) in [
                (["ada", "ada"], "same-account"), (["ada", "nobody"], "account-not-found"),
                (["ada", "bob", "--take", "timeZone"], "unknown-choice"),
            ] {
                let ending = try await Self.concord(arguments + ["--dry-run"], database)
                #expect(ending.status == .exited(1) && ending.error.contains(reason), "\(ending)")
            }
            for id in ["nothing", "019a0000-0000-7000-8000-000000000009"] {
                #expect(try await Self.concord(["show", id], database).status == .exited(1))
                #expect(try await Self.concord(["undo", id, "--yes"], database).status == .exited(1))
            }
            #expect(try await database.count("SELECT count(*) FROM merges") == 0)
        }
    }
}
