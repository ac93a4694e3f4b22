import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// The web flows of providers with OAuth 2.0 and no ID tokens, from their beginning to the end.
struct OAuthFlowTests {
    @Test func `a flow through GitHub's page signs in`() async throws {
        try await check(
            SimulatedGitHub(),
            as: "github.com",
            clientID: SimulatedGitHub.client,
            secret: SimulatedGitHub.secret,
            profile: SimulatedGitHub.profile(of: SimulatedPerson())
        )
    }

    @Test func `a flow through Facebook's page signs in`() async throws {
        try await check(
            SimulatedFacebook(),
            as: "facebook.com",
            clientID: SimulatedFacebook.app,
            secret: SimulatedFacebook.secret,
            profile: SimulatedFacebook.profile(of: SimulatedPerson())
        )
    }

    private func check<Provider: SimulatedProvider>(
        _ simulated: Provider,
        as provider: String,
        clientID: String,
        secret: String,
        profile: JSONValue
    ) async throws {
        try await ProviderSimulator.run(simulated) { simulator async throws in
            try await TestAPI.withAdministrator { api async throws in
                try await api.register(provider, at: simulator, clientID: clientID, secret: secret)
                let ada = try await api.signUp("ada@example.com")

                // Addresses from these two providers are never proof.
                let first = try await api.visit(provider, at: simulator)
                let conflict = try await api.post(TestAPI.signInWithIdp, .object(first))
                #expect(conflict.status == 200 && conflict.json["needConfirmation"] == true, "\(conflict.text)")
                #expect(conflict.json["idToken"] == nil && conflict.json["email"] == "ada@example.com")
                #expect(try await api.rows() == [1, 1, 0, 1])

                let session = try await api.signIn("ada@example.com").json["idToken"] ?? .null
                let settled = try await api.post(
                    TestAPI.signInWithIdp,
                    [
                        "requestUri": "http://localhost", "idToken": session,
                        "pendingToken": conflict.json["pendingToken"] ?? .null,
                    ]
                )
                #expect(settled.json["localId"] == ada["localId"], "\(settled.text)")

                let again = try await api.visit(provider, at: simulator)
                let byPage = try await api.post(TestAPI.signInWithIdp, .object(again))
                #expect(byPage.json["localId"] == ada["localId"], "\(byPage.text)")
                #expect(byPage.json["federatedId"] == .string(SimulatedPerson().id))
                let raw = try JSONValue(parsing: Array(try #require(byPage.json["rawUserInfo"]?.string).utf8))
                #expect(raw == profile)

                let form = PercentEncoding.form([
                    ("access_token", byPage.json["oauthAccessToken"]?.string ?? ""), ("providerId", provider),
                ])
                let native: JSONValue = ["requestUri": "http://localhost", "postBody": .string(form)]
                let byToken = try await api.post(TestAPI.signInWithIdp, native)
                #expect(byToken.json["localId"] == ada["localId"], "\(byToken.text)")

                let before = try await api.rows()
                for request in [first, again] {
                    let reused = try await api.post(TestAPI.signInWithIdp, .object(request))
                    #expect(reused.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(reused.text)")
                }
                let madeUp: JSONValue = [
                    "requestUri": "http://localhost",
                    "postBody": .string("access_token=made-up&providerId=\(provider)"),
                ]
                let refused = try await api.post(TestAPI.signInWithIdp, madeUp)
                #expect(refused.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(refused.text)")
                #expect(try await api.rows() == before)
            }
        }
    }
}
