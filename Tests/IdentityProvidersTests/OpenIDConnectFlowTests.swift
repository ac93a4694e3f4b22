import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// Sign-ins on the page of an issuer that is found by discovery.
struct OpenIDConnectFlowTests {
    @Test
    func `a project without the code flow requests ID tokens, which arrive in the fragment`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) { scene async throws in
            scene.configuration.acceptsAuthorizationCodes = false
            scene.configuration.clientSecret = nil
            let prepared = try #require(try await scene.begin().prepared)
            #expect(prepared.address.contains("response_type=id_token"))
            #expect(prepared.flow.nonce == "nonce-1" && prepared.flow.codeVerifier == nil)
            let callback = try scene.simulator.consent(to: prepared.address)
            #expect(callback.requestURI.contains("#"))
            let verified = try #require(try await scene.finish(callback, prepared.flow).verified)
            #expect(verified.incoming.identity.subject == "subject-1")
            #expect(verified.tokens.accessToken == nil)
            #expect(scene.simulator.requests(.token) == 0)

            scene.simulator.change { $0.lies = ["nonce": "another"] }
            #expect(try await scene.signIn() == .invalid(.nonceMismatch))
            let code = OIDCSimulator.Callback(requestURI: SimulatedScene.redirectURI + "?code=code-1")
            #expect(try await scene.finish(code, prepared.flow) == .invalid(.unsupportedKind))
            scene.configuration.acceptsIDTokens = false
            #expect(try await scene.begin() == .invalid(.unsupportedKind))
        }
    }

    @Test(
        arguments: [
            (.null, .basic), (["client_secret_basic", "client_secret_post"], .basic), (["client_secret_post"], .form),
            (["private_key_jwt", "client_secret_post"], .form), (["private_key_jwt"], .basic),
        ] as [(JSONValue, OIDCSimulator.ClientAuthentication)]
    )
    func `the secret is sent in the Authorization field, unless the issuer supports only the form`(
        offered: JSONValue,
        expected: OIDCSimulator.ClientAuthentication
    ) async throws {
        try await SimulatedScene.run(Scene.openIDConnect) { character in
            character.metadata["token_endpoint_auth_methods_supported"] = offered
            character.authentication = expected
            character.clientSecret = "s&cret: +%"
        } _: { scene async throws in
            scene.configuration.clientSecret = "s&cret: +%"
            #expect(try await scene.signIn().verified != nil, "\(scene.simulator.complaints)")
        }
    }

    @Test
    func `an issuer that announces the iss parameter must send it`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) { scene async throws in
            scene.simulator.change { $0.metadata["authorization_response_iss_parameter_supported"] = true }
            #expect(try await scene.signIn() == .invalid(.wrongIssuer))
            #expect(scene.simulator.requests(.token) == 0)
            scene.simulator.change { $0.namesItself = true }
            #expect(try await scene.signIn().verified != nil)
        }
    }

    @Test
    func `configured addresses replace those of discovery`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) { character in
            for name in ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] {
                character.metadata[name] = "https://elsewhere.invalid/"
            }
            character.user = ["sub": "subject-1"]
            character.profile = ["email": "ada@gmail.com"]
        } _: { scene async throws in
            scene.configuration.addresses = ProviderAddress.named(scene.simulator.addresses)
            let verified = try #require(try await scene.signIn().verified)
            #expect(verified.incoming.email.address?.lowercased == "ada@gmail.com")
            #expect(scene.simulator.requests(.keySet) == 1)
        }
    }

    @Test(arguments: [.null, "javascript:alert(1)", "ftp://issuer.example/", "", 7] as [JSONValue])
    func `an authorization endpoint that is not an https or http URL is refused`(address: JSONValue) async throws {
        try await SimulatedScene.run(Scene.openIDConnect) {
            $0.metadata["authorization_endpoint"] = address
        } _: { scene async throws in
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.begin() }
        }
    }

    @Test
    func `the profile is read only if the ID token has no address, and replaces no claims`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) { character in
            character.user = ["sub": "subject-1", "name": "Ada"]
            character.profile = ["email": "ada@example.com", "email_verified": true, "name": "Other"]
        } _: { scene async throws in
            let verified = try #require(try await scene.signIn().verified)
            #expect(verified.incoming.profile.displayName == "Ada")
            guard case .present(let address, let flag, _) = verified.incoming.email else {
                Issue.record("no address")
                return
            }
            #expect(address.lowercased == "ada@example.com" && flag == .isTrue)
            scene.simulator.change { $0.user["email"] = "in-the-token@example.com" }
            _ = try await scene.signIn()
            #expect(scene.simulator.requests(.profile) == 1)
        }
    }

    @Test
    func `the profile of another user is refused, and an outage of the profile is an outage`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) {
            $0.user = ["sub": "subject-1"]
        } _: { scene async throws in
            scene.simulator.change { $0.profile = ["sub": "another", "email": "ada@example.com"] }
            #expect(try await scene.signIn() == .invalid(.refusedByProvider))
            scene.simulator.change { $0.faults[.profile] = .status(401) }
            #expect(try await scene.signIn() == .invalid(.refusedByProvider))
            scene.simulator.change { $0.faults[.profile] = .html }
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.signIn() }
            scene.simulator.change { $0.faults[.profile] = .status(503) }
            await #expect(throws: ProviderUnavailable.unexpectedStatus) { try await scene.signIn() }
        }
    }

    @Test
    func `default scopes are requested only if the issuer supports them`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) {
            $0.metadata["scopes_supported"] = ["openid", "email"]
        } _: {
            scene async throws in
            let prepared = try #require(try await scene.begin(scopes: ["groups"]).prepared)
            #expect(prepared.address.contains("scope=openid%20email%20groups&"))
        }
    }

    @Test
    func `100 concurrent sign-ins share one discovery`() async throws {
        try await SimulatedScene.run(Scene.openIDConnect) {
            $0.faults[.discovery] = .slow(.milliseconds(50))
        } _: {
            scene async throws in
            let shared = scene
            let begun = try await withThrowingTaskGroup { group in
                for _ in 0..<100 { group.addTask { try await shared.begin().prepared != nil } }
                return try await group.reduce(into: 0) { count, isPrepared in if isPrepared { count += 1 } }
            }
            #expect(begun == 100)
            #expect(scene.simulator.requests(.discovery) == 1 && scene.simulator.requests(.keySet) == 1)
            #expect(try await scene.signIn().verified != nil)
            #expect(scene.simulator.requests(.discovery) == 1 && scene.simulator.requests(.keySet) == 1)
        }
    }

    @Test(
        arguments: [
            (.html, .malformedAnswer), (.large, .answerTooLarge), (.nothing, .unreachable),
            (.status(500), .unexpectedStatus),
        ] as [(OIDCSimulator.Fault, ProviderUnavailable)]
    )
    func `a sign-in does not begin without the discovery document`(
        fault: OIDCSimulator.Fault,
        expected: ProviderUnavailable
    ) async throws {
        try await SimulatedScene.run(Scene.openIDConnect) {
            $0.faults[.discovery] = fault
        } _: { scene async throws in
            await #expect(throws: expected) { try await scene.begin() }
        }
    }
}
