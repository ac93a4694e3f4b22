import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Conflicts for administrators, over the wire.
@Suite struct ConflictAdministrationRoutesTests {
    private static let path = "/concord/v1/conflicts"

    private func handle(_ api: TestAPI, _ email: String, subject: String) async throws -> String {
        let credential = #"{"sub":"\#(subject)","email":"\#(email)"}"#
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
        )
        return try #require(answer.json["pendingToken"]?.string, "\(answer.text)")
    }

    private func list(_ api: TestAPI, _ query: String = "", bearer: String? = "owner") async throws -> Wire.Answer {
        let path = Self.path + (query.isEmpty ? "" : "?" + query)
        let answer = try await api.send(.get, path, key: nil, bearer: bearer)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    private func read(_ api: TestAPI, _ id: String, bearer: String? = "owner") async throws -> Wire.Answer {
        let answer = try await api.send(.get, "\(Self.path)/\(id)", key: nil, bearer: bearer)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path + "/{id}") == [])
        return answer
    }

    private func decline(
        _ api: TestAPI,
        _ id: String,
        bearer: String? = "owner",
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
        let path = "\(Self.path)/\(id)/decline"
        let answer = try await api.send(.post, path, Array("{}".utf8), key: nil, bearer: bearer, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path + "/{id}/decline") == [])
        return answer
    }

    private func ids(_ answer: Wire.Answer) -> [String] {
        answer.json["conflicts"]?.array?.compactMap { $0["id"]?.string } ?? []
    }

    @Test func `an administrator lists, reads and declines conflicts, and no secret is revealed`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let account = try await api.signUp("ada.lovelace@example.com")
            let handle = try await handle(api, "ada.lovelace@example.com", subject: "octo-ada")
            let listed = try await list(api)
            #expect(listed.status == 200 && listed.json["nextPageToken"] == nil, "\(listed.text)")
            let conflict = try #require(listed.json["conflicts"]?.array?.first)
            #expect(conflict["localId"] == account["localId"] && conflict["state"] == "open")
            #expect(conflict["email"] == "a***@e***.com" && conflict["providerId"] == "github.com")
            #expect(conflict["accountMethod"] == "password" && conflict["proofsStarted"] == 0)
            #expect(conflict["kind"] == "account-exists-with-different-credential")
            let id = try #require(conflict["id"]?.string)

            let found = try await read(api, id)
            #expect(found.json == conflict && found.headers[.eTag] == #""1""#)
            for secret in [handle, "octo-ada", "lovelace"] {
                #expect(!listed.text.contains(secret) && !found.text.contains(secret), "\(secret)")
            }

            let match = try #require(HTTPField.Name("If-Match"))
            let stale = try await decline(api, id, headers: [match: #""7""#])
            expectProblem(stale)
            #expect(stale.problem == .versionMismatch)
            let declined = try await decline(api, id, headers: [match: #""1""#])
            #expect(
                declined.status == 200 && declined.json["state"] == "declined" && declined.headers[.eTag] == #""2""#
            )
            #expect(declined.json["closeTime"]?.string != nil)
            let name = try #require(HTTPField.Name("Concord-Decision"))
            let decision = try #require(declined.headers[name])
            let explained = try await api.send(.get, "/concord/v1/decisions/\(decision)", key: nil, bearer: "owner")
            #expect(explained.json["rule"] == "J17" && explained.json["localId"] == account["localId"])

            let again = try await decline(api, id)
            expectProblem(again)
            #expect(again.problem == .conflictClosed)
            let byHandle = try await api.send(.get, "/concord/v1/conflict", key: nil, bearer: handle)
            #expect(byHandle.json["state"] == "declined")
            let proof = Array(#"{"kind":"mailbox"}"#.utf8)
            let late = try await api.send(.post, "/concord/v1/conflict/proof", proof, key: nil, bearer: handle)
            #expect(late.problem == .conflictClosed)
            #expect(try await api.signIn("ada.lovelace@example.com").status == 200, "the account is as it was")
        }
    }

    @Test func `each page continues after the previous one, in one order and with a limit`() async throws {
        try await TestAPI.withAdministrator { api in
            for number in 0..<7 {
                _ = try await api.signUp("user\(number)@example.com")
                _ = try await handle(api, "user\(number)@example.com", subject: "s-\(number)")
                if number % 2 == 0 { api.service.clock.advance(seconds: 1) }
            }
            let all = ids(try await list(api))
            #expect(all.count == 7)
            var (found, query): ([String], String) = ([], "pageSize=3")
            while true {
                let answer = try await list(api, query)
                found += ids(answer)
                guard let token = answer.json["nextPageToken"]?.string else { break }
                query = "pageSize=3&pageToken=\(token)"
            }
            #expect(found == all)
            #expect(ids(try await list(api, "pageSize=500")) == all)
        }
    }

    @Test func `filters limit the list, and an invalid filter is a problem`() async throws {
        try await TestAPI.withAdministrator { api in
            let ada = try await api.signUp("ada@example.com")
            _ = try await api.signUp("bob@example.com")
            _ = try await handle(api, "ada@example.com", subject: "1")
            api.service.clock.advance(seconds: 60)
            let later = PercentEncoding.encode(RFC3339.text(api.service.clock.now))
            _ = try await handle(api, "bob@example.com", subject: "2")
            let uid = try #require(ada["localId"]?.string)
            for (query, count) in [
                ("state=open", 2), ("state=expired", 0), ("localId=\(uid)", 1), ("localId=nobody", 0),
                ("providerId=github.com", 2), ("providerId=google.com&state=open", 0),
                ("kind=account-exists-with-different-credential", 2), ("kind=email-already-in-use", 0),
                ("openedSince=\(later)", 1), ("openedBefore=\(later)", 1),
                ("openedSince=\(later)&openedBefore=\(later)", 0),
            ] {
                #expect(ids(try await list(api, query)).count == count, "\(query)")
            }
            for query in [
                "state=lost", "state=", "localId=", "providerId=%20", "kind=none", "openedSince=yesterday",
                "openedBefore=2026", "pageSize=0", "pageSize=501", "pageSize=-1", "pageSize=x", "pageToken=x",
                "pageToken=",
            ] {
                let answer = try await list(api, query)
                expectProblem(answer)
                #expect(answer.problem == .malformedRequest && answer.status == 400, "\(query) \(answer.text)")
            }
        }
    }

    @Test func `other callers get no information, even with the id or a handle`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUp("ada@example.com")
            let handle = try await handle(api, "ada@example.com", subject: "1")
            let id = try #require(ids(try await list(api)).first)
            for bearer in [nil, "forged", handle, session["idToken"]?.string] {
                for answer in [
                    try await list(api, bearer: bearer), try await read(api, id, bearer: bearer),
                    try await decline(api, id, bearer: bearer),
                ] {
                    #expect(answer.status == 401, "\(answer.text)")
                }
            }
            #expect(try await read(api, id).json["state"] == "open")
            for unknown in ["nonsense", "AAAA", String(id.dropLast(4))] {
                expectProblem(try await read(api, unknown))
                #expect(try await read(api, unknown).problem == .conflictUnknown)
                #expect(try await decline(api, unknown).problem == .conflictUnknown)
            }
            // An id is no handle.
            let asHandle = try await api.send(.get, "/concord/v1/conflict", key: nil, bearer: id)
            #expect(asHandle.problem == .conflictUnknown)
        }
    }
}
