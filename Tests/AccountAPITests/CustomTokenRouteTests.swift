import AccountOperations
import AccountTestSupport
import JSON
import Postgres
import Testing

struct CustomTokenRouteTests {
    private func signIn(_ api: TestAPI, _ token: String) async throws -> TestAPI.Answer {
        try await api.post("/v1/accounts:signInWithCustomToken", ["token": .string(token)])
    }

    private func unsigned(_ claims: JSONValue, signature: String = "") -> String {
        var payload = claims.object ?? [:]
        payload["aud"] = payload["aud"] ?? .string(ServiceAccountTokens.customTokenAudience)
        let header: JSONValue = ["alg": "none", "typ": "JWT"]
        return [header, .object(payload)].map { Base64URL.encode($0.text.utf8) }.joined(separator: ".")
            + "." + signature
    }

    @Test func `a custom token creates the account it names, then signs in to it`() async throws {
        try await TestAPI.withAdministrator { api in
            let first = try await signIn(api, unsigned(["uid": "chosen", "claims": ["tier": "gold"]]))
            #expect(first.status == 200)
            #expect(first.json["kind"]?.string == "identitytoolkit#VerifyCustomTokenResponse")
            #expect(first.json["isNewUser"]?.bool == true)
            #expect(first.json["localId"] == nil)
            let claims = try payload(of: first.json["idToken"]?.string)
            #expect(claims["sub"]?.string == "chosen")
            #expect(claims["tier"]?.string == "gold")
            #expect(claims["firebase"]?["sign_in_provider"]?.string == "custom")
            let second = try await signIn(api, unsigned(["uid": "chosen"]))
            #expect(second.json["isNewUser"]?.bool == false)
            #expect(try payload(of: second.json["idToken"]?.string)["tier"] == nil)
            #expect(try await api.user("chosen")?["customAuth"]?.bool == true)
        }
    }

    @Test func `claims of the token belong to the session and survive refreshing`() async throws {
        try await TestAPI.with { api in
            let answer = try await signIn(api, unsigned(["uid": "chosen", "claims": ["tier": "gold"]]))
            let refreshed = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": answer.json["refreshToken"] ?? .null]
            )
            #expect(try payload(of: refreshed.json["id_token"]?.string)["tier"]?.string == "gold")
        }
    }

    @Test func `in development bare JSON is a token as well`() async throws {
        try await TestAPI.with { api in
            let answer = try await signIn(api, "{\"uid\":\"chosen\"}")
            #expect(answer.json["isNewUser"]?.bool == true)
        }
    }

    @Test func `an invalid token is refused with its reason and creates no account`() async throws {
        try await TestAPI.with { api in
            let cases: [(String, String)] = [
                ("", "MISSING_CUSTOM_TOKEN"), ("nonsense", "INVALID_CUSTOM_TOKEN : Invalid assertion format"),
                ("{", "INVALID_CUSTOM_TOKEN : Invalid assertion format"),
                (
                    unsigned(["uid": "a"], signature: "AAAA"),
                    "INVALID_CUSTOM_TOKEN : The token must be signed with RS256"
                ),
                (unsigned(["uid": "a", "aud": "other"]), "INVALID_CUSTOM_TOKEN : Invalid audience"),
                (unsigned([:]), "MISSING_IDENTIFIER"),
                (
                    unsigned(["uid": .string(String(repeating: "x", count: 129))]),
                    "INVALID_CUSTOM_TOKEN : The uid must have 1 to 128 characters"
                ),
                (unsigned(["uid": "a", "claims": []]), "INVALID_CLAIMS"),
                (unsigned(["uid": "a", "claims": ["firebase": 1]]), "FORBIDDEN_CLAIM : firebase"),
                (
                    unsigned(["uid": "a", "claims": ["x": .string(String(repeating: "x", count: 1000))]]),
                    "CLAIMS_TOO_LARGE"
                ),
                (unsigned(["uid": "a", "tenant_id": "t"]), "TENANT_ID_MISMATCH"),
            ]
            for (token, error) in cases {
                let answer = try await signIn(api, token)
                #expect(answer.errorMessage == error)
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 0)
        }
    }

    @Test func `a disabled account is refused`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.create(["localId": "chosen", "disabled": true])
            #expect(try await signIn(api, unsigned(["uid": "chosen"])).errorMessage == "USER_DISABLED")
        }
    }

    @Test func `if an account is created again with the same uid, tokens of the deleted account stay invalid`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let first = try await signIn(api, unsigned(["uid": "chosen"])).json
            _ = try await api.admin("accounts:delete", ["localId": "chosen"])
            let second = try await signIn(api, unsigned(["uid": "chosen"])).json
            #expect(second["isNewUser"]?.bool == true)
            let old = try await api.post("/v1/accounts:lookup", ["idToken": first["idToken"] ?? .null])
            #expect(old.errorMessage == "TOKEN_EXPIRED")
            let refresh = try await api.post(
                "/v1/token",
                ["grantType": "refresh_token", "refreshToken": first["refreshToken"] ?? .null]
            )
            #expect(refresh.errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.post("/v1/accounts:lookup", ["idToken": second["idToken"] ?? .null]).status == 200)
        }
    }
}
