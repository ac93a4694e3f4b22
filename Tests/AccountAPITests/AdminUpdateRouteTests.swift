import AccountAPI
import AccountLinking
import AccountTestSupport
import JSON
import Testing

struct AdminUpdateRouteTests {
    @Test func `every field an administrator may set is stored and shown`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com"])
            let answer = try await api.admin(
                "accounts:update",
                [
                    "localId": .string(id), "email": "ann@example.org", "emailVerified": true,
                    "phoneNumber": "+15550001111", "displayName": "Ann", "photoUrl": "https://example.com/a.png",
                    "customAttributes": "{\"role\":\"admin\"}", "validSince": "1750000100",
                    "createdAt": 1_600_000_000_123, "lastLoginAt": "1600000000456", "password": "correct horse",
                    "linkProviderUserInfo": ["providerId": "google.com", "rawId": "g1", "email": "ann@gmail.com"],
                ]
            )
            #expect(answer.status == 200)
            #expect(answer.json["idToken"] == nil)
            let user = try #require(try await api.user(id))
            #expect(user["email"]?.string == "ann@example.org")
            #expect(user["emailVerified"]?.bool == true)
            #expect(user["phoneNumber"]?.string == "+15550001111")
            #expect(user["displayName"]?.string == "Ann")
            #expect(user["customAttributes"]?.string == "{\"role\":\"admin\"}")
            #expect(user["validSince"]?.string == "1750000100")
            #expect(user["createdAt"]?.string == "1600000000123")
            #expect(user["lastLoginAt"]?.string == "1600000000456")
            #expect(user.providers == ["password", "google.com", "phone"])
        }
    }

    @Test func `the unprefixed path serves an administrator too`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com"])
            let answer = try await api.post(
                "/v1/accounts:update",
                ["localId": .string(id), "displayName": "Ann"],
                key: nil,
                bearer: "owner"
            )
            #expect(answer.json["displayName"]?.string == "Ann")
            let nobody = try await api.post("/v1/accounts:update", ["displayName": "A"], key: nil, bearer: "owner")
            #expect(nobody.errorMessage == "MISSING_LOCAL_ID")
            let unknown = try await api.admin("accounts:update", ["localId": "nobody"])
            #expect(unknown.errorMessage == "USER_NOT_FOUND")
        }
    }

    @Test func `a client with a key is not an administrator, and neither is an unknown bearer token`() async throws {
        try await TestAPI.with { api in
            let path = "\(TestAPI.projectPath)/accounts:update"
            let client = try await api.post(path, ["localId": "x"])
            #expect(client.status == 400)
            #expect(client.errorMessage?.hasPrefix("INSUFFICIENT_PERMISSION") == true)
            #expect(try await api.post(path, ["localId": "x"], key: nil).status == 401)
            #expect(try await api.post(path, ["localId": "x"], key: nil, bearer: "owner").status == 401)
            let user = try await api.signUp("ann@example.com")
            let idToken = user["idToken"]?.string
            #expect(try await api.post(path, ["localId": "x"], key: nil, bearer: idToken).status == 401)
        }
    }

    @Test func `another project and any tenant are not found`() async throws {
        try await TestAPI.withAdministrator { api in
            let other = try await api.post("/v1/projects/other/accounts:lookup", [:], key: nil, bearer: "owner")
            #expect(other.status == 404)
            #expect(other.errorMessage == "PROJECT_NOT_FOUND")
            let tenant = try await api.admin("tenants/t1/accounts:lookup")
            #expect(tenant.errorMessage == "TENANT_NOT_FOUND")
        }
    }

    @Test func `identifiers of other accounts are refused in the documented order`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com"])
            let bob = try await api.create(["email": "bob@example.com", "phoneNumber": "+15550002222"])
            _ = try await api.admin(
                "accounts:update",
                ["localId": .string(bob), "linkProviderUserInfo": ["providerId": "google.com", "rawId": "g2"]]
            )
            let cases: [(JSONValue, String)] = [
                (["email": "bob@example.com", "password": "x"], "EMAIL_EXISTS"),
                (["email": "nonsense", "password": "x"], "INVALID_EMAIL"),
                (
                    ["password": "x", "phoneNumber": "1"],
                    "WEAK_PASSWORD : Password should be at least 6 characters"
                ),
                (["phoneNumber": "1"], "INVALID_PHONE_NUMBER : Invalid format."),
                (["phoneNumber": "+15550002222"], "PHONE_NUMBER_EXISTS"),
                (
                    ["linkProviderUserInfo": ["providerId": "google.com", "rawId": "g2"]],
                    "FEDERATED_USER_ID_ALREADY_LINKED"
                ),
                (["linkProviderUserInfo": ["rawId": "g2"]], "MISSING_PROVIDER_ID"),
                (["linkProviderUserInfo": ["providerId": "google.com"]], "MISSING_RAW_ID"),
                (["linkProviderUserInfo": ["providerId": "password", "rawId": "x"]], "INVALID_PROVIDER_ID"),
                (["customAttributes": "[]"], "INVALID_CLAIMS"), (["customAttributes": "{"], "INVALID_CLAIMS"),
                (["customAttributes": "{\"sub\":1}"], "FORBIDDEN_CLAIM : sub"),
                (
                    ["customAttributes": .string("{\"a\":\"" + String(repeating: "x", count: 1000) + "\"}")],
                    "CLAIMS_TOO_LARGE"
                ),
                (
                    ["mfa": ["enrollments": [["phoneInfo": "+15550003333"]]], "emailVerified": false],
                    "UNVERIFIED_EMAIL : An account with second factors needs a verified email."
                ),
            ]
            for (fields, error) in cases {
                var body = fields.object ?? [:]
                body["localId"] = .string(id)
                let answer = try await api.admin("accounts:update", .object(body))
                #expect(answer.errorMessage == error)
            }
            #expect(try await api.user(id)?.providers == [])
        }
    }

    @Test func `empty second factors, empty claims and providers that are not linked are accepted`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com", "phoneNumber": "+15550001111"])
            _ = try await api.admin(
                "accounts:update",
                ["localId": .string(id), "customAttributes": "{\"a\":1}"]
            )
            let answer = try await api.admin(
                "accounts:update",
                [
                    "localId": .string(id), "mfa": [:], "customAttributes": "{}",
                    "deleteProvider": ["phone", "github.com"],
                ]
            )
            #expect(answer.status == 200)
            let user = try #require(try await api.user(id))
            #expect(user["customAttributes"] == "{}")
            #expect(user["phoneNumber"] == nil)
        }
    }

    /// Admin SDKs distinguish cleared claims, an empty object, from claims that were never set.
    @Test func `cleared claims are an empty object, and importing the account again ends no session`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["localId": "ann", "email": "ann@example.com"])
            #expect(try await api.user(id)?["customAttributes"] == nil)
            for cleared in ["{}", " { } "] {
                let body: JSONValue = ["localId": "ann", "customAttributes": .string(cleared)]
                #expect(try await api.admin("accounts:update", body).status == 200)
                #expect(try await api.user(id)?["customAttributes"] == "{}")
            }
            let before = try await api.service.database.rowCounts()
            let row: JSONValue = ["localId": "ann", "email": "ann@example.com"]
            let rows: [JSONValue] = [row, row.with("customAttributes", "{}")]
            for row in rows {
                #expect(try await api.admin("accounts:batchCreate", ["users": .array([row])]).status == 200)
            }
            #expect(try await api.service.database.rowCounts() == before, "not even an event")
            #expect(try await api.user(id)?["customAttributes"] == "{}")
            let none: JSONValue = ["localId": "ann", "customAttributes": ""]
            #expect(try await api.admin("accounts:update", none).status == 200)
            #expect(try await api.user(id)?["customAttributes"] == nil)
        }
    }

    @Test func `a provider that is deleted and linked at once is linked`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com", "phoneNumber": "+15550001111"])
            func link(_ subject: String, deleting: [JSONValue]) async throws -> JSONValue? {
                let answer = try await api.admin(
                    "accounts:update",
                    [
                        "localId": .string(id), "deleteProvider": .array(deleting),
                        "linkProviderUserInfo": ["providerId": "google.com", "rawId": .string(subject)],
                    ]
                )
                #expect(answer.status == 200, "\(answer.text)")
                return try await api.user(id)
            }
            #expect(try await link("g1", deleting: [])?.providers == ["google.com", "phone"])
            for subject in ["g2", "g2", "g1"] {
                let user = try await link(subject, deleting: ["google.com", "phone"])
                #expect(user?.providers == ["google.com"])
                #expect(user?["providerUserInfo"]?.array?.first?["rawId"]?.string == subject)
            }
        }
    }

    @Test func `disabling refuses every session and enabling does not revive it`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let id = user["localId"] ?? .null
            _ = try await api.admin("accounts:update", ["localId": id, "disableUser": true])
            let signIn = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ann@example.com", "password": "correct horse"]
            )
            #expect(signIn.errorMessage == "USER_DISABLED")
            let session = user["idToken"] ?? .null
            let requests: [(String, JSONValue)] = [
                ("lookup", ["idToken": session]), ("delete", ["idToken": session]),
                ("update", ["idToken": session, "displayName": "Ann"]),
                ("signUp", ["idToken": session, "email": "new@example.com", "password": "another horse"]),
                ("sendOobCode", ["idToken": session, "requestType": "VERIFY_EMAIL"]),
            ]
            for (method, body) in requests {
                let answer = try await api.post("/v1/accounts:\(method)", body)
                #expect(answer.errorMessage == "USER_DISABLED", "\(method): \(answer.text)")
            }
            let refresh = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": user["refreshToken"] ?? .null]
            )
            #expect(refresh.errorMessage == "USER_DISABLED")
            // An administrator still works on it.
            let unlinked = try await api.admin("accounts:update", ["localId": id, "deleteProvider": ["password"]])
            #expect(unlinked.status == 200)
            _ = try await api.admin("accounts:update", ["localId": id, "disableUser": false])
            let old = try await api.post("/v1/accounts:lookup", ["idToken": user["idToken"] ?? .null])
            #expect(old.errorMessage == "TOKEN_EXPIRED")
        }
    }

    @Test func `revoking ends sessions of the same second too`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let seconds = api.service.clock.now.secondsSinceEpoch
            let answer = try await api.admin(
                "accounts:update",
                ["localId": user["localId"] ?? .null, "validSince": .integer(seconds)]
            )
            #expect(answer.status == 200)
            let old = try await api.post("/v1/accounts:lookup", ["idToken": user["idToken"] ?? .null])
            #expect(old.errorMessage == "TOKEN_EXPIRED")
            let signIn = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ann@example.com", "password": "correct horse"]
            )
            #expect(signIn.status == 200)
        }
    }

    @Test func `custom claims are in the next token, never over the reserved ones`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            _ = try await api.admin(
                "accounts:update",
                [
                    "localId": user["localId"] ?? .null,
                    "customAttributes": "{\"role\":\"admin\",\"user_id\":\"somebody\"}",
                ]
            )
            let refreshed = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": user["refreshToken"] ?? .null]
            )
            let claims = try payload(of: refreshed.json["id_token"]?.string)
            #expect(claims["role"]?.string == "admin")
            #expect(claims["user_id"] == user["localId"])
        }
    }
}
