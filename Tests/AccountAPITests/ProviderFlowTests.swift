import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// Sign-ins on a provider's own page, from `accounts:createAuthUri` to `accounts:signInWithIdp`, with a provider on this
/// machine.
struct ProviderFlowTests {
    private static let callback = "http://localhost/__/auth/handler"
    private static let issuer = "oidc.sim"
    /// RSA keys take long to make.
    private static let key = Result { try ProviderKey.rsa("key-1") }

    /// The API beside a provider that is registered as `google.com` and as `oidc.sim`.
    private struct Scenario: Sendable {
        let api: TestAPI
        let simulator: OIDCSimulator

        func register(_ provider: String, _ changes: [String: JSONValue] = [:]) async throws {
            var body: [String: JSONValue] = ["enabled": true, "clientId": "client-1", "clientSecret": "secret-1"]
            let isOpenIDConnect = provider.hasPrefix("oidc.")
            if isOpenIDConnect {
                body["issuer"] = .string(simulator.base)
                body["responseType"] = ["code": true]
            } else {
                body["addresses"] = .object(simulator.addresses.mapValues(JSONValue.string))
            }
            let collection =
                isOpenIDConnect ? "oauthIdpConfigs?oauthIdpConfigId=" : "defaultSupportedIdpConfigs?idpId="
            let answer = try await api.send(
                .post,
                "/v2/projects/\(TestService.projectID)/\(collection)\(provider)",
                Array(JSONValue.object(body.merging(changes) { $1 }).text.utf8),
                key: nil,
                bearer: "owner"
            )
            #expect(answer.status == 200, "\(answer.text)")
        }

        func begin(_ provider: String, _ extra: [String: JSONValue] = [:]) async throws -> TestAPI.Answer {
            let body: [String: JSONValue] = [
                "providerId": .string(provider), "continueUri": .string(ProviderFlowTests.callback),
            ]
            return try await api.post("/v1/accounts:createAuthUri", .object(body.merging(extra) { $1 }))
        }

        /// A flow up to the point where the browser is back, as the request that finishes it.
        func answer(
            _ provider: String,
            says yes: Bool = true,
            _ extra: [String: JSONValue] = [:]
        ) async throws -> [String: JSONValue] {
            let begun = try await begin(provider, extra)
            #expect(begun.status == 200, "\(begun.text)")
            let callback = try simulator.consent(to: try #require(begun.json["authUri"]?.string), says: yes)
            var request: [String: JSONValue] = [
                "requestUri": .string(callback.requestURI), "sessionId": begun.json["sessionId"] ?? .null,
                "returnSecureToken": true, "returnIdpCredential": true,
            ]
            if let form = callback.postBody { request["postBody"] = .string(form) }
            return request
        }

        func finish(_ request: [String: JSONValue]) async throws -> TestAPI.Answer {
            try await api.post("/v1/accounts:signInWithIdp", .object(request))
        }

        func rows() async throws -> [String: Int64] { try await api.service.database.rowCounts() }
    }

    private static func with(
        _ change: @Sendable (inout OIDCSimulator.Character) -> Void = { _ in },
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) async throws {
        var character = OIDCSimulator.Character()
        character.keys = [try key.get()]
        change(&character)
        let started = character
        try await TestAPI.withAdministrator { api in
            let clock = api.service.clock
            try await OIDCSimulator.run(started, now: clock.now.secondsSinceEpoch) { simulator in
                try await body(Scenario(api: api, simulator: simulator))
            }
        }
    }

    /// Beside a provider that calls itself Google.
    private static func withGoogle(_ body: @escaping @Sendable (Scenario) async throws -> Void) async throws {
        try await with {
            $0.issuer = "https://accounts.google.com"
        } _: { scenario in
            try await scenario.register("google.com")
            try await body(scenario)
        }
    }

    /// Beside an issuer that is found by discovery.
    private static func withIssuer(_ body: @escaping @Sendable (Scenario) async throws -> Void) async throws {
        try await with { _ in
        } _: { scenario in
            try await scenario.register(issuer)
            try await body(scenario)
        }
    }

    // MARK: what works

