import AccountLinking
import AccountOperations
import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// A request with an `Idempotency-Key` is applied once, and answered each time as it was then.
@Suite struct IdempotencyTests {
    private static let conflict = "/concord/v1/conflict"
    private static let methods = "/concord/v1/account/methods/"

    private func send(
        _ path: String,
        _ body: JSONValue = [:],
        by method: HTTPRequest.Method = .post,
        key: String?,
        bearer: String?,
        ifMatch: String? = nil,
        _ wire: Wire
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        if let key { headers[try #require(.init("Idempotency-Key"))] = key }
        return try await wire.send(
            method,
            path,
            method == .delete ? [] : Array(body.text.utf8),
            key: nil,
            bearer: bearer,
            headers: headers
        )
    }

    private func expectSame(
        _ one: Wire.Answer,
        _ other: Wire.Answer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect((200..<300).contains(one.status), "\(one.text)", sourceLocation: sourceLocation)
        #expect(one.status == other.status, "\(other.text)", sourceLocation: sourceLocation)
        #expect(one.text == other.text, sourceLocation: sourceLocation)
        #expect(one.headers[.eTag] == other.headers[.eTag], sourceLocation: sourceLocation)
        #expect(one.headers[.contentType] == other.headers[.contentType], sourceLocation: sourceLocation)
    }

    private func expect(
        _ problem: ProblemType,
        _ answer: Wire.Answer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectProblem(answer, sourceLocation: sourceLocation)
        #expect(answer.problem == problem, "\(answer.text)", sourceLocation: sourceLocation)
    }

    /// An account with a password, and the handle of a conflict over its address.
    private func conflict(_ api: TestAPI, _ email: String, subject: String) async throws -> (JSONValue, String) {
        let account = try await api.signUp(email)
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": .string(
                    #"providerId=github.com&access_token={"sub":"\#(subject)","email":"\#(email)"}"#
                ),
            ]
        )
        return (account, try #require(answer.json["pendingToken"]?.string, "\(answer.text)"))
    }

    private func mailedCodes(_ api: TestAPI) async throws -> [JSONValue] {
        let path = "/emulator/v1/projects/\(TestService.projectID)/conflictProofs"
        return try await api.send(.get, path, key: nil).json["conflictProofs"]?.array?.compactMap { $0["code"] } ?? []
    }

