import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import Glibc
import JSON
import Migrations
import NIOHTTP1
import Postgres
import PostgresCluster
import Subprocess
import Synchronization
import Testing

@testable import AccountAPI

/// `concord serve` while its PostgreSQL comes and goes: an honest 503 at once, and recovery by itself.
@Suite(.serialized) struct DatabaseAwayTests {
    @Test func `if PostgreSQL stops, requests in progress get 503, and the same process recovers`() async throws {
        try await OwnCluster.with { cluster in
            try await ServeProcess.run(database: cluster.url) { server in
                let ada = try await server.signUp("ada@example.com", password: "correct horse").success()
                let idToken = try ada.text("idToken")
                let answers = Answers()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    // Reads, and writes of separate accounts, as fast as they are answered.
                    for caller in 0..<8 {
                        group.addTask {
                            var number = 0
                            while !answers.isEnough {
                                number += 1
                                if caller.isMultiple(of: 2) {
                                    answers.note(try await server.lookUp(idToken))
                                } else {
                                    let provider = try await server.post("/v1/accounts:signUp", [:])
                                    answers.note(provider, isSignUp: true)
                                }
                            }
                        }
                    }
                    await answers.reached(successes: 40)
                    try await cluster.kill()
                    await answers.reached(failures: 40)
                    await answers.stop()
                    try await group.waitForAll()
                }
                for answer in answers.failures { Self.expectPlainText(answer) }

                try await Self.expectAway(server, idToken: idToken)
                try await cluster.start()
                try await Self.expectRecovery(server, idToken: idToken)
                #expect(kill(server.processID, 0) == 0)
                for (message, level) in [
                    ("database connection lost", "warning"), ("database connected again", "notice"),
                ] {
                    #expect(await server.log.line(saying: message)?["level"]?.string == level, "\(message)")
                }

                // Every acknowledged account exists.
                for account in answers.acknowledged {
                    #expect(try await server.refresh(account.text("refreshToken")).status == 200)
                }
                #expect(server.log.lines(of: "error") == [])
            }
        }
    }

    @Test func `a server that starts before PostgreSQL waits for it`() async throws {
        try await OwnCluster.with { cluster in
            try await cluster.kill()
            let port = try freePort()
            let settings = ["CONCORD_LISTEN_PORT": String(port)]
            try await ServeProcess.launch(database: cluster.url, settings) { starting in
                #expect(await starting.log.line(saying: "waiting for the database") != nil)
                let early = ServeProcess(
                    url: "http://127.0.0.1:\(port)",
                    processID: starting.processID,
                    log: starting.log
                )
                try await Self.eventually { try await early.send(.GET, "/healthz", key: nil).status == 200 }
                let ready = try await early.send(.GET, "/readyz", key: nil)
                #expect(ready.status == 503 && ready.text == "not ready: waiting for the database\n")
                Self.expectPlainText(try await early.signIn("ada@example.com"))
                try await cluster.start()
                let server = try await starting.ready()
                #expect(try await server.send(.GET, "/readyz", key: nil).status == 200)
                #expect(try await server.signUp("ada@example.com", password: "correct horse").status == 200)
            }
        }
    }

    @Test func `a PostgreSQL that refuses the connection is distinguished from an unreachable one`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                try await database.execute("ALTER TABLE schema_migrations RENAME COLUMN version TO was_version")
                try await Self.eventually {
                    let ready = try await server.send(.GET, "/readyz", key: nil)
                    return ready.status == 503 && ready.text == "not ready: the database refused: SQLSTATE 42703\n"
                }
                let refusal = await server.log.line(saying: "the schema cannot be read from the database")
                #expect(refusal?["level"] == "warning")
                try await ServeProcess.launch(database: database.url, endsWith: .exited(78)) { starting in
                    await #expect(throws: (any Error).self) { _ = try await starting.ready() }
                    #expect(starting.log.text.contains("is not the one that this Concord needs: column \"version\""))
                }
                try await database.execute("ALTER TABLE schema_migrations RENAME COLUMN was_version TO version")
                try await Self.eventually { try await server.send(.GET, "/readyz", key: nil).status == 200 }
            }
        }
    }

    @Test func `a stalled PostgreSQL counts as unreachable, and no request waits for it`() async throws {
        try await OwnCluster.with { cluster in
            // As short as an operator may set them: what is tried here is that they end a request.
            let settings = [
                "CONCORD_DATABASE_READ_STATEMENT_TIMEOUT": "500ms", "CONCORD_DATABASE_WRITE_STATEMENT_TIMEOUT": "500ms",
                "CONCORD_DATABASE_QUEUE_WAIT_TIMEOUT": "250ms", "CONCORD_DATABASE_CONNECT_TIMEOUT": "1s",
            ]
            try await ServeProcess.run(database: cluster.url, settings) { server in
                // On a machine that is slow even this may take longer than is allowed here, and be done all the same.
                var account = try await server.signUp("ada@example.com", password: "correct horse")
                while account.status != 200 { account = try await server.signIn("ada@example.com") }
                let idToken = try account.success().text("idToken")
                try cluster.signal(SIGSTOP)
                do {
                    try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                        for caller in 0..<32 {
                            group.addTask {
                                caller.isMultiple(of: 2)
                                    ? try await server.lookUp(idToken)
                                    : try await server.post("/v1/accounts:signUp", [:])
                            }
                        }
                        for try await answer in group { Self.expectPlainText(answer) }
                    }
                    try await Self.expectAway(server, idToken: idToken)
                } catch {
                    try cluster.signal(SIGCONT)
                    throw error
                }
                try cluster.signal(SIGCONT)
                try await Self.expectRecovery(server, idToken: idToken)
                #expect(server.log.lines(of: "error") == [])
            }
        }
    }

    /// The state during a failover: reads are answered, writes are not.
    @Test func `on a standby reads succeed and writes get 503 until it is promoted, in the same process`()
        async throws
    {
        try await OwnCluster.with { cluster in
            try await ServeProcess.run(database: cluster.url) { server in
                let ada = try await server.signUp("ada@example.com", password: "correct horse").success()
                let idToken = try ada.text("idToken")
                try await cluster.kill()
                try await cluster.start(asStandby: true)
                try await Self.eventually { try await server.lookUp(idToken).status == 200 }
                try await Self.eventually {
                    let ready = try await server.send(.GET, "/readyz", key: nil)
                    return ready.status == 503
                        && ready.text == "not ready: the database refuses writes: it is a standby, or read-only\n"
                }
                Self.expectPlainText(try await server.post("/v1/accounts:signUp", [:]))
                #expect(try await server.lookUp(idToken).status == 200)
                #expect(await server.log.line(saying: "database refuses writes")?["level"] == "warning")

                try await cluster.promote()
                try await Self.expectRecovery(server, idToken: idToken)
                #expect(await server.log.line(saying: "database accepts writes again")?["level"] == "notice")
                #expect(server.log.text.components(separatedBy: "database refuses writes").count == 2)
                #expect(server.log.lines(of: "error") == [])
            }
        }
    }

    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `with a full disk writes get 503, and the server is ready again after the last failed write`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await database.execute(
                """
                CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
                CREATE TRIGGER no_room BEFORE INSERT ON users EXECUTE FUNCTION no_room()
                """
            )
            try await ServeProcess.run(database: database.url) { server in
                #expect(try await server.send(.GET, "/readyz", key: nil).status == 200)
                try await Self.eventually {
                    Self.expectPlainText(try await server.post("/v1/accounts:signUp", [:]))
                    let ready = try await server.send(.GET, "/readyz", key: nil)
                    return ready.text == "not ready: the database refuses writes: its disk is full\n"
                }
                #expect(await server.log.line(saying: "database refuses writes")?["level"] == "warning")
                try await Self.eventually { try await server.send(.GET, "/readyz", key: nil).status == 200 }
                try await database.execute("DROP TRIGGER no_room ON users")
                #expect(try await server.post("/v1/accounts:signUp", [:]).status == 200)
                #expect(await server.log.line(saying: "database accepts writes again") != nil)
                #expect(server.log.lines(of: "error") == [])
            }
        }
    }

    @Test func `a server that gets a signal while PostgreSQL is unreachable stops`() async throws {
        try await OwnCluster.with { cluster in
            // That it ends with 0 by SIGTERM is what `run` expects of every process.
            try await ServeProcess.run(database: cluster.url) { server in
                _ = try await server.signUp("ada@example.com", password: "correct horse").success()
                _ = try await server.signIn("ada@example.com").success()
                try await cluster.kill()
            }
            try await cluster.start()
        }
    }

    // MARK: What design and differences promise

    /// Every route, as a client and with a bearer token.
    private static func expectAway(_ server: ServeProcess, idToken: String) async throws {
        #expect(try await server.send(.GET, "/healthz", key: nil).status == 200)
        let ready = try await server.send(.GET, "/readyz", key: nil)
        #expect(ready.status == 503 && ready.text == "not ready: the database does not answer\n", "\(ready.text)")
        let requests: [(path: String, body: JSONValue)] = [
            ("/v1/accounts:signUp", ["email": "eve@example.com", "password": "correct horse"]),
            ("/v1/accounts:signUp", [:]),
            ("/v1/accounts:signInWithPassword", ["email": "ada@example.com", "password": "correct horse"]),
            ("/v1/accounts:lookup", ["idToken": .string(idToken)]),
            ("/v1/accounts:delete", ["idToken": .string(idToken)]),
            ("/v1/accounts:sendOobCode", ["requestType": "PASSWORD_RESET", "email": "ada@example.com"]),
            (
                "/v1/accounts:resetPassword",
                ["oobCode": .string(Base64URL.encode(Array(repeating: 1, count: 32))), "newPassword": "another one"]
            ),
            (
                "/v1/accounts:signInWithEmailLink",
                [
                    "oobCode": .string(Base64URL.encode(Array(repeating: 1, count: 32))),
                    "email": "ada@example.com",
                ]
            ),
        ]
        for (path, body) in requests {
            let answer = try await server.post(path, body)
            expectPlainText(answer, path)
        }
        // What needs no database works on: keys are published, and nonsense is still nonsense.
        let keys = "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
        #expect(try await server.send(.GET, keys, key: nil).status == 200)
        #expect(try await server.lookUp("nonsense").code == "INVALID_ID_TOKEN")
        #expect(try await server.send(.GET, "/nowhere").status == 404)
    }

    /// Plain text, because web clients sign their user out on any JSON error while a page loads.
    private static func expectPlainText(
        _ answer: HTTPAnswer,
        _ path: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == 503, "\(path): \(answer.text)", sourceLocation: sourceLocation)
        let type = answer.headers.first(name: "Content-Type")
        #expect(type?.hasPrefix("text/plain") == true, "\(path)", sourceLocation: sourceLocation)
        #expect(answer.headers.first(name: "Retry-After") == "1", "\(path)", sourceLocation: sourceLocation)
        let origin = answer.headers.first(name: "Access-Control-Allow-Origin")
        #expect(origin != nil, "\(path)", sourceLocation: sourceLocation)
        #expect(answer.json == .null, "\(path)", sourceLocation: sourceLocation)
    }

    private static func expectRecovery(_ server: ServeProcess, idToken: String) async throws {
        try await eventually { try await server.send(.GET, "/readyz", key: nil).status == 200 }
        try await eventually { try await server.lookUp(idToken).status == 200 }
        try await eventually { try await server.signIn("ada@example.com").status == 200 }
        try await eventually { try await server.post("/v1/accounts:signUp", [:]).status == 200 }
    }

    /// Asks until the answer is yes. The bound is there so that a "never" ends as a failure.
    private static func eventually(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isTrue: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < deadline {
            do {
                if try await isTrue() { return }
            } catch  where !(error is CancellationError) {
                // No server listens yet.
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("not within ten minutes", sourceLocation: sourceLocation)
    }
}

/// The answers before, during and after the death of PostgreSQL.
private final class Answers: Sendable {
    private struct State {
        var successes = 0
        var acknowledged: [JSONValue] = []
        var failures: [HTTPAnswer] = []
        var isEnough = false
        var waiters: [(successes: Int, failures: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var isEnough: Bool { state.withLock { $0.isEnough } }
    var acknowledged: [JSONValue] { state.withLock { $0.acknowledged } }
    var failures: [HTTPAnswer] { state.withLock { $0.failures } }

    func note(_ answer: HTTPAnswer, isSignUp: Bool = false) {
        let woken = state.withLock { state in
            if answer.status == 200 {
                state.successes += 1
                if isSignUp { state.acknowledged.append(answer.json) }
            } else {
                state.failures.append(answer)
            }
            let (successes, failures) = (state.successes, state.failures.count)
            let woken = state.waiters.filter { $0.successes <= successes && $0.failures <= failures }
            state.waiters.removeAll { $0.successes <= successes && $0.failures <= failures }
            return woken.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    func reached(successes: Int = 0, failures: Int = 0) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.successes >= successes, state.failures.count >= failures { return true }
                state.waiters.append((successes, failures, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func stop() async { state.withLock { $0.isEnough = true } }
}

/// A migrated PostgreSQL with a project, for a test that stops it.
private struct OwnCluster: Sendable {
    let url: String
    private let cluster: PostgresCluster
    private let directory: String
    private let processID: Int32

    static func with(_ body: @Sendable (OwnCluster) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-away-\(UUID().uuidString.prefix(8))").path
        var settings = ClusterSettings.disposable
        // A commit that was answered is in the system's hands: it survives the server, if not the machine.
        settings.additional = ["synchronous_commit": "on", "full_page_writes": "on", "wal_level": "replica"]
        let cluster = PostgresCluster(dataDirectory: directory, settings: settings)
        let connection = try await cluster.start()
        _ = try await cluster.createDatabase("concord")
        let url = connection.url(database: "concord")
        do {
            var configuration = try PostgresConfiguration(connectionString: url)
            // What the test itself does first waits as long as a loaded machine takes; what it tests does not.
            configuration.queueWait = .seconds(60)
            let migrator = Migrator(
                configuration: configuration,
                migrations: try MigrationDirectory(path: AccountTestSupport.Repository.root + "/migrations").read(),
                toolVersion: "test"
            )
            _ = try await migrator.run(.latest)
            try await TestDatabase(configuration: configuration, url: url).makeProject()
            try await body(
                OwnCluster(
                    url: url,
                    cluster: cluster,
                    directory: connection.dataDirectory,
                    processID: Int32(connection.processID)
                )
            )
            try await cluster.discard()
        } catch {
            try? await cluster.discard()
            throw error
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Ends it without a word to its clients, as a crash would.
    func kill() async throws { try await cluster.stop(.immediate) }

    /// `asStandby`: a standby without a primary, which waits until it is promoted.
    func start(asStandby: Bool = false) async throws {
        if asStandby { try Data().write(to: URL(fileURLWithPath: directory + "/cluster/standby.signal")) }
        _ = try await cluster.start()
    }

    func promote() async throws {
        try await PostgresConnection.withConnection(try PostgresConfiguration(connectionString: url)) {
            _ = try $0.query("SELECT pg_promote()" as Query<Bool>)
        }
    }

    /// Sends `signal` to the server and to all its children. The server first, so that it makes no more of them.
    func signal(_ signal: Int32) throws {
        try #require(Glibc.kill(processID, signal) == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let child = Int32(name),
                let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                // The parent's id is the second word behind the name in parentheses (proc(5)).
                let parent = stat.split(separator: ")").last?.split(separator: " ").dropFirst().first,
                Int32(parent) == processID
            else { continue }
            _ = Glibc.kill(child, signal)
        }
    }
}