    @Test func `a user who returns from Google's page is signed in, with Google's tokens`() async throws {
        try await Self.withGoogle { scenario in
            let begun = try await scenario.begin(
                "google.com",
                ["sessionId": "mine", "oauthScope": #"{"google.com":"calendar"}"#, "customParameter": ["lang": "fr"]]
            )
            #expect(begun.json["sessionId"] == "mine" && begun.json["providerId"] == "google.com")
            let address = try #require(begun.json["authUri"]?.string)
            #expect(address.hasPrefix(scenario.simulator.address(.authorization) + "?"))
            #expect(address.contains("lang=fr") && address.contains("calendar"))

            let answer = try await scenario.finish(try await scenario.answer("google.com"))
            #expect(answer.status == 200, "\(answer.text) \(scenario.simulator.complaints)")
            #expect(answer.json["isNewUser"] == true && answer.json["email"] == "ada@gmail.com")
            #expect(answer.json["federatedId"] == "https://accounts.google.com/subject-1")
            #expect(answer.json["oauthIdToken"]?.string?.isEmpty == false)
            #expect(answer.json["oauthAccessToken"]?.string?.hasPrefix("access-") == true)
            #expect(answer.json["oauthExpireIn"] == 3599)
            let claims = try payload(of: answer.json["idToken"])
            #expect(claims["firebase"]?["sign_in_provider"] == "google.com")

            let again = try await scenario.finish(try await scenario.answer("google.com"))
            #expect(again.json["localId"] == answer.json["localId"] && again.json["isNewUser"] == nil)
            // The first flow was never finished.
            #expect(try await scenario.rows()["provider_flows"] == 1)
        }
    }

    @Test func `a user who returns from an issuer's page is signed in`() async throws {
        try await Self.withIssuer { scenario in
            let answer = try await scenario.finish(try await scenario.answer(Self.issuer))
            #expect(answer.status == 200, "\(answer.text) \(scenario.simulator.complaints)")
            #expect(answer.json["providerId"] == .string(Self.issuer))
            #expect(try await scenario.rows()["provider_flows"] == 0)
        }
    }

    @Test func `a reauthentication flow requests a new sign-in and refuses an older one`()
        async throws
    {
        try await Self.withIssuer { scenario in
            let clock = scenario.api.service.clock
            #expect(try await scenario.finish(try await scenario.answer(Self.issuer)).status == 200)
            let plain = try await scenario.begin(Self.issuer)
            #expect(plain.json["authUri"]?.string?.contains("prompt=login") == false)
            let begun = try await scenario.begin(Self.issuer, ["reauthenticate": true])
            let address = try #require(begun.json["authUri"]?.string)
            #expect(address.contains("prompt=login") && address.contains("max_age=0"))

            func reauthenticate(signedIn seconds: Int64?) async throws -> TestAPI.Answer {
                let signedIn = seconds.map { JSONValue.integer(clock.now.secondsSinceEpoch - $0) }
                scenario.simulator.change { $0.lies["auth_time"] = signedIn }
                var request = try await scenario.answer(Self.issuer, ["reauthenticate": true])
                request["autoCreate"] = false
                return try await scenario.finish(request)
            }
            let stale = try await reauthenticate(signedIn: 3600)
            #expect(stale.errorMessage?.contains("has not signed in to the identity provider anew") == true)
            #expect(try await reauthenticate(signedIn: 0).status == 200)
            // Where the provider does not say, its token is new all the same.
            #expect(try await reauthenticate(signedIn: nil).status == 200)
        }
    }

    // MARK: whose flow, and how often

    @Test func `a callback in another session is refused, and the right session can still finish`() async throws {
        try await Self.withGoogle { scenario in
            let before = try await scenario.rows()
            let request = try await scenario.answer("google.com")
            for session: JSONValue in ["another", .null, ""] {
                var stolen = request
                stolen["sessionId"] = session
                #expect(try await scenario.finish(stolen).errorCode == "INVALID_IDP_RESPONSE")
            }
            #expect(scenario.simulator.requests(.token) == 0)
            #expect(try await scenario.rows() == before.merging(["provider_flows": 1]) { $1 })
            #expect(try await scenario.finish(request).status == 200)
            #expect(try await scenario.rows()["provider_flows"] == 0)
        }
    }

    @Test func `a callback works once, and an unrequested one is refused`() async throws {
        try await Self.withGoogle { scenario in
            let request = try await scenario.answer("google.com")
            #expect(try await scenario.finish(request).status == 200)
            let after = try await scenario.rows()
            #expect(try await scenario.finish(request).errorCode == "INVALID_IDP_RESPONSE")
            let code = scenario.simulator.issueCode(redirectURI: Self.callback)
            var madeUp = request
            madeUp["requestUri"] = .string(Self.callback + "?state=made-up&code=" + code)
            #expect(try await scenario.finish(madeUp).errorCode == "INVALID_IDP_RESPONSE")
            #expect(scenario.simulator.requests(.token) == 1)
            // Nor does a code without its state count as one that an app got by itself.
            var stolen = request
            stolen["requestUri"] = .string(Self.callback + "?providerId=google.com&code=" + code)
            #expect(try await scenario.finish(stolen).errorCode == "INVALID_IDP_RESPONSE")
            #expect(try await scenario.rows() == after)
        }
    }

    @Test func `a flow expires after an hour`() async throws {
        try await Self.withGoogle { scenario in
            let before = try await scenario.rows()
            let request = try await scenario.answer("google.com")
            scenario.api.service.clock.advance(seconds: 3600)
            #expect(try await scenario.finish(request).errorCode == "INVALID_IDP_RESPONSE")
            #expect(scenario.simulator.requests(.token) == 0)
            // The flow itself is purged like everything that has expired.
            #expect(try await scenario.rows() == before.merging(["provider_flows": 1]) { $1 })
        }
    }

    @Test func `a flow whose key was removed must begin again`() async throws {
        try await Self.withGoogle { scenario in
            let before = try await scenario.rows()
            let request = try await scenario.answer("google.com")
            try await scenario.api.service.database.execute(
                "UPDATE provider_flows SET sealed_flow = convert_to('a key that is gone', 'UTF8')"
            )
            #expect(try await scenario.finish(request).errorCode == "INVALID_IDP_RESPONSE")
            #expect(scenario.simulator.requests(.token) == 0)
            #expect(try await scenario.rows() == before)
        }
    }

    @Test func `if 64 callbacks of one flow race, one signs in with one exchange`() async throws {
        try await Self.withGoogle { scenario in
            scenario.simulator.change { $0.faults[.token] = .slow(.milliseconds(20)) }
            let request = try await scenario.answer("google.com")
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<64 { group.addTask { try await scenario.finish(request) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.status == 200 } == 1)
            #expect(answers.count { $0.errorCode == "INVALID_IDP_RESPONSE" } == 63)
            #expect(scenario.simulator.requests(.token) == 1)
            let rows = try await scenario.rows()
            #expect(rows["provider_flows"] == 0 && rows["users"] == 1 && rows["sessions"] == 1)
            #expect(try await scenario.api.service.database.inconsistencies() == [])
        }
    }

    // MARK: answers that prove nothing

    /// A provider that changes after the user was sent there. Its keys are known after the first answer that needs them.
    private static let failures = [
        Failure("keys in HTML", 503, nil) { $0.faults[.keySet] = .html },
        Failure("another nonce", 400, "MISSING_OR_INVALID_NONCE") { $0.lies = ["nonce": "another"] },
        Failure("no nonce", 400, "MISSING_OR_INVALID_NONCE") { $0.lies = ["nonce": .null] },
        Failure("token for another client", 400, "INVALID_IDP_RESPONSE") { $0.lies = ["aud": "another"] },
        Failure("an expired token", 400, "INVALID_IDP_RESPONSE") { $0.lies = ["exp": 1_000_000_000] },
        Failure("another issuer's token", 400, "INVALID_IDP_RESPONSE") { $0.lies = ["iss": "https://evil.example"] },
        Failure("an unsigned token", 400, "INVALID_IDP_RESPONSE") { $0.forgery = .unsigned },
        Failure("a public key as secret", 400, "INVALID_IDP_RESPONSE") { $0.forgery = .publicKeyAsSecret },
        Failure("a stranger's key", 400, "INVALID_IDP_RESPONSE") { $0.forgery = .strangersKey },
        Failure("a code that was withdrawn", 400, "INVALID_IDP_RESPONSE") { $0.hasRevokedEverything = true },
        Failure("another secret", 400, "INVALID_IDP_RESPONSE") { $0.clientSecret = "another" },
        Failure("HTML", 503, nil) { $0.faults[.token] = .html },
        Failure("5 MB", 503, nil) { $0.faults[.token] = .large },
        Failure("nothing", 503, nil) { $0.faults[.token] = .nothing },
        Failure("an error", 503, nil) { $0.faults[.token] = .status(500) },
    ]

    @Test func `a callback without a valid proof stores nothing`() async throws {
        try await Self.withGoogle { scenario in
            let honest = scenario.simulator.character
            let before = try await scenario.rows()
            for failure in Self.failures {
                let request = try await scenario.answer("google.com")
                scenario.simulator.change(failure.change)
                let answer = try await scenario.finish(request)
                #expect(answer.status == failure.status, "\(failure.name): \(answer.text)")
                if let code = failure.code { #expect(answer.errorCode == code, "\(failure.name)") }
                #expect(try await scenario.rows() == before, "\(failure.name)")
                scenario.simulator.change { $0 = honest }
                // The keys of an issuer that was away are asked for again after ten seconds.
                scenario.api.service.clock.advance(seconds: 10)
            }
            #expect(try await scenario.finish(try await scenario.answer("google.com")).status == 200)
        }
    }

    @Test func `a callback from another issuer, and a refusal by the user, store nothing`() async throws {
        try await Self.withIssuer { scenario in
            let before = try await scenario.rows()
            var request = try await scenario.answer(Self.issuer)
            let uri = try #require(request["requestUri"]?.string)
            request["requestUri"] = .string(uri + "&iss=https%3A%2F%2Fevil.example")
            #expect(try await scenario.finish(request).errorCode == "INVALID_IDP_RESPONSE")
            #expect(scenario.simulator.requests(.token) == 0)
            let denied = try await scenario.answer(Self.issuer, says: false)
            #expect(try await scenario.finish(denied).errorCode == "USER_CANCELLED")
            #expect(try await scenario.rows() == before)
        }
    }

    @Test func `a provider that is disabled during a flow signs in no user`() async throws {
        try await Self.withGoogle { scenario in
            let request = try await scenario.answer("google.com")
            let path = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs/google.com"
            let off = try await scenario.api.send(
                .patch,
                path + "?updateMask=enabled",
                Array(#"{"enabled":false}"#.utf8),
                key: nil,
                bearer: "owner"
            )
            #expect(off.status == 200)
            #expect(try await scenario.begin("google.com").errorCode == "OPERATION_NOT_ALLOWED")
            #expect(try await scenario.finish(request).errorCode == "OPERATION_NOT_ALLOWED")
            let rows = try await scenario.rows()
            #expect(rows["provider_flows"] == 0 && rows["users"] == 0)
            #expect(scenario.simulator.requests(.token) == 0)
        }
    }

    // MARK: what does not begin

    private static let impossible: [([String: JSONValue], String?)] = [
        (["continueUri": .null], "MISSING_CONTINUE_URI"), (["continueUri": "nonsense"], "INVALID_CONTINUE_URI"),
        (["continueUri": "http://localhost/#fragment"], "INVALID_CONTINUE_URI"),
        (["continueUri": "javascript:alert(1)"], "INVALID_CONTINUE_URI"),
        (["continueUri": "https://evil.example/"], "UNAUTHORIZED_DOMAIN"),
        (["continueUri": "https://localhost.evil.example/"], "UNAUTHORIZED_DOMAIN"),
        (["continueUri": "https://localhost@evil.example/"], nil),
        (["providerId": "twitter.example"], nil), (["providerId": "not a provider"], "INVALID_PROVIDER_ID"),
        (["providerId": "oidc.unknown"], "OPERATION_NOT_ALLOWED"),
        (["customParameter": ["state": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["client_id": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["redirect_uri": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["response_type": "token"]], "INVALID_ARGUMENT"),
        (["customParameter": ["scope": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["nonce": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["code_challenge": "mine"]], "INVALID_ARGUMENT"),
        (["customParameter": ["lang": 7]], nil),
    ]

    @Test func `an invalid request begins no flow`() async throws {
        try await Self.withGoogle { scenario in
            let before = try await scenario.rows()
            for (extra, code) in Self.impossible {
                let answer = try await scenario.begin("google.com", extra)
                #expect(answer.status == 400, "\(extra): \(answer.text)")
                if let code { #expect(answer.errorCode == code, "\(extra)") }
            }
            #expect(try await scenario.rows() == before)
        }
    }

    @Test func `if the issuer is unreachable, no flow begins`() async throws {
        try await Self.withIssuer { scenario in
            scenario.simulator.change { $0.faults[.discovery] = .nothing }
            let before = try await scenario.rows()
            #expect(try await scenario.begin(Self.issuer).status == 503)
            #expect(try await scenario.rows() == before)
        }
    }
}

/// A defect of a provider, and the answer to it.
private struct Failure: Sendable {
    let name: String
    let status: Int
    let code: String?
    let change: @Sendable (inout OIDCSimulator.Character) -> Void

    init(
        _ name: String,
        _ status: Int,
        _ code: String?,
        _ change: @escaping @Sendable (inout OIDCSimulator.Character) -> Void
    ) {
        self.name = name
        self.status = status
        self.code = code
        self.change = change
    }
}

extension TestAPI.Answer {
    /// The text before the explanation in `error.message`.
    fileprivate var errorCode: String? { errorMessage?.split(separator: " ").first.map(String.init) }
}
