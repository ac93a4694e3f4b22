import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Synchronization
import Testing

@testable import AccountAPI

struct AnswerTickTests {
    @Test func `an answer leaves on the first multiple of 10 ms after it is ready`() {
        for (elapsed, departure) in [(0, 10_000), (1, 10_000), (9_999, 10_000), (10_000, 20_000), (25_001, 30_000)] {
            #expect(AnswerTick.departure(after: .microseconds(elapsed)) == .microseconds(departure))
        }
    }

    @Test func `the standard tick holds an answer, and not for a client that has left`() async {
        let beginning = ContinuousClock.now
        await AnswerTick.standard.wait(beginning)
        #expect(beginning.duration(to: .now) >= AnswerTick.length)
        // Its tick is an hour away: the test would never end.
        let later = ContinuousClock.now + .seconds(3600)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await AnswerTick.standard.wait(later)
        }
        await task.value
        #expect(ContinuousClock.now < later)
    }

    @Test func `refusals, and answers that every address gets, are held while addresses are protected`() async throws {
        try await Self.with(protectedSettings) { api, held in
            for request in Self.requests {
                let answer = try await Self.send(api, request)
                #expect(answer.status == request.status, "\(request.path): \(answer.text)")
                #expect(held() == 1, "\(request.path)")
            }
        }
    }

    @Test func `no answer is held for administrators, without protection, or if the sign-in succeeds`() async throws {
        try await Self.with(ProjectSettings.developmentDefaults) { api, held in
            for request in Self.requests {
                _ = try await Self.send(api, request)
                #expect(held() == 0, "\(request.path)")
            }
        }
        try await Self.with(protectedSettings) { api, held in
            _ = try await api.signUp("ada@example.com")
            #expect(try await api.signIn("ada@example.com", password: TestService.password).status == 200)
            #expect(try await api.admin("accounts:update", ["localId": "unknown"]).status == 400)
            #expect(held() == 0)
        }
    }

    @Test func `a provider's unproven address is answered on a tick where the project confirms it`() async throws {
        let settings = protectedSettings.setting("confirm", at: ["linkPolicy", "unprovenAddress"])
        try await Self.with(settings) { api, held in
            let claims: JSONValue = ["sub": "subject", "email": "ada@example.com"]
            let answer = try await api.post(
                TestAPI.signInWithIdp,
                [
                    "requestUri": "http://localhost", "returnIdpCredential": true,
                    "postBody": .string("providerId=github.com&access_token=\(claims.text)"),
                ]
            )
            #expect(answer.json["needConfirmation"] == true, "\(answer.text)")
            #expect(held() == 1)
            let handle = answer.json["pendingToken"]?.string
            #expect(try await api.send(.get, "/concord/v1/conflict", key: nil, bearer: handle).status == 200)
            #expect(held() == 1)
            let declined = try await api.post("/concord/v1/conflict:decline", [:], key: nil, bearer: handle)
            #expect(declined.json["state"] == "declined" && held() == 1, "\(declined.text)")
        }
    }

    @Test func `every route that is held is asked here`() {
        let asked = Set(Self.requests.map { "\($0.method.rawValue) \($0.path)" })
        #expect(Set(API.routes.filter(\.hidesAccounts).map(\.name)) == asked)
    }

    private struct Request {
        var method = HTTPRequest.Method.post
        let path: String
        var body: JSONValue = [:]
        let status: Int
    }

    private static let requests = [
        Request(
            path: "/v1/accounts:signInWithPassword",
            body: ["email": "ada@example.com", "password": "wrong horse"],
            status: 400
        ),
        Request(path: "/v1/accounts:signUp", body: ["email": "ada@example.com", "password": "short"], status: 400),
        Request(
            path: "/v1/accounts:signInWithIdp",
            body: ["requestUri": "http://localhost", "postBody": "providerId=github.com&access_token=nonsense"],
            status: 400
        ),
        Request(
            path: "/v1/accounts:signInWithEmailLink",
            body: ["email": "ada@example.com", "oobCode": "wrong"],
            status: 400
        ),
        Request(
            path: "/v1/accounts:sendOobCode",
            body: ["requestType": "PASSWORD_RESET", "email": "ada@example.com"],
            status: 200
        ),
        Request(
            path: "/v1/accounts:resetPassword",
            body: ["email": "ada@example.com", "oldPassword": "wrong horse", "newPassword": "battery staple"],
            status: 400
        ),
        Request(path: "/v1/accounts:update", body: ["idToken": "nonsense", "email": "ada@example.com"], status: 400),
        Request(
            path: "/v1/accounts:sendVerificationCode",
            body: ["phoneNumber": "+16505550101", "recaptchaToken": "app"],
            status: 200
        ),
        Request(
            path: "/concord/v1/shortCode:exchange",
            body: ["requestType": "PASSWORD_RESET", "email": "ada@example.com", "code": "12345678"],
            status: 403
        ),
        Request(path: "/concord/v1/lookup", body: ["email": "ada@example.com"], status: 202),
        Request(
            path: "/concord/v1/lookup:prove",
            body: ["email": "ada@example.com", "code": "12345678"],
            status: 403
        ),
        Request(method: .get, path: "/concord/v1/conflict", status: 404),
        Request(path: "/concord/v1/conflict:resolve", body: ["proofToken": "nonsense"], status: 404),
        Request(path: "/concord/v1/conflict:decline", status: 404),
    ]

    private static func send(_ api: TestAPI, _ request: Request) async throws -> TestAPI.Answer {
        let bytes = request.method == .get ? [] : Array(request.body.text.utf8)
        let bearer = request.path.contains("conflict") ? "nonsense" : nil
        return try await api.send(request.method, request.path, bytes, bearer: bearer)
    }

    /// Runs `body` with an API whose ticks come at once, and with a function that returns the number of answers held
    /// since its last call.
    private static func with(
        _ settings: JSONValue,
        _ body: @Sendable (_ api: TestAPI, _ held: @Sendable () -> Int) async throws -> Void
    ) async throws {
        let count = Counter()
        let tick = AnswerTick { _ in count.add() }
        try await TestAPI.with(settings: settings, callers: DevelopmentCallers(), tick: tick) { api in
            try await body(api) { count.take() }
        }
    }

    private final class Counter: Sendable {
        private let value = Mutex(0)

        func add() { value.withLock { $0 += 1 } }

        func take() -> Int {
            value.withLock { value in
                defer { value = 0 }
                return value
            }
        }
    }
}
