package import AccountLinking

/// The one port of the system: from a credential on the wire to what it proves.
///
/// An implementation talks to the network if it has to, so it is called before anything is read or held.
package protocol IdentityProvider: Sendable {
    /// Returns true if this verifies credentials of `provider`.
    func speaks(for provider: ProviderID) -> Bool

    /// Judges `credential`.
    ///
    /// - Parameters:
    ///   - credential: what the client sent.
    ///   - configuration: what the project registered; enabled, and of the same provider as `credential`.
    ///   - now: the instant of the request, against which times in the token are checked.
    /// - Returns: the verdict; "no" is one.
    /// - Throws: `ProviderUnavailable` when the issuer gives no usable answer.
    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification

    /// Prepares a sign-in on the provider's own page.
    ///
    /// - Parameters:
    ///   - request: what is asked of the provider; its custom parameters hold no reserved name.
    ///   - configuration: what the project registered; enabled, and of a provider judged here.
    ///   - now: the instant of the request.
    /// - Returns: where to send the browser; "no" is a value, for a provider that cannot be asked so.
    /// - Throws: `ProviderUnavailable` where the provider has to be asked first and gives no usable answer.
    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation
}
