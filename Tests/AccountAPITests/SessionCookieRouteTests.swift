import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

struct SessionCookieRouteTests {
    private func cookie(_ api: TestAPI, _ body: JSONValue) async throws -> TestAPI.Answer {
        try await api.post("\(TestAPI.projectPath):createSessionCookie", body, key: nil, bearer: "owner")
    }

    @Test func `a cookie has the claims of the token, another issuer and its own times`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let idToken = user["idToken"] ?? .null
            api.service.clock.advance(seconds: 600)
            for duration in [86_400, "86400"] as [JSONValue] {
                let answer = try await cookie(api, ["idToken": idToken, "validDuration": duration])
                let claims = try payload(of: answer.json["sessionCookie"]?.string)
                let token = try payload(of: idToken.string)
                #expect(claims["iss"]?.string == "https://session.firebase.google.com/\(TestService.projectID)")
                let now = api.service.clock.now.secondsSinceEpoch
                #expect(claims["iat"]?.integer == now)
                #expect(claims["exp"]?.integer == now + 86_400)
                for name in ["aud", "sub", "auth_time", "firebase", "email"] { #expect(claims[name] == token[name]) }
            }
            let longest = try await cookie(api, ["idToken": idToken])
            let claims = try payload(of: longest.json["sessionCookie"]?.string)
            #expect((claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0) == 1_209_600)
        }
    }

    @Test func `a cookie is signed by separate keys and is no ID token`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let answer = try await cookie(api, ["idToken": user["idToken"] ?? .null])
            let text = answer.json["sessionCookie"]?.string ?? ""
            let header = try JSONValue(parsing: Base64URL.decode(text.split(separator: ".")[0]) ?? [])
            let keys = try await api.send(.get, "/v1/sessionCookiePublicKeys", key: nil)
            #expect(keys.json["keys"]?.array?.compactMap { $0["kid"]?.string } == [header["kid"]?.string ?? ""])
            for path in ["/identitytoolkit/v3/relyingparty/publicKeys", "/v1/publicKeys"] {
                let certificates = try await api.send(.get, path, key: nil)
                #expect(certificates.json.object?.keys.sorted() == [header["kid"]?.string ?? ""])
                #expect(certificates.headers[.cacheControl]?.hasPrefix("public, max-age=") == true)
            }
            let used = try await api.post("/v1/accounts:lookup", ["idToken": .string(text)])
            #expect(used.errorMessage == "INVALID_ID_TOKEN")
        }
    }

    @Test func `durations out of bounds and invalid tokens are refused`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ann@example.com")
            let idToken = user["idToken"] ?? .null
            #expect(try await cookie(api, [:]).errorMessage == "MISSING_ID_TOKEN")
            for seconds in [299, 1_209_601, -1] as [JSONValue] {
                let answer = try await cookie(api, ["idToken": idToken, "validDuration": seconds])
                #expect(answer.errorMessage == "INVALID_DURATION")
            }
            #expect(try await cookie(api, ["idToken": "nonsense"]).errorMessage == "INVALID_ID_TOKEN")
            _ = try await api.admin("accounts:update", ["localId": user["localId"] ?? .null, "disableUser": true])
            #expect(try await cookie(api, ["idToken": idToken]).errorMessage == "USER_DISABLED")
        }
    }

    @Test func `the discovery document names the issuer and the address of its keys`() async throws {
        try await TestAPI.with { api in
            for path in ["/.well-known/openid-configuration", "/demo-test/.well-known/openid-configuration"] {
                let document = try await api.send(.get, path, key: nil)
                #expect(document.json["issuer"]?.string == "https://securetoken.google.com/demo-test")
                #expect(
                    document.json["jwks_uri"]?.string?
                        .hasSuffix("/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com") == true
                )
                #expect(document.json["id_token_signing_alg_values_supported"] == ["ES256"])
            }
            let other = try await api.send(.get, "/other/.well-known/openid-configuration", key: nil)
            #expect(other.status == 404)
        }
    }
}
