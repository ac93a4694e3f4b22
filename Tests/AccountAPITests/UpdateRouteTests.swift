import AccountTestSupport
import JSON
import Postgres
import Testing

struct UpdateRouteTests {
    private func token(_ answer: JSONValue) -> JSONValue { answer["idToken"] ?? .null }

    @Test func `a change of name and picture returns no tokens and keeps the session`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "displayName": "Ann", "photoUrl": "https://example.com/a.png"]
            )
            #expect(answer.status == 200)
            #expect(answer.json["kind"]?.string == "identitytoolkit#SetAccountInfoResponse")
            #expect(answer.json["displayName"]?.string == "Ann")
            #expect(answer.json["photoUrl"]?.string == "https://example.com/a.png")
            #expect(answer.json["idToken"] == nil)
            #expect(answer.json.providers == ["password"])
            #expect(answer.json["passwordHash"]?.string == "UkVEQUNURUQ=")
            let after = try await api.post("/v1/accounts:lookup", ["idToken": token(user)])
            #expect(after.json["users"]?.array?.first?["displayName"]?.string == "Ann")
        }
    }

    @Test(arguments: [JSONValue.null, ""])
    func `an explicit null and an empty text clear the name`(cleared: JSONValue) async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            _ = try await api.post("/v1/accounts:update", ["idToken": token(user), "displayName": "Ann"])
            let answer = try await api.post("/v1/accounts:update", ["idToken": token(user), "displayName": cleared])
            #expect(answer.status == 200)
            #expect(answer.json["displayName"] == nil)
        }
    }

    @Test(arguments: [
        "javascript:alert(document.domain)", "JavaScript:alert(1)//https://", " javascript:alert(1)",
        "data:text/html,x",
        "//example.com/a.png", "a.png",
    ])
    func `a picture URL that runs script is refused from every caller`(
        address: String
    )
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let localID = user["localId"] ?? .null
            let picture: JSONValue = ["photoUrl": .string(address)]
            let answers = try await [
                api.post("/v1/accounts:update", picture.with("idToken", token(user))),
                api.admin("accounts:update", picture.with("localId", localID)),
                api.admin("accounts", picture.with("email", "bob@example.com")),
                api.admin(
                    "accounts:update",
                    [
                        "localId": localID,
                        "linkProviderUserInfo": picture.with("providerId", "google.com").with("rawId", "g1"),
                    ]
                ),
            ]
            for answer in answers {
                #expect(answer.status == 400, "\(answer.text)")
                #expect(answer.errorMessage?.contains("photoUrl") == true, "\(answer.text)")
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM users WHERE photo_url IS NOT NULL") == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 1)
        }
    }

    @Test func `attributes can be deleted by name and by number`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            _ = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "displayName": "Ann", "photoUrl": "https://example.com/a.png"]
            )
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "deleteAttribute": ["DISPLAY_NAME", 4]]
            )
            #expect(answer.json["displayName"] == nil)
            #expect(answer.json["photoUrl"] == nil)
            let unknown = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "deleteAttribute": ["SHOE_SIZE"]]
            )
            #expect(unknown.status == 400)
        }
    }

    @Test func `a new password ends every other session and returns a new one`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "password": "another horse"]
            )
            #expect(answer.status == 200)
            #expect(answer.json["expiresIn"]?.string == "3600")
            let old = try await api.post("/v1/accounts:lookup", ["idToken": token(user)])
            #expect(old.errorMessage == "TOKEN_EXPIRED")
            let refresh = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": user["refreshToken"] ?? .null]
            )
            #expect(refresh.errorMessage == "TOKEN_EXPIRED")
            let new = try await api.post("/v1/accounts:lookup", ["idToken": token(answer.json)])
            #expect(new.status == 200)
            let signIn = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ann@example.com", "password": "another horse"]
            )
            #expect(signIn.status == 200)
        }
    }

    @Test func `a new address is unverified and reserves the old one while the recovery code lives`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "email": "Ann@Example.org"]
            )
            #expect(answer.json["email"]?.string == "ann@example.org")
            #expect(answer.json["emailVerified"]?.bool == false)
            let claims = try payload(of: answer.json["idToken"]?.string)
            #expect(claims["firebase"]?["sign_in_provider"]?.string == "password")
            let id = user["localId"]?.string ?? ""
            #expect(try await api.user(id)?["initialEmail"]?.string == "ann@example.com")
            let taken = try await api.post(
                "/v1/accounts:signUp",
                ["email": "ann@example.com", "password": .string(TestService.password)]
            )
            #expect(taken.errorMessage == "EMAIL_EXISTS", "\(taken.text)")
            api.service.clock.advance(seconds: 30 * 86_400)
            #expect(try await api.signUp("ann@example.com")["localId"]?.string != nil)
        }
    }

    @Test func `a taken or malformed address is refused`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            _ = try await api.signUp("bob@example.com")
            for (email, error) in [("bob@example.com", "EMAIL_EXISTS"), ("nonsense", "INVALID_EMAIL")] {
                let answer = try await api.post(
                    "/v1/accounts:update",
                    ["idToken": token(user), "email": .string(email)]
                )
                #expect(answer.errorMessage == error)
            }
        }
    }

    @Test func `if addresses are protected, a direct change is refused`() async throws {
        try await TestAPI.with(settings: settings(protectsEmails: true)) { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "email": "ann@example.org"]
            )
            #expect(
                answer.errorMessage == "OPERATION_NOT_ALLOWED : Please verify the new email before changing email."
            )
        }
    }

    @Test func `an anonymous account can add an address and a password`() async throws {
        try await TestAPI.with { api in
            let user = try await api.post("/v1/accounts:signUp", [:]).json
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "email": "ann@example.com", "password": "correct horse"]
            )
            #expect(answer.json["localId"] == user["localId"])
            #expect(answer.json.providers == ["password"])
            #expect(answer.json["idToken"]?.string != nil)
        }
    }

    @Test func `an old session may change the name but nothing sensitive`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            api.service.clock.advance(seconds: 301)
            for field in [["email": "ann@example.org"], ["password": "another horse"]] as [JSONValue] {
                var body = field.object ?? [:]
                body["idToken"] = token(user)
                let answer = try await api.post("/v1/accounts:update", .object(body))
                #expect(answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            }
            let name = try await api.post("/v1/accounts:update", ["idToken": token(user), "displayName": "Ann"])
            #expect(name.status == 200)
        }
    }

    @Test func `unlinking the password keeps the address taken`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "deleteProvider": ["password"]]
            )
            #expect(answer.json["providerUserInfo"] == [])
            #expect(answer.json["email"]?.string == "ann@example.com")
            #expect(answer.json["passwordHash"] == nil)
            let again = try await api.post(
                "/v1/accounts:signUp",
                ["email": "ann@example.com", "password": "correct horse"]
            )
            #expect(again.errorMessage == "EMAIL_EXISTS")
        }
    }

    @Test func `if the policy protects the last sign-in method, it cannot be removed`() async throws {
        try await TestAPI.with(settings: settings(keepsLastMethod: true)) { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "deleteProvider": ["password"]]
            )
            #expect(answer.errorMessage == "LAST_SIGN_IN_METHOD")
        }
    }

    @Test func `a refused update changes nothing`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await api.post(
                "/v1/accounts:update",
                ["idToken": token(user), "displayName": "Ann", "password": "short"]
            )
            #expect(answer.errorMessage == "WEAK_PASSWORD : Password should be at least 6 characters")
            #expect(try await api.user(user["localId"]?.string ?? "")?["displayName"] == nil)
        }
    }

    @Test func `a client cannot set fields that are reserved for administrators`() async throws {
        try await TestAPI.with { api in
            let user = try await api.signUp("ann@example.com")
            let fields: [(String, JSONValue, String)] = [
                ("customAttributes", "{}", "INSUFFICIENT_PERMISSION"), ("disableUser", true, "OPERATION_NOT_ALLOWED"),
                ("mfa", ["enrollments": []], "OPERATION_NOT_ALLOWED"),
                ("linkProviderUserInfo", ["providerId": "google.com", "rawId": "1"], "OPERATION_NOT_ALLOWED"),
                (
                    "targetProjectId", .string(TestService.projectID),
                    "INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id."
                ),
            ]
            for (name, value, error) in fields {
                let answer = try await api.post(
                    "/v1/accounts:update",
                    .object(["idToken": token(user), name: value])
                )
                #expect(answer.errorMessage == error)
            }
            let neither = try await api.post("/v1/accounts:update", ["displayName": "Ann"])
            #expect(neither.errorMessage == "INVALID_REQ_TYPE : Unsupported request parameters.")
            let unknownCode = try await api.post("/v1/accounts:update", ["oobCode": "nonsense"])
            #expect(unknownCode.errorMessage == "INVALID_OOB_CODE")
        }
    }
}
