import AccountTestSupport
import Foundation
import JSON
import Postgres
import Subprocess
import Testing

/// Rotating keys with the real program.
struct KeysCommandTests {
    private static let oldKey = ServeProcess.keyEncryptionKey
    private static let newKey = "2:" + Data("fedcba9876543210fedcba9876543210".utf8).base64EncodedString()

    private static func settings(_ keys: String...) -> [Environment.Key: String] {
        ["CONCORD_KEYS_ENCRYPTION": keys.joined(separator: ",")]
    }

    /// The states of the encryption keys, by id.
    private static func states(
        _ database: TestDatabase,
        _ settings: [Environment.Key: String]
    ) async throws -> [String: String] {
        let listed = try await ConcordCommand.run(["keys", "list", "--format", "json"], database, settings)
        #expect(listed.status == .exited(0), "\(listed.error)")
        let keys = try JSONValue(parsing: Array(listed.output.utf8))["encryptionKeys"]?.array ?? []
        return Dictionary(keys.compactMap { key in key["id"]?.string.map { ($0, key["state"]?.string ?? "") } }) { $1 }
    }

    @Test func `an encryption key is rotated from its first day to its removal`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { _ in }
            let both = Self.settings(Self.oldKey, Self.newKey)
            #expect(try await Self.states(database, both) == ["1": "current", "2": "unused"])

            let rotated = Self.settings(Self.newKey, Self.oldKey)
            #expect(try await Self.states(database, rotated) == ["1": "used", "2": "current"])
            let refused = try await ConcordCommand.run(["keys", "reseal"], database, rotated)
            #expect(refused.status == .exited(1) && refused.error.contains("nothing was changed"))
            let rehearsed = try await ConcordCommand.run(["keys", "reseal", "--dry-run"], database, rotated)
            #expect(rehearsed.status == .exited(0), "\(rehearsed.error)")
            #expect(rehearsed.output.contains("2 values would be sealed with key 2"), "\(rehearsed.output)")
            #expect(try await Self.states(database, rotated)["1"] == "used")

            let resealed = try await ConcordCommand.run(["keys", "reseal", "--yes"], database, rotated)
            #expect(resealed.status == .exited(0), "\(resealed.error)")
            #expect(resealed.output.contains("2 values sealed with key 2"), "\(resealed.output)")
            #expect(try await Self.states(database, rotated) == ["1": "unused", "2": "current"])
            let byNew = try await database.count(
                "SELECT count(*) FROM signing_keys WHERE get_byte(sealed_private_key, 2) = ascii('2')"
            )
            #expect(byNew == 2)

            let settings = ["CONCORD_KEYS_ENCRYPTION": Self.newKey]
            try await ServeProcess.run(database: database.url, settings) { _ in }
            let again = try await ConcordCommand.run(["keys", "reseal", "--yes"], database, rotated)
            #expect(again.status == .exited(0) && again.output.contains("0 values sealed"), "\(again)")
        }
    }

    @Test func `a value of a lost key is reported and stays, and the others are sealed`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { _ in }
            try await database.execute(
                """
                INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at)
                    VALUES (gen_random_uuid(), 'mail', '\\x010139' || sha256('a') || sha256('b'), now(),
                        now() + interval '1 day', now())
                """
            )
            let rotated = Self.settings(Self.newKey, Self.oldKey)
            let ended = try await ConcordCommand.run(["keys", "reseal", "--yes"], database, rotated)
            #expect(ended.status == .exited(1), "\(ended.error)")
            #expect(ended.output.contains("1 value of outbox.sealed_payload cannot be opened: key 9 is not configured"))
            #expect(try await Self.states(database, rotated) == ["1": "unused", "2": "current", "9": "missing"])
            #expect(try await database.count("SELECT count(*) FROM outbox WHERE get_byte(sealed_payload, 2) = 57") == 1)
        }
    }

    @Test func `the new key is not printed into a pipe, but into a new file`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let piped = try await ConcordCommand.run(["keys", "rotate", "encryption"], database)
                #expect(piped.status == .exited(64) && piped.error.contains("--output"), "\(piped)")
                #expect(piped.output == "")
                let command = ["keys", "rotate", "encryption", "--output", folder.path("key")]
                let written = try await ConcordCommand.run(command, database)
                #expect(written.status == .exited(0), "\(written.error)")
                let line = try String(contentsOfFile: folder.path("key"), encoding: .utf8)
                #expect(line.hasPrefix("2:") && !written.output.contains(line.dropLast()))
                let again = try await ConcordCommand.run(command, database)
                #expect(again.status == .exited(74) && again.error.contains("File exists"), "\(again.error)")
            }
        }
    }

    @Test func `a signing key is rotated once a day`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let early = try await ConcordCommand.run(["keys", "rotate", "signing"], database)
            #expect(early.status == .exited(1) && early.error.contains("the first server makes it"))
            try await ServeProcess.run(database: database.url) { _ in }
            let made = try await ConcordCommand.run(["keys", "rotate", "signing"], database)
            #expect(made.status == .exited(0) && made.output.contains("made signing key"), "\(made)")
            let again = try await ConcordCommand.run(["keys", "rotate", "signing"], database)
            #expect(again.status == .exited(1) && again.error.contains("nothing was changed"), "\(again)")
            #expect(try await database.count("SELECT count(*) FROM signing_keys") == 3)
        }
    }

    @Test func `secrets are read from files`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                try folder.write("url", database.url + "\n")
                try folder.write("keys", "# the only one\n\(Self.oldKey)\n")
                let result = try await Subprocess.run(
                    try ConcordCommand.program,
                    arguments: ["keys", "list"],
                    environment: .custom([
                        "CONCORD_DATABASE_URL_FILE": folder.path("url"),
                        "CONCORD_KEYS_ENCRYPTION_FILE": folder.path("keys"),
                    ]),
                    input: .none,
                    output: .string(limit: 1 << 16),
                    error: .string(limit: 1 << 16)
                )
                #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
                #expect(result.standardOutput.contains("1    current  0"))
            }
        }
    }
}
