import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The routes by which an app gets its user back from the page of a conflict, with a session.
@Suite(.api) struct SessionCodeRoutesTests {
    private static let conflict = "/concord/v1/conflict"
    private static let exchange = "/concord/v1/session:exchange"
    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let wayBack: JSONValue = [
        "continueUrl": "http://localhost:3000/back", "state": "xyz", "codeChallenge": .string(challenge),
    ]

    private func post(
        _ api: TestAPI,
        _ path: String,
        _ body: JSONValue,
        _ handle: String? = nil,
        key: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        if let key { headers[try #require(.init("Idempotency-Key"))] = key }
        let answer = try await api.send(
            .post,
            path,
            Array(body.text.utf8),
            key: nil,
            bearer: handle,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: path) == [])
        return answer
    }

    private func read(_ api: TestAPI, _ handle: String) async throws -> JSONValue {
        let answer = try await api.send(.get, Self.conflict, key: nil, bearer: handle)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.conflict) == [])
        return answer.json
    }

    /// A conflict over a new account, and an ID token of that account.
    private func open(_ api: TestAPI, _ email: String) async throws -> (handle: String, idToken: JSONValue) {
        let account = try await api.signUp(email)
        let credential = #"{"sub":"of \#(email)","email":"\#(email)"}"#
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
        )
        return (try #require(answer.json["pendingToken"]?.string, "\(answer.text)"), account["idToken"] ?? .null)
    }

    private func resolve(_ api: TestAPI, _ handle: String, _ idToken: JSONValue) async throws -> JSONValue {
        let proven = try await post(
            api,
            Self.conflict + "/proof",
            ["kind": "session", "idToken": idToken],
            handle
        )
        let proof = proven.json["proofToken"] ?? .null
        return try await post(api, Self.conflict + ":resolve", ["proofToken": proof], handle).json
    }

    private func code(in answer: Wire.Answer) throws -> JSONValue {
        let url = try #require(answer.json["url"]?.string, "\(answer.text)")
        return .string(try #require(url.split(separator: "concordCode=").last.map(String.init)))
    }

    @Test func `an app gets the session of a conflict that its user resolved on the page`() async throws {
        let api = try TestAPI.shared
        let (handle, idToken) = try await open(api, "way@example.com")
        let stored = try await post(api, Self.conflict + "/return", Self.wayBack, handle)
        #expect(stored.status == 200 && stored.json["givesCode"] == false, "\(stored.text)")
        #expect(stored.json["url"] == "http://localhost:3000/back?concordConflict=open&state=xyz")
        #expect(try await read(api, handle)["return"] == stored.json)

        let resolved = try await resolve(api, handle, idToken)
        #expect(resolved["url"] == nil && !resolved.text.contains("concordCode"))
        let issued = try await post(
            api,
            Self.conflict + "/return:issueCode",
            ["idToken": resolved["idToken"] ?? .null],
            handle
        )
        #expect(issued.status == 200 && issued.headers[.cacheControl] == "no-store", "\(issued.text)")
        let body: JSONValue = ["code": try code(in: issued), "codeVerifier": .string(Self.verifier)]
        let session = try await post(api, Self.exchange, body, key: "first")
        #expect(session.status == 200 && session.json["localId"] == resolved["localId"], "\(session.text)")
        #expect(session.json["idToken"] != resolved["idToken"])
        let members = Set(session.json.object?.keys.map { $0 } ?? [])
        #expect(members == ["localId", "idToken", "refreshToken", "expiresIn"])

        // A repetition gets the same answer. Another request is a second use, which ends the session.
        #expect(try await post(api, Self.exchange, body, key: "first").text == session.text)
        let lookup = "/v1/accounts:lookup"
        #expect(try await api.post(lookup, ["idToken": session.json["idToken"] ?? .null]).status == 200)
        let again = try await post(api, Self.exchange, body, key: "second")
        expectProblem(again)
        #expect(again.problem == .codeUnusable && again.status == 400)
        #expect(try await api.post(lookup, ["idToken": session.json["idToken"] ?? .null]).status == 400)
    }

    @Test func `the app can ask for the token of its device, which a repeated answer does not have`() async throws {
        let api = try TestAPI.shared
        let (handle, idToken) = try await open(api, "device@example.com")
        _ = try await post(api, Self.conflict + "/return", Self.wayBack, handle)
        let proven = try await post(api, Self.conflict + "/proof", ["kind": "session", "idToken": idToken], handle)
        let resolved = try await post(
            api,
            Self.conflict + ":resolve",
            ["proofToken": proven.json["proofToken"] ?? .null, "returnDeviceToken": true],
            handle
        )
        #expect(resolved.json["deviceToken"]?.string != nil, "\(resolved.text)")
        let issued = try await post(
            api,
            Self.conflict + "/return:issueCode",
            ["idToken": resolved.json["idToken"] ?? .null],
            handle
        )
        let body: JSONValue = [
            "code": try code(in: issued), "codeVerifier": .string(Self.verifier), "returnDeviceToken": true,
        ]
        let session = try await post(api, Self.exchange, body, key: "device")
        #expect(session.json["deviceToken"]?.string != nil, "\(session.text)")
        let again = try await post(api, Self.exchange, body, key: "device")
        #expect(again.json["idToken"] == session.json["idToken"] && again.json["deviceToken"] == nil)
        let refresh: JSONValue = [
            "grant_type": "refresh_token", "refresh_token": again.json["refreshToken"] ?? .null,
            "return_device_token": "true",
        ]
        #expect(try await api.post("/v1/token", refresh).json["device_token"]?.string != nil)
    }

    @Test func `each refusal has its problem type`() async throws {
        let api = try TestAPI.shared
        let (handle, idToken) = try await open(api, "refused@example.com")
        func expect(
            _ type: ProblemType,
            _ path: String,
            _ body: JSONValue,
            _ handle: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let answer = try await post(api, path, body, handle)
            expectProblem(answer, sourceLocation: sourceLocation)
            #expect(answer.problem == type, "\(answer.text)", sourceLocation: sourceLocation)
        }
        let back = Self.conflict + "/return"
        let issue = back + ":issueCode"
        try await expect(.conflictUnknown, back, Self.wayBack)
        try await expect(.conflictUnknown, back, Self.wayBack, "forged")
        for (name, value) in [
            ("continueUrl", "javascript:alert(1)"), ("continueUrl", "back"), ("continueUrl", ""),
            ("continueUrl", "http://localhost/" + String(repeating: "a", count: 2048)), ("state", "\u{7}"),
            ("state", String(repeating: "s", count: 513)), ("codeChallenge", "short"),
            ("codeChallenge", String(repeating: "=", count: 43)),
        ] {
            try await expect(.malformedRequest, back, Self.wayBack.setting(.string(value), at: [name]), handle)
        }
        try await expect(
            .refused,
            back,
            Self.wayBack.setting("https://evil.example/", at: ["continueUrl"]),
            handle
        )
        #expect(try await read(api, handle)["return"] == nil)
        try await expect(.conflictUnknown, issue, ["idToken": idToken])
        try await expect(.malformedRequest, issue, [:], handle)
        try await expect(.invalidSession, issue, ["idToken": "x"], handle)
        try await expect(.codeUnusable, issue, ["idToken": idToken], handle)

        #expect(try await post(api, back, Self.wayBack, handle).status == 200)
        let resolved = try await resolve(api, handle, idToken)
        try await expect(.conflictClosed, back, Self.wayBack, handle)
        try await expect(.malformedRequest, Self.exchange, [:])
        try await expect(.malformedRequest, Self.exchange, ["code": "x"])
        try await expect(.malformedRequest, Self.exchange, ["code": "x", "codeVerifier": "short"])
        let unknown: JSONValue = ["code": "x", "codeVerifier": .string(Self.verifier)]
        try await expect(.codeUnusable, Self.exchange, unknown)
        let issued = try await post(api, issue, ["idToken": resolved["idToken"] ?? .null], handle)
        let wrong: JSONValue = [
            "code": try code(in: issued), "codeVerifier": .string(String(repeating: "v", count: 43)),
        ]
        for _ in 1...5 { try await expect(.wrongProof, Self.exchange, wrong) }
        try await expect(.tooManyAttempts, Self.exchange, wrong)
    }

    @Test func `the page to return to is stored once for each idempotency key`() async throws {
        let api = try TestAPI.shared
        let (handle, _) = try await open(api, "repeated@example.com")
        let first = try await post(api, Self.conflict + "/return", Self.wayBack, handle, key: "k")
        #expect(try await post(api, Self.conflict + "/return", Self.wayBack, handle, key: "k").text == first.text)
        let other = Self.wayBack.setting("abc", at: ["state"])
        let reused = try await post(api, Self.conflict + "/return", other, handle, key: "k")
        #expect(reused.problem == .idempotencyKeyReused)
        #expect(try await read(api, handle)["return"]?["url"] == first.json["url"])
    }

    @Test func `a code with its verifier appears in no log line`() async throws {
        try await TestAPI.with { api in
            let (handle, idToken) = try await open(api, "logged@example.com")
            _ = try await post(api, Self.conflict + "/return", Self.wayBack, handle)
            let resolved = try await resolve(api, handle, idToken)
            let issued = try await post(
                api,
                Self.conflict + "/return:issueCode",
                ["idToken": resolved["idToken"] ?? .null],
                handle
            )
            let code = try #require(try code(in: issued).string)
            _ = try await post(
                api,
                Self.exchange,
                ["code": .string(code), "codeVerifier": .string(Self.verifier)]
            )
            let lines = api.log.lines.joined(separator: "\n")
            #expect(lines.contains(Self.exchange))
            for secret in [code, Self.verifier, Self.challenge, "localhost:3000"] {
                #expect(!lines.contains(secret))
            }
        }
    }
}
