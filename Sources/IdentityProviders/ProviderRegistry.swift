package import AccountLinking

/// Every provider whose credentials can be verified.
package struct ProviderRegistry: Sendable {
    private let providers: [any IdentityProvider]
    private let fakes: FakeProvider?

    /// - Parameters:
    ///   - keys: the issuers' keys, shared by all providers.
    ///   - fakes: accepts unsigned tokens; `concord dev` passes one, nothing else may construct it.
    package init(keys: JWKSCache, fakes: FakeProvider? = nil) {
        let verifier = IDTokenVerifier(keys: keys)
        self.providers =
            KnownIssuer.all.map { KnownIssuerProvider(known: $0, verifier: verifier) }
            + [
                OpenIDConnect(verifier: verifier)
                // The next one that verifies in a way of its own goes here.
            ]
        self.fakes = fakes
    }

    /// Whether fake tokens are accepted, and issuers on this machine may be registered.
    package var isForDevelopment: Bool { fakes != nil }

    /// Whether credentials of `provider` may be used: registered and switched on, or known to development without it.
    package func isEnabled(_ provider: ProviderID, configuration: ProviderConfiguration?) -> Bool {
        if let configuration { return configuration.isEnabled }
        return fakes != nil && FakeProvider.providers.contains(provider)
    }

    /// Whether somebody can be signed in by `provider` now: it is enabled, and its credentials can be verified.
    package func canSignIn(_ provider: ProviderID, configuration: ProviderConfiguration?) -> Bool {
        isEnabled(provider, configuration: configuration)
            && (providers.contains { $0.speaks(for: provider) }
                || (fakes != nil && FakeProvider.providers.contains(provider)))
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
        guard let configuration else { return .invalid(.providerNotConfigured) }
        guard let provider = providers.first(where: { $0.speaks(for: credential.provider) }) else {
            return .invalid(.unsupportedProvider)
        }
        return try await provider.verify(credential, configuration: configuration, at: now)
    }
}
