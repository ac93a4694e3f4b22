import AccountOperations
import AccountTestSupport
import Glibc
import JSON
import NIOHTTP1
import Postgres
import Subprocess
import Testing

/// Requests that are repeated under one key: by 64 callers at once over two servers, and after a server that died between
/// applying one and answering it.
@Suite(.serialized) struct IdempotencyTests {
    private static let email = "ada@example.com"
    private static let resolve = "/concord/v1/conflict:resolve"

    private func post(
        _ path: String,
        _ body: JSONValue,
        handle: String,
        key: String?,
        to server: ServeProcess
    ) async throws -> HTTPAnswer {
        try await server.send(
            .POST,
            path,
            body,
            key: nil,
            authorization: "Bearer " + handle,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:]
        )
    }

    private func handle(_ servers: TwoServers, _ subject: String) async throws -> String {
        try await servers.second.signInWithIdp(servers.credential(.one, subject: subject, email: Self.email))
            .string("pendingToken")
    }

    /// The handle of a conflict that is proven by the account's session, and what settles it.
    private func proven(_ servers: TwoServers) async throws -> (handle: String, body: JSONValue) {
        let handle = try await handle(servers, "ada")
        let session = try await servers.first.signIn(Self.email).success().text("idToken")
        let proof: JSONValue = ["kind": "session", "idToken": .string(session)]
        let answer = try await post(
            "/concord/v1/conflict/proof",
            proof,
            handle: handle,
            key: nil,
            to: servers.first
        )
        return (handle, ["proofToken": .string(try answer.string("proofToken"))])
    }

    private func expectOne(_ answers: [HTTPAnswer], status: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(Set(answers.map(\.status)) == [status], "\(answers.codes)", sourceLocation: sourceLocation)
        #expect(Set(answers.map(\.text)).count == 1, sourceLocation: sourceLocation)
        #expect(Set(answers.map { $0.headers.first(name: "ETag") }).count == 1, sourceLocation: sourceLocation)
    }

    @Test func `each step of a conflict is applied once, and every repetition gets the same response`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let database = servers.database
            let declined = try await handle(servers, "declined")
            let asking: JSONValue = ["kind": "mailbox"]
            let asked = try await servers.race { server, _ in
                try await post("/concord/v1/conflict/proof", asking, handle: declined, key: "a", to: server)
            }
            try await servers.expectSound(asked)
            expectOne(asked, status: 202)
            #expect(try await database.count("SELECT count(*) FROM outbox") == 1)
            let turned = try await servers.race { server, _ in
                try await post("/concord/v1/conflict:decline", [:], handle: declined, key: "d", to: server)
            }
            try await servers.expectSound(turned)
            expectOne(turned, status: 200)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'conflict-declined'") == 1
            )

            let (handle, body) = try await proven(servers)
            let sessions = try await database.count("SELECT count(*) FROM sessions")
            let settled = try await servers.race { server, _ in
                try await post(Self.resolve, body, handle: handle, key: "r", to: server)
            }
            try await servers.expectSound(settled)
            expectOne(settled, status: 200)
            #expect(try await database.count("SELECT count(*) FROM sessions") == sessions + 1)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'method-linked'") == 1
            )
            #expect(try await database.count("SELECT count(*) FROM kept_answers") == 3)
        }
    }

    @Test func `if two different requests have one key, one is applied and the other is refused`() async throws {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let (handle, body) = try await proven(servers)
            let other: JSONValue = ["proofToken": "another"]
            let answers = try await servers.race { server, number in
                let isRight = (number / 2).isMultiple(of: 2)
                return try await post(Self.resolve, isRight ? body : other, handle: handle, key: "k", to: server)
            }
            try await servers.expectSound(answers)
            expectOne(answers.enumerated().filter { ($0.offset / 2).isMultiple(of: 2) }.map(\.element), status: 200)
            for (number, answer) in answers.enumerated() where !(number / 2).isMultiple(of: 2) {
                // Before the right one was applied it is judged by itself.
                #expect([403, 422].contains(answer.status), "\(answer.text)")
            }
            let late = try await post(Self.resolve, other, handle: handle, key: "k", to: servers.first)
            #expect(late.status == 422)
        }
    }

    @Test func `repeated requests remove a method, disable a provider and add a webhook once`() async throws {
        try await TwoServers.with { servers in
            let account = try await servers.first.signInWithIdp(servers.credential(.one, subject: "ada")).success()
            let session = try account.text("idToken")
            _ = try await servers.first
                .signInWithIdp(servers.credential(.two, subject: "ada", idToken: session)).success()
            let removed = try await servers.race { server, _ in
                try await server.send(
                    .DELETE,
                    "/concord/v1/account/methods/oidc.two",
                    key: nil,
                    authorization: "Bearer " + session,
                    headers: ["Idempotency-Key": "m"]
                )
            }
            try await servers.expectSound(removed)
            expectOne(removed, status: 200)
            #expect(
                try await servers.database.count("SELECT count(*) FROM account_events WHERE kind = 'user-updated'") == 1
            )

            let administrator = try await Administrator(of: servers)
            let disabled = try await servers.race { server, _ in
                try await administrator.send(
                    .POST,
                    "/concord/v1/providers/oidc.two:disable",
                    [:],
                    headers: ["Idempotency-Key": "p"],
                    to: server
                )
            }
            try await servers.expectSound(disabled)
            expectOne(disabled, status: 200)
            #expect(try await servers.database.count("SELECT count(*) FROM kept_answers") == 2)
            let enabled: [String?] = try await servers.database.rows(
                "SELECT provider_id FROM provider_configs WHERE enabled"
            )
            #expect(enabled == ["oidc.one"])

            let added = try await servers.race { server, _ in
                try await administrator.send(
                    .POST,
                    "/concord/v1/webhooks",
                    ["url": "https://receiver.example.com"],
                    headers: ["Idempotency-Key": "w"],
                    to: server
                )
            }
            try await servers.expectSound(added)
            expectOne(added, status: 200)
            #expect(try await servers.database.count("SELECT count(*) FROM webhook_endpoints") == 1)
        }
    }

    /// The transaction is held up in the middle of its COMMIT, the server killed, and then the transaction let go: it was
    /// applied, and no server is left to answer.
    @Test(.notOnCitus("Citus has no triggers on distributed tables"))
    func `if a server dies before it answers an applied request, the next server answers the repetition`()
        async throws
    {
        try await TwoServers.with { servers in
            _ = try await servers.signUp(Self.email)
            let (handle, body) = try await proven(servers)
            let database = servers.database
            let sessions = try await database.count("SELECT count(*) FROM sessions")
            try await database.execute(
                """
                CREATE TABLE gate (is_open boolean);
                CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    WHILE NOT EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
                    RETURN NULL;
                END $$;
                CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON kept_answers DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
                """
            )
            try await ServeProcess.launch(database: database.url, endsWith: .signaled(SIGKILL)) { starting in
                let victim = try await starting.ready()
                async let lost = try? post(Self.resolve, body, handle: handle, key: "k", to: victim)
                while try await database.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'PgSleep' AND query = 'COMMIT'
                    """
                ) == 0 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(kill(victim.processID, SIGKILL) == 0)
                #expect(await lost == nil, "there was no answer")
            }
            #expect(try await database.count("SELECT count(*) FROM kept_answers") == 0, "nothing is applied yet")
            try await database.execute("INSERT INTO gate VALUES (true)")
            while try await database.count("SELECT count(*) FROM kept_answers") == 0 {
                try await Task.sleep(for: .milliseconds(10))
            }

            let answers = try await servers.race { server, _ in
                try await post(Self.resolve, body, handle: handle, key: "k", to: server)
            }
            try await servers.expectSound(answers)
            expectOne(answers, status: 200)
            let token = try answers[0].string("idToken")
            #expect(try await servers.first.lookUp(token).status == 200)
            #expect(try await servers.second.refresh(try answers[0].string("refreshToken")).status == 200)
            #expect(try await database.count("SELECT count(*) FROM sessions") == sessions + 1)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'method-linked'") == 1
            )
            let anew = try await post(Self.resolve, body, handle: handle, key: nil, to: servers.first)
            #expect(anew.status == 409, "\(anew.text)")
        }
    }
}
