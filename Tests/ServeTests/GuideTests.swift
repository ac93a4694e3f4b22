import AccountTestSupport
import Foundation
import Postgres
import Subprocess
import SystemPackage
import Testing

/// The commands of guides, run as a reader would: every block that is fenced as `sh`, in order, in one shell.
struct GuideTests {
    /// The text of the blocks in `language`, without their indentation.
    private static func commands(of guide: String, in language: String = "sh") throws -> String {
        let document = try String(
            contentsOfFile: AccountTestSupport.Repository.root + "/docs/guides/\(guide)",
            encoding: .utf8
        )
        var (lines, indentation): ([Substring], Int?) = ([], nil)
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.drop { $0 == " " }
            if let width = indentation {
                if text == "```" { indentation = nil } else { lines.append(line.dropFirst(width)) }
            } else if text == "```\(language)" {
                indentation = line.count - text.count
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Runs `script` in `folder`, where the migrations are as in a checkout, and returns its output.
    private static func run(
        _ script: String,
        in folder: Folder,
        _ variables: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("migrations"),
            withDestinationPath: AccountTestSupport.Repository.root + "/migrations"
        )
        var environment = variables
        environment["PATH"] = "\(try ProgramFolder.path):/usr/local/bin:/usr/bin:/bin"
        environment["HOME"] = folder.path("")
        let result = try await Subprocess.run(
            .path("/bin/bash"),
            arguments: ["-euo", "pipefail", "-c", script],
            environment: .custom(
                Dictionary(
                    uniqueKeysWithValues: environment.map { (Environment.Key(stringLiteral: $0.key), $0.value) }
                )
            ),
            workingDirectory: FilePath(folder.path("")),
            input: .none,
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        #expect(
            result.terminationStatus == .exited(0),
            "\(result.standardOutput)\(result.standardError)",
            sourceLocation: sourceLocation
        )
        return result.standardOutput
    }

    @Test(.notOnCitus("the drill restores one PostgreSQL"))
    func `the restore drill of the backup guide works`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                // Makes the signing keys, which the drill opens.
                try await ServeProcess.run(database: database.url) { _ in }
                try folder.write("keys", ServeProcess.keyEncryptionKey + "\n")
                let name = try #require(database.url.firstMatch(of: #/\/(test_[0-9a-f]+)/#)?.1)
                let imported = try await ConcordCommand.run(
                    ["account", "import", "--format", "ndjson", "-"],
                    database,
                    input: #"{"localId":"ada","email":"ada@example.com","rawPassword":"correct horse"}"# + "\n"
                )
                #expect(imported.status == .exited(0), "\(imported.error)")
                let drill = "drill_\(name)"
                let commands = try Self.commands(of: "backup.md").replacing("concord_drill", with: drill)
                    .replacing("/media/backup/keys", with: folder.path("keys"))
                let output = try await Self.run(
                    commands,
                    in: folder,
                    [
                        "CONCORD_DATABASE_URL": database.url,
                        "DRILL_URL": database.url.replacing("/\(name)", with: "/\(drill)"),
                    ]
                )
                let counts = output.split(separator: "\n").filter { $0.hasPrefix("1|") }
                #expect(counts.count == 2 && Set(counts).count == 1, "\(output)")
                #expect(output.contains("the signing keys can be opened"), "\(output)")
                #expect(
                    try await database.count("SELECT count(*) FROM pg_database WHERE datname = \(drill)") == 0
                )
            }
        }
    }

    @Test func `the commands of the guide to CI work`() async throws {
        try await Folder.with { folder in
            let commands = try Self.commands(of: "ci.md").replacing("9099", with: String(try freePort()))
            let output = try await Self.run("trap 'kill %1; wait' EXIT\n" + commands, in: folder)
            #expect(output.contains("2 accounts: 2 created"), "\(output)")
            #expect(output.contains(#""localId":"ada""#), "\(output)")
            #expect(output.contains(#""providerId":"google.com""#), "\(output)")
        }
    }

    /// Ends the servers that a script started and did not end.
    private static let endingServers = "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n"

    @Test func `the commands of the guide to several servers work`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let commands = try Self.commands(of: "two-instances.md")
                    .replacing("8081", with: String(try freePort()))
                    .replacing("8082", with: String(try freePort()))
                let output = try await Self.run(
                    Self.endingServers + commands,
                    in: folder,
                    ["CONCORD_DATABASE_URL": database.url, "CONCORD_KEYS_ENCRYPTION": ServeProcess.keyEncryptionKey]
                )
                #expect(output.hasSuffix("ada@example.com\nBearer\n"), "\(output)")
            }
        }
    }

    @Test func `the commands of the guide to moving from Firebase work`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try FirebaseStandIn.write(to: folder)
                try folder.write("exchange.py", try Self.commands(of: "moving-from-firebase.md", in: "python"))
                let port = String(try freePort())
                let export = "concord account export --format json --output all.json"
                let commands = try Self.commands(of: "moving-from-firebase.md")
                    .replacing("concord serve", with: "CONCORD_LISTEN_PORT=\(port) concord serve")
                    .replacing("8080", with: port)
                    // The way back takes this account along.
                    .replacing(
                        export,
                        with: """
                            curl --silent --fail "http://127.0.0.1:\(port)/v1/accounts:signUp?key=$key" \
                              -d '{"email":"gil@example.com","password":"correct horse battery"}'
                            \(export)
                            """
                    )
                let output = try await Self.run(
                    Self.endingServers + FirebaseStandIn.functions + commands,
                    in: folder,
                    ["CONCORD_DATABASE_URL": database.url, "CONCORD_KEYS_ENCRYPTION": ServeProcess.keyEncryptionKey]
                )
                for line in [
                    "5 accounts: 4 created, 0 replaced, 0 unchanged, 1 left out",
                    "      1 Second factor not supported.", "ada",
                    "5 accounts: 1 created, 1 replaced, 2 unchanged, 1 left out",
                    "5 accounts: 0 created, 0 replaced, 3 unchanged, 2 left out", #"  "isNewUser": false"#,
                ] {
                    #expect(output.contains("\(line)\n"), "\(line)\n\(output)")
                }
                let accounts: [String?] = try await database.rows("SELECT email FROM users ORDER BY 1 NULLS FIRST")
                #expect(
                    accounts == [nil, "ada@example.com", "bob@example.com", "eve@example.com", "gil@example.com"],
                    "the account that Firebase had deleted is gone: \(output)"
                )
                let imported = try String(contentsOfFile: folder.path("imported.json"), encoding: .utf8)
                #expect(imported.contains("gil@example.com") && !imported.contains("ada@example.com"), "\(imported)")
                #expect(!imported.contains("passwordHash"), "\(imported)")
            }
        }
    }

    @Test func `the commands of the guide to branding work`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try Data(LogoFixture.png.bytes).write(to: URL(filePath: folder.path("logo.png")))
                let output = try await Self.run(
                    try Self.commands(of: "branding.md"),
                    in: folder,
                    ["CONCORD_DATABASE_URL": database.url]
                )
                for words in ["name", "Acme Bank", "texts.th.footer", "6.37:1", "#51927f"] {
                    #expect(output.contains(words), "\(words): \(output)")
                }
            }
        }
    }

    @Test func `the commands of the guide to the conflict page get the session`() async throws {
        try await Folder.with { folder in
            let commands = try Self.commands(of: "conflict-page.md").replacing("9099", with: String(try freePort()))
            let output = try await Self.run("trap 'kill %1; wait' EXIT\n" + commands, in: folder)
            #expect(output.contains("concordConflict=resolved&state="), "\(output)")
            #expect(output.contains(#"{"localId":""#) && output.contains(#""expiresIn":"3600"}"#), "\(output)")
        }
    }
}
