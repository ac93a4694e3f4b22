package import AccountLinking
package import IdentityProviders

/// What a provider gave to a user of this project is to be taken back there (`accounts:revokeToken`).
package struct RevokeToken: Sendable {
    package var provider: ProviderID
    package var token: RevocableToken
    /// The session of the user.
    package var idToken: String
    /// The app that got it, as it says itself.
    package var bundleID: String?

    package init(provider: ProviderID, token: RevocableToken, idToken: String, bundleID: String?) {
        self.provider = provider
        self.token = token
        self.idToken = idToken
        self.bundleID = bundleID
    }
}

extension AccountOperations {
    /// Asks the provider to take a token back. Nothing changes here: whoever holds it could do the same.
    /// - Throws: `ProviderUnavailable`, or what the database could not do.
    package func revokeToken(_ request: RevokeToken, tenant: TenantID) async throws {
        _ = try await authenticate(idToken: request.idToken, tenant: tenant)
        let refusal = try await providers.revoke(
            request.token,
            of: request.provider,
            app: request.bundleID,
            configuration: configurationWithSecrets(of: request.provider),
            at: effects.now()
        )
        if let refusal { throw Denial.invalidCredential(refusal) }
    }
}
