import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import NIOHTTP1
import Testing

@testable import AccountOperations

/// reCAPTCHA Enterprise against a peer that checks the request as Google does.
struct AssessmentTests {
    private static let keys = AssessmentKeys(project: "my-project", web: "web-key", iOS: nil, android: "android-key")

    /// Runs `body` with a verifier whose server sends `answer`.
    private func with(
        timeout: Duration = .seconds(300),
        answer: @escaping @Sendable (LocalServer.Request) -> LocalServer.Reply,
        _ body: (AssessmentVerifier, LocalServer) async throws -> Void
    ) async throws {
        try await LocalServer.run { request, _ in
            answer(request)
        } _: { server in
            let verifier = AssessmentVerifier(
                keys: Self.keys,
                apiKey: "api-key",
                base: server.address(""),
                scoreMin: 0.5,
                http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                timeout: timeout
            )
            try await body(verifier, server)
        }
    }

    private func request(_ token: String, _ clientType: String? = "CLIENT_TYPE_WEB") throws -> AppRequest {
        AppRequest(
            credential: .assessment(token: token, clientType: clientType, version: "RECAPTCHA_ENTERPRISE"),
            number: try #require(PhoneNumber("+16505550101")),
            iOSBundleID: nil,
            apiKey: nil,
            clientAddress: "192.0.2.7"
        )
    }

    /// An answer in Google's format.
    private static func assessed(_ action: String, score: JSONValue, isValid: Bool = true) -> LocalServer.Reply {
        .json([
            "name": "projects/1/assessments/a", "event": [:],
            "riskAnalysis": .object(["score": score, "reasons": .array([])]),
            "tokenProperties": ["valid": .bool(isValid), "action": .string(action), "invalidReason": "EXPIRED"],
        ])
    }

    @Test func `a token with a sufficient score for a phone action is accepted on every platform`() async throws {
        try await with { request in
            guard request.headers["x-goog-api-key"] == ["api-key"], request.method == .POST,
                request.target == "/v1/projects/my-project/assessments"
            else { return .json(["error": ["code": 403]], status: .forbidden) }
            let event = request.json["event"]
            let key = event?["token"] == "android" ? "android-key" : "web-key"
            guard event?["siteKey"] == .string(key), event?["userIpAddress"] == "192.0.2.7" else {
                return .json(["error": ["code": 400]], status: .badRequest)
            }
            return switch event?["token"]?.string {
            case "android": Self.assessed("mfaSmsSignIn", score: 1)
            case "just": Self.assessed("sendVerificationCode", score: .double(0.5))
            case "robot": Self.assessed("sendVerificationCode", score: .double(0.4))
            case "zero": Self.assessed("sendVerificationCode", score: 0)
            case "elsewhere": Self.assessed("signInWithPassword", score: 1)
            case "nowhere": Self.assessed("", score: 1)
            default: Self.assessed("sendVerificationCode", score: 1, isValid: false)
            }
        } _: { verifier, server in
            #expect(try await verifier.isGenuine(try request("just")))
            #expect(try await verifier.isGenuine(try request("android", nil)))
            #expect(try await verifier.isGenuine(try request("android", "CLIENT_TYPE_ANDROID")))
            for token in ["robot", "zero", "elsewhere", "nowhere", "expired"] {
                #expect(try await !verifier.isGenuine(try request(token)), "\(token)")
            }
            let asked = server.requests.count
            // Invalid credentials are not sent to Google.
            #expect(try await !verifier.isGenuine(try request("just", "CLIENT_TYPE_IOS")))
            #expect(try await !verifier.isGenuine(try request("just", "CLIENT_TYPE_UNKNOWN")))
            #expect(try await !verifier.isGenuine(try request(String(repeating: "x", count: 16_385))))
            var other = try request("just")
            other.credential = .recaptcha(token: "just")
            #expect(try await !verifier.isGenuine(other))
            #expect(server.requests.count == asked)
        }
    }

    @Test(arguments: [
        LocalServer.Reply.text("<html>"), .json([]), .json(["tokenProperties": ["valid": "true"]]),
        .json(["error": ["code": 403]], status: .forbidden),
        .json(["tokenProperties": ["valid": true, "action": "sendVerificationCode"]]),
        .json(["tokenProperties": ["valid": true, "action": "sendVerificationCode"], "riskAnalysis": ["score": "1"]]),
        .text(String(repeating: " ", count: 5_000_000)), .init(stops: .beforeHead), .init(stops: .byClosing),
    ])
    func `an unavailable assessment throws and neither accepts nor refuses the request`(
        reply: LocalServer.Reply
    ) async throws {
        try await with(timeout: .seconds(1)) { _ in
            reply
        } _: { verifier, _ in
            await #expect(throws: ProviderUnavailable.self) {
                _ = try await verifier.isGenuine(try request("token"))
            }
        }
    }
}
