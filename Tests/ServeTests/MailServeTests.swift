import AccountTestSupport
import Foundation
import Glibc
import JSON
import Postgres
import Subprocess
import Testing

/// Mails of the real program, to a real relay.
@Suite(.serialized) struct MailServeTests {
    private func settings(_ port: Int, _ more: [String: String] = [:]) -> [String: String] {
        [
            "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": "\(port)", "CONCORD_MAIL_SECURITY": "none",
            "CONCORD_MAIL_FROM": "Example <no-reply@example.com>",
            // A test machine may be slow and shared; what a test waits for is never one of these.
            "CONCORD_MAIL_TIMEOUT": "300s",
        ].merging(more) { $1 }
    }

    private func wait(until condition: () async throws -> Bool) async throws {
        while !(try await condition()) { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Asks for a link to sign in by.
    private func ask(for address: String, at server: ServeProcess) async throws {
        _ = try await server.post(
            "/v1/accounts:sendOobCode",
            [
                "requestType": "EMAIL_SIGNIN", "email": .string(address), "continueUrl": .string(TwoServers.appURL),
                "canHandleCodeInApp": true,
            ]
        ).success()
    }

    /// Makes waiting messages due at once: no test waits for a claim or a pause to pass.
    private static let makeDue = "UPDATE outbox SET next_attempt_at = '-infinity' WHERE state = 'pending'"
    private static let pending: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'pending'"
    private static let sent: Query<Int64?> = """
        SELECT count(*) FROM outbox WHERE state = 'sent' AND sealed_payload IS NULL
        """

    @Test func `a link is delivered over TLS, and none of its content remains stored`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalRelay.run(["--tls", "starttls", "--login"]) { relay in
                let secure = settings(
                    relay.port,
                    [
                        "CONCORD_MAIL_SECURITY": "starttls", "CONCORD_MAIL_USER": LocalRelay.user,
                        "CONCORD_MAIL_PASSWORD": LocalRelay.password,
                        "CONCORD_MAIL_CERTIFICATE_AUTHORITIES": relay.certificatePath,
                    ]
                )
                try await ServeProcess.run(database: database.url, secure) { server in
                    try await ask(for: "Ada@example.com", at: server)
                    try await wait { try await database.count(Self.sent) == 1 }
                    let mail = try #require(try await relay.mails(atLeast: 1).first)
                    #expect(
                        relay.mails.count == 1 && mail.recipient == "Ada@example.com" && mail.user == LocalRelay.user
                    )
                    let link = try #require(mail.text.split(separator: "\n").first { $0.hasPrefix("http") })
                    let code = try #require(link.firstMatch(of: /oobCode=([A-Za-z0-9_-]+)/)).1
                    let signedIn = try await server.post(
                        "/v1/accounts:signInWithEmailLink",
                        ["email": "ada@example.com", "oobCode": .string(String(code))]
                    ).success()
                    #expect(try signedIn.text("email") == "ada@example.com")
                    for secret in ["Ada@", "ada@", String(code), LocalRelay.password] {
                        #expect(!server.log.text.contains(secret))
                    }
                }
            }
        }
    }

    @Test func `a mail that a killed server had not sent is sent once by the next server`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let port = try freePort()
            let settings = settings(port)
            try await ServeProcess.run(database: database.url, settings, endsWith: .signaled(SIGKILL)) { server in
                // No relay listens there: the request is answered, and the mail waits.
                try await ask(for: "ada@example.com", at: server)
                #expect(await server.log.line(saying: "mail not sent: it waits in the outbox") != nil)
                let untried: Query<Int64?> = """
                    SELECT count(*) FROM outbox WHERE reason = 'unreachable' AND attempts = 0
                    """
                try await wait { try await database.count(untried) == 1 }
                #expect(kill(server.processID, SIGKILL) == 0)
            }
            #expect(try await database.count(Self.pending) == 1)
            try await database.execute(Self.makeDue)
            try await LocalRelay.run(["--port", "\(port)"]) { relay in
                try await ServeProcess.run(database: database.url, settings) { _ in
                    try await wait { try await database.count(Self.sent) == 1 }
                }
                #expect(try await relay.mails(atLeast: 1).map(\.recipient) == ["ada@example.com"])
            }
        }
    }

    @Test func `a mail that a killed server was sending is sent by the next server with the same message id`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalRelay.run { relay in
                let settings = settings(relay.port)
                try await ServeProcess.run(database: database.url, settings, endsWith: .signaled(SIGKILL)) { server in
                    try await ask(for: "silent@example.com", at: server)
                    // The relay has it; the server does not know that yet.
                    _ = try await relay.mails(atLeast: 1)
                    #expect(kill(server.processID, SIGKILL) == 0)
                }
                let claimed: Query<Int64?> = """
                    SELECT count(*) FROM outbox WHERE state = 'pending' AND attempts = 1
                        AND next_attempt_at > now() + interval '2 minutes'
                    """
                #expect(try await database.count(claimed) == 1)
                try await ServeProcess.run(database: database.url, settings) { server in
                    // The claim holds; another mail does not wait for it.
                    try await ask(for: "ada@example.com", at: server)
                    try await wait { try await database.count(Self.sent) == 1 }
                    let recipients = try await relay.mails(atLeast: 2).map(\.recipient)
                    #expect(recipients == ["silent@example.com", "ada@example.com"])
                    try await database.execute(Self.makeDue)
                    try await wait { try await database.count(Self.sent) == 2 }
                }
                let names = try await relay.mails(atLeast: 3).filter { $0.recipient == "silent@example.com" }.map(
                    \.messageID
                )
                #expect(names.count == 2 && Set(names).count == 1)
            }
        }
    }

    @Test func `two servers send each mail once`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalRelay.run { relay in
                let settings = settings(relay.port)
                try await ServeProcess.run(database: database.url, settings) { first in
                    try await ServeProcess.run(database: database.url, settings) { second in
                        try await withThrowingTaskGroup { group in
                            for number in 0..<60 {
                                let server = number.isMultiple(of: 2) ? first : second
                                group.addTask { try await ask(for: "user-\(number)@example.com", at: server) }
                            }
                            try await group.waitForAll()
                        }
                        try await wait { try await database.count(Self.sent) == 60 }
                    }
                }
                let recipients = try await relay.mails(atLeast: 60).map(\.recipient)
                #expect(Set(recipients).count == 60 && recipients.count == 60)
                #expect(try await database.count("SELECT sum(attempts) FROM outbox") == 60)
            }
        }
    }

    @Test func `without a relay mails wait, and the log says so`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                #expect(
                    await server.log.line(
                        saying: "no mail relay is configured: mails wait in the outbox until they expire. Set mail.host"
                    )
                        != nil
                )
                try await ask(for: "ada@example.com", at: server)
                #expect(try await database.count(Self.pending) == 1)
            }
        }
    }
}
