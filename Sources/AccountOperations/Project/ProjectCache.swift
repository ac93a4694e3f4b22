package import AccountLinking
package import AccountStore
package import IdentityProviders
package import Postgres
import Synchronization

/// The project's settings and providers, cached for at most `stalenessSeconds`.
///
/// A change through this process is visible at once, a change through another process within the staleness.
package final class ProjectCache: Sendable {
    package static let stalenessSeconds = 2

    private struct State {
        var settings: ProjectSettings
        var apiKeys: Set<String>
        var providers: [ProviderConfigRecord]
        var version: Int64
        /// The newest version that `whenChanged` was called with, or that was in force at the start.
        var announcedVersion: Int64
        /// Number of reads that have begun, and the last of them whose result is in use.
        var readsBegun = 0
        var readInUse = 0
    }

    private let store: AccountStore
    private let trust: EmailTrustBase
    private let state: Mutex<State>
    private let whenChanged: @Sendable (ProjectVersion) -> Void
    private let whenProvidersChanged: @Sendable ([ProviderID]) -> Void

    /// Limit of the versions announced at once: the newest of them.
    private static let announcementsMax = 10

    /// Reads the project.
    ///
    /// - `whenChanged`: called once for each version that this process loads later, after the version is in use.
    /// - `whenProvidersChanged`: called with the providers whose registrations were added, changed or removed since the
    ///   last read.
    /// - Returns: `nil` if the database has no project yet.
    package static func load(
        store: AccountStore,
        trust: EmailTrustBase,
        whenChanged: @escaping @Sendable (ProjectVersion) -> Void = { _ in },
        whenProvidersChanged: @escaping @Sendable ([ProviderID]) -> Void = { _ in }
    ) async throws(PostgresError) -> ProjectCache? {
        guard let (project, apiKeys) = try await store.project() else { return nil }
        let providers = try await store.providerConfigs(tenant: .project)
        let state = State(
            settings: project.settings(
                trust: trust,
                registrations: providers,
                rulesVersion: try await store.rulesVersion(of: project)
            ),
            apiKeys: apiKeys,
            providers: providers,
            version: project.version,
            announcedVersion: project.version
        )
        return ProjectCache(
            store: store,
            trust: trust,
            whenChanged: whenChanged,
            whenProvidersChanged: whenProvidersChanged,
            state: state
        )
    }

    private init(
        store: AccountStore,
        trust: EmailTrustBase,
        whenChanged: @escaping @Sendable (ProjectVersion) -> Void,
        whenProvidersChanged: @escaping @Sendable ([ProviderID]) -> Void,
        state: sending State
    ) {
        self.store = store
        self.trust = trust
        self.whenChanged = whenChanged
        self.whenProvidersChanged = whenProvidersChanged
        self.state = Mutex(state)
    }

    package var settings: ProjectSettings { state.withLock { $0.settings } }

    /// The key that clients should use: always the same one of the registered keys.
    package var apiKey: String? { state.withLock { $0.apiKeys.min() } }

    package func holds(apiKey: String) -> Bool { state.withLock { $0.apiKeys.contains(apiKey) } }

    package var registeredProviders: [ProviderID] { state.withLock { $0.providers.map(\.provider) } }

    /// The registration of a provider, without its secrets; `nil` if there is none.
    package func configuration(of provider: ProviderID) -> ProviderConfiguration? {
        registration(of: provider)?.configuration
    }

    /// The registration as stored, with sealed secrets.
    func registration(of provider: ProviderID) -> ProviderConfigRecord? {
        state.withLock { state in state.providers.first { $0.provider == provider } }
    }

    /// Reloads everything. If the database cannot answer, the cached values stay in use.
    package func refresh() async throws(PostgresError) {
        let read = state.withLock { state in
            state.readsBegun += 1
            return state.readsBegun
        }
        guard let (project, apiKeys) = try await store.project() else { return }
        let providers = try await store.providerConfigs(tenant: .project)
        let (cached, cachedRules) = state.withLock { ($0.version, $0.settings.policy.version) }
        let rules = project.version == cached ? cachedRules : try await store.rulesVersion(of: project)
        let changedProviders: [ProviderID] = state.withLock { state in
            // An older read must not replace a newer one. A read that began later has seen all that was committed
            // before the earlier one began, including providers.
            guard read > state.readInUse, project.version >= state.version else { return [] }
            state.readInUse = read
            // A registration names domains, which are part of the policy.
            if project.version > state.version || providers != state.providers {
                state.settings = project.settings(trust: trust, registrations: providers, rulesVersion: rules)
            }
            let changed = Self.difference(of: state.providers, providers)
            state.version = project.version
            state.apiKeys = apiKeys
            state.providers = providers
            return changed
        }
        if !changedProviders.isEmpty { whenProvidersChanged(changedProviders) }
        try await announce()
    }

    /// The providers whose registrations differ.
    private static func difference(of old: [ProviderConfigRecord], _ new: [ProviderConfigRecord]) -> [ProviderID] {
        guard old != new else { return [] }
        let removed = old.filter { record in !new.contains { $0.provider == record.provider } }
        return (new.filter { !old.contains($0) } + removed).map(\.provider)
    }

    /// Reports the versions that have come into use. If this fails, the next refresh reports them.
    private func announce() async throws(PostgresError) {
        let (announced, version) = state.withLock { ($0.announcedVersion, $0.version) }
        guard announced < version else { return }
        let versions = try await store.projectVersions(after: announced, countMax: Self.announcementsMax)
        let news = state.withLock { state in
            // Another refresh may have reported some meanwhile, and a version may be newer than the one in use.
            let news = versions.filter { $0.version > state.announcedVersion && $0.version <= version }
            state.announcedVersion = max(state.announcedVersion, version)
            return news
        }
        for version in news.reversed() { whenChanged(version) }
    }

    /// Reloads after a change that is already stored. If this fails, the caller still succeeds: the next periodic
    /// refresh loads the change and reports the error.
    func takeNoteOfStoredChange() async {
        try? await refresh()
    }
}
