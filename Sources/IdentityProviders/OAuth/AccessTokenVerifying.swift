/// Verifies that an access token was issued to this project, and finds its user. A token that was issued to another
/// client does not authenticate its sender.
protocol AccessTokenVerifying: Sendable {
    /// - Throws: `ProviderUnavailable` if the provider gives no usable answer.
    func verify(
        _ credential: ProviderCredential,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> CredentialVerification
}

extension String {
    /// `true` if this can be a token: printable, without blanks (RFC 6749 appendix A.12), and at most 4 KiB. It then
    /// cannot inject anything into a field.
    var isAccessToken: Bool { utf8.count <= 4096 && utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
