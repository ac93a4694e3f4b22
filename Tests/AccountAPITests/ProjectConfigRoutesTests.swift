import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// Reading and changing the project's configuration.
@Suite struct ProjectConfigRoutesTests {
    private static let path = "/v2/projects/\(TestService.projectID)/config"

    @Test func `reading shows every default and the project's values`() async throws {
        try await TestAPI.with(settings: ProjectSettings.productionDefaults, callers: DevelopmentCallers()) { api in
            let config = try await api.config().json
            #expect(config["name"] == "projects/demo-test/config")
            #expect(config["subtype"] == "IDENTITY_PLATFORM")
            #expect(config["signIn"]?["email"] == ["enabled": false, "passwordRequired": true])
            #expect(config["signIn"]?["allowDuplicateEmails"] == false)
            #expect(config["emailPrivacyConfig"] == ["enableImprovedEmailPrivacy": true])
            #expect(config["authorizedDomains"] == [], "the project's id belongs to somebody else at Google")
            #expect(config["client"]?["apiKey"]?.string == TestService.apiKey)
            #expect(config["client"]?["firebaseSubdomain"] == "demo-test")
            #expect(config["mfa"] == ["state": "DISABLED"])
            #expect(config["concord"]?["recentSignInSeconds"] == 300)
            #expect(config["concord"]?["codeLifetimes"]?["PASSWORD_RESET"] == 3600)
        }
    }

