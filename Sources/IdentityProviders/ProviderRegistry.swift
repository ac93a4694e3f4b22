package import AccountLinking

/// Every provider whose credentials can be verified.
package struct ProviderRegistry: Sendable {
    private let providers: [any IdentityProvider]
    private let network: ProviderNetwork
    private let fakes: FakeProvider?
    /// Providers that need no registration: none in production.
    package let unregistered: Set<ProviderID>

    /// - Parameters:
    ///   - keys: the issuers' keys, shared by all providers.
    ///   - network: how providers are asked about anything else.
    ///   - fakes: accepts unsigned tokens; `concord dev` passes one, nothing else may construct it.
    ///   - isBesideDevelopment: whether it is a server of development that signs people in. What it takes without
    ///     registration counts as enabled then; nothing more is verified.
    package init(
        keys: JWKSCache,
        network: ProviderNetwork,
        fakes: FakeProvider? = nil,
        isBesideDevelopment: Bool = false
    ) {
        let verifier = IDTokenVerifier(keys: keys)
        self.providers =
            KnownIssuer.all.map { KnownIssuerProvider(known: $0, verifier: verifier, network: network) }
            + [
                GitHub(network: network), Twitter(network: network),
                OpenIDConnect(verifier: verifier, network: network),
                // The next provider with a separate verification goes here.
            ]
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

    /// Judges `credential` by the rules of its provider.
    ///
    /// - Parameters:
    ///   - credential: what the client sent.
    ///   - configuration: what the project registered for the credential's provider; `nil`: nothing.
    ///   - now: the instant of the request.
    /// - Returns: the verdict; "no" is one.
    /// - Throws: `ProviderUnavailable` when the issuer's keys are not to be had; the same credential may hold later.
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
    ///   - request: what is asked of the provider; its custom parameters hold no reserved name.
    ///   - provider: whose page.
    ///   - configuration: what the project registered for `provider`; `nil`: nothing.
    ///   - now: the instant of the request.
    /// - Returns: where to send the browser; "no" is a value.
    /// - Throws: `ProviderUnavailable` where the provider has to be asked first and gives no usable answer.
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

    /// Takes back what `provider` gave out; Apple is the only one that is asked to.
    ///
    /// - Parameters:
    ///   - token: what to take back.
    ///   - provider: who gave it out.
    ///   - bundleID: the app that got it, where it was one.
    ///   - configuration: what the project registered for `provider`; `nil`: nothing.
    ///   - now: the instant of the request.
    /// - Returns: why not; `nil` when it is done.
    /// - Throws: `ProviderUnavailable` when the provider gives no usable answer; it may have been done.
    package func revoke(
        _ token: RevocableToken,
        of provider: ProviderID,
        app bundleID: String?,
        configuration: ProviderConfiguration?,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        guard provider == .apple else { return .unsupportedProvider }
        // Where Apple is not registered, its users are made up, and so is what they would give back.
        if configuration == nil, isForDevelopment { return nil }
        guard let configuration, configuration.provider == provider else { return .providerNotConfigured }
        guard configuration.isEnabled else { return .providerDisabled }
        return try await AppleRevocation(network: network)
            .revoke(token, ofApp: bundleID, configuration: configuration, at: now)
    }
}
