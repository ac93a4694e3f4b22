package import AccountLinking
package import AccountStore
package import IdentityProviders
package import JSON
package import Postgres

/// An operator's proposed change: fields of the project's configuration, and the enabled providers.
package struct PolicyProposal: Sendable, Hashable {
    /// `nil` if no field is named.
    package var settings: ProjectConfigChange?
    package var providers: [ProviderID: ProviderSwitch]

    package init(settings: ProjectConfigChange?, providers: [ProviderID: ProviderSwitch]) {
        self.settings = settings
        self.providers = providers
    }
}

/// All parts of a policy, as stored or as proposed.
package struct PolicyState: Sendable {
    package let project: ProjectRecord
    /// By provider id.
    package let providers: [ProviderConfigRecord]

    /// The policy in force; `nil` if the database has no project. Two round trips.
    package static func load(_ store: AccountStore) async throws(PostgresError) -> PolicyState? {
        guard let (project, _) = try await store.project() else { return nil }
        return PolicyState(project: project, providers: try await store.providerConfigs(tenant: .project))
    }

    /// The state after `proposal`, with the next version; or the providers in it that are not registered.
    package func after(_ proposal: PolicyProposal) -> Result<PolicyState, UnregisteredProviders> {
        let registered = Set(providers.map(\.provider))
        let unknown = proposal.providers.keys.filter { !registered.contains($0) }.sorted()
        guard unknown.isEmpty else { return .failure(UnregisteredProviders(all: unknown)) }
        var project = project
        if let settings = proposal.settings { project.settings = settings.applied(to: project.settings) }
        project.version += 1
        let providers = providers.compactMap { record -> ProviderConfigRecord? in
            var record = record
            switch proposal.providers[record.provider] {
            case .removed: return nil
            case .on: record.isEnabled = true
            case .off: record.isEnabled = false
            case nil: break
            }
            return record
        }
        return .success(PolicyState(project: project, providers: providers))
    }

    /// The policy and enabled providers for decisions.
    ///
    /// - `trust`: built-in table of trust, used if the project has no rule for a scope.
    package func terms(_ registry: ProviderRegistry, trust: EmailTrustBase = .preset) -> PolicyTerms {
        let enabled = providers.filter { registry.canSignIn($0.provider, configuration: $0.configuration) }
        let unregistered = registry.unregistered.subtracting(providers.map(\.provider))
        return PolicyTerms(
            policy: project.settings(trust: trust, registrations: providers).policy,
            enabledProviders: unregistered.union(enabled.map(\.provider))
        )
    }

    package var sessionLifetimes: SessionLifetimes {
        project.settings(trust: .preset, registrations: providers).sessionLifetimes
    }

    package func changes(to other: PolicyState) -> [Change] {
        let fields = Change.ofSettings(project.settings, other.project.settings).map { change in
            var (change, alone) = (change, project)
            // The value itself: the preset may give it without storing it.
            alone.settings = alone.settings.setting(change.after, at: change.path[...])
            change.judges = effect(of: alone, comparedWith: project)
            return change
        }
        let names = Set(providers.map(\.provider)).union(other.providers.map(\.provider)).sorted()
        return fields
            + names.compactMap { name in
                func state(_ state: PolicyState) -> ProviderState {
                    let record = state.providers.first { $0.provider == name }
                    return record.map { $0.isEnabled ? .enabled : .disabled } ?? .notRegistered
                }
                let (before, after) = (state(self), state(other))
                return before == after ? nil : Change(name, ProviderStateChange(before: before, after: after))
            }
    }

    /// Part of a simulation that differs between two versions of the settings.
    private func effect(of changed: ProjectRecord, comparedWith present: ProjectRecord) -> Change.Effect {
        let settings = [changed, present].map { $0.settings(trust: .preset, registrations: providers) }
        let policies = settings.map { settings in
            var policy = settings.policy
            // No decision about accounts or recorded requests reads these.
            policy.version = 0
            policy.recentSignInSeconds = 0
            policy.enrollableSecondFactors = []
            policy.countsProviderAuthTime = true
            policy.requiresHTTPSContinueURLs = true
            policy.authorizesSubdomains = false
            policy.preset = .strict
            return policy
        }
        if policies[0] == policies[1] {
            let limits = settings.map(\.sessionLifetimes.inactivitySeconds)
            return limits[0] == limits[1] ? .nothing : .sessions
        }
        let aboutAccounts = policies.map { policy in
            // Only decisions about requests read these.
            var policy = policy
            policy.linkingNeedsRecentSignIn = true
            policy.secondFactorsNeedProvenAddress = true
            policy.firstProofEndsSessions = true
            policy.passwordResetUnlinksProviders = true
            policy.signUpRequiresMailbox = false
            policy.unprovenAddress = .link
            policy.showsDisabledAccounts = false
            return policy
        }
        return aboutAccounts[0] == aboutAccounts[1] ? .requests : .accounts
    }

    /// A field of the settings, or the state of a provider, that differs between two policies.
    package struct Change: Sendable, Hashable {
        /// Part of a simulation that the field can change.
        package enum Effect: Sendable, Hashable {
            /// Accounts, and recorded requests.
            case accounts
            /// Recorded requests only.
            case requests
            /// The number of sessions that end at once.
            case sessions
            case nothing
        }

        /// Name of the field or of the provider.
        package let name: String
        /// `nil` for a field without a value.
        package let before: JSONValue?
        package let after: JSONValue?
        package fileprivate(set) var judges: Effect
        fileprivate let path: [String]

        fileprivate init(_ field: ProjectConfigField, _ before: JSONValue?, _ after: JSONValue?) {
            (name, path, judges) = (field.name, field.path, .nothing)
            (self.before, self.after) = (before, after)
        }

        init(_ provider: ProviderID, _ states: ProviderStateChange) {
            (name, path, judges) = (provider.rawValue, [], .accounts)
            (before, after) = (.string(states.before.rawValue), .string(states.after.rawValue))
        }

        /// The fields whose value, stored or by default, differs.
        static func ofSettings(_ before: JSONValue, _ after: JSONValue) -> [Change] {
            ProjectConfigField.all.compactMap { field in
                let values = [before, after].map(field.value)
                return values[0] == values[1] ? nil : Change(field, values[0], values[1])
            }
        }
    }
}

