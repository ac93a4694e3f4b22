import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import NIOHTTP1
import Testing

@testable import AccountOperations

/// Challenge tokens against a simulated issuer that accepts each once, as reCAPTCHA does.
struct RecaptchaTests {
    private static let secret = "the secret of the site key"

    /// Runs `body` with a verifier whose issuer sends `answer`. Tests wait for the timeout only if they set one.
    private static func with(
        timeout: Duration = .seconds(300),
        answer: @escaping LocalServer.Answer,
        _ body: (RecaptchaVerifier, LocalServer) async throws -> Void
    ) async throws {
        try await LocalServer.run(answer: answer) { server in
            let verifier = RecaptchaVerifier(
                secret: secret,
                address: server.address("/siteverify"),
                http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                timeout: timeout
            )
            try await body(verifier, server)
        }
    }

    private static func request(_ credential: AppCredential, from address: String? = "192.0.2.7") throws -> AppRequest {
        AppRequest(
            credential: credential,
            number: try #require(PhoneNumber("+16505550101")),
            iOSBundleID: nil,
            apiKey: nil,
            clientAddress: address
        )
    }

    @Test
    func `pages need a challenge where one is configured, and ask for no text where only apps can prove themselves`() {
        let challenge = AppChallenge(siteKey: "key", scriptURL: "https://challenge.example/api.js", origins: [])
        let keys = AssessmentKeys(project: "p", web: "key", iOS: nil, android: nil)
        let verifier = DevelopmentAppVerifier()
        let expected: [(AppVerifiers, TextChallenge)] = [
            (AppVerifiers(), .unavailable),
            (AppVerifiers(assessments: verifier, assessmentKeys: keys), .unavailable),
            (AppVerifiers(pushes: verifier, pushTopics: ["com.example.app"]), .unavailable),
            (AppVerifiers(recaptcha: verifier, challenge: challenge), .required),
            (AppVerifiers(recaptcha: verifier, challenge: challenge, assessmentKeys: keys), .required),
            // Development accepts any token.
            (AppVerifiers(recaptcha: verifier), .none),
            (AppVerifiers(acceptsUnverified: true), .none),
            (AppVerifiers(recaptcha: verifier, challenge: challenge, acceptsUnverified: true), .none),
        ]
        for (apps, needed) in expected { #expect(apps.textChallenge == needed, "\(apps)") }
    }

    @Test func `the token of a solved challenge is accepted once`() async throws {
        try await Self.with { request, server in
            let isFirst = server.requests.count { $0.form["response"] == request.form["response"] } == 1
            guard request.form["secret"] == Self.secret else {
                return .json(["success": false, "error-codes": ["invalid-input-secret"]])
            }
            guard request.form["response"] == "solved", isFirst else {
                let error: JSONValue = isFirst ? "invalid-input-response" : "timeout-or-duplicate"
                return .json(["success": false, "error-codes": [error]])
            }
            return .json(["success": true, "challenge_ts": "2026-01-02T03:04:05Z", "hostname": "id.example.com"])
        } _: { verifier, server async throws in
            #expect(try await verifier.isGenuine(Self.request(.recaptcha(token: "solved"))))
            #expect(try await !verifier.isGenuine(Self.request(.recaptcha(token: "solved"))))
            #expect(try await !verifier.isGenuine(Self.request(.recaptcha(token: "made up"), from: nil)))
            #expect(server.requests.map { $0.form["remoteip"] } == ["192.0.2.7", "192.0.2.7", nil])
            #expect(server.requests.allSatisfy { $0.method == .POST && $0.target == "/siteverify" })
            // Text that cannot be a token is not sent.
            let long = String(repeating: "x", count: 8193)
            #expect(try await !verifier.isGenuine(Self.request(.recaptcha(token: long))))
            #expect(try await !verifier.isGenuine(Self.request(.playIntegrity(token: "solved"))))
            #expect(server.requests.count == 3)
        }
    }

    @Test(arguments: [
        LocalServer.Reply.text("<html>", headers: [("content-type", "text/html")]), .json([]), .json([:]),
        .json(["success": "true"]), .json(["success": true], status: .internalServerError),
        .json(["success": false, "error-codes": ["invalid-input-secret"]]),
        .json(["success": true, "error-codes": ["missing-input-secret"]]),
        .text(String(repeating: " ", count: 5_000_000)), .redirect(to: "https://example.com/"),
        .init(stops: .beforeHead), .init(stops: .byClosing),
    ])
    func `an unusable answer of the issuer throws and neither accepts nor refuses the request`(
        reply: LocalServer.Reply
    ) async throws {
        try await Self.with(timeout: .seconds(1)) { _, _ in
            reply
        } _: { verifier, _ async throws in
            await #expect(throws: ProviderUnavailable.self) {
                _ = try await verifier.isGenuine(Self.request(.recaptcha(token: "solved")))
            }
        }
    }
}
