import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

struct AnswerTickTests {
    @Test func `an answer leaves on the first multiple of 10 ms after it is ready`() {
        for (elapsed, departure) in [(0, 10_000), (1, 10_000), (9_999, 10_000), (10_000, 20_000), (25_001, 30_000)] {
            #expect(AnswerTick.departure(after: .microseconds(elapsed)) == .microseconds(departure))
        }
    }

    @Test func `a client that leaves is not waited for`() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await AnswerTick.wait(since: .now)
        }
        await task.value
    }

    @Test func `refusals, and answers that every address gets, are held while addresses are protected`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            for (path, body, status) in Self.requests {
                let (answer, duration) = try await Self.timed(api, path, body)
                #expect(answer.status == status, "\(path): \(answer.text)")
                #expect(duration >= AnswerTick.length, "\(path)")
            }
        }
    }

    @Test func `a provider's unproven address is answered on a tick where the project confirms it`() async throws {
        let settings = protectedSettings.setting("confirm", at: ["linkPolicy", "unprovenAddress"])
        try await TestAPI.with(settings: settings) { api in
            let claims: JSONValue = ["sub": "subject", "email": "ada@example.com"]
            let (answer, duration) = try await Self.timed(
                api,
                TestAPI.signInWithIdp,
                [
                    "requestUri": "http://localhost", "returnIdpCredential": true,
                    "postBody": .string("providerId=github.com&access_token=\(claims.text)"),
                ]
            )
            #expect(answer.json["needConfirmation"] == true, "\(answer.text)")
            #expect(duration >= AnswerTick.length)
        }
    }

    @Test func `every route that is held is asked here`() {
        let asked = Set(Self.requests.map(\.path))
        #expect(Set(API.routes.filter(\.hidesAccounts).map(\.path)) == asked)
    }

    private static let requests: [(path: String, body: JSONValue, status: Int)] = [
        ("/v1/accounts:signInWithPassword", ["email": "ada@example.com", "password": "wrong horse"], 400),
        ("/v1/accounts:signUp", ["email": "ada@example.com", "password": "short"], 400),
        (
            "/v1/accounts:signInWithIdp",
            ["requestUri": "http://localhost", "postBody": "providerId=github.com&access_token=nonsense"], 400
        ),
        ("/v1/accounts:signInWithEmailLink", ["email": "ada@example.com", "oobCode": "wrong"], 400),
        ("/v1/accounts:sendOobCode", ["requestType": "PASSWORD_RESET", "email": "ada@example.com"], 200),
        (
            "/v1/accounts:resetPassword",
            ["email": "ada@example.com", "oldPassword": "wrong horse", "newPassword": "battery staple"], 400
        ),
        ("/v1/accounts:update", ["idToken": "nonsense", "email": "ada@example.com"], 400),
        (
            "/concord/v1/shortCode:exchange",
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "code": "12345678"], 403
        ),
        ("/v1/accounts:sendVerificationCode", ["phoneNumber": "+16505550101", "recaptchaToken": "app"], 200),
        ("/concord/v1/lookup", ["email": "ada@example.com"], 202),
        ("/concord/v1/lookup:prove", ["email": "ada@example.com", "code": "12345678"], 403),
    ]

    private static func timed(
        _ api: TestAPI,
        _ path: String,
        _ body: JSONValue
    ) async throws -> (answer: TestAPI.Answer, duration: Duration) {
        let start = ContinuousClock.now
        let answer = try await api.post(path, body)
        return (answer, start.duration(to: .now))
    }
}
