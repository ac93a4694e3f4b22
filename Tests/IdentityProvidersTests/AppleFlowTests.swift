import AccountLinking
import AccountTestSupport
import Crypto
import IdentityProviders
import JSON
import Testing

/// Apple's peculiarities: a form, a signed secret, a name that is sent only once, and token revocation.
struct AppleFlowTests {
    @Test
    func `the name comes from Apple's form, and only in the first answer`() async throws {
        try await SimulatedScene.run(.apple) { character in
            character.user["email"] = "x1@privaterelay.appleid.com"
            character.user["email_verified"] = "true"
            character.user["is_private_email"] = "true"
        } _: { scene async throws in
            let prepared = try #require(try await scene.begin().prepared)
            var callback = try scene.simulator.consent(to: prepared.address)
            #expect(callback.requestURI == SimulatedScene.redirectURI)
            let user = #"{"name":{"firstName":"Grace","lastName":"Hopper"},"email":"admin@example.com"}"#
            callback.postBody = (callback.postBody ?? "") + "&user=" + PercentEncoding.encode(user)
            let verified = try #require(try await scene.finish(callback, prepared.flow).verified)
            #expect(verified.incoming.profile.displayName == "Grace Hopper")
            #expect(verified.incoming.email.address?.lowercased == "x1@privaterelay.appleid.com")
            #expect(verified.rawUserInfo.contains("is_private_email"))
            let again = try #require(try await scene.signIn().verified)
            #expect(again.incoming.profile.displayName == nil)
        }
    }

    @Test(arguments: ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
    func `a private key that cannot be parsed is an incomplete registration`(key: String) async throws {
        try await SimulatedScene.run(.apple) { scene async throws in
            scene.configuration.appleKey?.privateKey = key
            #expect(try await scene.begin() == .invalid(.incompleteConfiguration))
            #expect(try await revoke(.refresh("refresh-1"), in: scene) == .incompleteConfiguration)
            let code = ProviderCredential(provider: .apple, authorizationCode: "code-1")
            #expect(try await scene.verify(code) == .invalid(.incompleteConfiguration))
            #expect(scene.simulator.requests(.token) == 0)
        }
    }

    private func revoke(
        _ token: RevocableToken,
        app: String? = nil,
        in scene: SimulatedScene
    ) async throws -> InvalidCredential? {
        try await scene.registry
            .revoke(token, of: .apple, app: app, configuration: scene.configuration, at: scene.now)
    }

    @Test
    func `Apple revokes tokens, and a code after its exchange for a token`() async throws {
        try await SimulatedScene.run(.apple) { scene async throws in
            #expect(try await revoke(.refresh("r"), in: scene) == nil)
            #expect(try await revoke(.access("a"), in: scene) == nil)
            let code = scene.simulator.issueCode(redirectURI: "https://app.example/")
            #expect(try await revoke(.code(code, redirectURI: "https://app.example/"), in: scene) == nil)
            let taken = scene.simulator.revoked
            #expect(taken.prefix(2) == ["refresh_token r", "access_token a"])
            #expect(taken.count == 3 && taken[2].hasPrefix("refresh_token refresh-"))
            #expect(
                try await revoke(.code(code, redirectURI: "https://app.example/"), in: scene) == .refusedByProvider
            )
        }
    }

    @Test
    func `the token of an app is revoked under its bundle id if the project has that id`() async throws {
        try await SimulatedScene.run(.apple) {
            $0.clientID = "com.example.app"
        } _: { scene async throws in
            #expect(try await revoke(.refresh("r"), app: "com.example.app", in: scene) == nil)
            #expect(try await revoke(.refresh("r"), app: "com.example.other", in: scene) == .clientRefused)
            #expect(try await revoke(.refresh("r"), in: scene) == .clientRefused)
            #expect(scene.simulator.revoked == ["refresh_token r"])
        }
    }

    @Test
    func `an outage of Apple is distinguished from a refusal by Apple`() async throws {
        try await SimulatedScene.run(.apple) { scene async throws in
            for (fault, expected) in [
                (.html, nil), (.status(500), .unexpectedStatus), (.nothing, .unreachable),
            ] as [(OIDCSimulator.Fault, ProviderUnavailable?)] {
                scene.simulator.change { $0.faults[.revocation] = fault }
                if let expected {
                    await #expect(throws: expected) { try await revoke(.refresh("r"), in: scene) }
                } else {
                    #expect(try await revoke(.refresh("r"), in: scene) == nil)
                }
            }
        }
    }

    @Test
    func `the revocation of tokens is unsupported for other providers`() async throws {
        try await SimulatedScene.run(.google) { scene async throws in
            let refusal = try await scene.registry
                .revoke(.access("a"), of: .google, app: nil, configuration: scene.configuration, at: scene.now)
            #expect(refusal == .unsupportedProvider)
        }
        try await SimulatedScene.run(.apple) { scene async throws in
            let registry = scene.registry
            let unknown = try await registry.revoke(
                .access("a"),
                of: .apple,
                app: nil,
                configuration: nil,
                at: scene.now
            )
            #expect(unknown == .providerNotConfigured)
            scene.configuration.isEnabled = false
            #expect(try await revoke(.access("a"), in: scene) == .providerDisabled)
        }
    }
}
