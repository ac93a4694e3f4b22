package import AccountLinking

/// All providers whose credentials can be verified.
package struct ProviderRegistry: Sendable {
    private let providers: [any IdentityProvider]
    private let network: ProviderNetwork
    private let fakes: FakeProvider?
    /// Providers that need no registration; empty in production.
    package let unregistered: Set<ProviderID>

    /// - Parameters:
    ///   - keys: the keys of the issuers, shared by all providers.
    ///   - network: sends all other requests to providers.
    ///   - fakes: accepts unsigned tokens. Only `concord dev` constructs one.
    ///   - isBesideDevelopment: true for a command on the database of a development server. Providers that need no
    ///     registration there count as enabled. This changes no verification.
    package init(
        keys: JWKSCache,
        network: ProviderNetwork,
        fakes: FakeProvider? = nil,
        isBesideDevelopment: Bool = false
    ) {
        let verifier = IDTokenVerifier(keys: keys)
        self.providers =
            KnownVerifier.all.map { $0.provider(verifier: verifier, network: network) }
            + [OpenIDConnect(verifier: verifier, network: network)]
        self.network = network
        self.fakes = fakes
        self.unregistered = fakes != nil || isBesideDevelopment ? FakeProvider.providers : []
    }

    /// True if fake tokens are accepted, and issuers on this machine may be registered.
    package var isForDevelopment: Bool { fakes != nil }

    /// Returns true if credentials of `provider` may be used: it is registered and enabled, or development needs no
    /// registration.
    package func isEnabled(_ provider: ProviderID, configuration: ProviderConfiguration?) -> Bool {
        configuration?.isEnabled ?? unregistered.contains(provider)
    }

    /// Returns true if users can sign in with `provider` now: it is enabled, and its credentials can be verified.
    package func canSignIn(_ provider: ProviderID, configuration: ProviderConfiguration?) -> Bool {
        isEnabled(provider, configuration: configuration)
            && (providers.contains { $0.speaks(for: provider) } || unregistered.contains(provider))
    }

    /// Verifies `credential` by the rules of its provider.
    ///
    /// - Parameters:
    ///   - credential: the credential that the client sent.
    ///   - configuration: the registration of the provider; `nil` if there is none.
    ///   - now: the time of the request.
    /// - Returns: the verdict, which may be a refusal.
    /// - Throws: `ProviderUnavailable` if the provider gives no usable answer. A retry may succeed.
    package func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration?,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        if let configuration {
            guard configuration.provider == credential.provider else { return .invalid(.providerNotConfigured) }
            guard configuration.isEnabled else { return .invalid(.providerDisabled) }
        }
        if let error = credential.providerError {
            return .invalid(error == "access_denied" ? .cancelledByUser : .refusedByProvider)
        }
        if let verdict = fakes?.verification(of: credential, configuration: configuration) { return verdict }
        guard let configuration else {
            return .invalid(fakes?.objection(to: credential) ?? .providerNotConfigured)
        }
        guard let provider = providers.first(where: { $0.speaks(for: credential.provider) }) else {
            return .invalid(.unsupportedProvider)
        }
        return try await provider.verify(credential, configuration: configuration, at: now)
    }

    /// Prepares a sign-in on the page of `provider`.
    ///
    /// - Parameters:
    ///   - request: the requested sign-in. Its custom parameters have no reserved name.
    ///   - provider: the provider of the page.
    ///   - configuration: the registration of `provider`; `nil` if there is none.
    ///   - now: the time of the request.
    /// - Returns: the address for the browser, or a refusal.
    /// - Throws: `ProviderUnavailable` if a request to the provider is needed and gets no usable answer.
    package func authorization(
        for request: AuthorizationRequest,
        at provider: ProviderID,
        configuration: ProviderConfiguration?,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        if configuration == nil, let fake = fakes?.authorization(for: request, at: provider) { return .prepared(fake) }
        guard let configuration, configuration.provider == provider else { return .invalid(.providerNotConfigured) }
        guard configuration.isEnabled else { return .invalid(.providerDisabled) }
        guard let verifier = providers.first(where: { $0.speaks(for: provider) }) else {
            return .invalid(.unsupportedProvider)
        }
        return try await verifier.authorization(for: request, configuration: configuration, at: now)
    }

    /// Revokes a token at `provider`. Only Apple is supported.
    ///
    /// - Parameters:
    ///   - token: the token to revoke.
    ///   - provider: the issuer of the token.
    ///   - bundleID: the app that obtained the token, if any.
    ///   - configuration: the registration of `provider`; `nil` if there is none.
    ///   - now: the time of the request.
    /// - Returns: the reason of a refusal; `nil` if the token is revoked.
    /// - Throws: `ProviderUnavailable` if the provider gives no usable answer. The token may be revoked.
    package func revoke(
        _ token: RevocableToken,
        of provider: ProviderID,
        app bundleID: String?,
        configuration: ProviderConfiguration?,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        guard provider == .apple else { return .unsupportedProvider }
        // Without a registration of Apple, its users and their tokens are fake: there is no token to revoke.
        if configuration == nil, isForDevelopment { return nil }
        guard let configuration, configuration.provider == provider else { return .providerNotConfigured }
        guard configuration.isEnabled else { return .providerDisabled }
        return try await AppleRevocation(network: network)
            .revoke(token, ofApp: bundleID, configuration: configuration, at: now)
    }
}
