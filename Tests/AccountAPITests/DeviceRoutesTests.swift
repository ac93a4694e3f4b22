import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Device tokens over HTTP: who gets one, what it shows, and how it ends.
struct DeviceRoutesTests {
    private static let path = "/concord/v1/account/devices"

    private func signIn(
        _ api: TestAPI,
        _ email: String,
        presenting token: String? = nil,
        userAgent: String? = nil
    ) async throws -> JSONValue {
        var body: JSONValue = [
            "email": .string(email), "password": .string(TestService.password), "returnSecureToken": true,
            "returnDeviceToken": true,
        ]
        if let token { body = body.with("deviceToken", .string(token)) }
        var headers: HTTPFields = [:]
        headers[.userAgent] = userAgent
        let answer = try await api.send(
            .post,
            "/v1/accounts:signInWithPassword",
            Array(body.text.utf8),
            headers: headers
        )
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    /// `createAuthUri` with fixed ids of session and request, so that equal answers are equal bytes.
    private func ask(_ api: TestAPI, _ email: String, _ token: JSONValue?) async throws -> Wire.Answer {
        var body: JSONValue = ["identifier": .string(email), "continueUri": "http://localhost/", "sessionId": "s1"]
        if let token { body = body.with("deviceToken", token) }
        var headers: HTTPFields = [:]
        if let field = HTTPField.Name("X-Request-Id") { headers[field] = "same" }
        return try await api.send(.post, "/v1/accounts:createAuthUri", Array(body.text.utf8), headers: headers)
    }

    /// The lookup of an address, with fixed ids as above.
    private func lookUp(_ api: TestAPI, _ email: String, _ token: JSONValue?) async throws -> Wire.Answer {
        var body: JSONValue = ["email": .string(email), "continueUrl": "http://localhost/"]
        if let token { body = body.with("deviceToken", token) }
        var headers: HTTPFields = [:]
        if let field = HTTPField.Name("X-Request-Id") { headers[field] = "same" }
        let path = "/concord/v1/lookup"
        let answer = try await api.send(.post, path, Array(body.text.utf8), key: nil, headers: headers)
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: path) == [], "\(answer.text)")
        return answer
    }

    private func revoke(
        _ api: TestAPI,
        _ id: String,
        by session: JSONValue?,
        key: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        if let field = HTTPField.Name("Idempotency-Key") { headers[field] = key }
        let answer = try await api.send(
            .delete,
            "\(Self.path)/\(id)",
            key: nil,
            bearer: session?["idToken"]?.string,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .delete, at: Self.path + "/{device}") == [])
        return answer
    }

    private func devices(_ api: TestAPI, _ session: JSONValue) async throws -> [JSONValue] {
        let path = "/concord/v1/account/sessions"
        let answer = try await api.send(.get, path, key: nil, bearer: session["idToken"]?.string)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: path) == [])
        return answer.json["devices"]?.array ?? []
    }

    @Test func `with protected addresses a known device learns the methods of its account`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let token = try await signIn(api, "ada@example.com")["deviceToken"]
            #expect(token?.string != nil)
            let answer = try await ask(api, "Ada@Example.com", token)
            #expect(answer.json["registered"] == true && answer.json["sessionId"] == "s1")
            #expect(answer.json["allProviders"]?.texts == ["password"])
            #expect(answer.json["signinMethods"]?.texts == ["password"])
            let plain = try await api.signIn("ada@example.com", password: TestService.password)
            #expect(plain.json["deviceToken"] == nil, "only on request")
        }
    }

    @Test func `every obstacle gives exactly the answer of a request without a token`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let ada = try await api.signUp("ada@example.com")
            _ = try await api.signUp("eve@example.com")
            let ordinary = try await ask(api, "ada@example.com", nil)
            let mailed = try await lookUp(api, "ada@example.com", nil)
            #expect(mailed.status == 202)
            func expectOrdinary(_ email: String, _ token: JSONValue?, _ why: String) async throws {
                for (answer, stranger) in [
                    (try await ask(api, email, token), ordinary), (try await lookUp(api, email, token), mailed),
                ] {
                    #expect(answer.status == stranger.status && answer.text == stranger.text, "\(why)")
                    #expect(answer.headers == stranger.headers, "\(why)")
                }
            }
            let first = try await signIn(api, "ada@example.com")
            let token = try #require(first["deviceToken"])
            try await expectOrdinary("eve@example.com", token, "another account")
            try await expectOrdinary("nobody@example.com", token, "no account")
            for text in ["x", "\u{1F}", String(repeating: "A", count: 400)] {
                try await expectOrdinary("ada@example.com", .string(text), "malformed")
            }
            try await expectOrdinary(
                "ada@example.com",
                try await signIn(api, "eve@example.com")["deviceToken"],
                "Eve's"
            )
            let id = try #require(try await devices(api, first).first?["deviceId"]?.string)
            #expect(try await revoke(api, id, by: first).json == ["revoked": true])
            try await expectOrdinary("ada@example.com", token, "revoked")
            let refresh: JSONValue = [
                "grant_type": "refresh_token", "refresh_token": first["refreshToken"] ?? .null,
                "return_device_token": "true",
            ]
            let refreshed = try await api.post("/v1/token", refresh)
            #expect(refreshed.status == 200 && refreshed.json["device_token"] == nil, "\(refreshed.text)")
            api.service.clock.advance(seconds: 1)
            let second = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            #expect(try await ask(api, "ada@example.com", second).json["registered"] == true)
            try await api.endSessions(ada)
            try await expectOrdinary("ada@example.com", second, "after all sessions ended")
            api.service.clock.advance(seconds: 1)
            let third = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            api.service.clock.advance(seconds: 90 * 86_400)
            try await expectOrdinary("ada@example.com", third, "expired")
            let fourth = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            try await api.disable(ada)
            try await expectOrdinary("ada@example.com", fourth, "disabled")
        }
    }

    @Test func `a token of another project is answered as none`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let token = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            try await TestAPI.with(settings: protectedSettings) { other in
                _ = try await other.signUp("ada@example.com")
                let ordinary = try await ask(other, "ada@example.com", nil)
                #expect(try await ask(other, "ada@example.com", token).text == ordinary.text)
            }
        }
    }

    @Test func `a known device is refused a page outside the authorized domains, as a stranger is`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let token = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            for page in ["https://evil.example/", "javascript:alert(1)"] {
                let body: JSONValue = ["email": "ada@example.com", "continueUrl": .string(page)]
                let stranger = try await api.post("/concord/v1/lookup", body, key: nil)
                let known = try await api.post("/concord/v1/lookup", body.with("deviceToken", token), key: nil)
                #expect(known.status == 400 && known.json["methods"] == nil, "\(known.text)")
                #expect(known.json["type"] == stranger.json["type"], "\(known.text)")
                #expect(known.json["detail"] == stranger.json["detail"])
            }
        }
    }

    @Test func `a token of the wrong type is refused`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            #expect(try await ask(api, "ada@example.com", 7).status == 400)
            #expect(try await lookUp(api, "ada@example.com", 7).status == 400)
            let body: JSONValue = [
                "email": "ada@example.com", "password": .string(TestService.password), "returnDeviceToken": "perhaps",
            ]
            #expect(try await api.post("/v1/accounts:signInWithPassword", body).status == 400)
            #expect(try await api.service.database.count("SELECT count(*) FROM devices") == 0)
        }
    }

    @Test func `a lookup by a known device is answered as the proof of a mailbox, without a mail or a proof`()
        async throws
    {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.prove("ada@example.com")
            try await api.service.link("google.com", subject: "g", to: "ada@example.com")
            try await api.service.link("oidc.gone", subject: "o", to: "ada@example.com")
            let token = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            let known = try await lookUp(api, "Ada@Example.com", token)
            #expect(known.status == 200, "\(known.text)")
            #expect(try await api.service.operations.mailsWithUsableCodes(tenant: .project) == [])
            #expect(
                known.json["methods"]?.array == [
                    ["method": "password", "works": true], ["method": "google.com", "works": true],
                    ["method": "oidc.gone", "works": false, "obstacle": "not-enabled"],
                    ["method": "emailLink", "works": true],
                ]
            )
            #expect(known.json["lastUsed"] == nil && known.json["email"] == "ada@example.com")
            #expect(try await lookUp(api, "ada@example.com", nil).status == 202)
            let mail = try await api.service.operations.mailsWithUsableCodes(tenant: .project).last
            let body: JSONValue = ["linkSecret": .string(try #require(mail?.code))]
            let proven = try await api.post("/concord/v1/lookup:prove", body, key: nil)
            let ofProof: Set = ["lastUsed", "signsIn", "suspended", "proofToken", "expireTime"]
            #expect(proven.json.object?.filter { !ofProof.contains($0.key) } == known.json.object, "\(proven.text)")
        }
    }

    @Test func `a known device sees no suspended methods`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.link("google.com", subject: "g", to: "ada@example.com")
            let before = try #require(try await signIn(api, "ada@example.com")["deviceToken"])
            // A first proof of the mailbox: what was added before is suspended.
            _ = try await lookUp(api, "ada@example.com", nil)
            let mail = try await api.service.operations.mailsWithUsableCodes(tenant: .project).last
            let secret: JSONValue = ["linkSecret": .string(try #require(mail?.code))]
            let proof = try #require(
                try await api.post("/concord/v1/lookup:prove", secret, key: nil).json["proofToken"]
            )
            let step: JSONValue = ["proofToken": proof, "way": "signIn"]
            let session = try await api.post("/concord/v1/lookup:continue", step, key: nil)
            #expect(session.status == 200, "\(session.text)")
            #expect(try await lookUp(api, "ada@example.com", before).status == 202, "the takeover ended it")
            let refreshed = try await api.post(
                "/v1/token",
                [
                    "grant_type": "refresh_token", "refresh_token": session.json["refreshToken"] ?? .null,
                    "return_device_token": "true",
                ]
            )
            let token = try #require(refreshed.json["device_token"], "\(refreshed.text)")
            let known = try await lookUp(api, "ada@example.com", token)
            let methods = known.json["methods"]?.array ?? []
            #expect(methods == [["method": "emailLink", "works": true]], "\(known.text)")
            #expect(known.json["offersPassword"] == true)
            let found = try await ask(api, "ada@example.com", token)
            #expect(found.json["signinMethods"]?.texts == ["emailLink"], "createAuthUri lists what works")
        }
    }

    @Test func `devices are listed with the sessions, the latest use first`() async throws {
        try await TestAPI.withAdministrator(settings: protectedSettings) { api in
            let own = try await api.signUp("ada@example.com")
            #expect(try await devices(api, own) == [])
            let phone = try await signIn(api, "ada@example.com", userAgent: "Phone/1.0")
            api.service.clock.advance(seconds: 60)
            _ = try await signIn(api, "ada@example.com", userAgent: "Laptop/1.0")
            #expect(try await devices(api, own).map { $0["device"] } == ["Laptop/1.0", "Phone/1.0"])
            api.service.clock.advance(seconds: 60)
            _ = try await signIn(
                api,
                "ada@example.com",
                presenting: phone["deviceToken"]?.string,
                userAgent: "Phone/2.0"
            )
            let listed = try await devices(api, own)
            #expect(listed.map { $0["device"] } == ["Phone/2.0", "Laptop/1.0"], "the same device, renewed")
            #expect(listed[0]["startTime"] != listed[0]["lastUseTime"])
            let path = "/concord/v1/sessions"
            let user = own["localId"]?.string ?? ""
            let asOperator = try await api.send(.get, path + "?localId=\(user)", key: nil, bearer: "owner")
            #expect(try OpenAPIDocument().defects(of: asOperator, to: .get, at: path) == [])
            #expect(asOperator.json["devices"]?.array == listed)
            let secret = try #require(phone["deviceToken"]?.string)
            #expect(!asOperator.text.contains(secret))
        }
    }

    @Test func `a device is revoked by a session of its account only, and a repetition gets the same answer`()
        async throws
    {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let eve = try await api.signUp("eve@example.com")
            let own = try await signIn(api, "ada@example.com")
            let id = try #require(try await devices(api, own).first?["deviceId"]?.string)
            #expect(try await revoke(api, id, by: eve).json == ["revoked": false])
            #expect(try await revoke(api, id, by: nil).problem == .invalidSession)
            for wrong in ["x", "AAAA", id + "A"] {
                #expect(try await revoke(api, wrong, by: own).problem == .malformedRequest, "\(wrong)")
            }
            #expect(try await revoke(api, id, by: own, key: "k1").json == ["revoked": true])
            #expect(try await revoke(api, id, by: own, key: "k1").json == ["revoked": true])
            #expect(try await revoke(api, id, by: own, key: "k2").json == ["revoked": false])
            #expect(try await devices(api, own) == [])
        }
    }

    @Test func `a refresh returns the device of its session, once for each sign-in`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let account = try await api.signUp("ada@example.com")
            let refresh: JSONValue = [
                "grant_type": "refresh_token", "refresh_token": account["refreshToken"] ?? .null,
            ]
            #expect(try await api.post("/v1/token", refresh).json["device_token"] == nil)
            for _ in 0..<3 {
                let asked = try await api.post("/v1/token", refresh.with("return_device_token", "true"))
                let token = try #require(asked.json["device_token"])
                #expect(try await ask(api, "ada@example.com", token).json["registered"] == true)
            }
            #expect(try await devices(api, account).count == 1)
        }
    }

    @Test func `a sign-up returns a device token too, an anonymous one none`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let created = try await api.post(
                "/v1/accounts:signUp",
                ["email": "ada@example.com", "password": .string(TestService.password), "returnDeviceToken": true]
            )
            let token = try #require(created.json["deviceToken"], "\(created.text)")
            #expect(try await ask(api, "ada@example.com", token).json["registered"] == true)
            let anonymous = try await api.post("/v1/accounts:signUp", ["returnDeviceToken": true])
            #expect(anonymous.status == 200 && anonymous.json["deviceToken"] == nil, "no address to ask about")
        }
    }

    @Test func `a sign-in that waits for a second factor makes no device, and its second step does`() async throws {
        try await TestAPI.with { api in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let pending = try await api.pendingCredential(owner)
            #expect(try await api.service.database.count("SELECT count(*) FROM devices") == 0)
            let finished = try await api.post(
                TestAPI.factorSignInPath + "finalize",
                [
                    "mfaPendingCredential": .string(pending),
                    "mfaEnrollmentId": .string(try #require(owner.enrollmentID)),
                    "totpVerificationInfo": ["verificationCode": .string(api.code(of: app))],
                    "returnDeviceToken": true,
                ]
            )
            #expect(finished.status == 200, "\(finished.text)")
            #expect(finished.json["deviceToken"]?.string != nil)
            #expect(try await api.service.database.count("SELECT count(*) FROM devices") == 1)
        }
    }

    @Test func `an export shows no device, and an audit finds nothing wrong with one`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ada@example.com")
            let token = try #require(try await signIn(api, "ada@example.com", userAgent: "Phone/1.0")["deviceToken"])
            let exported = try await api.send(
                .get,
                "\(TestAPI.projectPath)/accounts:batchGet",
                key: nil,
                bearer: "owner"
            )
            #expect(exported.status == 200 && !exported.text.contains("Phone/1.0"))
            #expect(!exported.text.contains(token.string ?? "?"))
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `no log line has a device token`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let token = try #require(try await signIn(api, "ada@example.com")["deviceToken"]?.string)
            _ = try await ask(api, "ada@example.com", .string(token))
            _ = try await lookUp(api, "ada@example.com", .string(token))
            #expect(!api.log.lines.isEmpty && !api.log.lines.contains { $0.contains(token) })
        }
    }
}
