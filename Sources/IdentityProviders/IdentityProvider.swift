package import AccountLinking

/// The one port of the system: from a credential on the wire to what it proves.
///
/// An implementation talks to the network if it has to, so it is called before anything is read or held.
package protocol IdentityProvider: Sendable {
    /// Whether credentials of `provider` are judged here.
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
}
