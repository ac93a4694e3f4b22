import AccountTestSupport
import JSON
import Testing

struct AdminCreateRouteTests {
    @Test func `an account is created without tokens and has never signed in`() async throws {
        try await TestAPI.withAdministrator { api in
            let answer = try await api.admin(
                "accounts",
                [
                    "localId": "chosen", "email": "Ann@Example.com", "emailVerified": true, "disabled": true,
                    "password": "correct horse", "displayName": "Ann", "phoneNumber": "+15550001111",
                ]
            )
            #expect(answer.status == 200)
            #expect(answer.json["kind"]?.string == "identitytoolkit#SignupNewUserResponse")
            #expect(answer.json["localId"]?.string == "chosen")
            #expect(answer.json["email"]?.string == "ann@example.com")
            #expect(answer.json["idToken"] == nil)
            let user = try #require(try await api.user("chosen"))
            #expect(user["emailVerified"]?.bool == true)
            #expect(user["disabled"]?.bool == true)
            #expect(user["lastLoginAt"] == nil)
            #expect(user["lastRefreshAt"] == nil)
            #expect(user.providers == ["password", "phone"])
        }
    }

    @Test func `an account can be created without any field, or with a password but no address`() async throws {
        try await TestAPI.withAdministrator { api in
            let bare = try await api.admin("accounts")
            #expect(bare.json["localId"]?.string?.count == 28)
            let answer = try await api.post(
                "/v1/accounts:signUp",
                ["password": "correct horse"],
                key: nil,
                bearer: "owner"
            )
            #expect(answer.status == 200)
            #expect(answer.json["idToken"] == nil)
        }
    }

    @Test func `an empty name or picture is not stored`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com", "displayName": "", "photoUrl": ""])
            let link: JSONValue = [
                "providerId": "google.com", "rawId": "g1", "displayName": "", "photoUrl": "", "screenName": "",
            ]
            _ = try await api.admin("accounts:update", ["localId": .string(id), "linkProviderUserInfo": link])
            let user = try #require(try await api.user(id))
            let row = try #require(user["providerUserInfo"]?.array?.first { $0["providerId"] == "google.com" })
            for shown in [user, row] {
                #expect(shown["displayName"] == nil && shown["photoUrl"] == nil && shown["screenName"] == nil)
            }
        }
    }

    @Test func `taken and malformed fields are refused in the documented order`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.create(["localId": "a", "email": "ann@example.com", "phoneNumber": "+15550001111"])
            let cases: [(JSONValue, String)] = [
                (["localId": "a", "idToken": "x"], "UNEXPECTED_PARAMETER : User ID"),
                (["localId": "a", "phoneNumber": "1"], "DUPLICATE_LOCAL_ID"),
                (["phoneNumber": "1", "email": "nonsense"], "INVALID_PHONE_NUMBER : Invalid format."),
                (["phoneNumber": "+15550001111", "email": "nonsense"], "PHONE_NUMBER_EXISTS"),
                (["email": "nonsense", "password": "x"], "INVALID_EMAIL"),
                (["email": "ann@example.com", "password": "x"], "EMAIL_EXISTS"),
                (
                    ["email": "b@example.com", "password": "x"],
                    "WEAK_PASSWORD : Password should be at least 6 characters"
                ),
                (
                    ["email": "b@example.com", "password": .string(String(repeating: "x", count: 5000))],
                    "WEAK_PASSWORD : Password should be at most 4096 characters"
                ),
                (
                    ["mfaInfo": [["phoneInfo": "+15550001111"]]],
                    "UNVERIFIED_EMAIL : An account with second factors needs a verified email."
                ),
            ]
            for (body, error) in cases {
                let answer = try await api.admin("accounts", body)
                #expect(answer.errorMessage == error)
            }
            #expect(try await api.admin("accounts:query", ["returnUserInfo": false]).json["recordsCount"] == "1")
        }
    }

    @Test func `a uid that is too long is refused`() async throws {
        try await TestAPI.withAdministrator { api in
            let answer = try await api.admin(
                "accounts",
                ["localId": .string(String(repeating: "x", count: 129))]
            )
            #expect(answer.status == 400)
        }
    }
}