    /// Each step is repeated after the conflict has gone on, too: what counts is the key.
    @Test func `every step of a conflict is applied once, and a repetition gets the same response`() async throws {
        try await TestAPI.with { api in
            let wire = api.wire
            let (_, handle) = try await conflict(api, "ada@example.com", subject: "1")
            func step(
                _ what: String,
                _ body: JSONValue,
                _ key: String,
                ifMatch: String? = nil
            ) async throws
                -> Wire.Answer
            {
                try await send(Self.conflict + what, body, key: key, bearer: handle, ifMatch: ifMatch, wire)
            }
            let started = try await step("/proof", ["kind": "mailbox"], "start", ifMatch: #""1""#)
            #expect(started.status == 202)
            expectSame(started, try await step("/proof", ["kind": "mailbox"], "start", ifMatch: #""1""#))
            #expect(try await mailedCodes(api).count == 1)

            let answer: JSONValue = ["code": try #require(try await mailedCodes(api).last)]
            let proven = try await step("/proof:complete", answer, "complete")
            expectSame(proven, try await step("/proof:complete", answer, "complete"))

            let token: JSONValue = ["proofToken": proven.json["proofToken"] ?? .null]
            let resolved = try await step(":resolve", token, "resolve")
            #expect(resolved.json["idToken"]?.string != nil)
            let decision = try #require(HTTPField.Name("Concord-Decision"))
            let again = try await step(":resolve", token, "resolve")
            #expect(resolved.headers[decision] != nil && again.headers[decision] == resolved.headers[decision])
            for _ in 1...3 { expectSame(resolved, try await step(":resolve", token, "resolve")) }
            expectSame(started, try await step("/proof", ["kind": "mailbox"], "start", ifMatch: #""1""#))
            expect(.conflictClosed, try await step(":resolve", token, "another"))

            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM linked_providers") == 1)
            // The proof, and what the takeover suspended.
            #expect(try await database.count("SELECT count(*) FROM outbox") == 2)
            #expect(try await database.count("SELECT count(*) FROM kept_answers") == 3)
            // One of the sign-up, ended by the takeover, and one of the conflict.
            #expect(try await database.count("SELECT count(*) FROM sessions") == 1)
            let refreshed = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": resolved.json["refreshToken"] ?? .null]
            )
            #expect(refreshed.status == 200, "\(refreshed.text)")
        }
    }

    @Test func `a proof by session and a refusal of the conflict are applied once`() async throws {
        try await TestAPI.with { api in
            let (account, handle) = try await conflict(api, "ada@example.com", subject: "1")
            let body: JSONValue = ["kind": "session", "idToken": account["idToken"] ?? .null]
            let proven = try await send(Self.conflict + "/proof", body, key: "k", bearer: handle, api.wire)
            expectSame(proven, try await send(Self.conflict + "/proof", body, key: "k", bearer: handle, api.wire))
            // The same key on another route is another key.
            let declined = try await send(Self.conflict + ":decline", key: "k", bearer: handle, api.wire)
            #expect(declined.json["state"] == "declined")
            expectSame(declined, try await send(Self.conflict + ":decline", key: "k", bearer: handle, api.wire))
            expect(.conflictClosed, try await send(Self.conflict + ":decline", key: nil, bearer: handle, api.wire))
        }
    }

    @Test func `if the first server never answered, another server returns the stored response`() async throws {
        try await TestService.withTwo { first, second in
            let handles = [first, second].map { service in
                let handle = ServiceHandle()
                handle.state = .ready(service.operations, checkDatabase: { nil })
                return handle
            }
            try await Wire.with(service: handles[0], development: DevelopmentRoutes()) { one in
                try await Wire.with(service: handles[1], development: DevelopmentRoutes()) { other in
                    let api = TestAPI(service: first, wire: one, log: RecordedLog())
                    let (account, handle) = try await conflict(api, "ada@example.com", subject: "1")
                    let proof: JSONValue = ["kind": "session", "idToken": account["idToken"] ?? .null]
                    let proven = try await send(Self.conflict + "/proof", proof, key: nil, bearer: handle, one)
                    let body: JSONValue = ["proofToken": proven.json["proofToken"] ?? .null]
                    let lost = try await send(Self.conflict + ":resolve", body, key: "r-1", bearer: handle, one)
                    expectSame(
                        lost,
                        try await send(Self.conflict + ":resolve", body, key: "r-1", bearer: handle, other)
                    )
                    #expect(try await first.database.count("SELECT count(*) FROM kept_answers") == 1)
                }
            }
        }
    }

    @Test func `a different request under the same key is refused, and refusals are not stored`()
        async throws
    {
        try await TestAPI.with { api in
            let (account, handle) = try await conflict(api, "ada@example.com", subject: "1")
            let resolve = Self.conflict + ":resolve"
            expect(.proofRequired, try await send(resolve, key: "k", bearer: handle, api.wire))
            expect(.proofRequired, try await send(resolve, ["proofToken": "x"], key: "k", bearer: handle, api.wire))
            #expect(try await api.service.database.count("SELECT count(*) FROM kept_answers") == 0)

            let proof: JSONValue = ["kind": "session", "idToken": account["idToken"] ?? .null]
            let proven = try await send(Self.conflict + "/proof", proof, key: "k", bearer: handle, api.wire)
            expect(
                .idempotencyKeyReused,
                try await send(Self.conflict + "/proof", ["kind": "mailbox"], key: "k", bearer: handle, api.wire)
            )
            #expect(try await mailedCodes(api).isEmpty)
            let body: JSONValue = ["proofToken": proven.json["proofToken"] ?? .null]
            let resolved = try await send(resolve, body, key: "k", bearer: handle, api.wire)
            #expect(resolved.status == 200)
            // A caller who has the handle and guesses the key, but does not have the token, gets nothing.
            for other: JSONValue in [[:], ["proofToken": "x"], ["proofToken": .null]] {
                let answer = try await send(resolve, other, key: "k", bearer: handle, api.wire)
                expect(.idempotencyKeyReused, answer)
                #expect(answer.status == 422 && !answer.text.contains("idToken"))
            }
            // The same, written otherwise.
            let written = Array(" {\"proofToken\" : \(body["proofToken"]?.text ?? "")\n}".utf8)
            let again = try await api.wire.send(
                .post,
                resolve,
                written,
                key: nil,
                bearer: handle,
                headers: [try #require(.init("Idempotency-Key")): "k"]
            )
            expectSame(resolved, again)
        }
    }

    @Test func `the same key of another caller is another key`() async throws {
        try await TestAPI.with { api in
            let (_, ada) = try await conflict(api, "ada@example.com", subject: "1")
            let (_, bob) = try await conflict(api, "bob@example.com", subject: "2")
            let one = try await send(Self.conflict + ":decline", key: "k", bearer: ada, api.wire)
            let other = try await send(Self.conflict + ":decline", key: "k", bearer: bob, api.wire)
            #expect(one.json["email"] == "a***@e***.com" && other.json["email"] == "b***@e***.com")
            // Another handle of the same conflict, from a second sign-in with the provider.
            let (cyd, first) = try await conflict(api, "cyd@example.com", subject: "3")
            let second = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "returnSecureToken": true,
                    "postBody": #"providerId=github.com&access_token={"sub":"3","email":"cyd@example.com"}"#,
                ]
            )
            let body: JSONValue = ["kind": "session", "idToken": cyd["idToken"] ?? .null]
            let mine = try await send(Self.conflict + "/proof", body, key: "k", bearer: first, api.wire)
            let theirs = try await send(
                Self.conflict + "/proof",
                body,
                key: "k",
                bearer: second.json["pendingToken"]?.string,
                api.wire
            )
            #expect(mine.status == 200 && theirs.status == 200)
            #expect(mine.json["proofToken"] != theirs.json["proofToken"])

            // One session's method and another's.
            for subject in ["4", "5"] {
                let user = try await api.signUp("user\(subject)@example.com")
                try await api.linkGitHub(to: user, subject: subject)
                let removed = try await send(
                    Self.methods + "github.com",
                    by: .delete,
                    key: "k",
                    bearer: user["idToken"]?.string,
                    api.wire
                )
                #expect(removed.status == 200 && removed.json["methods"]?.array?.count == 1, "\(removed.text)")
            }
        }
    }

    @Test func `a method is removed once in a day, for all sessions of the account`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ada@example.com")
            func session() async throws -> JSONValue {
                try await api.post(
                    "/v1/accounts:signInWithPassword",
                    ["email": "ada@example.com", "password": .string(TestService.password)]
                ).json
            }
            func remove(_ session: JSONValue) async throws -> Wire.Answer {
                try await send(
                    Self.methods + "github.com",
                    by: .delete,
                    key: "k",
                    bearer: session["idToken"]?.string,
                    api.wire
                )
            }
            func linkedCount() async throws -> Int64 {
                try await api.service.database.count("SELECT count(*) FROM linked_providers")
            }
            try await api.linkGitHub(to: user, subject: "1")
            let removed = try await remove(user)
            expectSame(removed, try await remove(user))
            try await api.linkGitHub(to: user, subject: "1")
            expectSame(removed, try await remove(try await session()))
            #expect(try await linkedCount() == 1, "it was linked again since, and the stored answer removes nothing")

            api.service.clock.advance(seconds: 86_399)
            expectSame(removed, try await remove(try await session()))
            api.service.clock.advance(seconds: 1)
            let anew = try await remove(try await session())
            #expect(anew.status == 200 && anew.headers[.eTag] != removed.headers[.eTag])
            #expect(try await linkedCount() == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM kept_answers") == 1)

            _ = try await api.post("/v1/accounts:delete", ["idToken": try await session()["idToken"] ?? .null])
            #expect(try await api.service.database.count("SELECT count(*) FROM kept_answers") == 0)
        }
    }

    @Test func `an ended session gets no stored answer`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ada@example.com")
            try await api.linkGitHub(to: user, subject: "1")
            let token = user["idToken"]?.string
            let path = Self.methods + "github.com"
            #expect(try await send(path, by: .delete, key: "k", bearer: token, api.wire).status == 200)
            try await api.endSessions(user)
            expect(.invalidSession, try await send(path, by: .delete, key: "k", bearer: token, api.wire))
        }
    }

