package import AccountLinking
package import IdentityProviders

/// A request to revoke a token that a provider issued for a user of this project (`accounts:revokeToken`).
package struct RevokeToken: Sendable {
    package var provider: ProviderID
    package var token: RevocableToken
    package var idToken: String
    /// The app that got the token, as the client states it.
    package var bundleID: String?

    package init(provider: ProviderID, token: RevocableToken, idToken: String, bundleID: String?) {
        self.provider = provider
        self.token = token
        self.idToken = idToken
        self.bundleID = bundleID
    }
}

extension AccountOperations {
    /// Asks the provider to revoke a token. Nothing changes in Concord: any holder of the token could do the same.
    /// - Throws: `ProviderUnavailable`, or a database error.
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
