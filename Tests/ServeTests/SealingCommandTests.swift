import AccountTestSupport
import Foundation
import JSON
import Postgres
import Subprocess
import Testing

/// Commands that seal secrets, with a key-encryption key that only has the right name.
struct SealingCommandTests {
    private static let wrongKey = "1:" + Data("fedcba9876543210fedcba9876543210".utf8).base64EncodedString()

    @Test func `a command that cannot decrypt the project's secrets encrypts none`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                // Its first server makes the signing keys.
                try await ServeProcess.run(database: database.url) { _ in }
                try folder.write("users", "{\"localId\":\"ann\"}")
                try folder.write("secret", "S3CR3T")
                try folder.write(
                    "providers.yaml",
                    "providers:\n  google.com:\n    enabled: true\n    clientId: c\n    clientSecretFile: secret\n"
                )
                try folder.write("plan", "")
                let commands = [
                    [
                        "account", "import", "--format", "ndjson", "--hash-algo", "HMAC_SHA256", "--hash-key", "YWJj",
                        folder.path("users"),
                    ],
                    ["audit", "apply", "--yes", folder.path("plan")],
                    ["providers", "apply", folder.path("providers.yaml")],
                    ["account", "merge", "ann", "bob", "--reason", "one", "--yes"],
                ]
                for command in commands {
                    let ended = try await ConcordCommand.run(
                        command,
                        database,
                        ["CONCORD_KEYS_ENCRYPTION": Self.wrongKey]
                    )
                    #expect(ended.status == .exited(78), "\(command) \(ended.error)")
                    #expect(ended.error.hasPrefix("concord: signing key "), "\(command) \(ended.error)")
                    #expect(ended.error.hasSuffix("cannot be read: notAuthentic; check the key-encryption keys\n"))
                }
                let written = try await database.count(
                    """
                    SELECT (SELECT count(*) FROM hash_keys) + (SELECT count(*) FROM provider_configs)
                        + (SELECT count(*) FROM users) + (SELECT count(*) FROM outbox)
                    """
                )
                #expect(written == 0)
            }
        }
    }

    /// Such a row is left where a key was wrong before the first server had started.
    @Test func `a signer key that cannot be decrypted does not block others`() async throws {
        try await Folder.with { folder in
            try await TestDatabase.with { database in
                try await database.makeProject()
                let digest = Data(repeating: 7, count: 32).base64EncodedString()
                try folder.write("users", "{\"localId\":\"ann\",\"passwordHash\":\"\(digest)\"}")
                let command = [
                    "account", "import", "--format", "ndjson", "--hash-algo", "HMAC_SHA256", "--hash-key", "YWJj",
                    folder.path("users"),
                ]
                let wrong = try await ConcordCommand.run(
                    command,
                    database,
                    ["CONCORD_KEYS_ENCRYPTION": Self.wrongKey]
                )
                #expect(wrong.status == .exited(0), "nothing shows that it is wrong: \(wrong.error)")
                for _ in 0..<2 {
                    let right = try await ConcordCommand.run(command, database)
                    #expect(right.status == .exited(0), "\(right.error)")
                    #expect(try await database.count("SELECT count(*) FROM hash_keys") == 2)
                }
            }
        }
    }
}
