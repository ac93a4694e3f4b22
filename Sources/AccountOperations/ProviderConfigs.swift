package import AccountLinking
import AccountStore
import FoundationEssentials
import IdentityProviders

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
    /// Accounts are linked under the present issuer: under another one their subjects would mean other people.
    case issuerInUse
    /// A text is longer than what is stored.
    case tooLong
}

extension AccountOperations {
    /// Every registration, by provider id.
    package func providerConfigs() async throws -> [ProviderConfig] {
        try await store.providerConfigs(tenant: .project).map { unsealed($0) }
    }

    /// One registration; `nil` when there is none.
    package func providerConfig(_ provider: ProviderID) async throws -> ProviderConfig? {
        try await providerConfigs().first { $0.provider == provider }
    }

    /// Registers a provider, in use on this server at once and on others within `ProjectCache.stalenessSeconds`.
    package func addProviderConfig(_ config: ProviderConfig) async throws -> ProviderConfigDenial? {
        if let problem = problem(with: config) { return problem }
        guard try await store.addProviderConfig(try sealed(config), tenant: .project, at: effects.now()) else {
            return .alreadyRegistered
        }
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
        let result = try await store.changeProviderConfig(
            provider,
            tenant: .project,
            at: effects.now()
        ) { [self] record, isInUse in
            let present = unsealed(record)
            var config = present
            try change(&config)
            if let problem = problem(with: config) { throw problem }
            if isInUse, config.issuer != present.issuer { throw ProviderConfigDenial.issuerInUse }
            return try sealed(config)
        }
        switch result {
        case nil: return .failure(.notRegistered)
        case .failure(let denial as ProviderConfigDenial): return .failure(denial)
        case .failure(let error): throw error
        case .success(let record):
            await project.takeNoteOfStoredChange()
            return .success(unsealed(record))
        }
    }

    /// Takes a registration back. Linked identities stay; they cannot be used until it is registered again.
    package func removeProviderConfig(_ provider: ProviderID) async throws -> ProviderConfigDenial? {
        guard try await store.removeProviderConfig(provider, tenant: .project) else { return .notRegistered }
        await project.takeNoteOfStoredChange()
        return nil
    }

    private func problem(with config: ProviderConfig) -> ProviderConfigDenial? {
        if config.provider.isOpenIDConnect {
            guard let issuer = config.issuer, !issuer.isEmpty else { return .missingIssuer }
            guard isAcceptable(issuer: issuer) else { return .invalidIssuer }
            guard let clientID = config.clientID, !clientID.isEmpty else { return .missingClientID }
        }
        let lengths: [(String?, Int)] = [
            (config.displayName, 256), (config.clientID, 1024), (config.clientSecret?.text, 4096),
            (config.issuer, 2048),
            (config.appleTeamID, 64), (config.appleKeyID, 64), (config.applePrivateKey?.text, 4096),
        ]
        let isTooLong = lengths.contains { text, lengthMax in (text?.utf8.count ?? 0) > lengthMax }
        let hasTooManyBundles =
            config.appleBundleIDs.count > 100 || config.appleBundleIDs.contains { $0.utf8.count > 256 }
        return isTooLong || hasTooManyBundles ? .tooLong : nil
    }

    /// OpenID Connect Discovery 1.0 §2: https, no query, no fragment.
    private func isAcceptable(issuer: String) -> Bool {
        guard let url = URL(string: issuer), let host = url.host(), !host.isEmpty, url.query() == nil,
            url.fragment() == nil, url.user() == nil
        else { return false }
        let isLoopback = ["localhost", "127.0.0.1", "::1"].contains(host)
        return url.scheme == "https" || (providers.isForDevelopment && url.scheme == "http" && isLoopback)
    }

    private func sealed(_ config: ProviderConfig) throws -> ProviderConfigRecord {
        var record = ProviderConfigRecord(provider: config.provider, isEnabled: config.isEnabled)
        record.displayName = config.displayName
        record.clientID = config.clientID
        record.sealedClientSecret = try config.clientSecret.map {
            try sealed($0, Self.clientSecretContext(config.provider))
        }
        record.issuer = config.issuer
        record.acceptsIDTokens = config.acceptsIDTokens
        record.acceptsAuthorizationCodes = config.acceptsAuthorizationCodes
        record.appleBundleIDs = config.appleBundleIDs
        record.appleTeamID = config.appleTeamID
        record.appleKeyID = config.appleKeyID
        record.sealedAppleKey = try config.applePrivateKey.map { try sealed($0, Self.appleKeyContext(config.provider)) }
        return record
    }

    private func unsealed(_ record: ProviderConfigRecord) -> ProviderConfig {
        var config = ProviderConfig(provider: record.provider)
        config.isEnabled = record.isEnabled
        config.displayName = record.displayName
        config.clientID = record.clientID
        config.clientSecret = record.sealedClientSecret.map { opened($0, Self.clientSecretContext(record.provider)) }
        config.issuer = record.issuer
        config.acceptsIDTokens = record.acceptsIDTokens
        config.acceptsAuthorizationCodes = record.acceptsAuthorizationCodes
        config.appleBundleIDs = record.appleBundleIDs
        config.appleTeamID = record.appleTeamID
        config.appleKeyID = record.appleKeyID
        config.applePrivateKey = record.sealedAppleKey.map { opened($0, Self.appleKeyContext(record.provider)) }
        return config
    }

    private func sealed(_ secret: ProviderSecret, _ context: String) throws -> [UInt8] {
        switch secret {
        case .text(let text): try sealer.seal(Array(text.utf8), context: context)
        case .unreadable(let sealed): sealed
        }
    }

    private func opened(_ sealed: [UInt8], _ context: String) -> ProviderSecret {
        guard let plaintext = try? sealer.open(sealed, context: context) else { return .unreadable(sealed: sealed) }
        return .text(String(decoding: plaintext, as: UTF8.self))
    }

    // What binds each sealed secret to its row.

    private static func clientSecretContext(_ provider: ProviderID) -> String {
        "provider_configs/\(provider.rawValue)/client_secret"
    }

    private static func appleKeyContext(_ provider: ProviderID) -> String {
        "provider_configs/\(provider.rawValue)/apple_key"
    }
}
