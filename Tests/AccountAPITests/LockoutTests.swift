import AccountLinking
import AccountOperations
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Guesses at a password from elsewhere, over HTTP: they end, and they do not stop the owner.
struct LockoutTests {
    private static let home = "192.0.2.1"
    private static let path = "/v1/accounts:signInWithPassword"
    private static let wrong = "INVALID_PASSWORD"
    private static let locked = "TOO_MANY_ATTEMPTS_TRY_LATER"

    private func network(_ number: Int) -> String { "198.51.\(number / 250).\(number % 250 + 1)" }

    /// The error's code; `nil` for a sign-in.
    private func signIn(
        _ api: TestAPI,
        _ password: String = TestService.password,
        from peer: String,
        device: String? = nil
    ) async throws -> String? {
        let answer = try await enter(api, password, from: peer, device: device)
        return answer.errorMessage.map { String($0.prefix { $0 != " " }) }
    }

    private func enter(
        _ api: TestAPI,
        _ password: String = TestService.password,
        from peer: String,
        device: String? = nil
    ) async throws -> TestAPI.Answer {
        var body: [String: JSONValue] = [
            "email": "ada@example.com", "password": .string(password), "returnSecureToken": true,
            "returnDeviceSecret": true,
        ]
        if let device { body["deviceSecret"] = .string(device) }
        return try await api.post(Self.path, .object(body), from: peer)
    }

    private func guess(_ api: TestAPI, from peer: String, device: String? = nil, times: Int) async throws -> [String?] {
        var answers: [String?] = []
        for number in 0..<times {
            answers.append(try await signIn(api, "guess \(number)", from: peer, device: device))
        }
        return answers
    }

    /// Guesses until strangers are held off, from new networks.
    private func closeToStrangers(_ api: TestAPI) async throws {
        for number in 0..<50 {
            #expect(try await signIn(api, "guess", from: network(number)) == Self.wrong)
        }
        #expect(try await signIn(api, "guess", from: network(50)) == Self.locked)
    }

