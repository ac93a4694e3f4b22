import AccountLinking
import AccountTestSupport
import Crypto
import HTTPTypes
import JSON
import Testing

/// `accounts:revokeToken`, as apps with Sign in with Apple call it before they delete an account.
struct RevokeTokenRouteTests {
    private static let path = "/v2/accounts:revokeToken"

    /// The API with a provider that calls itself Apple, and a session of a user.
    private static func with(
        clientID: String = "client-1",
        _ body: @escaping @Sendable (TestAPI, OIDCSimulator, JSONValue) async throws -> Void
    ) async throws {
        let key = P256.Signing.PrivateKey()
        var character = OIDCSimulator.Character()
        character.issuer = "https://appleid.apple.com"
        character.clientID = clientID
        character.authentication = .signed(key.publicKey, keyID: "key-1", teamID: "team-1")
        let started = character
        try await TestAPI.withAdministrator { api in
            let clock = api.service.clock
            try await OIDCSimulator.run(started, now: clock.now.secondsSinceEpoch) { simulator in
                let registered = try await api.send(
                    .post,
                    "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=apple.com",
                    Array(
                        JSONValue.object([
                            "enabled": true, "clientId": "client-1",
                            "addresses": .object(simulator.addresses.mapValues(JSONValue.string)),
                            "appleSignInConfig": [
                                "bundleIds": ["com.example.app"],
                                "codeFlowConfig": [
                                    "teamId": "team-1", "keyId": "key-1", "privateKey": .string(key.pemRepresentation),
                                ],
                            ],
                        ]).text.utf8
                    ),
                    key: nil,
                    bearer: "owner"
                )
                #expect(registered.status == 200, "\(registered.text)")
                let session = try await api.signUpAnonymously()
                try await body(api, simulator, session["idToken"] ?? .null)
            }
        }
    }

    @Test func `a token or a code is revoked at the provider`() async throws {
        try await Self.with { api, simulator, session in
            let code = simulator.issueCode(redirectURI: "https://app.example/")
            let requests: [[String: JSONValue]] = [
                ["tokenType": "REFRESH_TOKEN", "token": "r"], ["tokenType": 2, "token": "a"],
                ["tokenType": "3", "token": .string(code), "redirectUri": "https://app.example/"],
            ]
            for request in requests {
                let body = request.merging(["providerId": "apple.com", "idToken": session]) { $1 }
                let answer = try await api.post(Self.path, .object(body))
                #expect(answer.status == 200 && answer.json == [:], "\(answer.text) \(simulator.complaints)")
            }
            #expect(simulator.revoked.prefix(2) == ["refresh_token r", "access_token a"])
            #expect(simulator.revoked.count == 3)
        }
    }

    @Test func `the request identifies an app by its bundle id`() async throws {
        try await Self.with(clientID: "com.example.app") { api, simulator, session in
            let body: JSONValue = [
                "providerId": "apple.com", "tokenType": "1", "token": "r", "idToken": session,
            ]
            let field = try #require(HTTPField.Name("X-Ios-Bundle-Identifier"))
            let answer = try await api.send(
                .post,
                Self.path,
                Array(body.text.utf8),
                headers: [field: "com.example.app"]
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await api.post(Self.path, body).errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true)
            #expect(simulator.revoked == ["refresh_token r"])
        }
    }

    @Test func `missing or wrong fields are refused without a request to the provider`() async throws {
        try await Self.with { api, simulator, session in
            let whole: [String: JSONValue] = [
                "providerId": "apple.com", "tokenType": "ACCESS_TOKEN", "token": "a", "idToken": session,
            ]
            let cases: [([String: JSONValue], String)] = [
                (["providerId": .null], "MISSING_PROVIDER_ID"), (["providerId": "a b"], "INVALID_PROVIDER_ID"),
                (["providerId": "google.com"], "INVALID_PROVIDER_ID"), (["token": ""], "INVALID_ARGUMENT"),
                (["tokenType": .null], "INVALID_ARGUMENT"), (["tokenType": 0], "INVALID_ARGUMENT"),
                (["tokenType": "ID_TOKEN"], "Invalid"), (["idToken": .null], "MISSING_ID_TOKEN"),
                (["idToken": "nonsense"], "INVALID_ID_TOKEN"),
            ]
            for (change, code) in cases {
                let answer = try await api.post(Self.path, .object(whole.merging(change) { $1 }))
                #expect(answer.status == 400)
                #expect(answer.errorMessage?.hasPrefix(code) == true, "\(change): \(answer.text)")
            }
            #expect(simulator.requests(.revocation) == 0)
            simulator.change { $0.faults[.revocation] = .nothing }
            #expect(try await api.post(Self.path, .object(whole)).status == 503)
        }
    }

    @Test func `nothing is revoked at a disabled provider`() async throws {
        try await TestAPI.withAdministrator { api in
            let session = try await api.signUpAnonymously()
            let registered = try await api.send(
                .post,
                "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=apple.com",
                Array(#"{"enabled":false,"clientId":"client-1"}"#.utf8),
                key: nil,
                bearer: "owner"
            )
            #expect(registered.status == 200, "\(registered.text)")
            let answer = try await api.post(
                Self.path,
                ["providerId": "apple.com", "tokenType": 1, "token": "r", "idToken": session["idToken"] ?? .null]
            )
            #expect(answer.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true)
        }
    }

    /// Apps revoke Apple's token before they delete an account. In development its user was made up, and signed in all the
    /// same.
    @Test func `a simulated token of a simulated Apple user can be revoked`() async throws {
        try await TestAPI.with { api in
            let signedIn = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost",
                    "postBody": #"providerId=apple.com&id_token={"sub":"apple-1","email":"ann@example.com"}"#,
                ]
            )
            let body: JSONValue = [
                "providerId": "apple.com", "tokenType": "3", "token": "code",
                "idToken": signedIn.json["idToken"] ?? .null,
            ]
            let answer = try await api.post(Self.path, body)
            #expect(answer.status == 200 && answer.json == [:], "\(answer.text)")
            let stranger = try await api.post(Self.path, body.with("idToken", "nonsense"))
            #expect(stranger.errorMessage == "INVALID_ID_TOKEN")
        }
    }
}
