import AccountTestSupport
import Foundation
import JSON
import Postgres
import Subprocess
import Testing

/// `concord doctor`, asked of the real program.
struct DoctorCommandTests {
    private typealias Findings = [(check: String, status: String, finding: String)]

    private static func findings(_ output: String) throws -> Findings {
        try (JSONValue(parsing: Array(output.utf8)).array ?? []).map { row in
            (row["check"]?.string ?? "", row["status"]?.string ?? "", row["finding"]?.string ?? "")
        }
    }

    /// Runs the command in the checkout, which has the migration files.
    private static func run(
        _ database: TestDatabase,
        _ settings: [Environment.Key: String] = [:],
        _ arguments: [String] = []
    ) async throws -> (status: TerminationStatus, findings: Findings) {
        let ending = try await ConcordCommand.run(
            ["doctor", "--format", "json", "--migrations", Repository.root + "/migrations"] + arguments,
            database,
            settings
        )
        #expect(ending.error == "", "\(ending.error)")
        return (ending.status, try findings(ending.output))
    }

    private static func mail(_ port: Int) -> [Environment.Key: String] {
        [
            "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": "\(port)", "CONCORD_MAIL_SECURITY": "none",
            "CONCORD_MAIL_FROM": "no-reply@example.com", "CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com",
        ]
    }

    @Test func `an installation without faults has none, and a test mail is sent only if asked`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { _ in }
            try await LocalRelay.run { relay in
                let (status, findings) = try await Self.run(database, Self.mail(relay.port))
                #expect(!findings.contains { $0.status == "failure" }, "\(findings)")
                // The tests connect as a superuser.
                #expect(status == .exited(1), "\(findings)")
                for check in [
                    "configuration", "database", "database-tls", "database-version", "database-encoding", "clock",
                    "schema", "schema-files", "connections", "session-settings", "project", "keys", "signing-keys",
                    "providers", "outbox",
                    "purge", "public-url", "listen", "open-files", "mail", "sms", "apns",
                ] {
                    #expect(findings.contains { $0.check == check && $0.status == "ok" }, "\(check): \(findings)")
                }
                // A project without a limit.
                #expect(findings.contains { $0.check == "sessions" && $0.status == "warning" }, "\(findings)")
                #expect(relay.mails.isEmpty)
                let sent = try await Self.run(database, Self.mail(relay.port), ["--send-test", "ada@example.com"])
                #expect(sent.findings.contains { $0.check == "mail" && $0.status == "ok" }, "\(sent.findings)")
                #expect(try await relay.mails(atLeast: 1).first?.recipient == "ada@example.com")
            }
        }
    }

    @Test(.notOnCitus("the test drops the schema of the extension"))
    func `a missing schema, a missing project and a wrong key are failures`() async throws {
        try await TestDatabase.with { database in
            let missing = try await Self.run(database)
            #expect(missing.status == .exited(2))
            #expect(missing.findings.contains { $0.check == "project" && $0.status == "failure" })

            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { _ in }
            let otherKey = "1:" + Data("fedcba9876543210fedcba9876543210".utf8).base64EncodedString()
            let sealed = try await Self.run(database, ["CONCORD_KEYS_ENCRYPTION": otherKey])
            #expect(sealed.status == .exited(2))
            #expect(
                sealed.findings.contains { $0.check == "keys" && $0.status == "failure" },
                "\(sealed.findings)"
            )

            try await database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            let empty = try await Self.run(database)
            #expect(empty.status == .exited(2))
            #expect(
                empty.findings.contains { $0.check == "schema" && $0.finding.contains("run `concord migrate up`") },
                "\(empty.findings)"
            )
        }
    }

    @Test func `an invalid index is a warning`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'conflicts_by_time'::regclass"
            )
            let (_, findings) = try await Self.run(database)
            let indexes = findings.filter { $0.check == "schema-indexes" }
            #expect(indexes.map(\.status) == ["warning"], "\(findings)")
            #expect(indexes.first?.finding.contains("conflicts_by_time of conflicts is invalid") == true)
        }
    }

    @Test func `a database that hangs or is not there does not stop the other checks`() async throws {
        try await TestDatabase.with { database in
            let silent = try SilentListener()
            defer { silent.close() }
            let start = ContinuousClock.now
            for url in [
                "postgresql://concord:s3cret@127.0.0.1:\(silent.port)/accounts",
                "postgresql://concord:s3cret@127.0.0.1:1/accounts",
            ] {
                let (status, findings) = try await Self.run(database, ["CONCORD_DATABASE_URL": url])
                #expect(status == .exited(2))
                #expect(findings.contains { $0.check == "database" && $0.status == "failure" }, "\(findings)")
                #expect(findings.contains { $0.check == "open-files" })
                #expect(!"\(findings)".contains("s3cret"))
            }
            #expect(start.duration(to: .now) < .seconds(60))
        }
    }

    @Test func `an issuer that answers is ok, and one that does not is a failure`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalIssuer.run { issuer in
                try await database.execute(
                    """
                    INSERT INTO provider_configs (provider_id, enabled, client_id, issuer, created_at, updated_at) VALUES
                        ('oidc.here', true, 'c', '\(issuer.url)', now(), now()),
                        ('oidc.off', false, 'c', 'https://127.0.0.1:1', now(), now()),
                        ('oidc.gone', true, 'c', 'https://127.0.0.1:1', now(), now())
                    """
                )
                let (status, findings) = try await Self.run(
                    database,
                    [
                        "CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true",
                        "CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": issuer.certificatePath,
                    ]
                )
                #expect(status == .exited(2))
                let providers = findings.filter { $0.check.hasPrefix("provider ") }.map { "\($0.check) \($0.status)" }
                #expect(providers.sorted() == ["provider oidc.gone failure", "provider oidc.here ok"], "\(findings)")
            }
        }
    }

    @Test func `an unreadable configuration file is a failure`() async throws {
        try await TestDatabase.with { database in
            let ending = try await ConcordCommand.run(["doctor", "--config", "/nowhere.yaml"], database)
            #expect(ending.status == .exited(2))
            #expect(ending.output.hasPrefix("failure  configuration  /nowhere.yaml: "), "\(ending.output)")
        }
    }
}
