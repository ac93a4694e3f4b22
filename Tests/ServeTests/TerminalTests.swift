import AccountTestSupport
import Postgres
import Subprocess
import Testing

/// Commands at a terminal, the real program.
struct TerminalTests {
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                    SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', 'mailed-code', now(), now(), now()
                    FROM generate_series(1, 3) AS n;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users
                    WHERE user_id <> 'user-1'
                """
            )
            try await body(database)
        }
    }

    /// Expects that `word` begins a line or stands where a progress line was wiped.
    private static func expectWiped(_ word: String, in text: String) {
        for place in text.ranges(of: word) {
            let before = text[..<place.lowerBound]
            #expect(before.isEmpty || before.hasSuffix("\r\n") || before.hasSuffix("\u{1B}[K"), "\(word): \(text)")
        }
    }

    @Test func `progress is wiped before results and before messages`() async throws {
        try await Self.withAccounts { database in
            let audit = try await ConcordCommand.atTerminal(["audit", "run", "--color", "never"], database)
            #expect(audit.status == .exited(1) && audit.text.contains("3 accounts, "), "\(audit.text)")
            Self.expectWiped("SEVERITY", in: audit.text)
            let export = try await ConcordCommand.atTerminal(["account", "export", "--format", "ndjson"], database)
            #expect(export.status == .exited(0), "\(export.text)")
            Self.expectWiped("concord: 3 accounts", in: export.text)
        }
    }

    @Test func `without progress and colour, no control sequence reaches the terminal`() async throws {
        try await Self.withAccounts { database in
            for quiet in ["--no-progress", "--quiet"] {
                let audit = try await ConcordCommand.atTerminal(["audit", "run", quiet, "--color", "never"], database)
                #expect(!audit.text.contains("\u{1B}"), "\(quiet): \(audit.text)")
            }
            let plain = try await ConcordCommand.atTerminal(
                ["audit", "run", "--no-progress"],
                database,
                ["NO_COLOR": "1"]
            )
            #expect(!plain.text.contains("\u{1B}"), "\(plain.text)")
            let colored = try await ConcordCommand.run(["audit", "run", "--color", "always"], database)
            #expect(colored.output.contains("\u{1B}[31;1merror"), "\(colored.output)")
            let quiet = try await ConcordCommand.run(["account", "export", "--format", "ndjson", "--quiet"], database)
            #expect(quiet.error == "", "\(quiet.error)")
        }
    }

    @Test func `a table is no wider than the terminal`() async throws {
        try await Self.withAccounts { database in
            // A terminal without a size counts as 80 columns.
            for arguments in [["audit", "run", "--no-progress", "--color", "never"], ["audit", "rules"]] {
                let text = try await ConcordCommand.atTerminal(arguments, database).text
                for line in text.split(separator: "\r\n") where !line.hasPrefix("and ") && !line.hasPrefix("concord:") {
                    #expect(line.count <= 80, "\(line)")
                }
            }
        }
    }
}