    @Test func `a repeated request to disable a provider does nothing, even if the provider was enabled since`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let configs = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs"
            let enabled = Array(#"{"enabled":true,"clientId":"c"}"#.utf8)
            _ = try await api.send(.post, configs + "?idpId=github.com", enabled, key: nil, bearer: "owner")
            try await api.signInWithGitHub("1")
            func disable(_ body: JSONValue) async throws -> Wire.Answer {
                try await send("/concord/v1/providers/github.com:disable", body, key: "k", bearer: "owner", api.wire)
            }
            #expect(try await disable([:]).problem == .usersLockedOut)
            let disabled = try await disable(["force": true])
            #expect(disabled.json["lockedOutUsers"] == 1, "\(disabled.text)")
            expectSame(disabled, try await disable(["force": true]))
            #expect(try await disable([:]).problem == .idempotencyKeyReused)
            let mask = "?updateMask=enabled"
            _ = try await api.send(.patch, configs + "/github.com" + mask, enabled, key: nil, bearer: "owner")
            expectSame(disabled, try await disable(["force": true]))
            try await api.signInWithGitHub("1")
        }
    }

    @Test func `a webhook is created, rotated, enabled and deleted once, and its secret is stored sealed`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let hooks = "/concord/v1/webhooks"
            let database = api.service.database
            func change(
                _ path: String,
                _ body: JSONValue = [:],
                by method: HTTPRequest.Method = .post,
                key: String
            ) async throws -> Wire.Answer {
                try await send(hooks + path, body, by: method, key: key, bearer: "owner", api.wire)
            }
            let url: JSONValue = ["url": "https://receiver.example.com"]
            let added = try await change("", url, key: "k")
            expectSame(added, try await change("", url, key: "k"))
            expect(.idempotencyKeyReused, try await change("", ["url": "https://b.example.com"], key: "k"))
            #expect(try await database.count("SELECT count(*) FROM webhook_endpoints") == 1)
            let id = try #require(added.json["id"]?.string)

            // The key is one of its route: elsewhere it is another.
            let rotated = try await change("/\(id)/secret", key: "k")
            expectSame(rotated, try await change("/\(id)/secret", key: "k"))
            #expect(rotated.json["secret"] != added.json["secret"])
            let anew = try await change("/\(id)/secret", key: "l")
            #expect(anew.json["secret"] != rotated.json["secret"])
            let enabled = try await change("/\(id)/enable", key: "k")
            expectSame(enabled, try await change("/\(id)/enable", key: "k"))
            expect(.noSuchRoute, try await change("/00000000-0000-4000-8000-000000000000/enable", key: "k"))

            let stored: [String] = try await database.rows(
                """
                SELECT encode(sealed_answer, 'hex') FROM kept_answers
                UNION ALL SELECT encode(sealed_secret || sealed_older_secret, 'hex') FROM webhook_endpoints
                """
            )
            #expect(stored.count == 5)
            let sealingKey = Hexadecimal.encode(Array("test".utf8))
            #expect(
                stored.allSatisfy { $0.contains(sealingKey) },
                "the name of the key that sealed them is in the clear"
            )
            for answer in [added, rotated, anew] {
                let secret = try #require(answer.json["secret"]?.string)
                let base64 = String(secret.dropFirst("whsec_".count))
                let bytes = try #require(Data(base64Encoded: base64))
                for form in [Array(base64.utf8), Array(bytes)] {
                    #expect(!stored.contains { $0.contains(Hexadecimal.encode(form)) })
                }
            }

            let deleted = try await change("/\(id)", by: .delete, key: "k")
            expectSame(deleted, try await change("/\(id)", by: .delete, key: "k"))
            expect(.noSuchRoute, try await change("/\(id)", by: .delete, key: "l"))
            #expect(try await database.count("SELECT count(*) FROM webhook_endpoints") == 0)
        }
    }

    @Test(arguments: ["", " ", "two words", "käse", String(repeating: "k", count: 256), "a\tb", "\u{7F}"])
    func `an invalid key is refused, and nothing is done`(key: String) async throws {
        try await TestAPI.with { api in
            let (_, handle) = try await conflict(api, "ada@example.com", subject: "1")
            let before = try await api.service.database.rowCounts()
            // The fields as the server passes them on, without the checks of a client library.
            let answer = try await api.wire.sendRaw(Self.conflict + ":decline", bearer: handle, keys: [key])
            expect(.malformedRequest, answer)
            expect(
                .malformedRequest,
                try await api.wire.sendRaw(Self.conflict + ":decline", bearer: handle, keys: ["a", "b"])
            )
            #expect(try await api.service.database.rowCounts() == before)
            let longest = String(repeating: "~", count: 255)
            let declined = try await api.wire.sendRaw(Self.conflict + ":decline", bearer: handle, keys: [longest])
            #expect(declined.json["state"] == "declined", "\(declined.text)")
        }
    }

    @Test func `the table holds neither key nor answer in the clear`() async throws {
        try await TestAPI.with { api in
            let (account, handle) = try await conflict(api, "ada@example.com", subject: "1")
            let key = "a-key-to-look-for"
            let proof: JSONValue = ["kind": "session", "idToken": account["idToken"] ?? .null]
            let proven = try await send(Self.conflict + "/proof", proof, key: key, bearer: handle, api.wire)
            let token = try #require(proven.json["proofToken"]?.string)
            let resolved = try await send(
                Self.conflict + ":resolve",
                ["proofToken": .string(token)],
                key: key,
                bearer: handle,
                api.wire
            )
            // Bytes as the text they might be.
            let rows: [String?] = try await api.service.database.rows(
                """
                SELECT encode(key_digest || sealed_answer, 'escape') || user_id FROM kept_answers
                """
            )
            #expect(rows.count == 2)
            let dump = rows.compactMap(\.self).joined()
            #expect(dump.contains("test"), "the name of the key that sealed them is in the clear")
            for secret in [key, token, handle, "proofToken", "refreshToken"] { #expect(!dump.contains(secret)) }
            for name in ["idToken", "refreshToken"] {
                #expect(!dump.contains(try #require(resolved.json[name]?.string)))
            }
            #expect(!api.log.lines.contains { $0.contains(key) })
        }
    }

    @Test func `no hash in the table can be compared with a guessed request`() async throws {
        try await TestAPI.withAdministrator { api in
            let body: JSONValue = ["url": "https://receiver.example.com"]
            for key in ["one", "two"] {
                _ = try await send("/concord/v1/webhooks", body, key: key, bearer: "owner", api.wire)
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM kept_answers") == 2)
            // The same was asked twice. What follows from that alone would stand there twice.
            let alike: [String?] = try await api.service.database.rows(
                """
                SELECT each.key FROM kept_answers AS k, jsonb_each_text(to_jsonb(k)) AS each
                WHERE each.key NOT IN ('tenant_id', 'user_id', 'expires_at')
                GROUP BY each.key, each.value HAVING count(*) > 1
                """
            )
            #expect(alike == [])
        }
    }
}
