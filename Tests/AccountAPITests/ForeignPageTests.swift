import AccountAPI
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// Pages of other machines that call a development server on the developer's laptop.
@Suite(.api(callers: DevelopmentCallers())) struct ForeignPageTests {
    private static let project = "/v1/projects/\(TestService.projectID)"
    /// The routes that need an administrator's token, or only access to the server.
    private static let privileged: [(method: HTTPRequest.Method, path: String)] = [
        (.post, project + "/accounts:query"), (.get, "/v2/projects/\(TestService.projectID)/config"),
        (.get, "/identitytoolkit.googleapis.com" + project + "/accounts:batchGet"),
        (.get, "/emulator" + project + "/oobCodes"), (.get, "/inbox/messages"),
        (.delete, "/inbox/messages"),
        (.get, "/emulator" + project + "/config"), (.get, "/concord/v1/webhooks"),
    ]
    private static let foreign = [
        "https://evil.example", "http://evil.example:9099", "null", "http://localhost.evil.example",
        "http://127.evil.example", "https://localhost@evil.example", "",
    ]
    private static let own = [
        "http://localhost:5173", "https://localhost", "http://127.0.0.1:3000", "http://[::1]:8080",
        "http://app.localhost",
    ]

    private func headers(_ origin: String, _ method: HTTPRequest.Method? = nil) -> HTTPFields {
        var headers: HTTPFields = [.origin: origin]
        headers[.accessControlRequestMethod] = method?.rawValue
        if method != nil { headers[.accessControlRequestHeaders] = "authorization,content-type" }
        return headers
    }

    @Test func `a page from another host has no administrator access and reads no mail of a development server`()
        async throws
    {
        let api = try TestAPI.shared
        for (method, path) in Self.privileged {
            for origin in Self.foreign {
                let body = Array("{}".utf8)
                let asked = try await api.send(
                    method,
                    path,
                    method == .get ? [] : body,
                    key: nil,
                    bearer: "owner",
                    headers: headers(origin)
                )
                #expect(asked.status == 403, "\(origin) \(path): \(asked.text)")
                let preflight = try await api.send(.options, path, key: nil, headers: headers(origin, method))
                #expect(preflight.status == 403 && preflight.headers[.accessControlAllowOrigin] == nil, "\(path)")
            }
            for origin in Self.own {
                let asked = try await api.send(method, path, key: nil, bearer: "owner", headers: headers(origin))
                #expect(asked.status == 200, "\(origin) \(path): \(asked.text)")
                let preflight = try await api.send(.options, path, key: nil, headers: headers(origin, method))
                #expect(preflight.status == 204 && preflight.headers[.accessControlAllowOrigin] == origin)
            }
            #expect(
                try await api.send(method, path, key: nil, bearer: "owner").status == 200,
                "a program says no origin"
            )
        }
    }

    @Test func `a page from another host has no administrator access on a client route either`() async throws {
        let api = try TestAPI.shared
        let user = try await api.signUp("ada@example.com")
        let body = Array(JSONValue.object(["localId": user["localId"] ?? .null, "disableUser": true]).text.utf8)
        let origin = headers("https://evil.example")
        let answer = try await api.send(.post, "/v1/accounts:update", body, key: nil, bearer: "owner", headers: origin)
        #expect(answer.status == 403, "\(answer.text)")
        // What any client may do, it may.
        let lookUp = Array(JSONValue.object(["idToken": user["idToken"] ?? .null]).text.utf8)
        let own = try await api.send(.post, "/v1/accounts:lookup", lookUp, headers: origin)
        #expect(own.status == 200 && own.headers[.accessControlAllowOrigin] == "https://evil.example")
        #expect(own.json["users"]?.array?.first?["disabled"] != true)
    }
}
