package import AccountLinking
import AccountStore
package import IdentityProviders

/// An identity provider's registration as administrators read and write it. Secrets are in the clear.
package struct ProviderConfig: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled = false
    package var displayName: String?
    package var clientID: String?
    package var clientSecret: ProviderSecret?
    /// `oidc.*` only.
    package var issuer: String?
    package var acceptsIDTokens = true
    package var acceptsAuthorizationCodes = false
    package var appleBundleIDs: [String] = []
    package var appleTeamID: String?
    package var appleKeyID: String?
    /// PKCS #8, PEM.
    package var applePrivateKey: ProviderSecret?
    /// The provider's addresses that differ from its usual ones.
    package var addresses: [ProviderAddress: String] = [:]
    /// `oidc.*` only: domains whose mailboxes the provider issues. Its word about an address there is proof.
    package var emailDomains: [EmailDomain] = []

    package static let emailDomainsMax = 100

    package init(provider: ProviderID) {
        self.provider = provider
    }
}

/// A secret of a registration, as far as this server can open it.
package enum ProviderSecret: Sendable, Hashable {
    case text(String)
    /// The secret cannot be opened: its key-encryption key is gone, or it was changed. It stays until it is replaced,
    /// because the key may come back. ID tokens are verified without it.
    case unreadable(sealed: [UInt8])

    package var text: String? {
        switch self {
        case .text(let text): text
        case .unreadable: nil
        }
    }
}

package enum ProviderConfigDenial: Error, Sendable, Hashable {
    case alreadyRegistered
    case notRegistered
    case missingClientID
    case missingIssuer
    /// Not an https URL without query; `concord dev` also accepts http to this machine.
    case invalidIssuer
    /// Accounts are linked under another issuer, now or from an earlier registration. Under this issuer their subjects
    /// would mean other people.
    case issuerInUse
    /// An address is not an https URL without fragment; `concord dev` also accepts http to this machine.
    case invalidAddress(ProviderAddress)
    /// `emailDomains` names more than `ProviderConfig.emailDomainsMax` domains.
    case tooManyEmailDomains
    /// `emailDomains` is set for the issuer of a known provider that is open to everyone. No domain belongs to it.
    case emailDomainsOfKnownIssuer(ProviderID)
    /// A text exceeds its limit.
    case tooLong
}

/// Reasons to reject registrations that were to be applied together.
package struct ProviderConfigDenials: Error, Sendable, Hashable {
    package let byProvider: [ProviderID: ProviderConfigDenial]
}

extension AccountOperations {
    private var registrations: ProviderRegistrations {
        ProviderRegistrations(
            store: store,
            sealer: sealer,
            effects: effects,
            acceptsLoopback: providers.isForDevelopment
        )
    }

    /// Every registration, by provider id.
    package func providerConfigs() async throws -> [ProviderConfig] {
        try await registrations.all()
    }

    /// One registration; `nil` if there is none.
    package func providerConfig(_ provider: ProviderID) async throws -> ProviderConfig? {
        try await providerConfigs().first { $0.provider == provider }
    }

    /// Registers a provider. This server uses it at once, others within `ProjectCache.stalenessSeconds`.
    package func addProviderConfig(_ config: ProviderConfig) async throws -> ProviderConfigDenial? {
        if let denial = try await registrations.add(config) { return denial }
        await project.takeNoteOfStoredChange()
        return nil
    }

    /// Changes a registration. Concurrent changes of different fields all survive.
    ///
    /// `change` gets the current registration. If it throws, the error is rethrown and nothing changes.
    package func updateProviderConfig(
        _ provider: ProviderID,
        _ change: @escaping @Sendable (inout ProviderConfig) throws -> Void
    ) async throws -> Result<ProviderConfig, ProviderConfigDenial> {
        let result = try await registrations.update(provider, change)
        if case .success = result { await project.takeNoteOfStoredChange() }
        return result
    }

    /// Deletes a registration. Linked identities stay, but cannot be used until the provider is registered again.
    package func removeProviderConfig(_ provider: ProviderID) async throws -> ProviderConfigDenial? {
        guard try await store.removeProviderConfig(provider, tenant: .project) else { return .notRegistered }
        await project.takeNoteOfStoredChange()
        return nil
    }

    /// The project's registration of a provider, with the secrets that can be opened; `nil` if there is none.
    func configurationWithSecrets(of provider: ProviderID) -> ProviderConfiguration? {
        guard var configuration = project.configuration(of: provider),
            let record = project.registration(of: provider)
        else { return nil }
        let config = registrations.unsealed(record)
        configuration.clientSecret = config.clientSecret?.text
        if let teamID = config.appleTeamID, let keyID = config.appleKeyID, let key = config.applePrivateKey?.text {
            configuration.appleKey = AppleKey(teamID: teamID, keyID: keyID, privateKey: key)
        }
        return configuration
    }
}
