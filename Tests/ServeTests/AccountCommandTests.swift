import AccountTestSupport
import Foundation
import Glibc
import JSON
import Postgres
import Subprocess
import SystemPackage
import Testing

/// `concord account`, the real program.
struct AccountCommandTests {
    private static func concord(_ arguments: [String], _ database: TestDatabase) async throws -> ConcordCommand.Ending {
        try await ConcordCommand.run(["account"] + arguments, database)
    }

    private static func withProject(
        _ body: @Sendable (TestDatabase, Folder) async throws -> Void
    ) async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try await body(database, folder)
            }
        }
    }

    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    /// A file in the form of `firebase auth:export`.
    private static let firebaseJSON = """
        {"users": [
        {"localId":"ann","email":"ann@example.com","emailVerified":true,"passwordHash":"V358E8LdWJXAO7muq0CufVpEOXaj8aFiC7T/rcaGieN04q/ZPJ08WhJEHGjj9lz/2TT+/86N5VjVoc5DdBhBiw==","salt":"TmFDbA==","displayName":"Ann","lastSignedInAt":"1600000001000","createdAt":"1600000000000","providerUserInfo":[{"providerId":"google.com","rawId":"g-1","email":"ann@gmail.com"}]},
        {"localId":"bob","email":"nowhere","providerUserInfo":[]},
        {"localId":"cid","phoneNumber":"+15550001111","disabled":true,"customAttributes":"{\\"level\\":3}","providerUserInfo":[]}
        ]}
        """

    private static let scrypt = [
        "--hash-algo", "SCRYPT", "--salt-separator", "Bw==", "--rounds", "8", "--mem-cost", "14",
    ]

    @Test func `an export of the Firebase CLI is imported, and its users sign in`() async throws {
        try await Self.withProject { database, folder in
            try folder.write("users.json", Self.firebaseJSON)
            try folder.write("key", Self.signerKey + "\n")
            let arguments =
                ["import", "--format", "json", "--hash-key-file", folder.path("key")] + Self.scrypt
                + [folder.path("users.json")]
            let first = try await Self.concord(arguments, database)
            #expect(first.output == "3 accounts: 2 created, 0 replaced, 0 unchanged, 1 left out\n")
            #expect(first.error == "concord: line 3, index 1: bob: email is invalid\n")
            #expect(first.status == .exited(1))
            let errors = folder.path("errors")
            let again = try await Self.concord(arguments + ["--errors", errors], database)
            #expect(again.output == "3 accounts: 0 created, 0 replaced, 2 unchanged, 1 left out\n")
            #expect(again.error == "")
            #expect(
                try String(contentsOfFile: errors, encoding: .utf8)
                    == "{\"index\":1,\"line\":3,\"localId\":\"bob\",\"message\":\"email is invalid\"}\n"
            )
            try await ServeProcess.run(database: database.url) { server in
                let body: JSONValue = [
                    "email": "ann@example.com", "password": "password", "returnSecureToken": true,
                ]
                let answer = try await server.post("/v1/accounts:signInWithPassword", body)
                #expect(answer.status == 200, "\(answer.text)")
            }
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test(arguments: ["json", "csv", "ndjson"])
    func `importing an export restores the same accounts`(format: String) async throws {
        try await Self.withProject { database, folder in
            try folder.write("users.json", Self.firebaseJSON)
            _ = try await Self.concord(
                ["import", "--format", "json", "--hash-key", Self.signerKey] + Self.scrypt
                    + [folder.path("users.json")],
                database
            )
            let export = ["export", "--format", format, "--include-password-hashes", "--output"]
            let first = try await Self.concord(export + [folder.path("first")], database)
            #expect(first.status == .exited(0), "\(first.error)")
            #expect(first.error == "concord: 2 accounts\n")
            let text = try String(contentsOfFile: folder.path("first"), encoding: .utf8)
            #expect(!FileManager.default.fileExists(atPath: folder.path("first.partial")))
            let same = ["import", "--format", format, "--hash-algo", "PHC", folder.path("first")]
            let unchanged = try await Self.concord(same, database)
            #expect(unchanged.output == "2 accounts: 0 created, 0 replaced, 2 unchanged, 0 left out\n")
            try await database.execute("DELETE FROM users; DELETE FROM identifiers; DELETE FROM account_events")
            let back = try await Self.concord(same, database)
            #expect(back.output == "2 accounts: 2 created, 0 replaced, 0 unchanged, 0 left out\n", "\(back.error)")
            let second = try await Self.concord(["export", "--format", format, "--include-password-hashes"], database)
            // Only ndjson holds the time at which a password was set.
            #expect(second.output == text)
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `an export without hashes cannot be confused with one with hashes`() async throws {
        try await Self.withProject { database, folder in
            try folder.write("users.json", Self.firebaseJSON)
            _ = try await Self.concord(
                ["import", "--format", "json", "--hash-key", Self.signerKey] + Self.scrypt
                    + [folder.path("users.json")],
                database
            )
            for format in ["json", "csv", "ndjson"] {
                let export = try await Self.concord(["export", "--format", format], database)
                #expect(!export.output.contains("V358E8"))
                try folder.write(format, export.output)
                let answer = try await Self.concord(
                    ["import", "--format", format, "--hash-algo", "PHC", folder.path(format)],
                    database
                )
                #expect(answer.status == .exited(1))
                #expect(answer.error.contains("ann: the export left out the password hash"))
                #expect(answer.output.hasSuffix("1 unchanged, 1 left out\n"), "\(answer.output)\(answer.error)")
            }
        }
    }

    @Test func `a truncated file ends with 65, and importing the complete file completes the work`() async throws {
        try await Self.withProject { database, folder in
            let rows = (0..<2500).map { "{\"localId\":\"user-\($0)\",\"email\":\"user\($0)@example.com\"}" }
            try folder.write("cut.json", "{\"users\":[\n" + rows.prefix(2200).joined(separator: ",\n") + ",\n{\"loc")
            let cut = try await Self.concord(["import", "--format", "json", folder.path("cut.json")], database)
            #expect(cut.status == .exited(65))
            #expect(cut.error.contains("line 2202: the file ends in the middle of a user\n"), "\(cut.error)")
            #expect(cut.error.contains("concord: the first 2200 rows are done."), "\(cut.error)")
            #expect(cut.output == "2200 accounts: 2200 created, 0 replaced, 0 unchanged, 0 left out\n")
            try folder.write("whole.json", "{\"users\":[\n" + rows.joined(separator: ",\n") + "\n]}")
            let whole = try await Self.concord(["import", "--format", "json", folder.path("whole.json")], database)
            #expect(whole.output == "2500 accounts: 300 created, 0 replaced, 2200 unchanged, 0 left out\n")
            #expect(whole.status == .exited(0))
        }
    }

    @Test func `a repeated id in a file is reported with its line, no matter how far apart`() async throws {
        try await Self.withProject { database, folder in
            let rows =
                (0..<1500).map { "{\"localId\":\"user-\($0)\"}" } + ["{\"localId\":\"user-0\",\"displayName\":\"x\"}"]
            try folder.write("users", rows.joined(separator: "\n"))
            for _ in 0..<2 {
                let ended = try await Self.concord(["import", "--format", "ndjson", folder.path("users")], database)
                #expect(ended.error == "concord: line 1501: user-0: localId occurs more than once\n")
                #expect(ended.status == .exited(1))
            }
            #expect(try await database.count("SELECT count(*) FROM users WHERE display_name IS NOT NULL") == 0)
        }
    }

    @Test(arguments: [SIGKILL, SIGINT])
    func `an interrupted import leaves complete accounts, and the same command completes it`(
        signal: Int32
    ) async throws {
        try await Self.withProject { database, folder in
            let rows = (0..<20_000).map {
                "{\"localId\":\"user-\($0)\",\"email\":\"user\($0)@example.com\",\"phoneNumber\":\"+1555\(1_000_000 + $0)\"}"
            }
            try folder.write("users", rows.joined(separator: "\n"))
            let arguments = ["account", "import", "--format", "ndjson", folder.path("users")]
            let ended = try await Subprocess.run(
                .path(FilePath("\(try ProgramFolder.path)/concord")),
                arguments: Arguments(arguments),
                environment: ConcordCommand.environment(database),
                input: .none,
                output: .discarded,
                error: .discarded
            ) { execution in
                // Once something is in, however long that takes.
                for _ in 0..<6000 {
                    if try await database.count("SELECT count(*) FROM users") > 0 { break }
                    try await Task.sleep(for: .milliseconds(10))
                }
                kill(execution.processIdentifier.value, signal)
            }
            // It may have been done before.
            switch ended.terminationStatus {
            case .exited(0): break
            case .exited(75): #expect(signal == SIGINT)
            default: #expect(signal == SIGKILL, "\(ended.terminationStatus)")
            }
            #expect(try await database.inconsistencies() == [])
            let again = try await Self.concord(Array(arguments.dropFirst()), database)
            #expect(again.status == .exited(0), "\(again.error)")
            #expect(again.output.hasPrefix("20000 accounts: "))
            #expect(try await database.count("SELECT count(*) FROM users") == 20_000)
            #expect(try await database.count("SELECT count(*) FROM account_events") == 20_000)
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `invalid commands and missing accounts end with the documented codes`() async throws {
        try await Self.withProject { database, folder in
            try folder.write("users", "{\"localId\":\"a\",\"passwordHash\":\"YWJj\"}")
            let commands: [([String], Int32, String)] = [
                (["import", "--format", "ndjson", folder.path("nothing")], 78, "No such file or directory"),
                (["import", "--format", "xml", "f"], 64, ""), (["import", "f"], 64, ""),
                (["import", "--format", "json", "--identities", "g", "f"], 64, "--identities"),
                (
                    ["import", "--format", "ndjson", "--hash-algo", "ROT13", folder.path("users")], 64,
                    "--hash-algo: give one of"
                ),
                (
                    ["import", "--format", "ndjson", "--hash-algo", "SCRYPT", folder.path("users")], 64,
                    "--rounds is missing\nUsage: concord account import"
                ),
                (
                    [
                        "import", "--format", "ndjson", "--hash-algo", "SCRYPT", "--rounds", "8", "--mem-cost", "15",
                        folder.path("users"),
                    ], 64, "--mem-cost has to be from 1 to 14\nUsage: concord account import"
                ),
                (
                    [
                        "import", "--format", "ndjson", "--hash-algo", "SCRYPT", "--rounds", "8", "--mem-cost", "14",
                        folder.path("users"),
                    ], 64, "--hash-key is missing\n"
                ),
                (["import", "--format", "ndjson", "--hash-algo", "ARGON2", folder.path("users")], 64, "HTTP only"),
                (
                    ["import", "--format", "ndjson", "--hash-algo", "BCRYPT", "--hash-key", "$", folder.path("users")],
                    64, "give base64"
                ),
                (
                    ["import", "--format", "ndjson", folder.path("users")], 64,
                    "line 1: the algorithm of a password hash is not known: give --hash-algo"
                ),
                (["export", "--format", "json", "--output", folder.path("no/where")], 78, "No such file or directory"),
            ]
            for (arguments, status, text) in commands {
                let ended = try await Self.concord(arguments, database)
                #expect(ended.status == .exited(status), "\(arguments) \(ended.error)")
                #expect(text.isEmpty || ended.error.contains(text), "\(ended.error)")
            }
            try await database.execute("DELETE FROM project_config")
            let without = try await Self.concord(
                ["import", "--format", "ndjson", "--hash-algo", "BCRYPT", folder.path("users")],
                database
            )
            #expect(without.status == .exited(78))
            #expect(without.error.contains("concord project init"))
        }
    }

    @Test func `an import refuses an input file as its error file`() async throws {
        try await Self.withProject { database, folder in
            let text = "id,email\nu-1,ann@example.com\nu-2,nowhere\n"
            let names = ["users", "identities"]
            try folder.write("users", text)
            try folder.write("identities", "provider_id,user_id,identity_data,provider\n")
            try FileManager.default.createSymbolicLink(
                atPath: folder.path("link"),
                withDestinationPath: folder.path("users")
            )
            for errors in ["users", "link", "identities"] {
                let ended = try await Self.concord(
                    [
                        "import", "--format", "supabase", "--identities", folder.path("identities"), "--errors",
                        folder.path(errors), folder.path("users"),
                    ],
                    database
                )
                #expect(ended.status == .exited(64), "\(errors) \(ended.error)")
                #expect(ended.error.contains("is read by this command"))
            }
            #expect(try String(contentsOfFile: folder.path("users"), encoding: .utf8) == text)
            #expect(try names.allSatisfy { try !Data(contentsOf: URL(filePath: folder.path($0))).isEmpty })
            #expect(try await database.count("SELECT count(*) FROM users") == 0)

            // Another file begins anew.
            try folder.write("errors", String(repeating: "what an earlier import has left\n", count: 100))
            let ended = try await Self.concord(
                ["import", "--format", "supabase", "--errors", folder.path("errors"), folder.path("users")],
                database
            )
            #expect(ended.status == .exited(1) && ended.error == "")
            #expect(
                try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
                    == "{\"line\":3,\"localId\":\"u-2\",\"message\":\"email is invalid\"}\n"
            )
        }
    }

    @Test func `an unknown hash algorithm ends an import before it writes anything`() async throws {
        try await Self.withProject { database, folder in
            let rows = (0..<1500).map { "{\"localId\":\"user-\($0)\"}" }
            let hashed = "{\"localId\":\"eve\",\"passwordHash\":\"YWJj\"}"
            try folder.write("users", "{\"users\":[" + (rows + [hashed, hashed]).joined(separator: ",") + "]}")
            let ended = try await Self.concord(["import", "--format", "json", folder.path("users")], database)
            #expect(ended.status == .exited(64))
            #expect(
                ended.error
                    == "concord: line 1, index 1500: the algorithm of a password hash is not known: give --hash-algo\n"
            )
            #expect(try await database.count("SELECT count(*) FROM users") == 0)
            // A stream is read once.
            let streamed = try await ConcordCommand.run(
                ["account", "import", "--format", "ndjson", "-"],
                database,
                input: (rows + [hashed]).joined(separator: "\n")
            )
            #expect(streamed.status == .exited(64))
            #expect(streamed.error.contains("all rows before line 1501 are done"), "\(streamed.error)")
            #expect(try await database.count("SELECT count(*) FROM users") == 1500)
            // What an export has left out is no hash.
            try folder.write("redacted", "{\"localId\":\"eve\",\"passwordHash\":\"UkVEQUNURUQ=\"}")
            let redacted = try await Self.concord(["import", "--format", "ndjson", folder.path("redacted")], database)
            #expect(redacted.status == .exited(1))
            #expect(redacted.error == "concord: line 1: eve: the export left out the password hash\n")
        }
    }

    @Test func `the first hundred invalid rows are reported, then the number of the rest`() async throws {
        try await Self.withProject { database, folder in
            let rows = (0..<150).map { "{\"localId\":\"user-\($0)\",\"email\":\"nowhere\"}" }
            try folder.write("users", rows.joined(separator: "\n"))
            let arguments = ["import", "--format", "ndjson", folder.path("users")]
            let ended = try await Self.concord(arguments, database)
            let lines = ended.error.split(separator: "\n")
            #expect(lines.count == 101)
            #expect(lines.last == "concord: 50 more rows were left out; --errors FILE lists all of them")
            _ = try await Self.concord(arguments + ["--errors", folder.path("errors")], database)
            let all = try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
            #expect(all.split(separator: "\n").count == 150)
        }
    }

    @Test func `a dump of Supabase Auth is imported, and its users sign in`() async throws {
        try await Self.withProject { database, folder in
            try folder.write(
                "users.csv",
                """
                id,email,encrypted_password,email_confirmed_at,created_at
                u-1,ann@example.com,$2b$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK,2024-01-02 03:04:05+00,2023-01-02 03:04:05+00
                u-2,bob@example.com,plain,2024-01-02 03:04:05+00,2023-01-02 03:04:05+00
                """
            )
            try folder.write(
                "identities.csv",
                "provider_id,user_id,identity_data,provider\ng-1,u-1,\"{\"\"sub\"\":\"\"g-1\"\"}\",google\n"
            )
            let ended = try await Self.concord(
                [
                    "import", "--format", "supabase", "--identities", folder.path("identities.csv"),
                    folder.path("users.csv"),
                ],
                database
            )
            #expect(ended.output == "2 accounts: 1 created, 0 replaced, 0 unchanged, 1 left out\n")
            #expect(ended.error.hasPrefix("concord: line 3: u-2: passwordHash does not name"))
            #expect(try await database.count("SELECT count(*) FROM linked_providers WHERE subject = 'g-1'") == 1)
            try await ServeProcess.run(database: database.url) { server in
                let body: JSONValue = [
                    "email": "ann@example.com", "password": "password", "returnSecureToken": true,
                ]
                let answer = try await server.post("/v1/accounts:signInWithPassword", body)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
    }

    // MARK: Exports that are cut off

    private static let exportedCount = 3000

    /// Enough accounts that a pipe does not hold what is written of them.
    private static func withManyAccounts(
        _ body: @Sendable (TestDatabase, Folder) async throws -> Void
    ) async throws {
        try await withProject { database, folder in
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, display_name, valid_since, created_at)
                SELECT 'user-' || n, 7, 'Name ' || n, now(), now() FROM generate_series(1, \(exportedCount)) AS n
                """
            )
            try await body(database, folder)
        }
    }

    /// Expects the same command to write the whole file after an earlier one ended early.
    private static func expectWholeFile(_ database: TestDatabase, _ folder: Folder) async throws {
        let again = try await concord(["export", "--format", "json", "--output", folder.path("users")], database)
        #expect(again.status == .exited(0) && again.error == "concord: \(exportedCount) accounts\n", "\(again.error)")
        let text = try String(contentsOfFile: folder.path("users"), encoding: .utf8)
        let ids = try JSONValue(parsing: Array(text.utf8))["users"]?.array?.compactMap { $0["localId"]?.string }
        #expect(ids == (1...exportedCount).map { "user-\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(!FileManager.default.fileExists(atPath: folder.path("users.partial")))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func `an interrupted export leaves no file, and the same command writes all of it`(
        signal: Int32
    ) async throws {
        try await Self.withManyAccounts { database, folder in
            let ended = try await ConcordCommand.interrupted(
                ["account", "export", "--format", "json", "--output", folder.path("users")],
                database,
                until: signal == SIGKILL ? nil : "stopping after"
            ) { process, _ in
                #expect(kill(process, signal) == 0)
            }
            #expect(!FileManager.default.fileExists(atPath: folder.path("users")))
            if signal == SIGKILL {
                #expect(ended.status == .signaled(SIGKILL))
            } else {
                #expect(ended.status == .exited(75), "\(ended.error)")
                #expect(ended.error.contains("interrupted; \(folder.path("users")) was not written"), "\(ended.error)")
                #expect(!FileManager.default.fileExists(atPath: folder.path("users.partial")))
            }
            #expect(ended.output == "")
            try await Self.expectWholeFile(database, folder)
        }
    }

    @Test func `an export that loses the database leaves no file and reports it`() async throws {
        try await Self.withManyAccounts { database, folder in
            try folder.write("users", "the file of an earlier export")
            let ended = try await ConcordCommand.interrupted(
                ["account", "export", "--format", "json", "--output", folder.path("users")],
                database
            ) { _, database in
                try await database.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'concord export'
                    """
                )
            }
            #expect(ended.status == .exited(69), "\(ended.error)")
            #expect(ended.error.contains("stopped; \(folder.path("users")) was not written"), "\(ended.error)")
            // What stood there before stands there still.
            let before = try String(contentsOfFile: folder.path("users"), encoding: .utf8)
            #expect(before == "the file of an earlier export")
            #expect(!FileManager.default.fileExists(atPath: folder.path("users.partial")))
            try await Self.expectWholeFile(database, folder)
        }
    }

    /// The pipe holds less than the accounts, so the export waits for its reader.
    @Test func `Ctrl-C ends an export whose reader is stalled`() async throws {
        try await Self.withManyAccounts { database, _ in
            let ended = try await Subprocess.run(
                try ConcordCommand.program,
                arguments: ["account", "export", "--format", "ndjson"],
                environment: ConcordCommand.environment(database),
                input: .none,
                output: .sequence,
                error: .sequence
            ) { execution in
                var output = execution.standardOutput.strings().makeAsyncIterator()
                #expect(try await output.next() != nil)
                #expect(kill(execution.processIdentifier.value, SIGINT) == 0)
                var complaints = execution.standardError.strings().makeAsyncIterator()
                var error = ""
                while let line = try await complaints.next() { error += line }
                return error
            }
            #expect(ended.terminationStatus == .exited(75), "\(ended.closureResult)")
            #expect(ended.closureResult.contains("interrupted; what was written is incomplete"))
        }
    }
}
