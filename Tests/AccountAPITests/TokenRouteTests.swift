import AccountTestSupport
import HTTPTypes
import JSON
import Testing

struct TokenRouteTests {
    private static let path = "/v1/token"

    @Test func `the answers of token equal the golden transcript`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ann@example.com")
            let gone = try await api.signUpAnonymously()
            _ = try await api.post("/v1/accounts:delete", ["idToken": gone["idToken"] ?? .null])
            var transcript = Transcript(Self.path)
            func request(_ token: JSONValue?) -> JSONValue {
                ["grantType": "refresh_token", "refreshToken": token ?? .null]
            }
            try await transcript.post("no grant type", ["refreshToken": "x"], to: api.wire)
            try await transcript.post("another grant type", ["grantType": "password"], to: api.wire)
            try await transcript.post("no token", ["grantType": "refresh_token"], to: api.wire)
            try await transcript.post("bad token", request("nonsense"), to: api.wire)
            try await transcript.post("good token", request(account["refreshToken"]), to: api.wire)
            try await transcript.post("account gone", request(gone["refreshToken"]), to: api.wire)
            try await api.endSessions(account)
            try await transcript.post("sessions ended", request(account["refreshToken"]), to: api.wire)
            try await api.disable(account)
            try await transcript.post("disabled", request(account["refreshToken"]), to: api.wire)
            try transcript.expect(matches: "token.txt")
        }
    }

    @Test func `forms and JSON in either case are equivalent`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ann@example.com")
            let token = try #require(account["refreshToken"]?.string)
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            let camelForm = "grantType=refresh_token&refreshToken=\(token)"
            let snakeForm = "grant_type=refresh_token&refresh_token=\(token)&ignored=a%20b+c"
            let answers = [
                try await api.wire.send(.post, Self.path, Array(snakeForm.utf8), headers: form),
                try await api.wire.send(
                    .post,
                    Self.path,
                    Array(camelForm.utf8),
                    headers: [.contentType: "application/x-www-form-urlencoded; charset=UTF-8"]
                ),
                try await api.post(Self.path, ["grant_type": "refresh_token", "refresh_token": .string(token)]),
                try await api.post(Self.path, ["grantType": "refresh_token", "refreshToken": .string(token)]),
                // What `curl -d '{…}'` sends.
                try await api.wire.send(
                    .post,
                    Self.path,
                    Array(#" {"grantType":"refresh_token","refreshToken":"\#(token)"}"#.utf8),
                    headers: form
                ),
            ]
            for answer in answers {
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.json["user_id"] == account["localId"])
                #expect(answer.json["refresh_token"]?.string == token)
                #expect(answer.json["access_token"] == answer.json["id_token"])
            }
        }
    }

    @Test func `a malformed form is answered like any bad request`() async throws {
        try await TestAPI.with { api in
            for body in [[0xFF, 0xFE], Array("%00=%00".utf8), Array("a=%FF".utf8), Array("&&&===".utf8)] as [[UInt8]] {
                let answer = try await api.wire.send(
                    .post,
                    Self.path,
                    body,
                    headers: [.contentType: "application/x-www-form-urlencoded"]
                )
                #expect(answer.status == 400, "\(body)")
            }
        }
    }
}
