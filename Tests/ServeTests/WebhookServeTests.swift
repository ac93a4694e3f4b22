import AccountTestSupport
import Crypto
import Foundation
import Glibc
import JSON
import NIOHTTP1
import Postgres
import Subprocess
import Testing

/// Webhooks of the real program, to a receiver over TLS.
@Suite(.serialized) struct WebhookServeTests {
    private static let hooks = "/concord/v1/webhooks"

    private func settings(_ receiver: LocalReceiver, admin port: Int) -> [String: String] {
        [
            "CONCORD_LISTEN_ADMIN_ADDRESS": "127.0.0.1:\(port)",
            "CONCORD_LIMITS_PROVIDER_CALL_TIMEOUT": "60s",
            "CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true",
            "CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": receiver.certificatePath,
        ]
    }

    /// Registers the receiver.
    /// - Returns: its secret.
    private func register(
        _ receiver: LocalReceiver,
        path: String = "",
        at server: ServeProcess
    ) async throws -> Data {
        let made = try await server.send(
            .POST,
            Self.hooks,
            ["url": .string(receiver.url + path)],
            key: nil,
            authorization: "Bearer owner"
        )
        return try #require(Data(base64Encoded: String(try made.string("secret").dropFirst("whsec_".count))))
    }

    /// Takes the password away from an account and gives it another: an event each.
    private func changePassword(_ idToken: String, _ email: String, at server: ServeProcess) async throws -> String {
        let unlinked = try await server.post(
            "/v1/accounts:update",
            ["idToken": .string(idToken), "deleteProvider": ["password"]]
        ).success()
        _ = try unlinked.text("localId")
        let linked = try await server.post(
            "/v1/accounts:update",
            [
                "idToken": .string(idToken), "email": .string(email), "password": .string(TwoServers.password),
                "returnSecureToken": true,
            ]
        ).success()
        return try linked.text("idToken")
    }