    @Test(arguments: ["", "/identitytoolkit.googleapis.com", "/admin", "/identitytoolkit.googleapis.com/admin"])
    func `the configuration is at every documented path`(prefix: String) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.send(.get, prefix + Self.path, key: nil, bearer: "owner")
            #expect(answer.status == 200)
            #expect(answer.json["name"] == "projects/demo-test/config")
        }
    }

    @Test func `only administrators have access`() async throws {
        try await TestAPI.with { api in
            for method in [HTTPRequest.Method.get, .patch] {
                #expect(try await api.send(method, Self.path, key: nil).status == 401)
                #expect(try await api.send(method, Self.path, key: nil, bearer: "owner").status == 401)
                let asClient = try await api.send(method, Self.path)
                #expect(asClient.errorMessage?.hasPrefix("INSUFFICIENT_PERMISSION") == true)
            }
        }
    }

    @Test func `another project is not found`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.send(.get, "/v2/projects/other/config", key: nil, bearer: "owner")
            #expect(answer.status == 404)
            #expect(answer.errorMessage == "PROJECT_NOT_FOUND")
        }
    }

    @Test func `a mask changes only the fields that it names`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(
                [
                    "signIn": ["allowDuplicateEmails": true, "email": ["enabled": false]],
                    "authorizedDomains": ["X.example"],
                ],
                mask: "signIn.allowDuplicateEmails,authorizedDomains"
            )
            #expect(answer.status == 200)
            #expect(answer.json["signIn"]?["allowDuplicateEmails"] == true)
            #expect(answer.json["signIn"]?["email"]?["enabled"] == true)
            #expect(answer.json["authorizedDomains"] == ["x.example"])
            #expect(try await api.config().json == answer.json)
        }
    }

    @Test func `a change applies from the next request`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let mask = "client.permissions.disabledUserSignup"
            let off: JSONValue = ["client": ["permissions": ["disabledUserSignup": true]]]
            #expect(try await api.change(off, mask: mask).status == 200)
            let stranger: JSONValue = ["email": "a@example.com", "password": .string(TestService.password)]
            #expect(try await api.post("/v1/accounts:signUp", stranger).errorMessage == "ADMIN_ONLY_OPERATION")
            #expect(try await api.change([:], mask: mask).status == 200)
            #expect(try await api.signUp("a@example.com")["idToken"] != nil)
        }
    }

    @Test func `a mask may be in snake case, and a masked field without a value returns to its default`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let sent: JSONValue = ["concord": ["recent_sign_in_seconds": "60"]]
            #expect(try await api.change(sent, mask: "concord.recent_sign_in_seconds").status == 200)
            #expect(api.service.operations.project.settings.policy.recentSignInSeconds == 60)
            #expect(try await api.change([:], mask: "concord.recentSignInSeconds").status == 200)
            #expect(api.service.operations.project.settings.policy.recentSignInSeconds == 300)
        }
    }

    @Test(arguments: [nil, ""] as [String?])
    func `without a mask everything is replaced`(mask: String?) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(["signIn": ["email": ["enabled": true]]], mask: mask)
            #expect(answer.json["signIn"]?["email"] == ["enabled": true, "passwordRequired": true])
            #expect(answer.json["signIn"]?["anonymous"]?["enabled"] == false)
            #expect(answer.json["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"] == true)
        }
    }

    @Test func `a read configuration can be sent back`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let config = try await api.config().json
            let answer = try await api.change(config, mask: nil)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json == config)
        }
    }

    @Test func `a mask with an unknown field is refused with its name`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change([:], mask: "signIn.email,signIn.magic,concord.luck")
            #expect(answer.status == 400)
            #expect(answer.json["error"]?["status"] == "INVALID_ARGUMENT")
            let expected =
                "INVALID_ARGUMENT : updateMask: there is no field signIn.magic; updateMask: there is no field concord.luck"
            #expect(answer.errorMessage == expected)
            #expect(try await api.config().json["signIn"]?["email"]?["enabled"] == true)
        }
    }

    @Test func `all mistakes of a body are reported together, and nothing is stored`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(
                [
                    "signIn": ["email": ["enabled": "perhaps"], "anonymous": "yes", "allowDuplicateEmails": true],
                    "authorizedDomains": ["ok.example", "https://example.com/x"],
                    "mfa": ["state": "SOMETIMES"],
                    "concord": ["recentSignInSeconds": -1],
                ],
                mask: nil
            )
            #expect(answer.status == 400)
            let message = try #require(answer.errorMessage)
            for part in [
                "signIn.email.enabled must be true or false", "signIn.anonymous must be an object",
                "authorizedDomains[1] must be a host name", "mfa.state must be one of",
                "concord.recentSignInSeconds must be a whole number from 0",
            ] {
                #expect(message.contains(part), "\(message)")
            }
            #expect(try await api.config().json["signIn"]?["allowDuplicateEmails"] == false)
        }
    }

    @Test(
        arguments: [
            ("blockingFunctions.triggers", ["blockingFunctions": ["triggers": ["beforeCreate": ["functionUri": "x"]]]]),
            ("recaptchaConfig", ["recaptchaConfig": ["emailPasswordEnforcementState": "ENFORCE"]]),
            ("notification.sendEmail", ["notification": ["sendEmail": ["smtp": ["host": "mail.example"]]]]),
        ] as [(String, JSONValue)]
    )
    func `settings that Concord does not support are refused as not implemented`(
        mask: String,
        body: JSONValue
    ) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(body, mask: mask)
            #expect(answer.status == 501)
            #expect(answer.json["error"]?["status"] == "UNIMPLEMENTED")
        }
    }

    @Test func `enumerations may be sent as numbers`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(["mfa": ["state": 2]], mask: "mfa.state")
            #expect(answer.json["mfa"]?["state"] == "ENABLED")
        }
    }

    @Test func `one region rule replaces the other, and an empty allow list allows nothing`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let by: JSONValue = ["smsRegionConfig": ["allowByDefault": ["disallowedRegions": ["AC"]]]]
            let only: JSONValue = ["smsRegionConfig": ["allowlistOnly": [:]]]
            let both: JSONValue = ["smsRegionConfig": ["allowByDefault": [:], "allowlistOnly": [:]]]
            #expect(try await api.change(by, mask: "smsRegionConfig").json["smsRegionConfig"] == by["smsRegionConfig"])
            let answer = try await api.change(only, mask: "smsRegionConfig.allowlistOnly")
            #expect(answer.json["smsRegionConfig"] == ["allowlistOnly": ["allowedRegions": []]])
            #expect(try await api.change(both, mask: "smsRegionConfig").status == 400)
            let lowercase: JSONValue = ["smsRegionConfig": ["allowlistOnly": ["allowedRegions": ["de"]]]]
            #expect(try await api.change(lowercase, mask: "smsRegionConfig").status == 400)
        }
    }

    // MARK: Fictional phone numbers

    private static let numbersMask = "signIn.phoneNumber.testPhoneNumbers"

    private static func body(_ numbers: JSONValue) -> JSONValue {
        ["signIn": ["phoneNumber": ["testPhoneNumbers": numbers]]]
    }

    @Test func `fictional numbers are stored in their canonical form`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let numbers: JSONValue = ["+16505553434": "654321", "+44 20 7946 0958": "123456"]
            let answer = try await api.change(Self.body(numbers), mask: Self.numbersMask)
            #expect(
                answer.json["signIn"]?["phoneNumber"]?["testPhoneNumbers"]
                    == ["+16505553434": "654321", "+442079460958": "123456"]
            )
        }
    }

    @Test func `an eleventh fictional number is refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            func numbers(_ count: Int) -> JSONValue {
                .object(Dictionary(uniqueKeysWithValues: (0..<count).map { ("+1650555340\($0)", "123456") }))
            }
            #expect(try await api.change(Self.body(numbers(10)), mask: Self.numbersMask).status == 200)
            let answer = try await api.change(Self.body(numbers(11)), mask: Self.numbersMask)
            #expect(answer.status == 400)
            #expect(answer.errorMessage?.hasPrefix("INVALID_ARGUMENT : ") == true)
            #expect(answer.errorMessage?.contains("at most 10 numbers, and 11 were sent") == true)
        }
    }

    @Test(
        arguments: [
            ("5551234", "123456", "5551234 is not a phone number in E.164 form"),
            ("+0123456789", "123456", "+0123456789 is not a phone number in E.164 form"),
            ("+16505553434", "12345", "the code of +16505553434 must be six digits"),
            ("+16505553434", "12345６", "the code of +16505553434 must be six digits"),
            ("+16505553434", 123_456, "the code of +16505553434 must be six digits"),
        ] as [(String, JSONValue, String)]
    )
    func `a malformed fictional number is reported with the rule it breaks`(
        number: String,
        code: JSONValue,
        rule: String
    ) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.change(Self.body(.object([number: code])), mask: Self.numbersMask)
            #expect(answer.status == 400)
            let code = "INVALID_TESTING_PHONE_NUMBER : signIn.phoneNumber.testPhoneNumbers: "
            #expect(answer.errorMessage == code + rule, "\(answer.text)")
            #expect(try await api.config().json["signIn"]?["phoneNumber"]?["testPhoneNumbers"] == nil)
        }
    }

    @Test func `a mistake beside a fictional number is reported as usual`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let body: JSONValue = [
                "signIn": ["phoneNumber": ["enabled": "yes", "testPhoneNumbers": ["5551234": "123456"]]]
            ]
            let answer = try await api.change(body, mask: "signIn.phoneNumber")
            #expect(answer.errorMessage?.hasPrefix("INVALID_ARGUMENT : ") == true, "\(answer.text)")
            #expect(answer.errorMessage?.contains("5551234 is not a phone number in E.164 form") == true)
        }
    }

    @Test func `a number that an account owns cannot become fictional`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let user = try #require(try await api.signUp("a@example.com")["localId"]?.string)
            try await api.service.database.execute(
                """
                INSERT INTO identifiers (tenant_id, kind, value, user_id) VALUES ('', 'phone', '+16505553434', '\(user)')
                """
            )
            let numbers: JSONValue = ["+16505553434": "654321", "+16505553435": "654321"]
            let answer = try await api.change(Self.body(numbers), mask: Self.numbersMask)
            #expect(answer.status == 400)
            #expect(
                answer.errorMessage
                    == "INVALID_TESTING_PHONE_NUMBER : "
                    + "signIn.phoneNumber.testPhoneNumbers: an account owns +16505553434"
            )
            #expect(try await api.config().json["signIn"]?["phoneNumber"]?["testPhoneNumbers"] == nil)
        }
    }

    @Test func `a number that is a second factor cannot become fictional`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let owner = try await api.enrollNumber(api.factorOwner(), "+16505553434")
            let numbers: JSONValue = ["+16505553434": "654321", "+16505553435": "654321"]
            let answer = try await api.change(Self.body(numbers), mask: Self.numbersMask)
            #expect(answer.status == 400)
            #expect(
                answer.errorMessage
                    == "INVALID_TESTING_PHONE_NUMBER : "
                    + "signIn.phoneNumber.testPhoneNumbers: an account owns +16505553434"
            )
            #expect(try await api.config().json["signIn"]?["phoneNumber"]?["testPhoneNumbers"] == nil)
            let enrolled = try #require(try await api.service.user(owner.id)?.secondFactors.first)
            #expect(try await api.withdraw(enrolled.id.rawValue, owner.idToken).status == 200)
            #expect(try await api.change(Self.body(numbers), mask: Self.numbersMask).status == 200)
        }
    }

    @Test func `a number stays fictional while an account uses it`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let numbers: JSONValue = ["+16505553434": "654321"]
            #expect(try await api.change(Self.body(numbers), mask: Self.numbersMask).status == 200)
            let user = try #require(try await api.signUp("a@example.com")["localId"]?.string)
            try await api.service.database.execute(
                """
                INSERT INTO identifiers (tenant_id, kind, value, user_id) VALUES ('', 'phone', '+16505553434', '\(user)')
                """
            )
            #expect(try await api.change(Self.body(["+16505553434": "111111"]), mask: Self.numbersMask).status == 200)
        }
    }

    // MARK: Password policy

    @Test func `an enforced password policy refuses weaker passwords and reports the missing requirements`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            #expect(try await api.signUp("old@example.com", password: "simple")["idToken"] != nil)
            let policy: JSONValue = [
                "passwordPolicyConfig": [
                    "passwordPolicyEnforcementState": "ENFORCE", "forceUpgradeOnSignin": true,
                    "passwordPolicyVersions": [
                        ["customStrengthOptions": ["minPasswordLength": 8, "containsNumericCharacter": true]]
                    ],
                ]
            ]
            #expect(try await api.change(policy, mask: "passwordPolicyConfig").status == 200)
            let weak: JSONValue = ["email": "a@example.com", "password": "simple"]
            #expect(
                try await api.post("/v1/accounts:signUp", weak).errorMessage
                    == """
                    PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Missing password requirements: [Password must contain at least \
                    8 characters, Password must contain a numeric character]
                    """
            )
            for other in ["abc", String(repeating: "x", count: 5000)] {
                let answer = try await api.post(
                    "/v1/accounts:signUp",
                    ["email": "a@example.com", "password": .string(other)]
                )
                #expect(answer.errorMessage?.hasPrefix("PASSWORD_DOES_NOT_MEET_REQUIREMENTS") == true)
            }
            #expect(try await api.signUp("a@example.com", password: "simple 1")["idToken"] != nil)
            let old: JSONValue = ["email": "old@example.com", "password": "simple"]
            let signIn = try await api.post("/v1/accounts:signInWithPassword", old)
            #expect(signIn.errorMessage?.hasPrefix("PASSWORD_DOES_NOT_MEET_REQUIREMENTS") == true)
            let wrong: JSONValue = ["email": "old@example.com", "password": "wrong!"]
            #expect(try await api.post("/v1/accounts:signInWithPassword", wrong).errorMessage == "INVALID_PASSWORD")
        }
    }

    @Test func `every new password must be long and uncommon, but old passwords still sign in`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let old = try await api.signUp("old@example.com", password: "password")
            #expect(try await api.send(.get, "/v2/passwordPolicy").json["concordRefusesCommon"] == nil)
            let strict: JSONValue = ["concord": ["passwords": ["lengthMin": 8, "refusesCommon": true]]]
            #expect(try await api.change(strict, mask: "concord.passwords").status == 200)
            let shown = try await api.send(.get, "/v2/passwordPolicy").json
            #expect(shown["customStrengthOptions"]?["minPasswordLength"] == 8)
            #expect(shown["concordRefusesCommon"] == true && shown["enforcementState"] == "OFF")
            let lax: JSONValue = [
                "passwordPolicyConfig": [
                    "passwordPolicyVersions": [["customStrengthOptions": ["minPasswordLength": 6]]]
                ]
            ]
            #expect(try await api.change(lax, mask: "passwordPolicyConfig").status == 200)
            let unenforced = try await api.send(.get, "/v2/passwordPolicy").json
            #expect(unenforced["customStrengthOptions"]?["minPasswordLength"] == 8, "what is asked for")

            let code = try await api.code("PASSWORD_RESET", for: "old@example.com")
            let accounts = "/v1/projects/\(TestService.projectID)/accounts"
            let short = "WEAK_PASSWORD : Password should be at least 8 characters"
            let common =
                "WEAK_PASSWORD : Password is too easy to guess. Choose a password that is neither common nor "
                + "your email address."
            for (password, message) in [("zx9q1w7", short), ("Password1", common), ("old@example.com", common)] {
                func refuses(_ path: String, _ body: [String: JSONValue], bearer: String? = nil) async throws {
                    let answer = try await api.post(path, .object(body), bearer: bearer)
                    #expect(answer.status == 400 && answer.errorMessage == message, "\(path): \(answer.text)")
                }
                let new = JSONValue.string(password)
                if password != "old@example.com" {
                    try await refuses("/v1/accounts:signUp", ["email": "new@example.com", "password": new])
                    try await refuses(accounts, ["email": "new@example.com", "password": new], bearer: "owner")
                }
                try await refuses("/v1/accounts:update", ["idToken": old["idToken"] ?? .null, "password": new])
                let id = old["localId"] ?? .null
                try await refuses(accounts + ":update", ["localId": id, "password": new], bearer: "owner")
                try await refuses("/v1/accounts:resetPassword", ["oobCode": .string(code), "newPassword": new])
                try await refuses(
                    "/v1/accounts:resetPassword",
                    ["email": "old@example.com", "oldPassword": "password", "newPassword": new]
                )
            }
            #expect(try await api.signIn("old@example.com", password: "password").status == 200)
            #expect(try await api.reset(code, to: "correct horse").status == 200)
            #expect(try await api.signIn("old@example.com", password: "correct horse").status == 200)
        }
    }

    @Test func `a policy that contradicts itself is refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            for options: JSONValue in [
                ["minPasswordLength": 5], ["minPasswordLength": 31], ["maxPasswordLength": 5000],
            ] {
                let body: JSONValue = [
                    "passwordPolicyConfig": ["passwordPolicyVersions": [["customStrengthOptions": options]]]
                ]
                #expect(try await api.change(body, mask: "passwordPolicyConfig").status == 400)
            }
        }
    }

    // MARK: Races

    @Test func `concurrent changes of different fields on two servers all survive`() async throws {
        try await TestAPI.with { api in
            let other = try await TestService.make(
                database: api.service.database,
                client: api.service.client,
                settings: ProjectSettings.developmentDefaults
            )
            let services = [api.service, other]
            let domains = (0..<4).map { "d\($0).example" }
            // Sixteen fields, each changed by four callers, of whom the last one wins; no change may undo another field's.
            let fields: [(mask: String, body: @Sendable (Int) -> JSONValue)] =
                [
                    ("authorizedDomains", { ["authorizedDomains": [.string(domains[$0])]] }),
                    ("signIn.allowDuplicateEmails", { _ in ["signIn": ["allowDuplicateEmails": true]] }),
                    ("signIn.anonymous.enabled", { _ in ["signIn": ["anonymous": ["enabled": false]]] }),
                    ("mfa.state", { _ in ["mfa": ["state": "ENABLED"]] }),
                    ("autodeleteAnonymousUsers", { _ in ["autodeleteAnonymousUsers": true] }),
                    ("multiTenant.allowTenants", { _ in ["multiTenant": ["allowTenants": true]] }),
                    ("concord.keepsLastSignInMethod", { _ in ["concord": ["keepsLastSignInMethod": true]] }),
                    ("concord.recentSignInSeconds", { _ in ["concord": ["recentSignInSeconds": 77]] }),
                    ("concord.conflictLifetimeSeconds", { _ in ["concord": ["conflictLifetimeSeconds": 88]] }),
                    ("concord.linkDomains", { _ in ["concord": ["linkDomains": ["l.example"]]] }),
                    ("notification.defaultLocale", { _ in ["notification": ["defaultLocale": "de"]] }),
                    ("monitoring", { _ in ["monitoring": ["requestLogging": ["enabled": true]]] }),
                    ("signIn.phoneNumber.enabled", { _ in ["signIn": ["phoneNumber": ["enabled": false]]] }),
                    ("signIn.email.passwordRequired", { _ in ["signIn": ["email": ["passwordRequired": true]]] }),
                    ("emailPrivacyConfig", { _ in ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": true]] }),
                    ("mobileLinksConfig", { _ in ["mobileLinksConfig": ["domain": "HOSTING_DOMAIN"]] }),
                ]
            try await withThrowingTaskGroup { group in
                for caller in 0..<64 {
                    let (mask, body) = fields[caller % fields.count]
                    let change = try ProjectConfigChange(body: body(caller / fields.count), mask: mask)
                    let operations = services[caller % 3 == 0 ? 0 : 1].operations
                    group.addTask {
                        guard case .success = try await operations.updateProjectConfig(change, by: .owner) else {
                            Issue.record("\(mask) was denied")
                            return
                        }
                    }
                }
                try await group.waitForAll()
            }
            let stored = try await api.service.operations.projectConfig()
            for (mask, body) in fields where mask != "authorizedDomains" {
                let path = try #require(ProjectConfigField.all.first { $0.name.hasPrefix(mask) }).path
                #expect(stored[path] == body(0)[path], "\(mask)")
            }
            let domain = try #require(stored["authorizedDomains"]?.array?.first?.string)
            #expect(domains.contains(domain))
            // The stored rows, not the program's view of them.
            let rows = try await api.service.database.count(
                """
                SELECT count(*) FROM project_config WHERE settings @> '{"mfa": {"state": "ENABLED"},
                    "concord": {"recentSignInSeconds": 77, "conflictLifetimeSeconds": 88, "keepsLastSignInMethod": true},
                    "signIn": {"allowDuplicateEmails": true, "anonymous": {"enabled": false},
                        "email": {"enabled": true, "passwordRequired": true}}}'
                """
            )
            #expect(rows == 1)
            // Each change that changed something raised the version by one; those that changed nothing did not.
            let version = try await api.service.database.count("SELECT version FROM project_config")
            #expect((16...64).contains(version))
            for service in services { try await service.operations.project.refresh() }
            #expect(services.allSatisfy { $0.operations.project.settings.policy.recentSignInSeconds == 77 })
            await other.operations.passwords.shutDown()
        }
    }

    @Test func `another server uses a change when it reads the project again`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let other = try await TestService.make(
                database: api.service.database,
                client: api.service.client,
                settings: ProjectSettings.developmentDefaults
            )
            let body: JSONValue = ["concord": ["recentSignInSeconds": 7]]
            #expect(try await api.change(body, mask: "concord.recentSignInSeconds").status == 200)
            #expect(other.operations.project.settings.policy.recentSignInSeconds == 300)
            try await other.operations.project.refresh()
            #expect(other.operations.project.settings.policy.recentSignInSeconds == 7)
            await other.operations.passwords.shutDown()
        }
    }

    @Test func `a stored change is a success, even if it cannot be read back at once`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let database = api.service.database
            // A refresh also reads the keys.
            try await database.execute("ALTER TABLE api_keys RENAME TO api_keys_away")
            let answer = try await api.change(
                ["signIn": ["allowDuplicateEmails": true]],
                mask: "signIn.allowDuplicateEmails"
            )
            #expect(answer.status == 200, "\(answer.text)")
            let configs = "/v2/projects/\(TestService.projectID)/oauthIdpConfigs"
            let config: JSONValue = ["enabled": true, "clientId": "client-1", "issuer": "https://issuer.example"]
            func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue) async throws -> Int {
                try await api.send(method, path, Array(body.text.utf8), key: nil, bearer: "owner").status
            }
            #expect(try await send(.post, configs + "?oauthIdpConfigId=oidc.demo", config) == 200)
            #expect(try await send(.patch, configs + "/oidc.demo?updateMask=enabled", ["enabled": false]) == 200)
            #expect(try await send(.delete, configs + "/oidc.demo", [:]) == 200)
            try await database.execute("ALTER TABLE api_keys_away RENAME TO api_keys")
            try await api.service.operations.project.refresh()
            #expect(!api.service.operations.project.settings.policy.isOneAccountPerEmail)
        }
    }
}

extension TestAPI {
    fileprivate func config() async throws -> Answer {
        try await send(.get, "/v2/projects/\(TestService.projectID)/config", key: nil, bearer: "owner")
    }

    fileprivate func change(_ body: JSONValue, mask: String?) async throws -> Answer {
        let path = "/v2/projects/\(TestService.projectID)/config" + (mask.map { "?updateMask=\($0)" } ?? "")
        return try await send(.patch, path, Array(body.text.utf8), key: nil, bearer: "owner")
    }
}
