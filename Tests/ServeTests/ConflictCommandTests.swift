import AccountTestSupport
import Foundation
import JSON
import Postgres
import PostgresCluster
import Subprocess
import Testing

/// `concord conflict` and `concord outbox discard`, the real program, on a real database.
struct ConflictCommandTests {
    private static func withConflicts(
        count: Int,
        _ body: @Sendable (TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, valid_since, created_at)
                    SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', now(), now() FROM generate_series(1, \(count)) AS n;
                INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                        sealed_credential, account_method, opened_at, expires_at)
                    SELECT 'user-' || n, decode(md5('c' || n), 'hex'), 'open', 'account-exists-with-different-credential',
                        'github.com', decode(md5('a' || n) || md5('b' || n), 'hex'), '{}', 'x', 'password',
                        now() - n * interval '1 minute', now() + interval '1 hour'
                    FROM generate_series(1, \(count)) AS n
                """
            )
            try await body(database)
        }
    }

    private static func concord(_ arguments: [String], _ database: TestDatabase) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["conflict"] + arguments, database)
    }

    private static func conflicts(_ ending: ConcordCommand.Ending) throws -> [JSONValue] {
        try JSONValue(parsing: Array(ending.output.utf8))["conflicts"]?.array ?? []
    }

    @Test func `conflicts can be listed in pages, shown and declined, with documented exit codes`() async throws {
        try await Self.withConflicts(count: 3) { database in
            let all = try await Self.concord(["list", "--format", "json"], database)
            let ids = try Self.conflicts(all).compactMap { $0["id"]?.string }
            #expect(all.status == .exited(0) && ids.count == 3, "\(all)")
            let lined = try await Self.concord(["list", "--max", "2", "--format", "ndjson"], database)
            let objects = try lined.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
            #expect(objects == Array(try Self.conflicts(all).prefix(2)), "the objects of the route")
            #expect(lined.error.contains("there are more: --after "), "\(lined.error)")
            let table = try await Self.concord(["list", "--max", "2"], database)
            let lines = table.output.split(separator: "\n")
            #expect(lines.count == 3 && lines[0].hasPrefix("ID") && lines[1].contains("user-1"), "\(table.output)")
            let cursor = try #require(table.error.firstMatch(of: #/--after (\S+)/#)?.output.1)
            let rest = try await Self.concord(["list", "--after", String(cursor), "--format", "json"], database)
            #expect(try Self.conflicts(rest).compactMap { $0["localId"]?.string } == ["user-3"])
            let recent = try await Self.concord(["list", "--opened-since", "90m", "--user", "user-2"], database)
            #expect(recent.output.split(separator: "\n").count == 2, "\(recent.output)")
            let none = try await Self.concord(["list", "--state", "declined", "--provider", "google.com"], database)
            #expect(none.status == .exited(0) && none.output == "no conflict matches\n")

            let shown = try await Self.concord(["show", ids[0]], database)
            #expect(shown.status == .exited(0) && shown.output.contains("account       user-1\n"), "\(shown.output)")
            for (arguments, status) in [
                (["show", "nonsense"], 1), (["decline", "nonsense", "--yes"], 1), (["decline", ids[0]], 1),
                (["list", "--max", "501"], 64), (["list", "--state", "lost"], 64), (["list", "--after", "x"], 64),
                (["list", "--opened-before", "soon"], 64), (["show"], 64),
            ] as [([String], Int32)] {
                let ending = try await Self.concord(arguments, database)
                #expect(ending.status == .exited(status), "\(arguments) \(ending)")
            }
            let open: Query<Int64?> = "SELECT count(*) FROM conflicts WHERE state = 'open'"
            #expect(try await database.count(open) == 3, "there was no agreement")

            let declined = try await Self.concord(["decline", ids[0], "--yes", "--format", "json"], database)
            #expect(declined.status == .exited(0), "\(declined)")
            #expect(try JSONValue(parsing: Array(declined.output.utf8))["state"] == "declined")
            let again = try await Self.concord(["decline", ids[0], "--yes"], database)
            #expect(again.status == .exited(1) && again.error.contains("the conflict is declined"), "\(again)")
            let asked = try await ConcordCommand.asked(["conflict", "decline", ids[1]], database, answer: .text("y\n"))
            #expect(asked.status == .exited(0) && asked.output.contains("declined; decision "), "\(asked)")
            #expect(try await database.count(open) == 1)
            let events: Query<Int64?> = """
                SELECT count(*) FROM account_events WHERE kind = 'conflict-declined' AND rule = 'J17'
                """
            #expect(try await database.count(events) == 2)
        }
    }

    @Test func `waiting messages are discarded after a confirmation, and not in a dry run`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at, attempts)
                    SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, CASE n WHEN 3 THEN 'sms' ELSE 'mail' END, 'x',
                        now() - n * interval '1 day', now() + interval '1 day',
                        CASE n WHEN 4 THEN now() + interval '1 hour' ELSE now() END, CASE n WHEN 4 THEN 1 ELSE 0 END
                    FROM generate_series(1, 5) AS n
                """
            )
            func discard(_ arguments: [String]) async throws -> ConcordCommand.Ending {
                try await ConcordCommand.run(["outbox", "discard"] + arguments, database)
            }
            let left: Query<Int64?> =
                "SELECT count(*) FROM outbox WHERE state = 'pending' AND sealed_payload IS NOT NULL"
            let dry = try await discard(["--all-pending", "--dry-run"])
            #expect(dry.status == .exited(0) && dry.output.split(separator: "\n").count == 6, "\(dry)")
            let claimed = "4 messages would be discarded, 1 left to the worker that is sending\n"
            #expect(dry.output.hasSuffix(claimed), "\(dry.output)")
            let unasked = try await discard(["--all-pending"])
            #expect(unasked.status == .exited(1) && unasked.error.contains("nothing was changed"), "\(unasked)")
            #expect(try await database.count(left) == 5)

            let old = try await discard(["--older-than", "36h", "--kind", "mail", "--yes", "--format", "json"])
            let object = try JSONValue(parsing: Array(old.output.utf8))
            #expect(old.status == .exited(0) && object["discarded"] == 2 && object["claimed"] == 1, "\(old)")
            let named = try await discard([
                "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000004", "--yes",
            ])
            #expect(named.status == .exited(1), "one of them a worker has: \(named)")
            #expect(named.output.hasSuffix("1 message discarded, 1 left to the worker that is sending\n"), "\(named)")
            let asked = try await ConcordCommand.asked(
                ["outbox", "discard", "--kind", "sms"],
                database,
                answer: .text("y\n")
            )
            #expect(asked.status == .exited(0) && asked.output.hasSuffix("1 message discarded\n"), "\(asked)")
            #expect(try await discard(["--kind", "sms", "--yes"]).status == .exited(1), "there is none")
            let states: Query<String> = """
                SELECT state || ' ' || count(*) || ' ' || count(sealed_payload) FROM outbox GROUP BY state ORDER BY state
                """
            #expect(try await database.rows(states) == ["discarded 4 0", "pending 1 1"])
            let listed = try await ConcordCommand.run(["outbox", "list", "--state", "discarded"], database)
            #expect(listed.output.split(separator: "\n").count == 5 && listed.output.contains("operator"), "\(listed)")
        }
    }
}