    private func wait(until condition: () async throws -> Bool) async throws {
        while !(try await condition()) { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Makes waiting messages due at once: no test waits for a pause to pass.
    private static let makeDue = "UPDATE webhook_messages SET next_attempt_at = '-infinity' WHERE state = 'pending'"
    private static let waiting: Query<Int64?> = "SELECT count(*) FROM webhook_messages WHERE state = 'pending'"

    @Test func `events are delivered signed and in order, also after a failure and a redirect, which is not followed`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let port = try freePort()
                try await ServeProcess.run(database: database.url, settings(receiver, admin: port)) { server in
                    let secret = try await register(receiver, at: server.at("http://127.0.0.1:\(port)"))
                    let account = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                    let elsewhere = receiver.url
                    receiver.reply { _, number in
                        switch number {
                        case 1: .status(500)
                        case 2: .redirect(elsewhere)
                        default: .status(204)
                        }
                    }
                    _ = try await changePassword(try account.text("idToken"), "ada@example.com", at: server)
                    for status in [500, 307] as [Int32] {
                        let noted: Query<Int64?> =
                            "SELECT count(*) FROM webhook_messages WHERE last_status = \(status)"
                        try await wait { try await database.count(noted) == 1 }
                        try await database.execute(Self.makeDue)
                    }
                    try await wait { try await database.count(Self.waiting) == 0 }
                    let reported = receiver.requests
                    #expect(
                        reported.map { $0.json["type"]?.string }
                            == ["method.unlinked", "method.unlinked", "method.unlinked", "method.linked"]
                    )
                    #expect(Set(reported.prefix(3).map { $0.headers.first(name: "webhook-id") }).count == 1)
                    for request in reported {
                        let id = try #require(request.headers.first(name: "webhook-id"))
                        let time = try #require(request.headers.first(name: "webhook-timestamp"))
                        let code = HMAC<SHA256>.authenticationCode(
                            for: Array("\(id).\(time).".utf8) + request.body,
                            using: SymmetricKey(data: secret)
                        )
                        #expect(
                            request.headers.first(name: "webhook-signature") == "v1," + Data(code).base64EncodedString()
                        )
                        #expect(!String(decoding: request.body, as: UTF8.self).contains("example.com"))
                    }
                    #expect(server.log.lines(of: "error") == [])
                }
            }
        }
    }

    @Test func `a receiver that does not answer does not delay others`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let port = try freePort()
                receiver.reply { request, _ in request.target.hasSuffix("/silent") ? .silence : .status(204) }
                try await ServeProcess.run(
                    database: database.url,
                    settings(receiver, admin: port),
                    endsWith: .signaled(SIGKILL)
                ) { server in
                    let administrator = server.at("http://127.0.0.1:\(port)")
                    _ = try await register(receiver, path: "/silent", at: administrator)
                    _ = try await register(receiver, at: administrator)
                    let account = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                    let idToken = try await changePassword(
                        try account.text("idToken"),
                        "ada@example.com",
                        at: server
                    )
                    _ = try await changePassword(idToken, "ada@example.com", at: server)
                    // One to where nothing is answered, which takes a minute, and all four to the other meanwhile.
                    try await wait { receiver.requests.count { !$0.target.hasSuffix("/silent") } == 4 }
                    #expect(receiver.requests.count == 5)
                    #expect(kill(server.processID, SIGKILL) == 0)
                }
            }
        }
    }

    @Test func `if a server is killed during a merge, the next server completes it`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let port = try freePort()
                let settings = settings(receiver, admin: port)
                receiver.reply { _, _ in .silence }
                try await ServeProcess.run(
                    database: database.url,
                    settings,
                    endsWith: .signaled(SIGKILL)
                ) { server in
                    let administrator = server.at("http://127.0.0.1:\(port)")
                    _ = try await register(receiver, at: administrator)
                    let ada = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                    let bob = try await server.signUp("bob@example.com", password: TwoServers.password).success()
                    let merge = try await administrator.send(
                        .POST,
                        "/concord/v1/merges",
                        [
                            "survivor": .string(try ada.text("localId")), "absorbed": .string(try bob.text("localId")),
                            "reason": "one person", "choices": ["email": "survivor", "password": "survivor"],
                        ],
                        key: nil,
                        authorization: "Bearer owner"
                    )
                    #expect(try merge.string("state") == "prepared")
                    try await wait { receiver.requests.count == 1 }
                    #expect(kill(server.processID, SIGKILL) == 0)
                }
                #expect(try await database.count("SELECT count(*) FROM users") == 2)
                receiver.reply { _, _ in .status(200) }
                // However long this machine takes, the time is not over.
                try await database.execute("UPDATE merges SET deadline_at = now() + interval '1 day'")
                try await database.execute(Self.makeDue)
                try await ServeProcess.run(database: database.url, settings) { _ in
                    try await wait { try await database.count("SELECT count(*) FROM users") == 1 }
                    try await wait { try await database.count(Self.waiting) == 0 }
                }
                #expect(
                    receiver.requests.map { $0.json["type"]?.string }
                        == ["merge.prepared", "merge.prepared", "merge.committed"]
                )
                #expect(try await database.count("SELECT count(*) FROM merges WHERE state = 'committed'") == 1)
                #expect(try await database.inconsistencies() == [])
            }
        }
    }

    @Test func `an event that a killed server was sending is sent by the next server with the same id`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let port = try freePort()
                let settings = settings(receiver, admin: port)
                receiver.reply { _, _ in .silence }
                try await ServeProcess.run(
                    database: database.url,
                    settings,
                    endsWith: .signaled(SIGKILL)
                ) { server in
                    _ = try await register(receiver, at: server.at("http://127.0.0.1:\(port)"))
                    let account = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                    _ = try await changePassword(try account.text("idToken"), "ada@example.com", at: server)
                    try await wait { receiver.requests.count == 1 }
                    #expect(kill(server.processID, SIGKILL) == 0)
                }
                #expect(try await database.count(Self.waiting) == 2)
                receiver.reply { _, _ in .status(200) }
                try await database.execute(Self.makeDue)
                try await ServeProcess.run(database: database.url, settings) { _ in
                    try await wait { try await database.count(Self.waiting) == 0 }
                }
                let ids = receiver.requests.map { $0.headers.first(name: "webhook-id") }
                #expect(ids.count == 3 && ids[0] == ids[1] && ids[1] != ids[2])
                #expect(
                    receiver.requests.map { $0.json["type"]?.string }
                        == ["method.unlinked", "method.unlinked", "method.linked"]
                )
            }
        }
    }

    /// The result of `concord webhook test` with `arguments`, and the secret of the endpoint that it uses.
    private func test(
        _ receiver: LocalReceiver,
        _ database: TestDatabase,
        _ arguments: [String] = [],
        timeout: String = "60s"
    ) async throws -> (ending: ConcordCommand.Ending, secret: Data) {
        let settings: [Environment.Key: String] = [
            "CONCORD_LIMITS_PROVIDER_CALL_TIMEOUT": timeout, "CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true",
            "CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": receiver.certificatePath,
        ]
        let added = try await ConcordCommand.run(
            ["webhook", "add", receiver.url, "--format", "json"],
            database,
            settings
        )
        #expect(added.status == .exited(0), "\(added.error)")
        let made = try JSONValue(parsing: Array(added.output.utf8))
        let secret = try #require(made["secret"]?.string?.dropFirst("whsec_".count))
        let id = try #require(made["id"]?.string)
        let ending = try await ConcordCommand.run(["webhook", "test", id] + arguments, database, settings)
        #expect(try await database.count("SELECT count(*) FROM webhook_messages") == 0, "nothing is stored")
        return (ending, try #require(Data(base64Encoded: String(secret))))
    }

    @Test(arguments: ["webhook.test", "method.linked"])
    func `a test event is signed and sent at once, and names no account`(_ type: String) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let options = ["--format", "json"] + (type == "webhook.test" ? [] : ["--event", type])
                let (ending, secret) = try await test(receiver, database, options)
                #expect(ending.status == .exited(0), "\(ending.error)")
                let request = try #require(receiver.requests.first)
                #expect(receiver.requests.count == 1)
                #expect(request.json["type"]?.string == type && request.json["data"] == ["test": true])
                #expect(request.json["timestamp"]?.string?.hasSuffix("Z") == true)
                let id = try #require(request.headers.first(name: "webhook-id"))
                let time = try #require(request.headers.first(name: "webhook-timestamp"))
                let code = HMAC<SHA256>.authenticationCode(
                    for: Array("\(id).\(time).".utf8) + request.body,
                    using: SymmetricKey(data: secret)
                )
                #expect(request.headers.first(name: "webhook-signature") == "v1," + Data(code).base64EncodedString())
                let output = try JSONValue(parsing: Array(ending.output.utf8))
                #expect(output["status"] == 200 && output["accepted"] == true && output["id"]?.string == id)
                #expect(output["durationMilliseconds"]?.integer != nil && output["url"]?.string == receiver.url)
            }
        }
    }

    @Test(arguments: [
        (401, "verifies with the secret"), (404, "path of the URL"), (410, "turns an endpoint off"),
        (500, "log of the receiver"),
    ])
    func `a test event that is refused fails the command, which says what to check`(
        _ status: Int,
        _ advice: String
    ) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                receiver.reply { _, _ in .status(status) }
                let ending = try await test(receiver, database).ending
                #expect(ending.status == .exited(69))
                #expect(ending.output.contains("\(status)") && ending.error.contains(advice), "\(ending.error)")
                #expect(
                    try await database.count("SELECT count(*) FROM webhook_endpoints WHERE disabled_at IS NULL") == 1
                )
            }
        }
    }

    @Test func `a test event follows no redirect, and waits no longer than the limit for an answer`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await LocalReceiver.run { receiver in
                let elsewhere = receiver.url
                receiver.reply { _, _ in .redirect(elsewhere) }
                let redirected = try await test(receiver, database).ending
                #expect(redirected.status == .exited(69) && redirected.error.contains("follows no redirect"))
                #expect(receiver.requests.count == 1)

                receiver.reply { _, _ in .silence }
                let silent = try await test(receiver, database, ["--format", "json"], timeout: "1s").ending
                #expect(silent.status == .exited(69) && silent.error.contains("no answer in time"), "\(silent.error)")
                let output = try JSONValue(parsing: Array(silent.output.utf8))
                #expect(output["failure"] == "timed-out" && output["accepted"] == false && output["status"] == nil)
            }
        }
    }

    @Test func `a test event needs an endpoint and a known type`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let id = "00000000-0000-4000-8000-000000000009"
            let unknown = try await ConcordCommand.run(["webhook", "test", id], database)
            #expect(unknown.status == .exited(1) && unknown.error.contains("concord webhook list"))
            let odd = try await ConcordCommand.run(["webhook", "test", id, "--event", "user.born"], database)
            #expect(odd.status == .exited(64) && odd.error.contains("webhook.test, conflict.opened"), "\(odd.error)")
        }
    }
}
