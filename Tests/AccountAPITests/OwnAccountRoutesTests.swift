import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// What a person reads about the account over HTTP, and the undo of a merge by its owner.
@Suite(.api(callers: DevelopmentCallers()))
struct OwnAccountRoutesTests {
    private static let events = "/concord/v1/account/events"
    private static let export = "/concord/v1/account/export"
    private static let merges = "/concord/v1/account/merges"

    private func send(
        _ method: HTTPRequest.Method = .get,
        _ path: String,
        query: String = "",
        bearer: String?,
        match: String? = nil,
        describedAt described: String? = nil
    ) async throws -> Wire.Answer {
        let api = try TestAPI.shared
        var headers: HTTPFields = [:]
        if let match { headers[try #require(HTTPField.Name("If-Match"))] = match }
        let body = method == .post ? Array("{}".utf8) : []
        let answer = try await api.send(method, path + query, body, key: nil, bearer: bearer, headers: headers)
        let defects = try OpenAPIDocument().defects(of: answer, to: method, at: described ?? path)
        #expect(defects == [], "\(answer.text)")
        return answer
    }

    private func token(_ account: JSONValue) throws -> String { try #require(account["idToken"]?.string) }

    @Test func `the description lists every kind of entry`() throws {
        let kinds = try OpenAPIDocument().root["components"]?["schemas"]?["HistoryEntry"]?["properties"]?["kind"]
        #expect(kinds?["enum"]?.array?.compactMap(\.string) == HistoryKind.allCases.map(\.rawValue))
    }

    @Test func `the history is paged, and shows no rule, policy or network`() async throws {
        let api = try TestAPI.shared
        let address = api.service.newAddress().raw
        let account = try await api.signUp(address)
        for _ in 0..<3 {
            _ = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": .string(address), "password": .string(TestService.password)]
            )
        }
        let idToken = try token(account)
        let whole = try await send(.get, Self.events, bearer: idToken)
        #expect(whole.status == 200 && whole.json["nextPageToken"] == nil, "\(whole.text)")
        let kinds = whole.json["events"]?.array?.compactMap { $0["kind"]?.string }
        // In any order: they happened at one time.
        #expect(kinds?.sorted() == ["account-created", "signed-in", "signed-in", "signed-in"])
        for word in ["rule", "policy", "facts", "\"S6\"", address] { #expect(!whole.text.contains(word), "\(word)") }
        let first = try await send(.get, Self.events, query: "?pageSize=3", bearer: idToken)
        let next = try #require(first.json["nextPageToken"]?.string)
        let second = try await send(.get, Self.events, query: "?pageSize=3&pageToken=\(next)", bearer: idToken)
        #expect(second.json["events"]?.array?.count == 1 && second.json["nextPageToken"] == nil)
        for query in ["?pageSize=0", "?pageSize=101", "?pageSize=x", "?pageToken=x"] {
            let bad = try await send(.get, Self.events, query: query, bearer: idToken)
            #expect(bad.problem == .malformedRequest, "\(query)")
        }
        for bearer in [nil, "forged"] {
            for path in [Self.events, Self.export, Self.merges] {
                #expect(try await send(.get, path, bearer: bearer).problem == .invalidSession)
            }
        }
    }

    @Test func `the export has the person's data and no secret`() async throws {
        let api = try TestAPI.shared
        let address = api.service.newAddress().raw
        let account = try await api.signUp(address)
        let answer = try await send(.get, Self.export, bearer: try token(account))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["account"]?["email"]?.string == address)
        #expect(answer.json["methods"]?.array?.first?["method"] == "password")
        #expect(answer.json["sessions"]?.array?.count == 1)
        #expect(answer.json["history"]?["events"]?.array?.count == 1)
        let refreshToken = try #require(account["refreshToken"]?.string)
        for secret in ["passwordHash", "argon2", "REDACTED", "UkVEQUNURUQ", "secretHash", "rule", refreshToken] {
            #expect(!answer.text.contains(secret), "\(secret)")
        }
    }

    @Test func `the export has the devices that the account knows, without their tokens`() async throws {
        let api = try TestAPI.shared
        let address = api.service.newAddress().raw
        let account = try await api.signUp(address)
        #expect(try await send(.get, Self.export, bearer: try token(account)).json["devices"] == [])
        let signedIn = try await api.post(
            "/v1/accounts:signInWithPassword",
            [
                "email": .string(address), "password": .string(TestService.password), "returnSecureToken": true,
                "returnDeviceToken": true,
            ]
        )
        let deviceToken = try #require(signedIn.json["deviceToken"]?.string, "\(signedIn.text)")
        let answer = try await send(.get, Self.export, bearer: try token(signedIn.json))
        let listed = try await api.send(
            .get,
            "/concord/v1/account/sessions",
            key: nil,
            bearer: try token(signedIn.json)
        )
        #expect(answer.json["devices"]?.array?.count == 1, "\(answer.text)")
        #expect(answer.json["devices"] == listed.json["devices"])
        #expect(!answer.text.contains(deviceToken))
    }

    @Test func `an owner lists and undoes a merge, and each refusal has its problem type`() async throws {
        let api = try TestAPI.shared
        let ada = try await api.signUp(api.service.newAddress().raw)
        let guest = try await api.signUpAnonymously()
        let (adas, guests) = (try token(ada), try token(guest))
        let merged = try await api.send(
            .post,
            "/concord/v1/merges",
            Array(
                JSONValue.object(["absorbedIdToken": .string(guests), "choices": ["password": "survivor"]]).text.utf8
            ),
            key: nil,
            bearer: adas
        )
        let id = try #require(merged.json["id"]?.string, "\(merged.text)")
        let path = "\(Self.merges)/\(id):undo"
        func undo(_ path: String, bearer: String?, match: String? = nil) async throws -> Wire.Answer {
            try await send(.post, path, bearer: bearer, match: match, describedAt: Self.merges + "/{id}:undo")
        }
        let listed = try await send(.get, Self.merges, bearer: adas)
        #expect(listed.json["merges"]?.array?.count == 1, "\(listed.text)")
        #expect(listed.json["merges"]?.array?.first?["canUndo"] == true)

        let stranger = try token(try await api.signUpAnonymously())
        #expect(try await undo(path, bearer: stranger).problem == .noSuchRoute)
        #expect(try await undo(path, bearer: nil).problem == .invalidSession)
        #expect(try await undo("\(Self.merges)/x:undo", bearer: adas).problem == .noSuchRoute)
        #expect(try await undo(path, bearer: adas, match: "\"1\"").problem == .versionMismatch)
        let undone = try await undo(path, bearer: adas, match: "\"2\"")
        #expect(undone.status == 200 && undone.json["state"] == "undone", "\(undone.text)")
        #expect(try await undo(path, bearer: adas).problem == .invalidSession, "the session has ended")
    }
}
