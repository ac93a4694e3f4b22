package import AccountLinking
import AccountStore
package import IdentityProviders

/// An identity provider's registration as administrators read and write it; secrets in the clear.
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
    /// Where the provider is reached, where that is not where everybody reaches it.
    package var addresses: [ProviderAddress: String] = [:]
    /// `oidc.*` only: the domains whose mailboxes the provider gives out. Its word about an address there is proof.
    package var emailDomains: [EmailDomain] = []

    package static let emailDomainsMax = 100

    package init(provider: ProviderID) {
        self.provider = provider
    }
}

/// A secret of a registration, as far as this server can tell it.
package enum ProviderSecret: Sendable, Hashable {
    case text(String)
    /// It does not open: its key-encryption key is gone, or it was changed. Stays as it is until it is replaced, because
    /// the key may come back. ID tokens are verified without it.
    case unreadable(sealed: [UInt8])

    package var text: String? {
        switch self {
        case .text(let text): text
        case .unreadable: nil
        }
    }
}

/// Why a registration is not accepted.
package enum ProviderConfigDenial: Error, Sendable, Hashable {
    case alreadyRegistered
    case notRegistered
    case missingClientID
    case missingIssuer
    /// Not an https URL without query; `concord dev` takes http to this machine as well.
    case invalidIssuer
    /// Accounts are linked under another issuer, now or before the registration was taken back: under this one their subjects
    /// would mean other people.
    case issuerInUse
    /// An address that is not an https URL without fragment; `concord dev` takes http to this machine as well.
    case invalidAddress(ProviderAddress)
    /// `emailDomains` names more than `ProviderConfig.emailDomainsMax` domains.
    case tooManyEmailDomains
    /// `emailDomains` stands beside the issuer of a known provider, which has no domain that is its own.
    case emailDomainsOfKnownIssuer(ProviderID)
    /// A text is longer than what is stored.
    case tooLong
}

/// Why registrations that were to be applied together were not.
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

    /// One registration; `nil` when there is none.
    package func providerConfig(_ provider: ProviderID) async throws -> ProviderConfig? {
        try await providerConfigs().first { $0.provider == provider }
    }

    /// Registers a provider, in use on this server at once and on others within `ProjectCache.stalenessSeconds`.
    package func addProviderConfig(_ config: ProviderConfig) async throws -> ProviderConfigDenial? {
        if let denial = try await registrations.add(config) { return denial }
        await project.takeNoteOfStoredChange()
        return nil
    }

    /// Changes a registration. Changes of different fields at once all survive.
    ///
    /// `change` is applied to the registration as it is by then. What it throws is thrown on, and nothing changes.
    package func updateProviderConfig(
        _ provider: ProviderID,
        _ change: @escaping @Sendable (inout ProviderConfig) throws -> Void
    ) async throws -> Result<ProviderConfig, ProviderConfigDenial> {
        let result = try await registrations.update(provider, change)
        if case .success = result { await project.takeNoteOfStoredChange() }
        return result
    }

    /// Takes a registration back. Linked identities stay; they cannot be used until it is registered again.
    package func removeProviderConfig(_ provider: ProviderID) async throws -> ProviderConfigDenial? {
        guard try await store.removeProviderConfig(provider, tenant: .project) else { return .notRegistered }
        await project.takeNoteOfStoredChange()
        return nil
    }

    /// What the project registered about a provider, with those of its secrets that open; `nil` when nothing.
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
