import AccountTestSupport
import Foundation
import Glibc
import JSON
import Postgres
import PostgresCluster
import Subprocess
import SystemPackage
import Testing

private let golden = GoldenFiles()

/// `concord audit plan`, `apply`, `undo` and `plans`, the real program, on a real database.
struct AuditPlanCommandTests {
    /// A project with accounts of which some are not as they should be.
    private static func withAccounts(
        count: Int = 6,
        _ body: @Sendable (TestDatabase, Folder) async throws -> Void
    ) async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await damage(database, count: count)
                try await body(database, folder)
            }
        }
    }

    /// Every account is disabled and has a session.
    private static func damage(_ database: TestDatabase, count: Int) async throws {
        try await database.execute(
            """
            INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, disabled, valid_since,
                    created_at)
                SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', 'mailed-code', now(), true, now(), now()
                FROM generate_series(1, \(count)) AS n;
            INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
            INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                SELECT user_id, decode(md5(user_id), 'hex'), decode(repeat('00', 32), 'hex'), 7, now(), 'password'
                FROM users;
            DELETE FROM identifiers WHERE user_id = 'user-3';
            INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '+15550001111', 'nobody');
            UPDATE users SET unproven_phone_number = '+15550002222' WHERE user_id IN ('user-4', 'user-5');
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at) VALUES ('user-6', 'password', 'session', now())
            """
        )
    }

    private static func concord(_ arguments: [String], _ database: TestDatabase) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["audit"] + arguments, database)
    }

    /// A plan in a file.
    private static func plan(
        _ database: TestDatabase,
        _ folder: Folder,
        _ arguments: [String] = ["--all"]
    ) async throws -> (path: String, text: String, error: String) {
        let ending = try await concord(["plan"] + arguments, database)
        #expect(ending.status == .exited(0), "\(ending.error)")
        try folder.write("plan", ending.output)
        return (folder.path("plan"), ending.output, ending.error)
    }

    /// The text without the parts that differ from run to run.
    private static func shown(_ text: String) -> String {
        text.replacing(#/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/#) { _ in "<plan>" }
            .replacing(#/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) { _ in "<time>                 " }
            .replacing(#/"program":"[^"]*"/#) { _ in "\"program\":\"<version>\"" }
    }

    @Test func `a plan can be made, applied, listed and undone`() async throws {
        try await Self.withAccounts { database, folder in
            var transcript = ""
            func run(_ arguments: [String], as shown: String, status: TerminationStatus) async throws {
                let ending = try await Self.concord(arguments, database)
                #expect(ending.status == status, "\(shown): \(ending.error)")
                transcript += "$ concord audit \(shown)\n\(Self.shown(ending.output))\(Self.shown(ending.error))"
            }
            let errors = try await Self.plan(database, folder, [])
            transcript += "$ concord audit plan > plan\n\(Self.shown(errors.error))"
            let plan = try await Self.plan(database, folder)
            transcript +=
                "$ concord audit plan --all > plan\n\(Self.shown(plan.error))$ cat plan\n\(Self.shown(plan.text))"
            #expect(!plan.text.contains("ada.") || !plan.text.contains("@example.com\""), "masked")
            try await run(["apply", plan.path, "--dry-run"], as: "apply plan --dry-run", status: .exited(0))
            try await run(
                ["apply", plan.path, "--dry-run", "--format", "json"],
                as: "apply plan --dry-run --format json",
                status: .exited(0)
            )
            try await run(["apply", plan.path], as: "apply plan", status: .exited(1))
            #expect(try await database.count("SELECT count(*) FROM audit_plans") == 0)
            try await run(["apply", plan.path, "--yes"], as: "apply plan --yes", status: .exited(0))
            try await run(["plans"], as: "plans", status: .exited(0))
            try await run(
                ["plan", "--rule", "identifier-without-claim"],
                as: "plan --rule identifier-without-claim",
                status: .exited(0)
            )
            try await run(["apply", plan.path, "--yes"], as: "apply plan --yes", status: .exited(0))
            try await run(["undo", plan.path], as: "undo plan", status: .exited(1))
            try await run(
                ["undo", plan.path, "--step", "2", "--yes"],
                as: "undo plan --step 2 --yes",
                status: .exited(0)
            )
            try await run(["undo", plan.path, "--yes"], as: "undo plan --yes", status: .exited(0))
            try await run(["undo", plan.path, "--yes"], as: "undo plan --yes", status: .exited(0))
            try await run(["apply", plan.path, "--yes"], as: "apply plan --yes", status: .exited(1))
            for step in ["2", "12"] {
                let undo = ["undo", plan.path, "--step", step, "--yes"]
                try await run(undo, as: "undo plan --step \(step) --yes", status: .exited(step == "2" ? 0 : 1))
            }
            try await run(["plans"], as: "plans", status: .exited(0))
            try golden.expect(transcript, matches: "audit-plan.txt")
            let all = try await ConcordCommand.run(["audit", "plans", "--format", "json"], database).output
            let lines = try await ConcordCommand.run(["audit", "plans", "--format", "ndjson"], database).output
            let plans = try lines.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
            let array = try JSONValue(parsing: Array(all.utf8))
            #expect(JSONValue.array(plans) == array && !plans.isEmpty)
            #expect(plans.allSatisfy { $0["plan"]?.string != nil && $0["steps"]?.integer != nil })
            let show = try await ConcordCommand.run(["account", "show", "user-3"], database)
            #expect(show.output.contains("account-repaired") && show.output.contains("identifier-without-claim"))
        }
    }

    @Test func `deleted or commented lines are not applied`() async throws {
        try await Self.withAccounts { database, folder in
            let plan = try await Self.plan(database, folder)
            let lines = plan.text.split(separator: "\n").map { line in
                line.contains("\"disabled-with-live-sessions\"") ? "# " + line : String(line)
            }
            .filter { !$0.contains("\"release-identifier\"") }
            try folder.write("plan", lines.joined(separator: "\n"))
            let ending = try await Self.concord(["apply", plan.path, "--yes"], database)
            #expect(ending.status == .exited(0), "\(ending.error)")
            let undo = try await Self.concord(["undo", plan.path, "--yes", "--step", "2"], database)
            #expect(undo.status == .exited(1) && undo.output == "", "\(undo)")
            #expect(undo.error == "concord: operation 2 was not applied; nothing was changed\n")
            #expect(try await database.count("SELECT count(*) FROM users WHERE session_epoch = 7") == 6)
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE user_id = 'nobody'") == 1)
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE user_id = 'user-3'") == 1)
        }
    }

    @Test func `a changed account is reported with its line and in the exit code`() async throws {
        try await Self.withAccounts { database, folder in
            let plan = try await Self.plan(database, folder)
            try await database.execute("UPDATE users SET version = 9 WHERE user_id = 'user-3'")
            let ending = try await Self.concord(["apply", plan.path, "--yes"], database)
            #expect(ending.status == .exited(1))
            #expect(ending.error.contains("user-3: the account has changed since; plan again"), "\(ending.error)")
            #expect(
                ending.output.contains("2  left out: the account has changed since; plan again"),
                "\(ending.output)"
            )
            let second = try await Self.plan(database, folder)
            let rest = try await Self.concord(["apply", second.path, "--yes"], database)
            #expect(rest.status == .exited(0), "\(rest.error)")
            let audit = try await Self.concord(["run", "--fail-on", "error"], database)
            #expect(audit.status == .exited(0), "\(audit.output)")
        }
    }

    @Test func `an invalid plan is refused before anything is changed`() async throws {
        try await Self.withAccounts { database, folder in
            let plan = try await Self.plan(database, folder)
            func expect(_ arguments: [String], _ status: Int32, _ text: String) async throws {
                let ending = try await Self.concord(arguments, database)
                #expect(ending.status == .exited(status) && ending.error.contains(text), "\(arguments) \(ending)")
            }
            try folder.write("cut", String(plan.text.dropLast(30)))
            try await expect(["apply", "--yes", folder.path("cut")], 65, "not a JSON object")
            try folder.write("short", plan.text.split(separator: "\n").dropLast().joined(separator: "\n"))
            try await expect(["apply", "--yes", folder.path("short")], 65, "is incomplete: its last line is missing")
            try folder.write("other", plan.text.replacing("\"project\":\"", with: "\"project\":\"other-"))
            try await expect(
                ["apply", "--yes", folder.path("other")],
                65,
                "line 1: the file is a plan of another project"
            )
            try folder.write("newer", plan.text.replacing("\"format\":1", with: "\"format\":2"))
            try await expect(["apply", "--yes", folder.path("newer")], 65, "line 1: the file has format 2")
            try await expect(["apply", "--yes", folder.path("nothing")], 78, "No such file")
            try await expect(["apply", "--yes", "-"], 64, "more than once")
            try await expect(["apply", "--batch", "0", plan.path], 64, "--batch")
            try await expect(["apply", "--dry-run", "--yes", plan.path], 64, "--dry-run or --yes")
            try await expect(["plan", "--all", "--rule", "stale-number"], 64, "--rule or --all")
            try await expect(["plan", "--rule", "no-such-rule"], 64, "no rule")
            try await expect(["undo", "--yes", plan.path], 1, "no such plan was applied")
            try await expect(["undo", "--yes", "01990000-0000-7000-8000-000000000001"], 1, "no such plan")
            try await expect(["undo", "--step", "0", plan.path], 64, "--step")
            #expect(try await database.count("SELECT count(*) FROM users WHERE version > 1") == 0)
            #expect(try await database.count("SELECT count(*) FROM audit_plans") == 0)
        }
    }

    @Test func `Ctrl-C ends the command at the question, and only a yes changes anything`() async throws {
        try await Self.withAccounts { database, folder in
            let plan = try await Self.plan(database, folder)
            let applied: Query<Int64?> = "SELECT count(*) FROM audit_steps WHERE undone_at IS NULL"
            for (command, before, after) in [("apply", 0, 11), ("undo", 11, 0)] as [(String, Int64, Int64)] {
                let arguments = ["audit", command, plan.path]
                for (answer, status, words) in [
                    (.signal(SIGINT), 75, "\nconcord: interrupted; nothing was changed\n"),
                    (.signal(SIGTERM), 75, "\nconcord: interrupted; nothing was changed\n"),
                    (.text("n\n"), 1, "concord: nothing was changed; answer y, or give --yes\n"),
                    // Ctrl-D.
                    (.text("\u{4}"), 1, "\nconcord: nothing was changed; answer y, or give --yes\n"),
                ] as [(ConcordCommand.Answer, Int32, String)] {
                    let ending = try await ConcordCommand.asked(arguments, database, answer: answer)
                    #expect(ending.status == .exited(status) && ending.error.hasSuffix(words), "\(command) \(ending)")
                    #expect(try await database.count(applied) == before)
                }
                let ending = try await ConcordCommand.asked(arguments, database, answer: .text("yes\n"))
                #expect(ending.status == .exited(0), "\(command) \(ending)")
                #expect(try await database.count(applied) == after)
            }
        }
    }

    /// People who came by a plain import: their addresses are verified on the import's word, some passwords are old.
    private static func importPeople(_ database: TestDatabase) async throws {
        try await database.makeProject()
        try await database.register("google.com", clientID: "shop")
        try await database.execute(
            """
            INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', 'administrator', '2020-01-01', '2020-01-01',
                    '2020-01-01'
                FROM generate_series(1, 1005) AS n;
            INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                SELECT user_id, 'password', 'administrator', '2020-01-01' FROM users;
            INSERT INTO password_credentials (user_id, hash, updated_at)
                SELECT user_id, '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy', '2020-01-01' FROM users;
            INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
                SELECT user_id, 'google.com', 's-' || user_id, '2020-01-01', '2020-01-01' FROM users
                WHERE user_id IN ('user-1', 'user-2');
            INSERT INTO identifiers (kind, value, user_id)
                SELECT 'federated', provider_id || chr(31) || subject, user_id FROM linked_providers;
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                SELECT user_id, 'google.com', 'administrator', '2020-01-01' FROM linked_providers
            """
        )
    }

    @Test func `a plan without options unverifies no imported address and suspends no password`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await Self.importPeople(database)
                let plan = try await Self.plan(database, folder, [])
                #expect(plan.text.hasSuffix("{\"type\":\"end\",\"operations\":0}\n"), "\(plan.text)")
                #expect(plan.error.contains("left out: 2,010 findings of lower severity than error"), "\(plan.error)")
                #expect(plan.error.contains("1,005  address-proven-by-nobody  note"), "\(plan.error)")
                #expect(plan.error.hasSuffix("of one rule: --rule ID; of all rules: --all\n"), "\(plan.error)")
                let one = try await Self.plan(database, folder, ["--rule", "weak-password-hash"])
                #expect(!one.error.contains("left out"), "\(one.error)")
            }
        }
    }

    @Test func `the question before an apply lists the consequences for users`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await Self.importPeople(database)
                let plan = try await Self.plan(database, folder)
                let sentences = """
                    1,005 users lose their verified address.
                    2 users can no longer sign in with their password until they reset it; each gets a mail.

                    """
                let ending = try await ConcordCommand.asked(
                    ["audit", "apply", plan.path],
                    database,
                    answer: .text("n\n")
                )
                #expect(ending.error.contains(sentences + "Apply 1,007 operations? [y/N] "), "\(ending)")
                #expect(!ending.output.contains("lose their"), "said once")
                let dry = try await Self.concord(["apply", "--dry-run", plan.path], database)
                #expect(dry.status == .exited(0) && dry.output.hasSuffix(sentences), "\(dry)")
                let json = try await Self.concord(["apply", "--yes", "--format", "json", plan.path], database)
                let object = try JSONValue(parsing: Array(json.output.utf8))
                #expect(object["applied"] == 1007 && object["dryRun"] == false, "\(json)")
                #expect(
                    object["consequences"]
                        == [
                            [
                                "kind": "verified-address-lost", "count": 1005,
                                "text": "1,005 users lose their verified address.",
                            ],
                            [
                                "kind": "method-suspended", "method": "password", "count": 2, "mails": 2,
                                "text": .string(String(sentences.split(separator: "\n")[1])),
                            ],
                        ],
                    "\(json.output)"
                )
                #expect(try await database.count("SELECT count(*) FROM outbox") == 2)
                let undo = try await Self.concord(["undo", plan.path, "--yes"], database)
                #expect(
                    undo.output.hasSuffix("1,007 undone, 0 stay\n2 mails withdrawn, 0 sent before\n"),
                    "\(undo)"
                )
                let withdrawn: Query<Int64?> = """
                    SELECT count(*) FROM outbox WHERE state = 'discarded' AND sealed_payload IS NULL
                    """
                #expect(try await database.count(withdrawn) == 2)
            }
        }
    }

    // MARK: Cut short

    /// Starts a command and ends it with `signal` once `condition` holds.
    private static func interrupted(
        _ arguments: [String],
        _ database: TestDatabase,
        with signal: Int32,
        once condition: @Sendable (TestDatabase) async throws -> Bool
    ) async throws -> TerminationStatus {
        try await Subprocess.run(
            try ConcordCommand.program,
            arguments: Arguments(["audit"] + arguments),
            environment: ConcordCommand.environment(database),
            input: .none,
            output: .discarded,
            error: .discarded
        ) { execution in
            // However long that takes.
            for _ in 0..<6000 {
                if try await condition(database) { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            kill(execution.processIdentifier.value, signal)
        }
        .terminationStatus
    }

    @Test(arguments: [SIGKILL, SIGINT])
    func `an interrupted apply or undo is completed by the same command, and nothing is done twice`(
        signal: Int32
    ) async throws {
        try await Self.withAccounts(count: 800) { database, folder in
            let plan = try await Self.plan(database, folder)
            let steps = try Self.steps(plan.text)
            let apply = ["apply", "--yes", "--batch", "5", plan.path]
            let applied: Query<Int64?> = "SELECT count(*) FROM audit_steps"
            for place: Int64 in [1, 60, 333] {
                guard let place = try await Self.place(place, after: database.count(applied), of: steps) else { break }
                let status = try await Self.interrupted(apply, database, with: signal) { database in
                    try await database.count(applied) >= place
                }
                Self.expectEnded(status, by: signal)
                // A step is there whole or not at all; what was sent may still be under way.
                let half = try await database.count(
                    """
                    SELECT (SELECT count(*) FROM users WHERE session_epoch = 8)
                        - (SELECT count(*) FROM audit_steps WHERE rule LIKE 'disabled%')
                    """
                )
                #expect(half == 0)
            }
            let last = try await Self.concord(apply, database)
            #expect(last.status == .exited(0), "\(last.error)")
            #expect(try await database.count("SELECT count(*) FROM audit_steps") == steps)
            #expect(try await database.count("SELECT count(*) FROM account_events") == steps)
            #expect(try await database.count("SELECT count(*) FROM users WHERE session_epoch <> 8") == 0)
            #expect(try await Self.concord(["run", "--fail-on", "note"], database).status == .exited(0))

            let undo = ["undo", "--yes", plan.path]
            let undoneSteps: Query<Int64?> = "SELECT count(*) FROM audit_steps WHERE undone_at IS NOT NULL"
            for place: Int64 in [1, 99] {
                guard let place = try await Self.place(place, after: database.count(undoneSteps), of: steps) else {
                    break
                }
                let status = try await Self.interrupted(undo, database, with: signal) { database in
                    try await database.count(undoneSteps) >= place
                }
                Self.expectEnded(status, by: signal)
            }
            let undone = try await Self.concord(undo, database)
            #expect(undone.status == .exited(0), "\(undone.error)")
            #expect(try await database.count("SELECT count(*) FROM audit_steps WHERE undone_at IS NULL") == 0)
            #expect(try await database.count("SELECT count(*) FROM account_events") == 2 * steps)
            #expect(try await database.count("SELECT count(*) FROM account_journal") == 0)
            #expect(try await database.count("SELECT count(*) FROM identifiers WHERE user_id = 'user-3'") == 0)
        }
    }

    private static func steps(_ plan: String) throws -> Int64 {
        let last = String(plan.split(separator: "\n").last ?? "")
        return try JSONValue(parsing: Array(last.utf8))["operations"]?.integer ?? 0
    }

    /// The number of steps at which to end a command: `place`, and at least one step of the command itself, so that it
    /// handles signals by then. `nil` if no step is left.
    private static func place(_ place: Int64, after done: Int64, of steps: Int64) -> Int64? {
        done < steps ? min(max(place, done + 1), steps) : nil
    }

    /// The command may be done before the signal comes.
    private static func expectEnded(_ status: TerminationStatus, by signal: Int32) {
        switch status {
        case .exited(0): break
        case .exited(75): #expect(signal == SIGINT)
        default: #expect(signal == SIGKILL, "\(status)")
        }
    }

    @Test func `Ctrl-C during planning leaves a file that is not accepted as a plan`() async throws {
        try await Self.withAccounts { database, folder in
            let blocker = try PostgresConnection(database.configuration)
            try blocker.execute(script: "BEGIN; LOCK TABLE second_factors IN ACCESS EXCLUSIVE MODE")
            let result = try await Subprocess.run(
                try ConcordCommand.program,
                arguments: ["audit", "plan"],
                environment: ConcordCommand.environment(database),
                input: .none,
                output: .string(limit: 1 << 20),
                error: .sequence
            ) { execution in
                while try await database.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                ) == 0 { try await Task.sleep(for: .milliseconds(20)) }
                kill(execution.processIdentifier.value, SIGINT)
                var lines = execution.standardError.strings().makeAsyncIterator()
                var error = ""
                while !error.contains("stopping after"), let line = try await lines.next() { error += line }
                try blocker.execute(script: "ROLLBACK")
                while let line = try await lines.next() { error += line }
                return error
            }
            #expect(result.terminationStatus == .exited(75) && result.closureResult.contains("the plan is incomplete"))
            try folder.write("plan", result.standardOutput)
            let ending = try await Self.concord(["apply", "--yes", folder.path("plan")], database)
            #expect(ending.status == .exited(65) && ending.error.contains("is incomplete"), "\(ending.error)")
        }
    }

    @Test func `after a lost connection the command reconnects, and every step is applied once`() async throws {
        try await Self.withAccounts(count: 400) { database, folder in
            let plan = try await Self.plan(database, folder)
            let steps = try Self.steps(plan.text)
            async let ending = Self.concord(["apply", "--yes", "--batch", "5", plan.path], database)
            for place in [1, 100] {
                for _ in 0..<6000 {
                    if try await database.count("SELECT count(*) FROM audit_steps") >= place { break }
                    try await Task.sleep(for: .milliseconds(5))
                }
                try await database.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'concord%' AND pid <> pg_backend_pid()
                    """
                )
            }
            let status = try await ending
            #expect(status.status == .exited(0), "\(status.error)")
            #expect(try await database.count("SELECT count(*) FROM audit_steps") == steps)
            #expect(try await database.count("SELECT count(*) FROM account_events") == steps)
        }
    }
}
