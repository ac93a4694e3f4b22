import AccountAPI
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The routes by which clients read the configuration of the project.
@Suite struct ClientConfigRoutesTests {
    @Test(arguments: [
        "/v1/projects", "/identitytoolkit.googleapis.com/v1/projects",
        "/identitytoolkit/v3/relyingparty/getProjectConfig",
        "/www.googleapis.com/identitytoolkit/v3/relyingparty/getProjectConfig",
    ])
    func `a client gets the project's number and authorized domains`(path: String) async throws {
        try await TestAPI.with { api in
            let answer = try await api.send(.get, path)
            #expect(answer.status == 200)
            #expect(
                answer.json == [
                    "projectId": "424242",
                    "authorizedDomains": ["localhost", "127.0.0.1", .string(ProjectSettings.shownHandlerHost)],
                ]
            )
        }
    }

    private static let apps: JSONValue = [
        ["appId": "1:7:ios:a1", "bundleId": "com.example.app", "clientId": "7-x.apps.googleusercontent.com"],
        ["appId": "1:7:android:b2", "packageName": "com.example.app", "sha1Certs": ["AB:CD:01"]],
    ]

    @Test(
        arguments: [
            ("iosBundleId=com.example.app", nil), ("firebaseAppId=1:7:ios:a1&iosBundleId=com.example.app", nil),
            ("clientId=7-x.apps.googleusercontent.com", nil),
            ("androidPackageName=com.example.app&sha1Cert=abcd01", nil),
            ("iosBundleId=com.example.other", "INVALID_APP_ID"), ("firebaseAppId=1:7:ios:a2", "INVALID_APP_ID"),
            ("firebaseAppId=1:7:android:b2&iosBundleId=com.example.app", "INVALID_APP_ID"),
            ("androidPackageName=com.example.app&sha1Cert=abcd02", "INVALID_CERT_HASH"),
            ("iosBundleId=com.example.app&clientId=other", "INVALID_OAUTH_CLIENT_ID"), ("iosBundleId=", nil),
        ] as [(String, String?)]
    )
    func `a page serves only registered apps`(query: String, error: String?) async throws {
        let settings = ProjectSettings.developmentDefaults.setting(Self.apps, at: ["concord", "apps"])
        try await TestAPI.with(settings: settings) { api async throws in
            #expect(try await api.send(.get, "/v1/projects?" + query).errorMessage == error)
        }
        // A developer who tries things out has no registered app.
        try await TestAPI.with { api async throws in
            #expect(try await api.send(.get, "/v1/projects?" + query).status == 200)
        }
    }

    @Test func `a request for dynamic links gets DYNAMIC_LINK_NOT_ACTIVATED`() async throws {
        try await TestAPI.with { api in
            let answer = try await api.send(.get, "/v1/projects?returnDynamicLink=true")
            #expect(answer.errorMessage == "DYNAMIC_LINK_NOT_ACTIVATED")
        }
    }

    @Test func `a request without a key is refused`() async throws {
        try await TestAPI.with { api async throws in
            for path in ["/v1/projects", "/v1/recaptchaParams", "/v2/recaptchaConfig", "/v2/passwordPolicy"] {
                #expect(try await api.send(.get, path, key: nil).status == 403, "\(path)")
            }
        }
    }

    @Test func `reCAPTCHA is off by default`() async throws {
        try await TestAPI.with { api in
            let config = try await api.send(.get, "/v2/recaptchaConfig?clientType=CLIENT_TYPE_WEB")
            #expect(config.status == 200)
            #expect(config.text == "{}")
            for path in ["/v1/recaptchaParams", "/identitytoolkit/v3/relyingparty/getRecaptchaParam"] {
                let params = try await api.send(.get, path)
                #expect(params.json["kind"] == "identitytoolkit#GetRecaptchaParamResponse")
                #expect(params.json["recaptchaSiteKey"]?.string?.isEmpty == false)
                #expect(params.json["recaptchaStoken"]?.string?.isEmpty == false)
            }
        }
    }

    /// With a challenge beside them, assessments are tried first; without one there is nothing else.
    @Test(arguments: [(true, "AUDIT", "MISSING_APP_CREDENTIAL"), (false, "ENFORCE", "MISSING_RECAPTCHA_TOKEN")])
    func `apps get the site key of their platform, and its enforcement`(
        hasChallenge: Bool,
        state: String,
        bare: String
    ) async throws {
        try await TestService.with { service in
            var operations = service.operations
            let judge = DevelopmentAppVerifier()
            operations.apps = AppVerifiers(
                recaptcha: hasChallenge ? judge : nil,
                assessments: judge,
                assessmentKeys: AssessmentKeys(project: "p-1", web: "web", iOS: nil, android: "android")
            )
            let handle = ServiceHandle()
            handle.state = .ready(operations, checkDatabase: { nil })
            try await Wire.with(service: handle, development: DevelopmentRoutes()) { wire in
                let api = TestAPI(service: service, wire: wire, log: RecordedLog())
                func config(_ query: String) async throws -> Wire.Answer {
                    try await api.send(.get, "/v2/recaptchaConfig?version=RECAPTCHA_ENTERPRISE" + query)
                }
                let web = try await config("&clientType=CLIENT_TYPE_WEB")
                #expect(
                    web.json == [
                        "recaptchaKey": "projects/p-1/keys/web",
                        "recaptchaEnforcementState": [
                            ["provider": "EMAIL_PASSWORD_PROVIDER", "enforcementState": "OFF"],
                            ["provider": "PHONE_PROVIDER", "enforcementState": .string(state)],
                        ],
                    ]
                )
                #expect(try await config("").json["recaptchaKey"] == "projects/p-1/keys/android")
                for other in ["&clientType=CLIENT_TYPE_IOS", "&clientType=x"] {
                    #expect(try await config(other).text == "{}")
                }
                let path = "/v1/accounts:sendVerificationCode"
                let number: JSONValue = ["phoneNumber": "+16505553434"]
                #expect(try await api.post(path, number).errorMessage == bare)
                let assessed: JSONValue = [
                    "phoneNumber": "+16505553434", "captchaResponse": "t", "clientType": "CLIENT_TYPE_WEB",
                    "recaptchaVersion": "RECAPTCHA_ENTERPRISE",
                ]
                #expect(try await api.post(path, assessed).status == 200)
                let none: JSONValue = [
                    "phoneNumber": "+16505553434", "captchaResponse": "NO_RECAPTCHA", "clientType": "CLIENT_TYPE_IOS",
                ]
                let refused = hasChallenge ? "INVALID_APP_CREDENTIAL" : "MISSING_RECAPTCHA_TOKEN"
                #expect(try await api.post(path, none).errorMessage == refused)
            }
        }
    }

    @Test func `the password policy has the form that web clients require`() async throws {
        try await TestAPI.with { api in
            let policy = try await api.send(.get, "/v2/passwordPolicy").json
            #expect(policy["customStrengthOptions"] == ["minPasswordLength": 6, "maxPasswordLength": 4096])
            #expect(policy["enforcementState"] == "OFF")
            #expect(policy["forceUpgradeOnSignin"] == false)
            #expect(policy["schemaVersion"] == 1)
            #expect(policy["allowedNonAlphanumericCharacters"]?.array?.contains("!") == true)
        }
    }

    @Test func `an unknown tenant is not found`() async throws {
        try await TestAPI.with { api in
            for path in ["/v1/recaptchaParams", "/v2/recaptchaConfig", "/v2/passwordPolicy"] {
                let answer = try await api.send(.get, path + "?tenantId=t1")
                #expect(answer.status == 404, "\(path)")
                #expect(answer.errorMessage == "TENANT_NOT_FOUND", "\(path)")
            }
        }
    }
}
