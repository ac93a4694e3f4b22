import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The routes by which an app gets the session of the sign-in page.
@Suite(.api) struct SignInReturnRoutesTests {
    private static let issue = "/concord/v1/signIn/return:issueCode"
    private static let exchange = "/concord/v1/session:exchange"
    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private func post(
        _ api: TestAPI,
        _ path: String,
        _ body: JSONValue,
        key: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        if let key { headers[try #require(.init("Idempotency-Key"))] = key }
        let answer = try await api.send(.post, path, Array(body.text.utf8), key: nil, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: path) == [])
        return answer
    }

    private func request(_ session: JSONValue) -> JSONValue {
        [
            "refreshToken": session["refreshToken"] ?? .null, "continueUrl": "http://localhost:3000/back",
            "state": "xyz", "codeChallenge": .string(Self.challenge),
        ]
    }

    private func code(in answer: Wire.Answer) throws -> String {
        let url = try #require(answer.json["url"]?.string, "\(answer.text)")
        return try #require(url.firstMatch(of: #/[?&]concordCode=([\w-]+)(&|#|$)/#).map { String($0.1) }, "\(url)")
    }

    @Test func `the account page gets a session where no app is on this host, and other ports do not`() async throws {
        let settings = ProjectSettings.developmentDefaults.with("authorizedDomains", ["app.example.com"])
        try await TestAPI.with(settings: settings) { api in
            let session = try await api.signUp("own-page@example.com")
            func body(_ address: String) -> JSONValue {
                [
                    "refreshToken": session["refreshToken"] ?? .null, "continueUrl": .string(address),
                    "codeChallenge": .string(Self.challenge),
                ]
            }
            // The address of the service in tests has port 9099.
            let refused = try await post(api, Self.issue, body("http://127.0.0.1:9098/account"))
            #expect(refused.status == 400 && refused.problem == .refused, "\(refused.text)")
            let issued = try await post(api, Self.issue, body("http://127.0.0.1:9099/account"))
            #expect(issued.status == 200, "\(issued.text)")
            let code: JSONValue = ["code": .string(try code(in: issued)), "codeVerifier": .string(Self.verifier)]
            let handed = try await post(api, Self.exchange, code)
            #expect(handed.status == 200 && handed.json["localId"] == session["localId"], "\(handed.text)")
        }
    }

    @Test func `an app exchanges the code of the sign-in page for its session, once`() async throws {
        let api = try TestAPI.shared
        let session = try await api.signUp("page@example.com")
        let issued = try await post(api, Self.issue, request(session), key: "issue")
        #expect(issued.status == 200 && issued.headers[.cacheControl] == "no-store", "\(issued.text)")
        #expect(issued.json["url"]?.string?.hasSuffix("&state=xyz") == true)
        #expect(try await post(api, Self.issue, request(session), key: "issue").text == issued.text)
        let body: JSONValue = ["code": .string(try code(in: issued)), "codeVerifier": .string(Self.verifier)]
        let handed = try await post(api, Self.exchange, body, key: "first")
        #expect(handed.status == 200 && handed.json["localId"] == session["localId"], "\(handed.text)")
        #expect(try await post(api, Self.exchange, body, key: "first").text == handed.text)

        let lookup = "/v1/accounts:lookup"
        #expect(try await api.post(lookup, ["idToken": handed.json["idToken"] ?? .null]).status == 200)
        #expect(try await api.post(lookup, ["idToken": session["idToken"] ?? .null]).status == 400)
        let again = try await post(api, Self.exchange, body, key: "second")
        #expect(again.problem == .codeUnusable && again.status == 400)
        #expect(try await api.post(lookup, ["idToken": handed.json["idToken"] ?? .null]).status == 400)
    }

    @Test func `each refusal has its problem type`() async throws {
        let api = try TestAPI.shared
        let session = try await api.signUp("refused.page@example.com")
        func expect(
            _ type: ProblemType,
            _ name: String,
            _ value: JSONValue,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let answer = try await post(api, Self.issue, request(session).setting(value, at: [name]))
            expectProblem(answer, sourceLocation: sourceLocation)
            #expect(answer.problem == type, "\(answer.text)", sourceLocation: sourceLocation)
            #expect(!answer.text.contains("concordCode"))
        }
        for value in ["forged", session["idToken"]?.string ?? ""] {
            try await expect(.invalidSession, "refreshToken", .string(value))
        }
        for name in ["refreshToken", "continueUrl", "codeChallenge"] {
            try await expect(.malformedRequest, name, "")
        }
        for (name, value) in [
            ("continueUrl", "javascript:alert(1)"), ("continueUrl", "back"), ("continueUrl", "com.example.app://back"),
            ("continueUrl", "http://localhost/" + String(repeating: "a", count: 2048)), ("state", "\u{7}"),
            ("state", String(repeating: "s", count: 513)), ("codeChallenge", "short"),
            ("codeChallenge", String(repeating: "=", count: 43)),
        ] {
            try await expect(.malformedRequest, name, .string(value))
        }
        try await expect(.refused, "continueUrl", "https://evil.example/")
        try await expect(.refused, "continueUrl", "https://localhost.evil.example/")
    }

    @Test func `a code with its verifier and the refresh token appear in no log line`() async throws {
        try await TestAPI.with { api in
            let session = try await api.signUp("logged.page@example.com")
            let issued = try await post(api, Self.issue, request(session))
            let code = try code(in: issued)
            _ = try await post(
                api,
                Self.exchange,
                ["code": .string(code), "codeVerifier": .string(Self.verifier)]
            )
            let lines = api.log.lines.joined(separator: "\n")
            #expect(lines.contains(Self.issue))
            let refreshToken = try #require(session["refreshToken"]?.string)
            for secret in [code, Self.verifier, Self.challenge, "localhost:3000", refreshToken] {
                #expect(!lines.contains(secret))
            }
        }
    }
}
