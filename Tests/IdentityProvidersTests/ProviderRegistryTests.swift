import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import IdentityProviders

struct ProviderRegistryTests {
    @Test
    func `a provider that is not configured or disabled is refused without a request`() async throws {
        var scene = try Scene(.google)
        let credential = ProviderCredential(provider: .google, idToken: try scene.token())
        let unconfigured = try await scene.registry.verify(credential, configuration: nil, at: Scene.now)
        #expect(unconfigured == .invalid(.providerNotConfigured))
        scene.configuration.isEnabled = false
        #expect(try await scene.verify(credential) == .invalid(.providerDisabled))
        #expect(scene.stub.requests == 0)
    }

    @Test
    func `a configuration of another provider is ignored`() async throws {
        let scene = try Scene(.google)
        let credential = ProviderCredential(provider: .apple, idToken: try scene.token())
        #expect(try await scene.verify(credential) == .invalid(.providerNotConfigured))
    }

    @Test(arguments: ["saml.example", "gc.apple.com", "unheard-of.example"])
    func `providers without a verifier are unsupported, even configured`(name: String) async throws {
        let provider = try #require(ProviderID(name))
        let scene = try Scene(provider)
        #expect(try await scene.verify(try scene.token()) == .invalid(.unsupportedProvider))
    }

    /// Without a verifier, a project could enable the provider, but every sign-in would fail.
    @Test
    func `every known provider for sign-ins has a verifier`() throws {
        for known in KnownProvider.all {
            let scene = try Scene(known.id)
            #expect(
                scene.registry.canSignIn(known.id, configuration: scene.configuration) == known.signsIn,
                "\(known.id)"
            )
        }
        let signingIn = KnownProvider.all.filter(\.signsIn)
        #expect(KnownVerifier.all.count == signingIn.count)
        let issuers = signingIn.filter { !$0.issuers.isEmpty }.map(\.id)
        #expect(Set(KnownIssuer.all.map(\.provider)) == Set(issuers))
    }

    /// The tests of ID tokens and codes run for each simulated issuer.
    @Test
    func `every known issuer is simulated`() {
        #expect(Set(SimulatedIssuer.all.map(\.provider)) == Set(KnownIssuer.all.map(\.provider)))
    }

    @Test
    func `a credential without a token, or of another kind, is refused`() async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            let nothing = ProviderCredential(provider: provider, idToken: "")
            #expect(try await scene.verify(nothing) == .invalid(.missingCredential))
            let access = ProviderCredential(provider: provider, accessToken: "ya29.x")
            let expected: [ProviderID: InvalidCredential] = [
                .google: .refusedByProvider, .facebook: .incompleteConfiguration,
            ]
            #expect(try await scene.verify(access) == .invalid(expected[provider] ?? .unsupportedKind))
            // The exchange of a code needs a secret.
            let code = ProviderCredential(provider: provider, authorizationCode: "4/x")
            let isExchanged = !provider.isOpenIDConnect
            #expect(try await scene.verify(code) == .invalid(isExchanged ? .incompleteConfiguration : .unsupportedKind))
            #expect(scene.stub.requests == 0)
        }
    }

    @Test
    func `an error reported by the provider is not a credential`() async throws {
        let scene = try Scene(.google)
        let denied = ProviderCredential(provider: .google, idToken: try scene.token(), providerError: "access_denied")
        #expect(try await scene.verify(denied) == .invalid(.cancelledByUser))
        let broken = ProviderCredential(provider: .google, idToken: try scene.token(), providerError: "server_error")
        #expect(try await scene.verify(broken) == .invalid(.refusedByProvider))
    }

    @Test
    func `the client's other tokens are returned unchanged`() async throws {
        let scene = try Scene(.google)
        let token = try scene.token()
        let credential = ProviderCredential(
            provider: .google,
            idToken: token,
            accessToken: "access",
            tokenSecret: "secret",
            refreshToken: "refresh",
            expiresInSeconds: 3599
        )
        #expect(
            try await scene.verify(credential).verified?.tokens
                == ProviderTokens(
                    idToken: token,
                    accessToken: "access",
                    tokenSecret: "secret",
                    refreshToken: "refresh",
                    expiresInSeconds: 3599
                )
        )
    }

    /// Production never reports the revocation of a token without a request to its provider.
    @Test
    func `an unregistered provider revokes only fake tokens`() async throws {
        for (fakes, refusal) in [(nil, .providerNotConfigured), (FakeProvider(), nil)]
            as [(FakeProvider?, InvalidCredential?)]
        {
            let registry = try Scene(.apple, fakes: fakes).registry
            let token = RevocableToken.refresh("r")
            let answer = try await registry.revoke(token, of: .apple, app: nil, configuration: nil, at: Scene.now)
            #expect(answer == refusal)
        }
    }

    @Test
    func `no explanation of a refusal contains values of the client`() {
        let reasons: [InvalidCredential] = [
            .providerNotConfigured, .providerDisabled, .unsupportedProvider, .cancelledByUser, .refusedByProvider,
            .missingCredential, .unsupportedKind, .tooLarge, .malformed, .unacceptableType, .algorithmNotAllowed,
            .unknownKey, .badSignature, .wrongIssuer, .wrongAudience, .wrongAuthorizedParty, .expired, .notYetValid,
            .missingNonce, .nonceMismatch, .unknownTenant, .unknownFlow, .clientRefused, .incompleteConfiguration,
            .missingSubject, .livesTooLong, .staleSignIn, .usedBefore, .malformedClaim("exp"),
        ]
        for reason in reasons {
            #expect(!reason.detail.isEmpty)
            // Clients split the message at this separator.
            #expect(!reason.detail.contains(" : "))
        }
    }
}
