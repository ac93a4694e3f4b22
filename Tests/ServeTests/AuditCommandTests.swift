import AccountLinking
import AccountTestSupport
import Glibc
import JSON
import Postgres
import Subprocess
import Synchronization
import SystemPackage
import Testing

/// `concord audit`, the real program, on a real database.
struct AuditCommandTests {
    /// A project with a few accounts, of which three are not as they should be.
    private static func withAccounts(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                    SELECT 'user-' || n, 7, 'ada.' || n || '@example.com', 'mailed-code', now(), now(), now()
                    FROM generate_series(1, 5) AS n;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
                INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                    SELECT user_id, 'password', 'session', now() FROM users;
                INSERT INTO password_credentials (user_id, hash, updated_at)
                    SELECT user_id, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', now() FROM users;
                UPDATE password_credentials SET hash = '$md5$0$c2FsdA$aGFzaA' WHERE user_id = 'user-2';
                DELETE FROM identifiers WHERE user_id = 'user-3';
                UPDATE users SET unproven_phone_number = '+15550001111' WHERE user_id IN ('user-4', 'user-5')
                """
            )
            try await body(database)
        }
    }

    private static func concord(
        _ arguments: [String],
        _ database: TestDatabase,
        input: String = ""
    ) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["audit"] + arguments, database, input: input)
    }

    @Test(.notOnCitus("an audit of Citus notes that it has no single instant"))
    func `the table lists the findings of each rule with their counts`() async throws {
        try await Self.withAccounts { database in
            let (status, output, error) = try await Self.concord(["run"], database)
            #expect(status == .exited(1) && error == "")
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first?.hasPrefix("SEVERITY  RULE") == true)
            #expect(output.contains("error     identifier-without-claim"))
            #expect(output.contains("scheme: md5"))
            #expect(output.contains("email: a…@example.com") && !output.contains("ada.3"), "masked: \(output)")
            #expect(output.contains("with: user-5"))
            #expect(output.contains("5 accounts, 3 findings"))
            #expect(!output.contains("\u{1B}"), "no colour in a pipe")
        }
    }

    @Test func `a limit prints the counts first, then the most serious findings`() async throws {
        try await Self.withAccounts { database in
            let (status, output, _) = try await Self.concord(["run", "--limit", "1"], database)
            #expect(status == .exited(1))
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines.first == "5 accounts, 3 findings")
            let heading = try #require(lines.firstIndex { $0.hasPrefix("SEVERITY") })
            #expect(lines[heading - 1] == "" && lines[heading + 1].hasPrefix("error     identifier-without-claim"))
            #expect(lines[heading + 2].hasPrefix("and 2 more"), "\(output)")
        }
    }

    @Test func `a summary prints the counts alone, for people and for programs`() async throws {
        try await Self.withAccounts { database in
            let (status, output, _) = try await Self.concord(["run", "--summary"], database)
            #expect(status == .exited(1) && output.hasPrefix("5 accounts, 3 findings\n"))
            #expect(!output.contains("SEVERITY") && !output.contains("user-"), "\(output)")
            let object = try await Self.concord(["run", "--summary", "--format", "ndjson"], database).output
            #expect(try JSONValue(parsing: Array(object.utf8))["type"]?.string == "summary")
            for refused in [["--summary", "--format", "csv"], ["--summary", "--limit", "1"], ["--limit", "-1"]] {
                let ending = try await Self.concord(["run"] + refused, database)
                #expect(ending.status == .exited(64), "\(refused): \(ending.error)")
            }
        }
    }

    @Test func `rules are listed as an array and one a line`() async throws {
        try await Self.withAccounts { database in
            let array = try JSONValue(
                parsing: Array(try await Self.concord(["rules", "--format", "json"], database).output.utf8)
            )
            let lines = try await Self.concord(["rules", "--format", "ndjson"], database).output
                .split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
            #expect(JSONValue.array(lines) == array && lines.count == AuditRule.all.count)
            let one = try await Self.concord(["rules", "weak-password-hash", "--format", "ndjson"], database).output
            #expect(try JSONValue(parsing: Array(one.utf8))["id"] == "weak-password-hash")
        }
    }

    @Test func `a mistyped rule or command gets a suggestion`() async throws {
        try await Self.withAccounts { database in
            let rule = try await Self.concord(["run", "--rule", "weak-pasword-hash"], database)
            #expect(rule.status == .exited(64))
            #expect(rule.error.contains("did you mean weak-password-hash? concord audit rules lists them"))
            let unlike = try await Self.concord(["run", "--rule", "nonsense"], database)
            #expect(unlike.error.contains("there is no rule nonsense; concord audit rules lists them"))
            let command = try await ConcordCommand.run(["acount", "find", "a"], database)
            #expect(command.status == .exited(64) && command.output == "")
            #expect(
                command.error == """
                    Error: there is no command concord acount; did you mean concord account?
                    To list all: concord --help

                    """
            )
        }
    }

    @Test func `the exit code shows if there is a finding of the given severity or higher`() async throws {
        try await Self.withAccounts { database in
            for (arguments, status) in [
                (["run", "--fail-on", "never"], 0), (["run", "--rule", "weak-password-hash"], 0),
                (["run", "--rule", "weak-password-hash", "--fail-on", "warning"], 1),
                (["run", "--user", "user-1", "--fail-on", "note"], 0), (["run", "--rule", "no-such-rule"], 64),
                (["run", "--user", "a", "--since", "1d"], 64), (["run", "--since", "yesterday"], 64),
                (["run", "--after", "nonsense"], 64), (["rules", "no-such-rule"], 64),
                (["run", "--tenant", "acme"], 64), (["plan", "--tenant", "acme"], 64), (["run", "--tenant", ""], 1),
                (["run", "--user", "nobody"], 1), (["run", "--user", "nobody", "--fail-on", "never"], 0),
                (["plan", "--user", "nobody"], 1),
            ] {
                let ending = try await Self.concord(arguments, database)
                #expect(ending.status == .exited(TerminationStatus.Code(status)), "\(arguments): \(ending.error)")
            }
        }
    }

    @Test func `the JSON format has one object in each line`() async throws {
        try await Self.withAccounts { database in
            let arguments = ["run", "--format", "ndjson", "--show-identifiers"]
            let lines = try await Self.concord(arguments, database).output.split(separator: "\n")
                .map { try JSONValue(parsing: Array($0.utf8)) }
            #expect(lines.map { $0["type"]?.string } == ["finding", "finding", "finding", "summary"])
            #expect(lines.contains { $0["evidence"]?["email"]?.string == "ada.3@example.com" })
            #expect(lines.last?["accounts"]?.integer == 5)
            #expect(lines.last?["findings"]?["shared-number"]?.integer == 1)
        }
    }

    @Test func `the CSV format has one row for each finding`() async throws {
        try await Self.withAccounts { database in
            let output = try await Self.concord(["run", "--format", "csv"], database).output
            let rows = output.split(separator: "\r\n")
            #expect(rows.count == 4 && rows[0] == "rule,severity,tenant,user,others,evidence")
            #expect(rows.contains("weak-password-hash,warning,,user-2,,\"{\"\"scheme\"\":\"\"md5\"\"}\""))
        }
    }

    @Test func `the SARIF format can be read by code scanners`() async throws {
        try await Self.withAccounts { database in
            let output = try await Self.concord(["run", "--format", "sarif"], database).output
            let document = try JSONValue(parsing: Array(output.utf8))
            #expect(document["version"]?.string == "2.1.0")
            let run = try #require(document["runs"]?.array?.first)
            let rules = run["tool"]?["driver"]?["rules"]?.array?.compactMap { $0["id"]?.string }
            #expect(rules == AuditRule.all.map(\.id))
            let results = try #require(run["results"]?.array)
            #expect(
                results.map { $0["level"]?.string }.sorted { $0 ?? "" < $1 ?? "" } == ["error", "warning", "warning"]
            )
            for result in results {
                #expect(result["ruleId"]?.string.map { rules?.contains($0) == true } == true)
                #expect(result["message"]?["text"]?.string?.isEmpty == false)
                let place = result["locations"]?.array?.first?["logicalLocations"]?.array?.first
                #expect(place?["fullyQualifiedName"]?.string?.hasPrefix("/user-") == true)
            }
            #expect(run["invocations"]?.array?.first?["executionSuccessful"]?.bool == true)
        }
    }

    @Test func `a file of addresses that cannot be opened ends with 78, and an invalid one with 65`()
        async throws
    {
        try await Self.withAccounts { database in
            let absent = try await Self.concord(["run", "--emails", "/nonexistent/list"], database)
            #expect(absent.status == .exited(78))
            #expect(absent.error == "concord: /nonexistent/list: No such file or directory\n")
            let broken = try await Self.concord(
                ["run", "--emails", "-"],
                database,
                input: "ada.1@example.com\nnobody\n"
            )
            #expect(broken.status == .exited(65) && broken.error.contains("line 2"), "\(broken.error)")
        }
    }

    @Test func `a pipe of addresses selects the accounts`() async throws {
        try await Self.withAccounts { database in
            let arguments = ["run", "--emails", "-", "--format", "ndjson"]
            let ending = try await Self.concord(
                arguments,
                database,
                input: "Ada.2@Example.com\r\n\nnobody@example.com\n"
            )
            #expect(ending.output.contains("weak-password-hash") && ending.output.contains("\"accounts\":1"))
            #expect(ending.error.contains("no account has 1 of the 2 addresses: n…@example.com (line 3)\n"))
            #expect(ending.status == .exited(1))
            #expect(ending.error.contains("need all accounts"))
            let bad = try await Self.concord(arguments, database, input: "ada.2@example.com\nno address\n")
            #expect(bad.status == .exited(65) && bad.error.contains("-, line 2: not an e-mail address"))
        }
    }

    @Test(.notOnCitus("an audit of Citus notes that it has no single instant"))
    func `missing accounts are reported, and skipped rules are not counted`() async throws {
        try await Self.withAccounts { database in
            let three = "same-address-in-several-accounts, look-alike-addresses, shared-number"
            let unasked = "concord: rules left out, because they need all accounts: \(three)\n"
            let one = try await Self.concord(["run", "--user", "user-1", "--user", "unknown"], database)
            #expect(one.status == .exited(1) && one.output == "1 account, nothing found by 20 rules\n", "\(one)")
            #expect(one.error == unasked + "concord: no account has the uid unknown\n")
            let many = try await Self.concord(["plan"] + (1...12).flatMap { ["--user", "x\($0)"] }, database)
            #expect(many.status == .exited(1), "\(many)")
            let uids = "x1, x10, x11, x12, x2, x3, x4, x5, x6, x7"
            #expect(many.error.hasSuffix("concord: no account has the uids \(uids) and 2 more\n"), "\(many)")
            let rule = try await Self.concord(["run", "--rule", "stale-number"], database)
            #expect(rule.output == "5 accounts, nothing found by 1 rule\n" && rule.error == "")
            let list = try await Self.concord(
                ["run", "--emails", "-", "--show-identifiers", "--rule", "stale-number"],
                database,
                input: "ada.1@example.com\n" + (1...11).map { "x\($0)@example.com\n" }.joined()
            )
            #expect(list.status == .exited(1) && list.output == "1 account, nothing found by 1 rule\n", "\(list)")
            let named = (1...10).map { "x\($0)@example.com (line \($0 + 1))" }.joined(separator: ", ")
            #expect(list.error == "concord: no account has 11 of the 12 addresses: \(named) and 1 more\n")
            let tenant = try await Self.concord(["run", "--tenant", "acme"], database)
            #expect(tenant.output == "" && tenant.error.hasPrefix("Error: --tenant: there is no tenant acme\n"))
        }
    }

    @Test func `each rule is explained without a database`() async throws {
        try await TestDatabase.with { database in
            for rule in AuditRule.all {
                let ending = try await Self.concord(["rules", rule.id], database)
                #expect(ending.status == .exited(0) && ending.output.contains("Repair  "), "\(rule.id)")
            }
            let listed = try await Self.concord(["rules", "--format", "json"], database).output
            let rules = try #require(JSONValue(parsing: Array(listed.utf8)).array)
            #expect(rules.compactMap { $0["id"]?.string } == AuditRule.all.map(\.id))
        }
    }

    // MARK: Cut short

    @Test func `Ctrl-C during the scan ends a run without output`() async throws {
        try await Self.withAccounts { database in
            let ending = try await ConcordCommand.interrupted(
                ["audit", "run", "--format", "ndjson"],
                database,
                until: "stopping after"
            ) {
                process,
                _ in
                #expect(kill(process, SIGINT) == 0)
            }
            #expect(ending.status == .exited(75), "\(ending.error)")
            #expect(ending.output == "" && ending.error.contains("interrupted; nothing was printed yet"))
        }
    }

    /// The unread output blocks the run.
    @Test func `Ctrl-C ends a run at a place where it can continue`() async throws {
        try await Self.withAccounts { database in
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, valid_since, created_at)
                    SELECT 'weak-' || lpad(n::text, 4, '0'), 7, now(), now() FROM generate_series(1, 1000) AS n;
                INSERT INTO password_credentials (user_id, hash, updated_at)
                    SELECT user_id, '$md5$0$c2FsdA$aGFzaA', now() FROM users WHERE user_id LIKE 'weak-%'
                """
            )
            let arguments = ["run", "--format", "ndjson", "--show-identifiers"]
            let first = try await Subprocess.run(
                try ConcordCommand.program,
                arguments: Arguments(["audit"] + arguments),
                environment: ConcordCommand.environment(database),
                input: .none,
                output: .sequence,
                error: .sequence
            ) { execution in
                var output = execution.standardOutput.strings().makeAsyncIterator()
                var complaints = execution.standardError.strings().makeAsyncIterator()
                var (reported, error) = (try await output.next().map { [$0] } ?? [], "")
                #expect(kill(execution.processIdentifier.value, SIGINT) == 0)
                while !error.contains("stopping after"), let line = try await complaints.next() { error += line }
                while let line = try await output.next() { reported.append(line) }
                while let line = try await complaints.next() { error += line }
                return (reported: reported, error: error)
            }
            #expect(first.terminationStatus == .exited(75), "\(first.closureResult.error)")
            let cursor = try #require(first.closureResult.error.split(separator: "--after ").last)
                .prefix { !$0.isWhitespace }
            let rest = try await Self.concord(arguments + ["--after", String(cursor)], database)
            let whole = try await Self.concord(arguments, database)
            #expect(whole.status == .exited(1))
            func findings(_ lines: [String]) -> [String] { lines.filter { $0.contains(#""type":"finding""#) } }
            func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }
            let (before, after) = (findings(first.closureResult.reported), findings(lines(rest.output)))
            #expect(!before.isEmpty && !after.isEmpty)
            #expect(before + after == findings(lines(whole.output)))
        }
    }

    @Test func `a lost connection is reported with how to continue`() async throws {
        try await Self.withAccounts { database in
            let ending = try await ConcordCommand.interrupted(["audit", "run"], database) { _, database in
                try await database.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'concord audit'
                    """
                )
            }
            #expect(ending.status == .exited(69), "\(ending.error)")
            #expect(ending.error.contains("stopped; nothing was printed yet"))
        }
    }
}
