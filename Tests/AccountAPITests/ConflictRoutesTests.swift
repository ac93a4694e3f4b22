import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// Concord's own routes for conflicts, over the wire.
@Suite(.api) struct ConflictRoutesTests {
    private static let path = "/concord/v1/conflict"

    /// A conflict over `email` with the user `subject` of GitHub.
    private func handle(_ api: TestAPI, _ email: String, subject: String) async throws -> String {
        let credential = #"{"sub":"\#(subject)","email":"\#(email)","name":"Octo <b>Cat</b>"}"#
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true, "returnSecureToken": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
        )
        return try #require(answer.json["pendingToken"]?.string, "\(answer.text)")
    }

    private func post(
        _ api: TestAPI,
        _ what: String,
        _ body: JSONValue,
        _ handle: String?,
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
        let answer = try await api.send(
            .post,
            Self.path + what,
            Array(body.text.utf8),
            key: nil,
            bearer: handle,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path + what) == [])
        return answer
    }

    private func read(
        _ api: TestAPI,
        _ handle: String?,
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
        let answer = try await api.send(.get, Self.path, key: nil, bearer: handle, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    private func lastMail(_ api: TestAPI, to email: String) async throws -> JSONValue {
        let answer = try await api.send(.get, "/emulator/v1/projects/\(TestService.projectID)/conflictProofs", key: nil)
        let mails = answer.json["conflictProofs"]?.array ?? []
        return try #require(mails.last { $0["email"]?.string == email })
    }

    @Test func `a conflict leads to a linked account, and reveals nothing about the account before the proof`()
        async throws
    {
        let api = try TestAPI.shared
        let account = try await api.signUp("story@example.com")
        let handle = try await handle(api, "story@example.com", subject: "1001")

        let first = try await read(api, handle)
        #expect(first.status == 200 && first.headers[.eTag] == #""1""#)
        #expect(first.headers[.cacheControl] == "no-store")
        #expect(first.headers[.accessControlExposeHeaders]?.contains("ETag") == true)
        let members = Set(first.json.object?.keys.map { $0 } ?? [])
        #expect(members == ["state", "kind", "providerId", "email", "openTime", "expireTime"])
        #expect(first.json["email"] == "s***@e***.com" && first.json["providerId"] == "github.com")

        let started = try await post(api, "/proof", ["kind": "mailbox"], handle)
        #expect(started.status == 202 && started.headers[.eTag] == #""2""#)
        #expect(started.json["proof"]?["attemptsLeft"] == 5)
        let mail = try await lastMail(api, to: "story@example.com")
        #expect(mail["providerId"] == "github.com" && mail["name"] == "Octo <b>Cat</b>")

        let proven = try await post(api, "/proof:complete", ["code": mail["code"] ?? .null], handle)
        #expect(proven.status == 200 && proven.json["conflict"]?["signInMethods"] == ["password"])
        let token = try #require(proven.json["proofToken"]?.string)
        let shown = try await read(api, handle, headers: [try #require(.init("Concord-Proof")): token])
        #expect(shown.json["signInMethods"] == ["password"])

        let resolved = try await post(api, ":resolve", ["proofToken": .string(token)], handle)
        #expect(resolved.status == 200 && resolved.json["localId"] == account["localId"])
        let lookup = try await api.post("/v1/accounts:lookup", ["idToken": resolved.json["idToken"] ?? .null])
        let providers = lookup.json["users"]?.array?.first?["providerUserInfo"]?.array?.compactMap { $0["providerId"] }
        #expect(
            providers == ["github.com"],
            "the address was never proven, so the password was removed: \(lookup.text)"
        )
        #expect(try await read(api, handle).json["state"] == "resolved")
    }

    @Test func `each refusal has a separate problem type`() async throws {
        let api = try TestAPI.shared
        let account = try await api.signUp("no@example.com")
        let handle = try await handle(api, "no@example.com", subject: "1002")
        let idToken = account["idToken"] ?? .null

        func expect(
            _ type: ProblemType,
            _ answer: Wire.Answer,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            expectProblem(answer, sourceLocation: sourceLocation)
            #expect(answer.problem == type, "\(answer.text)", sourceLocation: sourceLocation)
        }
        expect(.conflictUnknown, try await post(api, ":resolve", [:], nil))
        expect(.conflictUnknown, try await post(api, ":resolve", [:], "forged"))
        expect(.conflictUnknown, try await read(api, String(handle.dropLast(3))))
        expect(.proofRequired, try await post(api, ":resolve", [:], handle))
        expect(.proofRequired, try await post(api, ":resolve", ["proofToken": "forged"], handle))
        expect(.proofRequired, try await post(api, "/proof:complete", ["code": "12345678"], handle))
        expect(.malformedRequest, try await post(api, "/proof:complete", [:], handle))
        expect(.malformedRequest, try await post(api, "/proof:complete", ["code": "1", "linkSecret": "2"], handle))
        expect(.malformedRequest, try await post(api, "/proof:complete", ["code": 12_345_678], handle))
        expect(.malformedRequest, try await post(api, "/proof", [:], handle))
        expect(.malformedRequest, try await post(api, "/proof", ["kind": "dna"], handle))
        expect(.malformedRequest, try await post(api, "/proof", ["kind": "session"], handle))
        expect(.invalidSession, try await post(api, "/proof", ["kind": "session", "idToken": "x"], handle))
        let match = try #require(HTTPField.Name("If-Match"))
        for stale in [#""7""#, "7", "W/\"1\"", "x"] {
            expect(.versionMismatch, try await post(api, ":decline", [:], handle, headers: [match: stale]))
        }
        #expect(try await post(api, "/proof", ["kind": "mailbox"], handle, headers: [match: #""1""#]).status == 202)
        expect(.wrongProof, try await post(api, "/proof:complete", ["linkSecret": "x"], handle))
        expect(
            .wrongProof,
            try await post(api, "/proof:complete", ["code": .string(String(repeating: "1", count: 9999))], handle)
        )
        expect(.noSuchRoute, try await api.send(.get, "/concord/v1/nothing", key: nil))
        expect(.noSuchRoute, try await api.send(.get, "/concord//v1/nothing", key: nil))
        expect(.noSuchRoute, try await api.send(.get, "/%63oncord/v1/nothing", key: nil))
        expect(.noSuchRoute, try await api.send(.get, "http://localhost/concord/v1/nothing", key: nil))
        expect(
            .requestTooLarge,
            try await api.send(.post, Self.path + ":decline", Array(repeating: 32, count: 2 << 20), bearer: handle)
        )
        expect(.malformedRequest, try await api.send(.post, Self.path + ":decline", Array("[".utf8), bearer: handle))

        #expect(try await post(api, "/proof", ["kind": "session", "idToken": idToken], handle).status == 200)
        #expect(try await post(api, ":decline", [:], handle, headers: [match: "*"]).json["state"] == "declined")
        expect(.conflictClosed, try await post(api, ":decline", [:], handle))
        expect(.conflictClosed, try await post(api, "/proof", ["kind": "mailbox"], handle))
    }

    @Test func `if the sign-in is too old, the response has the required age (RFC 9470)`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("old@example.com")
            let handle = try await handle(api, "old@example.com", subject: "1003")
            api.service.clock.advance(seconds: 301)
            let answer = try await post(
                api,
                "/proof",
                ["kind": "session", "idToken": account["idToken"] ?? .null],
                handle
            )
            expectProblem(answer)
            #expect(answer.problem == .insufficientUserAuthentication && answer.json["maxAge"] == 300)
            #expect(answer.json["methods"] == ["password"], "\(answer.text)")
            #expect(
                answer.headers[.wwwAuthenticate]
                    == #"Bearer error="insufficient_user_authentication", max_age="300""#
            )
        }
    }

    @Test func `an eleventh mail about an account must wait, and the response has only the waiting time`() async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("full@example.com")
            var answers: [Wire.Answer] = []
            for number in 1...11 {
                let handle = try await handle(api, "full@example.com", subject: "\(number)")
                answers.append(try await post(api, "/proof", ["kind": "mailbox"], handle))
            }
            #expect(answers.prefix(10).allSatisfy { $0.status == 202 && $0.headers[.retryAfter] == nil })
            expectProblem(answers[10])
            #expect(answers[10].problem == .tooManyMails && answers[10].status == 429)
            #expect(answers[10].headers[.retryAfter] == "3600")
            #expect(Set(answers[10].json.object?.keys.map { $0 } ?? []) == ["type", "title", "status"])
        }
    }

    @Test func `opening the mailed link ten times does not use the code (pain B35)`() async throws {
        let api = try TestAPI.shared
        _ = try await api.signUp("scanned@example.com")
        let handle = try await handle(api, "scanned@example.com", subject: "1004")
        _ = try await post(api, "/proof", ["kind": "mailbox"], handle)
        let link = try #require(try await lastMail(api, to: "scanned@example.com")["link"]?.string)
        // What a scanner can ask for ends before the fragment.
        let sent = String(link.prefix { $0 != "#" }).replacing("http://127.0.0.1:9099", with: "")
        #expect(!sent.contains(handle) && !sent.contains("proof"), "what proves is never sent")
        for _ in 1...10 {
            for method in [HTTPRequest.Method.get, .head] { _ = try await api.send(method, sent, key: nil) }
        }
        let secret = try #require(link.split(separator: "proof=").last.map(String.init))
        let proven = try await post(api, "/proof:complete", ["linkSecret": .string(secret)], handle)
        #expect(proven.status == 200, "\(proven.text)")
    }
}
