import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The effects of a change of the configuration on what exists already: the table of `docs/guides/policy.md`.
struct PolicyChangeTests {
    private static let email = "ada@example.com"
    private static let emailOff: JSONValue = ["signIn": ["email": ["enabled": false]]]
    private static let emailOn: JSONValue = ["signIn": ["email": ["enabled": true]]]

    private func change(_ api: TestAPI, _ mask: String, _ body: JSONValue) async throws {
        let path = "/v2/projects/\(TestService.projectID)/config?updateMask=\(mask)"
        let answer = try await api.send(.patch, path, Array(body.text.utf8), key: nil, bearer: "owner")
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Registers Google or another known provider as disabled.
    private func disable(_ api: TestAPI, _ provider: String) async throws {
        let path = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=\(provider)"
        let body: JSONValue = ["enabled": false, "clientId": "client", "clientSecret": "secret"]
        let answer = try await api.send(.post, path, Array(body.text.utf8), key: nil, bearer: "owner")
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func signIn(
        _ api: TestAPI,
        with provider: String,
        as subject: String,
        _ email: String,
        idToken: JSONValue? = nil
    ) async throws -> Wire.Answer {
        let claims: JSONValue = ["sub": .string(subject), "email": .string(email), "email_verified": true]
        let token = provider == "github.com" ? "access_token" : "id_token"
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnIdpCredential": true, "returnSecureToken": true,
            "postBody": .string("providerId=\(provider)&\(token)=\(claims.text)"),
        ]
        body["idToken"] = idToken
        return try await api.post("/v1/accounts:signInWithIdp", .object(body))
    }

    private func providers(_ api: TestAPI, _ idToken: JSONValue?) async throws -> [String] {
        let answer = try await api.post("/v1/accounts:lookup", ["idToken": idToken ?? .null])
        let rows = answer.json["users"]?.array?.first?["providerUserInfo"]?.array ?? []
        return rows.compactMap { $0["providerId"]?.string }.sorted()
    }

    @Test func `sessions survive the disabling of their method, and sign-ins with it are refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await api.signUp(Self.email)
            try await change(api, "signIn.email.enabled", Self.emailOff)
            #expect(try await api.signIn(Self.email).errorMessage == "PASSWORD_LOGIN_DISABLED")
            let refreshed = try await api.refresh(session["refreshToken"]?.string)
            #expect(refreshed.status == 200, "\(refreshed.text)")
            #expect(try await providers(api, refreshed.json["id_token"]) == ["password"])
            try await change(api, "signIn.email.enabled", Self.emailOn)
            #expect(try await api.signIn(Self.email).status == 200)
        }
    }

    @Test func `a disabled provider stays linked, signs no one in, and can be unlinked`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await api.signUp(Self.email)
            let linked = try await signIn(api, with: "google.com", as: "77", Self.email, idToken: session["idToken"])
            #expect(linked.status == 200, "\(linked.text)")
            try await disable(api, "google.com")
            let refused = try await signIn(api, with: "google.com", as: "77", Self.email)
            #expect(refused.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(refused.text)")
            let idToken = linked.json["idToken"]
            #expect(try await providers(api, idToken).contains("google.com"))
            let unlinked = try await api.post(
                "/v1/accounts:update",
                ["idToken": idToken ?? .null, "deleteProvider": ["google.com"]]
            )
            #expect(unlinked.status == 200, "\(unlinked.text)")
            #expect(!(try await providers(api, idToken)).contains("google.com"))
        }
    }

    @Test func `mailed codes of a disabled method are refused, not used up, and good again afterwards`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            _ = try await api.signUp(Self.email)
            let link = try await api.code("EMAIL_SIGNIN", for: Self.email)
            let reset = try await api.code("PASSWORD_RESET", for: Self.email)
            try await change(api, "signIn.email.enabled", Self.emailOff)
            #expect(try await api.follow(link, as: Self.email).errorMessage == "OPERATION_NOT_ALLOWED")
            #expect(try await api.reset(reset, to: "battery staple").errorMessage == "PASSWORD_LOGIN_DISABLED")
            try await change(api, "signIn.email.enabled", Self.emailOn)
            #expect(try await api.follow(link, as: Self.email).status == 200)
        }
    }

    @Test func `a code that confirms an address works while every method is off`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await api.signUp(Self.email)
            let code = try await api.code("VERIFY_EMAIL", session: session["idToken"]?.string)
            try await change(api, "signIn.email.enabled", Self.emailOff)
            let verified = try await api.post("/v1/accounts:update", ["oobCode": .string(code)])
            #expect(verified.status == 200, "\(verified.text)")
        }
    }

    @Test func `codes and conflicts keep the lifetime that they began with`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            _ = try await api.signUp(Self.email)
            let link = try await api.code("EMAIL_SIGNIN", for: Self.email)
            let opened = try await signIn(api, with: "github.com", as: "1", Self.email)
            let handle = try #require(opened.json["pendingToken"]?.string, "\(opened.text)")
            try await change(
                api,
                "concord.codeLifetimes.EMAIL_SIGNIN,concord.conflictLifetimeSeconds",
                ["concord": ["codeLifetimes": ["EMAIL_SIGNIN": 60], "conflictLifetimeSeconds": 60]]
            )
            api.service.clock.advance(seconds: 1800)
            let conflict = try await api.send(.get, "/concord/v1/conflict", key: nil, bearer: handle)
            #expect(conflict.status == 200 && conflict.json["state"] == "open", "\(conflict.text)")
            #expect(try await api.follow(link, as: Self.email).status == 200)
        }
    }

    @Test
    func `a change makes the proofs of conflicts stale unless it changes only the look, and they can be given again`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            _ = try await api.signUp(Self.email)
            let opened = try await signIn(api, with: "github.com", as: "1", Self.email)
            let handle = try #require(opened.json["pendingToken"]?.string, "\(opened.text)")
            func post(_ path: String, _ body: JSONValue) async throws -> Wire.Answer {
                try await api.send(
                    .post,
                    "/concord/v1/conflict" + path,
                    Array(body.text.utf8),
                    key: nil,
                    bearer: handle
                )
            }
            func prove() async throws -> Wire.Answer {
                api.service.clock.advance(seconds: 1)
                #expect(try await post("/proof", ["kind": "mailbox"]).status == 202)
                let path = "/emulator/v1/projects/\(TestService.projectID)/conflictProofs"
                let mail = try await api.send(.get, path, key: nil).json["conflictProofs"]?.array?.last
                return try await post("/proof:complete", ["code": mail?["code"] ?? .null])
            }
            func resolve(_ proven: Wire.Answer) async throws -> Wire.Answer {
                try await post(":resolve", ["proofToken": proven.json["proofToken"] ?? .null])
            }
            let first = try await prove()
            try await change(api, "concord.quarantineSeconds", ["concord": ["quarantineSeconds": 60]])
            #expect(try await resolve(first).json["type"] == "urn:concord:problem:proof-stale")

            try await disable(api, "github.com")
            let second = try await prove()
            #expect(try await resolve(second).json["type"] == "urn:concord:problem:provider-disabled")

            let path = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs/github.com"
            #expect(try await api.send(.delete, path, key: nil, bearer: "owner").status == 200)
            let third = try await prove()
            try await change(api, "concord.displayName", ["concord": ["displayName": "Shop"]])
            try await change(api, "concord.branding", ["concord": ["branding": ["accentColor": "#0a664c"]]])
            let resolved = try await resolve(third)
            #expect(resolved.status == 200, "\(resolved.text)")
        }
    }

    @Test func `a change of the look keeps the version of the rules, also for a server that starts later`() async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            func rulesVersion() async throws -> Int64 {
                let store = AccountStore(client: api.service.client)
                let started = try #require(try await ProjectCache.load(store: store, trust: .preset))
                #expect(started.settings.policy.version == api.service.operations.project.settings.policy.version)
                return started.settings.policy.version
            }
            #expect(try await rulesVersion() == 1)
            try await change(api, "concord.displayName", ["concord": ["displayName": "Shop"]])
            #expect(try await rulesVersion() == 1)
            let both: JSONValue = ["concord": ["displayName": "Cafe", "quarantineSeconds": 60]]
            try await change(api, "concord.displayName,concord.quarantineSeconds", both)
            #expect(try await rulesVersion() == 3)
            try await change(api, "concord.branding", ["concord": ["branding": ["accentColor": "#0a664c"]]])
            #expect(try await rulesVersion() == 3)
        }
    }

    @Test func `an address stays verified after its provider has lost its trust`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await signIn(api, with: "google.com", as: "55", "gil@gmail.com")
            #expect(session.json["emailVerified"] == true, "\(session.text)")
            let rules: JSONValue = [
                ["provider": "google.com", "trust": "asserting"],
                ["provider": "google.com", "domain": "gmail.com", "trust": "asserting"],
            ]
            try await change(api, "concord.emailTrust", ["concord": ["emailTrust": rules]])
            let found = try await api.post("/v1/accounts:lookup", ["idToken": session.json["idToken"] ?? .null])
            #expect(found.json["users"]?.array?.first?["emailVerified"] == true, "\(found.text)")
        }
    }

    @Test func `factors are asked for while second factors are on, also those that cannot be enrolled`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let owner = try await api.enrollApp(try await api.factorOwner())
            let mfa = ProjectSettings.developmentDefaults["mfa"] ?? .null
            try await change(api, "mfa.providerConfigs", ["mfa": [:]])
            let pending = try await api.pendingCredential(owner)

            try await change(api, "mfa.state", ["mfa": ["state": "DISABLED"]])
            let meanwhile = try await api.firstStep(owner)
            #expect(meanwhile.json["idToken"] != nil, "\(meanwhile.text)")
            let app = try #require(owner.app)
            let finished = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(finished.status == 200, "\(finished.text)")

            try await change(api, "mfa", ["mfa": mfa])
            #expect(try await api.firstStep(owner).json["mfaPendingCredential"] != nil)
            #expect(try await api.refresh(meanwhile.json["refreshToken"]?.string).status == 200)
        }
    }

    @Test func `a limit of sessions applies to those that exist`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await api.signUp(Self.email)
            api.service.clock.advance(seconds: 3600)
            #expect(try await api.refresh(session["refreshToken"]?.string).status == 200)
            try await change(
                api,
                "concord.sessions.absoluteSeconds",
                ["concord": ["sessions": ["absoluteSeconds": 3600]]]
            )
            #expect(try await api.refresh(session["refreshToken"]?.string).errorMessage == "TOKEN_EXPIRED")
        }
    }

    @Test func `anonymous users keep their session and can become permanent when anonymous sign-in is off`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let session = try await api.signUpAnonymously()
            try await change(api, "signIn.anonymous.enabled", ["signIn": ["anonymous": ["enabled": false]]])
            #expect(try await api.post("/v1/accounts:signUp", [:]).errorMessage == "ADMIN_ONLY_OPERATION")
            #expect(try await api.refresh(session["refreshToken"]?.string).status == 200)
            let upgraded = try await api.post(
                "/v1/accounts:update",
                [
                    "idToken": session["idToken"] ?? .null, "email": .string(Self.email),
                    "password": .string(TestService.password),
                ]
            )
            #expect(upgraded.status == 200, "\(upgraded.text)")
        }
    }

    @Test func `codes in texts are refused while numbers are off, and good again afterwards`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let sent = try await api.phoneCode("+16505550100")
            let mask = "signIn.phoneNumber.enabled"
            try await change(api, mask, ["signIn": ["phoneNumber": ["enabled": false]]])
            let refused = try await api.signInByPhone(sent.sessionInfo, sent.code)
            #expect(refused.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(refused.text)")
            try await change(api, mask, ["signIn": ["phoneNumber": ["enabled": true]]])
            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).status == 200)
        }
    }

    @Test func `suspended methods keep their time of expiry`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            _ = try await api.signUp("ada@gmail.com")
            let owner = try await signIn(api, with: "google.com", as: "77", "ada@gmail.com")
            let idToken = try #require(owner.json["idToken"]?.string, "\(owner.text)")
            func suspended() async throws -> [JSONValue] {
                let answer = try await api.send(.get, "/concord/v1/account/quarantine", key: nil, bearer: idToken)
                return answer.json["methods"]?.array ?? []
            }
            let before = try await suspended()
            #expect(before.map { $0["method"] } == ["password"])
            try await change(api, "concord.quarantineSeconds", ["concord": ["quarantineSeconds": 60]])
            #expect(try await suspended() == before)
        }
    }
}
