import AccountLinking

/// Finds out whom an access token belongs to, and that it was issued to this project: a token that was given to another
/// client proves nothing about who brings it here.
protocol AccessTokenVerifying: Sendable {
    /// - Throws: `ProviderUnavailable` when the provider gives no usable answer.
    func verify(
        _ credential: ProviderCredential,
        _ inquiry: ProviderInquiry
    ) async throws(ProviderUnavailable) -> CredentialVerification
}

extension String {
    /// Whether this can be a token that a provider is shown: printable and without blanks (RFC 6749 appendix A.12), so that
    /// it says nothing but itself in a field, and no longer than 4 KiB.
    var isAccessToken: Bool { utf8.count <= 4096 && utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