/// A proposal changes providers that are not registered; at least one.
package struct UnregisteredProviders: Error, Sendable, Hashable {
    package let all: [ProviderID]
}

extension ProjectRecord {
    /// The project's settings with the registrations of its providers.
    ///
    /// - `rulesVersion`: the version of the policy; `nil`: that of the settings.
    func settings(
        trust: EmailTrustBase,
        registrations: [ProviderConfigRecord],
        rulesVersion: Int64? = nil
    ) -> ProjectSettings {
        ProjectSettings(
            projectID: projectID,
            projectNumber: projectNumber,
            stored: settings,
            version: rulesVersion ?? version,
            trust: trust,
            registrations: registrations
        )
    }
}

extension ProviderConfigRecord {
    /// The registration without its secrets.
    var configuration: ProviderConfiguration {
        ProviderConfiguration(
            provider: provider,
            isEnabled: isEnabled,
            clientIDs: clientID.map { [$0] } ?? [],
            issuer: issuer,
            acceptsIDTokens: acceptsIDTokens,
            acceptsAuthorizationCodes: acceptsAuthorizationCodes,
            appleBundleIDs: appleBundleIDs,
            addresses: ProviderAddress.named(addresses)
        )
    }
}

/// Result of applying a proposal.
package enum PolicyApplication: Sendable, Hashable {
    case applied(version: Int64)
    /// Already in force: nothing was written.
    case inForce(version: Int64)
    /// The policy has changed since the expected version.
    case otherVersion
    /// An account owns the number, so it cannot become a test number.
    case testPhoneNumberInUse(PhoneNumber)
    case providerNotRegistered(ProviderID)
    /// The policy names an image that is not stored.
    case imageMissing(String)
    case missingProject
}

extension AccountStore {
    /// Applies a proposal completely or not at all. Running servers follow within `ProjectCache.stalenessSeconds`.
    ///
    /// - `expectedVersion`: the version against which the proposal was judged; `nil` for any.
    /// - `expectedProviders`: the registrations against which it was judged, by provider id; `nil` for any.
    ///   Registrations also change without a new version.
    /// - Throws: as `PostgresClient.transaction`.
    package func apply(
        _ proposal: PolicyProposal,
        at now: Timestamp,
        by attribution: Attribution,
        expectedVersion: Int64?,
        expectedProviders: [ProviderConfigRecord]? = nil
    ) async throws(PostgresError) -> PolicyApplication {
        let outcome = try await changeProjectSettings(
            at: now,
            by: attribution,
            expectedVersion: expectedVersion,
            expectedProviders: expectedProviders,
            providers: proposal.providers
        ) { stored in
            // A file that states only defaults changes nothing.
            guard let settings = proposal.settings, !settings.isInForce(in: stored) else { return (stored, []) }
            return settings.change(of: stored)
        }
        switch outcome {
        case .written(let project): return .applied(version: project.version)
        case .unchanged(let project): return .inForce(version: project.version)
        case .otherVersion: return .otherVersion
        case .phoneNumberOwned(let number): return .testPhoneNumberInUse(number)
        case .imageMissing(let digest): return .imageMissing(digest)
        case .providerNotRegistered(let provider): return .providerNotRegistered(provider)
        case .missing: return .missingProject
        }
    }
}
