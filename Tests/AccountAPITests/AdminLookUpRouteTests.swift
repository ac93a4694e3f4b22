import AccountTestSupport
import JSON
import Testing

struct AdminLookUpRouteTests {
    @Test func `every kind of identifier finds its account, and each account is returned once`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.create(["localId": "a", "email": "ann@example.com", "phoneNumber": "+15550001111"])
            _ = try await api.create(["localId": "b"])
            _ = try await api.admin(
                "accounts:update",
                ["localId": "b", "linkProviderUserInfo": ["providerId": "google.com", "rawId": "g1"]]
            )
            let searches: [(JSONValue, [String])] = [
                (["localId": ["a", "b", "nobody"]], ["a", "b"]), (["email": ["ANN@example.com"]], ["a"]),
                (["phoneNumber": ["+15550001111"]], ["a"]),
                (["federatedUserId": [["providerId": "google.com", "rawId": "g1"]]], ["b"]),
                (["federatedUserId": [["providerId": "phone", "rawId": "+15550001111"]]], ["a"]),
                (["federatedUserId": [["providerId": "email", "rawId": "ann@example.com"]]], ["a"]),
                (["localId": ["a"], "email": ["ann@example.com"], "phoneNumber": ["+15550001111"]], ["a"]),
            ]
            for (body, ids) in searches {
                let answer = try await api.admin("accounts:lookup", body)
                #expect(answer.json["users"]?.array?.compactMap { $0["localId"]?.string } == ids)
            }
        }
    }

    @Test func `an account's first address still finds it after a change of address`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("Ann@Example.com")
            _ = try await api.post(
                "/v1/accounts:update",
                ["idToken": user["idToken"] ?? .null, "email": "ann@example.org"]
            )
            let answer = try await api.admin("accounts:lookup", ["initialEmail": ["ann@EXAMPLE.com"]])
            #expect(answer.json["users"]?.array?.first?["localId"] == user["localId"])
        }
    }

    @Test func `a lookup without a match returns no users`() async throws {
        try await TestAPI.withAdministrator { api in
            for body in [[:], ["localId": ["nobody"]], ["email": ["nonsense"]]] as [JSONValue] {
                let answer = try await api.admin("accounts:lookup", body)
                #expect(answer.json == ["kind": "identitytoolkit#GetAccountInfoResponse"])
            }
        }
    }

    @Test func `a lookup shows that a password exists, but never its hash`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com", "password": "correct horse"])
            let user = try await api.user(id)
            #expect(user?["passwordHash"]?.string == "UkVEQUNURUQ=")
            #expect(user?["salt"] == nil)
        }
    }
}
