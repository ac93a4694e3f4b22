import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// Sign-ins on a provider's page, with a simulated provider that checks every request.
struct CodeFlowTests {
    static let providers = SimulatedIssuer.all.filter(\.hasCodeFlow).map(\.provider) + [Scene.openIDConnect]

    @Test(arguments: providers)
    func `a sign-in on the provider's page proves the identity and returns the provider's tokens`(
        provider: ProviderID
    ) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            let verified = try #require(try await scene.signIn().verified, "\(scene.simulator.complaints)")
            #expect(verified.incoming.identity.provider == provider)
            #expect(verified.incoming.identity.subject == scene.subject)
            #expect(verified.incoming.email.address?.lowercased == "ada@gmail.com")
            #expect(verified.tokens.accessToken?.hasPrefix("access-") == true)
            #expect(verified.tokens.refreshToken?.hasPrefix("refresh-") == true)
            #expect(verified.tokens.idToken?.isEmpty == false)
            #expect(verified.tokens.expiresInSeconds == 3599)
            #expect(verified.tokens.authorizationCode == nil)
            #expect(scene.simulator.complaints == [])
        }
    }

    @Test(arguments: providers)
    func `an app adds scopes and parameters to the provider's page, but cannot replace those of the flow`(
        provider: ProviderID
    ) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            let prepared = try await scene.begin(
                scopes: ["calendar", "email"],
                customParameters: ["lang": "fr & de", "state": "mine", "client_id": "mine", "redirect_uri": "mine"],
                loginHint: "ada@gmail.com"
            )
            let address = try #require(prepared.prepared).address
            let query = PercentEncoding.pairs(
                Array(try #require(address.split(separator: "?").last).utf8),
                plusIsSpace: false
            )
            #expect(query["lang"] == "fr & de")
            #expect(query["state"] == "state-1" && query["client_id"] == "client-1")
            #expect(query["redirect_uri"] == SimulatedScene.redirectURI)
            #expect(query["login_hint"] == "ada@gmail.com")
            let scopes = query["scope"]?.split(separator: " ").map(String.init) ?? []
            #expect(scopes.filter { $0 == "email" }.count == 1 && scopes.contains("calendar"))
        }
    }

    @Test(arguments: providers)
    func `a flow for a reauthentication requests a new sign-in, if the provider supports that`(
        provider: ProviderID
    ) async throws {
        let both = ["prompt": "login", "max_age": "0"]
        try await SimulatedScene.run(provider) { scene async throws in
            func asked(_ prepared: AuthorizationPreparation) throws -> [String: String] {
                let address = try #require(prepared.prepared).address
                let query = PercentEncoding.pairs(
                    Array(try #require(address.split(separator: "?").last).utf8),
                    plusIsSpace: false
                )
                return query.filter { both.keys.contains($0.key) }
            }
            #expect(try asked(try await scene.begin()) == [:])
            let wanted = SimulatedIssuer.of(provider)?.reauthentication ?? both
            #expect(try asked(try await scene.begin(reauthenticates: true)) == wanted)
            // Parameters of the app do not override it.
            let custom = try await scene.begin(
                customParameters: ["prompt": "none", "max_age": "9999"],
                reauthenticates: true
            )
            #expect(try asked(custom) == ["prompt": "none", "max_age": "9999"].merging(wanted) { $1 })
        }
    }

    @Test(arguments: providers)
    func `a reauthentication is refused if the provider reports an older sign-in`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            func answer(_ signedIn: JSONValue?) async throws -> CredentialVerification {
                scene.simulator.change { $0.lies["auth_time"] = signedIn }
                var prepared = try #require(try await scene.begin(reauthenticates: true).prepared)
                prepared.flow.signedInSince = scene.now
                let flow = try #require(AuthorizationFlow(stored: prepared.flow.stored))
                #expect(flow == prepared.flow)
                return try await scene.finish(scene.simulator.consent(to: prepared.address), flow)
            }
            let now = scene.now.secondsSinceEpoch
            #expect(try await answer(.integer(now - 61)) == .invalid(.staleSignIn))
            #expect(try await answer(1) == .invalid(.staleSignIn))
            #expect(try await answer(.integer(now - 60)).verified != nil)
            #expect(try await answer(.integer(now)).verified != nil)
            // Without `auth_time`, the token is accepted: it is newer than the request.
            #expect(try await answer(nil).verified != nil)
            scene.simulator.change { $0.lies["auth_time"] = 1 }
            #expect(try await scene.signIn().verified != nil, "no reauthentication")
        }
    }

    @Test(arguments: providers)
    func `a code is accepted once, and only for the flow that requested it`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            let prepared = try #require(try await scene.begin().prepared)
            let callback = try scene.simulator.consent(to: prepared.address)
            #expect(try await scene.finish(callback, prepared.flow).verified != nil)
            #expect(try await scene.finish(callback, prepared.flow) == .invalid(.refusedByProvider))

            var other = prepared.flow
            other.redirectURI = "https://other.example/"
            #expect(
                try await scene.finish(scene.simulator.consent(to: prepared.address), other)
                    == .invalid(.refusedByProvider)
            )
            guard prepared.flow.codeVerifier != nil else { return }
            other = prepared.flow
            other.codeVerifier = String(repeating: "w", count: 43)
            #expect(
                try await scene.finish(scene.simulator.consent(to: prepared.address), other)
                    == .invalid(.refusedByProvider)
            )
        }
    }

    @Test(arguments: providers)
    func `a token with another nonce than the flow's, or without one, is refused`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            guard try await scene.begin().prepared?.flow.nonce != nil else { return }
            for nonce: JSONValue in ["nonce-2", .null, "", 1, ["nonce-1"]] {
                scene.simulator.change { $0.lies["nonce"] = nonce }
                #expect(try await scene.signIn() == .invalid(.nonceMismatch))
            }
        }
    }

    @Test(
        arguments: [
            (["aud": "somebody"], .wrongAudience), (["iss": "https://evil.example"], .wrongIssuer),
            (["exp": 1_799_990_000], .expired), (["sub": .null], .missingSubject),
            (["aud": ["client-1", "somebody"]], .wrongAuthorizedParty),
            (["iat": .integer(Scene.now.secondsSinceEpoch + 600)], .notYetValid),
        ] as [([String: JSONValue], InvalidCredential)]
    )
    func `a token with wrong claims is refused, although the provider signed it`(
        lies: [String: JSONValue],
        expected: InvalidCredential
    ) async throws {
        for provider in Self.providers {
            try await SimulatedScene.run(provider) {
                $0.lies = lies
            } _: { scene async throws in
                #expect(try await scene.signIn() == .invalid(expected), "\(provider.rawValue)")
            }
        }
    }

    @Test(arguments: OIDCSimulator.Forgery.allCases)
    func `a token that the provider did not sign is refused`(forgery: OIDCSimulator.Forgery) async throws {
        for provider in Self.providers {
            try await SimulatedScene.run(provider) {
                $0.forgery = forgery
            } _: { scene async throws in
                let expected: InvalidCredential =
                    switch forgery {
                    case .unsigned, .publicKeyAsSecret: .algorithmNotAllowed
                    case .strangersKey: .badSignature
                    case .unknownKey: .unknownKey
                    }
                #expect(try await scene.signIn() == .invalid(expected), "\(provider.rawValue)")
            }
        }
    }

    @Test(arguments: providers)
    func `the answer of another issuer is refused, and its code is not sent`(
        provider: ProviderID
    ) async throws {
        try await SimulatedScene.run(provider) {
            $0.namesItself = true
        } _: { scene async throws in
            #expect(try await scene.signIn().verified != nil)
            scene.simulator.change { $0.otherName = "https://evil.example" }
            #expect(try await scene.signIn() == .invalid(.wrongIssuer))
            #expect(scene.simulator.requests(.token) == 1)
        }
    }

    @Test(
        arguments: [
            (.html, .malformedAnswer), (.large, .answerTooLarge), (.nothing, .unreachable),
            (.hanging, .timedOut), (.status(500), .unexpectedStatus), (.status(302), .unexpectedStatus),
        ] as [(OIDCSimulator.Fault, ProviderUnavailable)]
    )
    func `an outage of a token endpoint is distinguished from a refusal`(
        fault: OIDCSimulator.Fault,
        expected: ProviderUnavailable
    ) async throws {
        // Long enough for every fault that answers.
        let timeout: Duration = if case .hanging = fault { .milliseconds(500) } else { .seconds(60) }
        for provider in Self.providers {
            try await SimulatedScene.run(provider, timeout: timeout) {
                $0.faults[.token] = fault
            } _: { scene async throws in
                await #expect(throws: expected, "\(provider.rawValue)") { try await scene.signIn() }
            }
        }
    }

    @Test(arguments: providers)
    func `a sign-in waits for a slow provider, and fetches rotated keys`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { character in
            character.faults = [.token: .slow(.milliseconds(50)), .keySet: .slow(.milliseconds(50))]
        } _: { scene async throws in
            #expect(try await scene.signIn().verified != nil)
            let next = try ProviderKey.key("key-2", for: scene.simulator.algorithm)
            scene.simulator.change { $0.keys = [next] }
            #expect(try await scene.signIn() == .invalid(.unknownKey))
            scene.now = Scene.now.adding(seconds: 61)
            #expect(try await scene.signIn().verified != nil)
            #expect(scene.simulator.requests(.keySet) == 2)
        }
    }

    @Test(arguments: providers)
    func `a sign-in that the provider has revoked is refused`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) {
            $0.hasRevokedEverything = true
        } _: { scene async throws in
            #expect(try await scene.signIn() == .invalid(.refusedByProvider))
        }
    }

    @Test(arguments: providers)
    func `a client that the provider does not know is reported as an error of the project`(
        provider: ProviderID
    ) async throws {
        try await SimulatedScene.run(provider) { character in
            character.clientSecret = "another"
            character.authentication = character.authentication.refusingEverybody
        } _: { scene async throws in
            #expect(try await scene.signIn() == .invalid(.clientRefused))
        }
    }

    @Test(arguments: providers)
    func `a sign-in does not begin without a client and its secret`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            let whole = scene.configuration
            scene.configuration.clientSecret = nil
            scene.configuration.appleKey = nil
            #expect(try await scene.begin() == .invalid(.incompleteConfiguration))
            scene.configuration = whole
            scene.configuration.clientIDs = []
            #expect(try await scene.begin() == .invalid(.incompleteConfiguration))
            scene.configuration = whole
            scene.configuration.isEnabled = false
            #expect(try await scene.begin() == .invalid(.providerDisabled))
        }
    }

    @Test(arguments: providers)
    func `a refusal by the user is reported as cancelled by the user`(provider: ProviderID) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            let prepared = try #require(try await scene.begin().prepared)
            let callback = try scene.simulator.consent(to: prepared.address, says: false)
            #expect(try await scene.finish(callback, prepared.flow) == .invalid(.cancelledByUser))
        }
    }

    @Test(arguments: providers)
    func `a code that the app requested is exchanged, a code that a flow requested is not`(
        provider: ProviderID
    ) async throws {
        try await SimulatedScene.run(provider) { scene async throws in
            func present(_ code: String) async throws -> CredentialVerification {
                let credential = ProviderParameters(
                    requestURI: SimulatedScene.redirectURI + "?code=\(code)",
                    postBody: nil,
                    sessionID: nil
                ).credential(of: provider)
                return try await scene.verify(credential)
            }
            let own = try await present(scene.simulator.issueCode())
            #expect(own.verified?.incoming.identity.subject == scene.subject)
            let stolen = scene.simulator.issueCode(redirectURI: SimulatedScene.redirectURI)
            #expect(try await present(stolen) == .invalid(.refusedByProvider))
        }
    }

    // MARK: Google

    @Test
    func `Google reports the client and the user of an access token`() async throws {
        try await SimulatedScene.run(.google) {
            $0.profile = ["name": "Ada Lovelace"]
        } _: { scene async throws in
            let credential = ProviderCredential(provider: .google, accessToken: scene.simulator.issueAccessToken())
            let verified = try #require(try await scene.verify(credential).verified)
            #expect(verified.incoming.identity.subject == "subject-1")
            #expect(verified.incoming.issuer == "https://accounts.google.com")
            #expect(verified.incoming.profile.displayName == "Ada Lovelace")
            #expect(verified.federatedID == "https://accounts.google.com/subject-1")
            #expect(verified.tokens.accessToken == credential.accessToken)
            #expect(scene.simulator.complaints == [])
        }
    }

    @Test(
        arguments: [
            (["aud": "somebody"], .wrongAudience), (["aud": .null], .wrongAudience), (["aud": ""], .wrongAudience),
            (["sub": "another"], .missingSubject),
        ] as [([String: JSONValue], InvalidCredential)]
    )
    func `Google's access tokens for another client or user are refused`(
        info: [String: JSONValue],
        expected: InvalidCredential
    ) async throws {
        try await SimulatedScene.run(.google) {
            $0.tokenInfo = info
        } _: { scene async throws in
            let credential = ProviderCredential(provider: .google, accessToken: scene.simulator.issueAccessToken())
            #expect(try await scene.verify(credential) == .invalid(expected))
        }
    }

    @Test
    func `Google's access tokens are refused if they are revoked, forged, or sent instead of a code`()
        async throws
    {
        try await SimulatedScene.run(.google) { scene async throws in
            let token = scene.simulator.issueAccessToken()
            let madeUp = ProviderCredential(provider: .google, accessToken: "made up")
            #expect(try await scene.verify(madeUp) == .invalid(.refusedByProvider))
            let prepared = try #require(try await scene.begin().prepared)
            let injected = OIDCSimulator.Callback(requestURI: SimulatedScene.redirectURI + "#access_token=" + token)
            #expect(try await scene.finish(injected, prepared.flow) == .invalid(.unsupportedKind))
            scene.simulator.change { $0.hasRevokedEverything = true }
            let revoked = ProviderCredential(provider: .google, accessToken: token)
            #expect(try await scene.verify(revoked) == .invalid(.refusedByProvider))
        }
    }

    @Test(
        arguments: [OIDCSimulator.Endpoint.tokenInfo, .profile],
        [
            (.html, .malformedAnswer), (.large, .answerTooLarge), (.nothing, .unreachable),
            (.status(503), .unexpectedStatus),
        ] as [(OIDCSimulator.Fault, ProviderUnavailable)]
    )
    func `an outage of Google is distinguished from a refusal by Google`(
        endpoint: OIDCSimulator.Endpoint,
        fault: (OIDCSimulator.Fault, ProviderUnavailable)
    ) async throws {
        try await SimulatedScene.run(.google) {
            $0.faults[endpoint] = fault.0
        } _: { scene async throws in
            let credential = ProviderCredential(provider: .google, accessToken: scene.simulator.issueAccessToken())
            await #expect(throws: fault.1) { try await scene.verify(credential) }
        }
    }
}
