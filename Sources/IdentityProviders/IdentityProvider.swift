package import AccountLinking

/// Verifies the credentials of providers.
///
/// An implementation may call the network, so callers hold no database connection meanwhile.
package protocol IdentityProvider: Sendable {
    /// Returns true if it verifies credentials of `provider`.
    func speaks(for provider: ProviderID) -> Bool

    /// Verifies `credential`.
    ///
    /// - Parameters:
    ///   - credential: the credential that the client sent.
    ///   - configuration: the enabled registration of the provider of `credential`.
    ///   - now: the time of the request, which times in the token are compared with.
    /// - Returns: the verdict, which may be a refusal.
    /// - Throws: `ProviderUnavailable` if the issuer gives no usable answer.
    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification

    /// Prepares a sign-in on the provider's page.
    ///
    /// - Parameters:
    ///   - request: the requested sign-in. Its custom parameters have no reserved name.
    ///   - configuration: the enabled registration of a provider that this value verifies.
    ///   - now: the time of the request.
    /// - Returns: the address for the browser, or a refusal if the provider does not support the request.
    /// - Throws: `ProviderUnavailable` if a request to the provider is needed and gets no usable answer.
    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation
}
