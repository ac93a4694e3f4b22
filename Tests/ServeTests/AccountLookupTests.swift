import AccountTestSupport
import Postgres
import Subprocess
import Testing

/// `concord account find|show`, the real program: what support needs to know, and nothing that it should not.
struct AccountLookupTests {
    /// Ada, who can be found in every way and has a history; and Bob, whose provider names her address.
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, initial_email, phone_number,
                        valid_since, created_at, last_login_at)
                    VALUES ('ada', 7, 'Ada@Example.com', 'mailed-code', '2026-01-02', 'first@example.org', '+15550001111',
                        now(), '2026-01-01', '2026-11-01 10:00Z');
                INSERT INTO users (user_id, session_epoch, disabled, valid_since, created_at)
                    VALUES ('bob', 7, true, now(), now());
                INSERT INTO linked_providers (user_id, provider_id, subject, email, email_key, linked_at, updated_at)
                    VALUES ('ada', 'google.com', 'google-subject-1', 'ada@gmail.com', 'ada@gmail.com', now(), now()),
                        ('bob', 'github.com', 'hub-1', 'ada@example.com', 'ada@example.com', now(), now());
                INSERT INTO identifiers (kind, value, user_id) VALUES ('email', 'ada@example.com', 'ada'),
                    ('phone', '+15550001111', 'ada'), ('federated', E'google.com\\x1Fgoogle-subject-1', 'ada'),
                    ('federated', E'github.com\\x1Fhub-1', 'bob');
                INSERT INTO password_credentials (user_id, hash, updated_at) VALUES ('ada', '$2b$10$secret', '2026-01-01');
                INSERT INTO sign_in_methods (user_id, method, proof, proven_at) VALUES
                    ('ada', 'password', 'sign-up', '2026-01-01'), ('ada', 'phone', 'message', '2026-01-03'),
                    ('ada', 'google.com', 'provider-credential', '2026-01-04'),
                    ('bob', 'github.com', 'provider-credential', '2026-01-04');
                INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                    VALUES ('ada', decode(repeat('01', 16), 'hex'), decode(repeat('00', 32), 'hex'), 7, now(), 'password');
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule) VALUES
                    ('ada', '019a0000-0000-7000-8000-000000000001', '2026-01-01', 'user-created', 'P5'),
                    ('ada', '019a0000-0000-7000-8000-000000000002', '2026-01-04', 'signed-in', 'I7')
                """
            )
            try await body(database)
        }
    }

    @Test func `an account is found by any of its identifiers`() async throws {
        try await Self.withAccounts { database in
            for known in [
                "ada", "first@example.org", "+1 (555) 000-1111", "google.com/google-subject-1",
                "ada@gmail.com",
            ] {
                let found = try await ConcordCommand.run(["account", "find", known], database)
                #expect(found.status == .exited(0), "\(known): \(found.error)")
                #expect(found.output == "ada  A…@Example.com  password, phone, google.com\n", "\(known)")
            }
            let both = try await ConcordCommand.run(["account", "find", "ADA@example.com"], database).output
            #expect(both.split(separator: "\n").count == 2 && both.contains("bob  no address  github.com  disabled"))
            for unknown in ["nobody@example.com", "+15559999999", "google.com/other", "no such thing"] {
                let ending = try await ConcordCommand.run(["account", "find", unknown], database)
                #expect(ending.status == .exited(1) && ending.output == "", "\(unknown)")
            }
        }
    }

    @Test func `an account is shown with its methods, their obstacles, and the rules of decisions`() async throws {
        try await Self.withAccounts { database in
            let reported = try await ConcordCommand.run(["account", "show", "ada"], database)
            #expect(reported.status == .exited(0), "\(reported.error)")
            for line in [
                "Account        ada", "Address        A…@Example.com, verified by mailed-code on 2026-01-02",
                "First address  f…@example.org", "Number         +15…11",
                "password: works, since 2026-01-01 by sign-up",
                "google.com: does not work, not-enabled, google.com/go…, a…@gmail.com, since 2026-01-04",
                "Sessions       1", "warning: weak-password-hash (scheme: 2b)",
                "signed-in, linkByProvenEmail (I7): the owner of the address is signed in; the identity is linked",
                "user-created, signUpDuplicateEmailsAllowed (P5): new account",
            ] { #expect(reported.output.contains(line), "\(line)\n\(reported.output)") }
            #expect(
                !reported.output.contains("secret") && !reported.output.contains("google-subject"),
                "\(reported.output)"
            )
            let whole = try await ConcordCommand.run(
                ["account", "show", "ada", "--show-identifiers", "--history", "1"],
                database
            ).output
            #expect(whole.contains("google.com/google-subject-1") && whole.contains("Ada@Example.com"))
            #expect(whole.contains("(I7)") && !whole.contains("(P5)"))
        }
    }

    @Test func `an account with an unreadable value shows the column and the next step`() async throws {
        try await Self.withAccounts { database in
            try await database.execute(
                """
                UPDATE users SET email_proof = 'a friend' WHERE user_id = 'ada';
                UPDATE sign_in_methods SET proof = 'a guess' WHERE user_id = 'ada' AND method = 'phone'
                """
            )
            let ending = try await ConcordCommand.run(["account", "show", "ada"], database)
            #expect(ending.status == .exited(65), "\(ending.error)")
            #expect(
                ending.error == """
                    concord: account ada holds an unreadable value in sign_in_methods.proof, users.email_proof
                    concord: correct that first; to see what else is wrong: concord audit run --user ada

                    """
            )
        }
    }

    @Test func `an unreadable account does not hide the others`() async throws {
        try await Self.withAccounts { database in
            // No audit reads the second column.
            for (damage, column) in [
                (
                    "UPDATE linked_providers SET provider_id = 'No Provider' WHERE user_id = 'bob'",
                    "linked_providers.provider_id"
                ),
                (
                    """
                    UPDATE linked_providers SET provider_id = 'github.com' WHERE user_id = 'bob';
                    INSERT INTO second_factors (user_id, enrollment_id, slot, number, enrolled_at)
                        VALUES ('bob', E'\\x01', 1, '+15550003333', now())
                    """,
                    "second_factors.enrollment_id"
                ),
            ] {
                try await database.execute(damage)
                let found = try await ConcordCommand.run(["account", "find", "ada@example.com"], database)
                #expect(found.status == .exited(65), "\(found)")
                #expect(found.output == "ada  A…@Example.com  password, phone, google.com\n", "\(found)")
                #expect(found.error == "concord: account bob holds an unreadable value in \(column)\n")
                let shown = try await ConcordCommand.run(["account", "show", "bob"], database)
                #expect(shown.status == .exited(65) && shown.error.hasPrefix(found.error), "\(shown)")
            }
        }
    }

    @Test func `a missing account is reported`() async throws {
        try await Self.withAccounts { database in
            let ending = try await ConcordCommand.run(["account", "show", "nobody"], database)
            #expect(ending.status == .exited(1) && ending.error.contains("there is no such account"))
            let wrong = try await ConcordCommand.run(["account", "show", "ada", "--history", "many"], database)
            #expect(wrong.status == .exited(64))
        }
    }
}
