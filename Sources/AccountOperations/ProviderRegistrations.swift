import AccountLinking
package import AccountStore
import FoundationEssentials
import IdentityProviders

/// The stored registrations of providers. They are validated before they are written, and their secrets are sealed.
///
/// Separate from the other operations because an operator's command changes them too, without a server.
package struct ProviderRegistrations: Sendable {
    private let store: AccountStore
    private let sealer: Sealer
    private let effects: Effects
    /// Development: accepts http to this machine.
    private let acceptsLoopback: Bool

    package init(store: AccountStore, sealer: Sealer, effects: Effects, acceptsLoopback: Bool = false) {
        self.store = store
        self.sealer = sealer
        self.effects = effects
        self.acceptsLoopback = acceptsLoopback
    }

    /// Outcome of one registration of a file.
    package enum Outcome: String, Sendable, Hashable {
        case added
        case changed
        case unchanged
    }

    /// Every registration, by provider id. One round trip.
    package func all() async throws -> [ProviderConfig] {
        try await store.providerConfigs(tenant: .project).map { unsealed($0) }
    }

    /// Makes each registration equal to `configs`, and leaves others. Applies all or nothing. Concurrent calls run one
    /// after the other.
    ///
    /// - `configs`: at most one for each provider.
    /// - `isRehearsal`: validates everything and writes nothing.
    /// - Returns: the outcomes in the order given, or every denial by provider.
    package func apply(
        _ configs: [ProviderConfig],
        isRehearsal: Bool = false
    ) async throws -> Result<[Outcome], ProviderConfigDenials> {
        let providers = Set(configs.map(\.provider))
        let result = try await store.changeProviderConfigs(providers, tenant: .project, at: effects.now()) { stored in
            var denials: [ProviderID: ProviderConfigDenial] = [:]
            var outcomes: [Outcome] = []
            var written: [ProviderConfigRecord] = []
            for config in configs {
                let stored = stored[config.provider]
                let present = stored?.present.map(unsealed)
                denials[config.provider] = denial(of: config, issuersInUse: stored?.issuersInUse ?? [])
                outcomes.append(present == nil ? .added : present == config ? .unchanged : .changed)
                if present != config, !isRehearsal { written.append(try sealed(config)) }
            }
            guard denials.isEmpty else { throw ProviderConfigDenials(byProvider: denials) }
            return (written, outcomes)
        }
        switch result {
        case .success(let outcomes): return .success(outcomes)
        case .failure(let denials as ProviderConfigDenials): return .failure(denials)
        case .failure(let error): throw error
        }
    }

    func add(_ config: ProviderConfig) async throws -> ProviderConfigDenial? {
        if let problem = problem(with: config) { return problem }
        let result = try await store.changeProviderConfigs(
            [config.provider],
            tenant: .project,
            at: effects.now()
        ) { stored in
            let stored = stored[config.provider]
            if stored?.present != nil { throw ProviderConfigDenial.alreadyRegistered }
            if let denial = denial(of: config, issuersInUse: stored?.issuersInUse ?? []) { throw denial }
            return ([try sealed(config)], ())
        }
        switch result {
        case .success: return nil
        case .failure(let denial as ProviderConfigDenial): return denial
        case .failure(let error): throw error
        }
    }

    func update(
        _ provider: ProviderID,
        _ change: @escaping @Sendable (inout ProviderConfig) throws -> Void
    ) async throws -> Result<ProviderConfig, ProviderConfigDenial> {
        let result = try await store.changeProviderConfig(
            provider,
            tenant: .project,
            at: effects.now()
        ) { record, issuersInUse in
            var config = unsealed(record)
            try change(&config)
            if let denial = denial(of: config, issuersInUse: issuersInUse) { throw denial }
            return try sealed(config)
        }
        switch result {
        case nil: return .failure(.notRegistered)
        case .failure(let denial as ProviderConfigDenial): return .failure(denial)
        case .failure(let error): throw error
        case .success(let record): return .success(unsealed(record))
        }
    }

    /// The reason to reject `config`. `issuersInUse` are the issuers of identities that accounts have linked.
    private func denial(of config: ProviderConfig, issuersInUse: Set<String?>) -> ProviderConfigDenial? {
        if let problem = problem(with: config) { return problem }
        return config.provider.isOpenIDConnect && issuersInUse.contains { $0 != config.issuer } ? .issuerInUse : nil
    }

    private func problem(with config: ProviderConfig) -> ProviderConfigDenial? {
        if config.provider.isOpenIDConnect {
            guard let issuer = config.issuer, !issuer.isEmpty else { return .missingIssuer }
            guard isAcceptable(issuer: issuer) else { return .invalidIssuer }
            guard let clientID = config.clientID, !clientID.isEmpty else { return .missingClientID }
            guard config.emailDomains.count <= ProviderConfig.emailDomainsMax else { return .tooManyEmailDomains }
            if !config.emailDomains.isEmpty, ProviderID.isOpenToEveryone(knownIssuer: issuer),
                let known = ProviderID.known(forIssuer: issuer)
            {
                return .emailDomainsOfKnownIssuer(known)
            }
        }
        for (name, address) in config.addresses where !isAcceptable(address: address) {
            return .invalidAddress(name)
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
        isAcceptable(address: issuer) && !issuer.contains("?")
    }

    private func isAcceptable(address: String) -> Bool {
        guard address.utf8.count <= 2048, let url = URL(string: address), let host = url.host(), !host.isEmpty,
            url.fragment() == nil, url.user() == nil
        else { return false }
        let isLoopback = ["localhost", "127.0.0.1", "::1"].contains(host)
        return url.scheme == "https" || (acceptsLoopback && url.scheme == "http" && isLoopback)
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
        record.addresses = Dictionary(config.addresses.map { ($0.key.rawValue, $0.value) }) { $1 }
        record.emailDomains = config.emailDomains.map(\.rawValue)
        record.appleTeamID = config.appleTeamID
        record.appleKeyID = config.appleKeyID
        record.sealedAppleKey = try config.applePrivateKey.map { try sealed($0, Self.appleKeyContext(config.provider)) }
        return record
    }

    func unsealed(_ record: ProviderConfigRecord) -> ProviderConfig {
        var config = ProviderConfig(provider: record.provider)
        config.isEnabled = record.isEnabled
        config.displayName = record.displayName
        config.clientID = record.clientID
        config.clientSecret = record.sealedClientSecret.map { opened($0, Self.clientSecretContext(record.provider)) }
        config.issuer = record.issuer
        config.acceptsIDTokens = record.acceptsIDTokens
        config.acceptsAuthorizationCodes = record.acceptsAuthorizationCodes
        config.appleBundleIDs = record.appleBundleIDs
        config.addresses = ProviderAddress.named(record.addresses)
        config.emailDomains = record.emailDomains.compactMap(EmailDomain.init)
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

    // Contexts that bind each sealed secret to its row.

    private static func clientSecretContext(_ provider: ProviderID) -> String {
        SealingContext.clientSecret(provider: provider.rawValue)
    }

    private static func appleKeyContext(_ provider: ProviderID) -> String {
        SealingContext.appleKey(provider: provider.rawValue)
    }
}