    @Test func `ten wrong guesses from another network do not lock the owner out`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            #expect(try await guess(api, from: network(1), times: 10).allSatisfy { $0 == Self.wrong })
            #expect(try await signIn(api, from: network(1)) == Self.locked)
            #expect(try await signIn(api, from: Self.home) == nil)
            #expect(try await signIn(api, from: network(1)) == Self.locked, "the owner's sign-in opens nothing there")
        }
    }

    @Test func `all addresses of an IPv6 subscriber are one network`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            for number in 1...10 {
                #expect(try await signIn(api, "guess", from: "2001:db8:1:2::\(number)") == Self.wrong)
            }
            #expect(try await signIn(api, from: "2001:db8:1:2::aaaa") == Self.locked)
            #expect(try await signIn(api, from: "2001:db8:1:3::1") == nil)
        }
    }

    @Test func `a network that signed in before is not locked out by others`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            #expect(try await signIn(api, from: Self.home) == nil)
            try await closeToStrangers(api)
            #expect(try await signIn(api, from: Self.home) == nil)
        }
    }

    @Test func `a device that signed in before is not locked out by others`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let entered = try await enter(api, from: Self.home)
            let device = try #require(entered.json["deviceSecret"]?.string)
            try await closeToStrangers(api)
            #expect(try await signIn(api, from: "203.0.113.9") == Self.locked, "a new network without the device")
            #expect(try await signIn(api, from: "203.0.113.9", device: device) == nil)
        }
    }

    @Test func `a refresh returns the device secret if the client requests it`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ada@example.com")
            let refresh: JSONValue = [
                "grant_type": "refresh_token", "refresh_token": account["refreshToken"] ?? .null,
            ]
            #expect(try await api.post("/v1/token", refresh).json["device_secret"] == nil)
            let asked = try await api.post("/v1/token", refresh.with("return_device_secret", "true"))
            let device = try #require(asked.json["device_secret"]?.string)
            try await closeToStrangers(api)
            #expect(try await signIn(api, from: "203.0.113.9", device: device) == nil)
            let plain = try await api.signIn("ada@example.com", password: "x")
            #expect(plain.json["deviceSecret"] == nil)
        }
    }

    @Test func `a stolen device secret gives no free guesses`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let device = try #require(try await enter(api, from: Self.home).json["deviceSecret"]?.string)
            let thief = "203.0.113.66"
            #expect(try await guess(api, from: thief, device: device, times: 10).allSatisfy { $0 == Self.wrong })
            // Then it helps no more, and the thief's network has its own count.
            let more = try await guess(api, from: thief, device: device, times: 12)
            #expect(more == Array(repeating: Self.wrong, count: 10) + [Self.locked, Self.locked])
            #expect(try await signIn(api, from: thief, device: device) == Self.locked)
            #expect(try await signIn(api, from: Self.home, device: device) == nil, "the owner has the network")
        }
    }

    /// A device secret by a refresh.
    private func deviceSecret(_ api: TestAPI, of session: JSONValue) async throws -> String {
        let refresh: JSONValue = [
            "grant_type": "refresh_token", "refresh_token": session["refreshToken"] ?? .null,
            "return_device_secret": "true",
        ]
        return try #require(try await api.post("/v1/token", refresh).json["device_secret"]?.string)
    }

    @Test func `a stolen session is one device, no matter how often it refreshes`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ada@example.com")
            let owner = try await enter(api, from: Self.home)
            try await closeToStrangers(api)
            let thief = "203.0.113.66"
            let first = try await deviceSecret(api, of: account)
            #expect(try await guess(api, from: thief, device: first, times: 10).allSatisfy { $0 == Self.wrong })
            api.service.clock.advance(seconds: 1)
            let second = try await deviceSecret(api, of: account)
            #expect(second != first)
            #expect(try await signIn(api, "guess", from: thief, device: second) == Self.locked)
            // Another sign-in is another device: the one that its answer named.
            let device = try await deviceSecret(api, of: owner.json)
            #expect(try await guess(api, from: thief, device: device, times: 10).allSatisfy { $0 == Self.wrong })
            #expect(try await signIn(api, from: thief, device: owner.json["deviceSecret"]?.string) == Self.locked)
        }
    }

    @Test func `sessions that a stolen session opens by changing the account are the same device`() async throws {
        try await TestAPI.with { api in
            var session = try await api.signUp("ada@example.com")
            try await closeToStrangers(api)
            var answers: [String?] = []
            for provider in ["facebook.com", "google.com", "apple.com"] {
                let token = #"{"sub":"thief"}"#
                let linked = try await api.post(
                    "/v1/accounts:signInWithIdp",
                    [
                        "requestUri": "http://localhost", "idToken": session["idToken"] ?? .null,
                        "postBody": .string("providerId=\(provider)&id_token=\(token)"),
                    ]
                )
                #expect(linked.status == 200, "\(linked.text)")
                session = linked.json
                let device = try await deviceSecret(api, of: session)
                answers += try await guess(api, from: "203.0.113.66", device: device, times: 10)
            }
            #expect(answers.count { $0 == Self.wrong } == 10 && answers.count { $0 == Self.locked } == 20)
        }
    }

    @Test func `a device secret of another account is ignored`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            _ = try await api.signUp("eve@example.com")
            let eve = try await api.post(
                Self.path,
                ["email": "eve@example.com", "password": .string(TestService.password), "returnDeviceSecret": true]
            )
            let device = try #require(eve.json["deviceSecret"]?.string)
            try await closeToStrangers(api)
            for secret in [device, "nonsense", String(device.dropLast(2)), String(repeating: "A", count: 5000)] {
                #expect(try await signIn(api, from: "203.0.113.9", device: secret) == Self.locked)
            }
        }
    }

    @Test func `a hundred networks together still reach the limit`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            #expect(try await signIn(api, from: Self.home) == nil)
            var answered = 0
            // Each comes once, an hour and more after the one before.
            for number in 0..<100 {
                answered += try await signIn(api, "guess", from: network(number)) == Self.wrong ? 1 : 0
                api.service.clock.advance(seconds: 3601)
            }
            #expect(answered == 100)
            api.service.clock.advance(seconds: 20 * 86_400)
            #expect(try await signIn(api, from: network(200)) == Self.locked, "closed to strangers")
            let total: Query<Int64> = "SELECT failures::bigint FROM password_attempts"
            #expect(try await api.service.database.rows(total) == [100])
            #expect(try await signIn(api, from: Self.home) == nil)
            #expect(try await signIn(api, from: network(200)) == nil, "in a row no more")
        }
    }

    @Test func `a new password unlocks the address everywhere and makes a thief's device unknown`()
        async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let thief = "203.0.113.66"
            let device = try #require(try await enter(api, from: thief).json["deviceSecret"]?.string)
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(code, to: "another horse").status == 200)
            let ofAddresses: Query<Int64> = "SELECT count(*) FROM password_attempts"
            let ofSources: Query<Int64> = "SELECT count(*) FROM password_sources"
            #expect(try await api.service.database.rows(ofAddresses) == [0])
            #expect(try await api.service.database.rows(ofSources) == [0])
            try await closeToStrangers(api)
            #expect(try await signIn(api, "guess", from: thief, device: device) == Self.locked)
            #expect(try await signIn(api, "another horse", from: Self.home) == Self.locked)
            let again = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(again, to: "a third horse").status == 200)
            #expect(try await signIn(api, "a third horse", from: Self.home) == nil)
        }
    }

    @Test func `ended sessions make the network and device unknown`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ada@example.com")
            let device = try #require(try await enter(api, from: Self.home).json["deviceSecret"]?.string)
            try await api.endSessions(account)
            try await closeToStrangers(api)
            #expect(try await signIn(api, from: Self.home, device: device) == Self.locked)
        }
    }

    @Test func `an address without an account has the same limits as one with an account`() async throws {
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]]]) { api in
            _ = try await api.signUp("ada@example.com")
            for email: JSONValue in ["ada@example.com", "nobody@example.com"] {
                var codes: [String?] = []
                for number in 0..<52 {
                    let guess: JSONValue = ["email": email, "password": "x"]
                    let answer = try await api.post(Self.path, guess, from: network(number))
                    codes.append(answer.errorMessage.map { String($0.prefix { $0 != " " }) })
                }
                #expect(codes.prefix(50).allSatisfy { $0 == "INVALID_LOGIN_CREDENTIALS" })
                #expect(codes.suffix(2) == [Self.locked, Self.locked])
            }
        }
    }

    @Test func `password changes count for the network, and known devices are not locked`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let device = try #require(try await enter(api, from: Self.home).json["deviceSecret"]?.string)
            func replace(_ old: String, from peer: String, device: String? = nil) async throws -> Int {
                var body: [String: JSONValue] = [
                    "email": "ada@example.com", "oldPassword": .string(old), "newPassword": "another horse",
                ]
                if let device { body["deviceSecret"] = .string(device) }
                return try await api.post("/v1/accounts:resetPassword", .object(body), from: peer).status
            }
            for _ in 0..<10 { #expect(try await replace("x", from: network(1)) == 400) }
            #expect(try await replace(TestService.password, from: network(1)) == 400)
            #expect(try await replace(TestService.password, from: network(1), device: device) == 200)
        }
    }
}
