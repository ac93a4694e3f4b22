package import AccountLinking
package import AccountStore
package import IdentityProviders
package import Postgres
import Synchronization

/// The project's settings and providers, read from the database and kept for at most `stalenessSeconds`.
///
/// A change made through this process is seen at once; one made through another within the staleness.
package final class ProjectCache: Sendable {
    package static let stalenessSeconds = 2

    private struct State {
        var settings: ProjectSettings
        var apiKeys: Set<String>
        var providers: [ProviderConfigRecord]
        var version: Int64
        /// The newest version that `whenChanged` was called with, or that was in force at the start.
        var announcedVersion: Int64
        /// Reads of the database that have begun, and the last of them whose answer is in use.
        var readsBegun = 0
        var readInUse = 0
    }

    private let store: AccountStore
    private let trust: EmailTrustBase
    private let state: Mutex<State>
    private let whenChanged: @Sendable (ProjectVersion) -> Void

    /// Versions that are announced at once; of more, the newest.
    private static let announcementsMax = 10

    /// Reads the project.
    ///
    /// `whenChanged`: called once for each version that this process has picked up since, after it is in use.
    /// - Returns: `nil` when the database holds none yet.
    package static func load(
        store: AccountStore,
        trust: EmailTrustBase,
        whenChanged: @escaping @Sendable (ProjectVersion) -> Void = { _ in }
    ) async throws(PostgresError) -> ProjectCache? {
        guard let (project, apiKeys) = try await store.project() else { return nil }
        let providers = try await store.providerConfigs(tenant: .project)
        let state = State(
            settings: project.settings(trust: trust, registrations: providers),
            apiKeys: apiKeys,
            providers: providers,
            version: project.version,
            announcedVersion: project.version
        )
        return ProjectCache(store: store, trust: trust, whenChanged: whenChanged, state: state)
    }

    private init(
        store: AccountStore,
        trust: EmailTrustBase,
        whenChanged: @escaping @Sendable (ProjectVersion) -> Void,
        state: sending State
    ) {
        self.store = store
        self.trust = trust
        self.whenChanged = whenChanged
        self.state = Mutex(state)
    }

    package var settings: ProjectSettings { state.withLock { $0.settings } }

    /// The key that clients are told to use: always the same one of those that are registered.
    package var apiKey: String? { state.withLock { $0.apiKeys.min() } }

    package func holds(apiKey: String) -> Bool { state.withLock { $0.apiKeys.contains(apiKey) } }

    package var registeredProviders: [ProviderID] { state.withLock { $0.providers.map(\.provider) } }

    /// What the project registered about a provider, without its secrets; `nil` when nothing.
    package func configuration(of provider: ProviderID) -> ProviderConfiguration? {
        registration(of: provider)?.configuration
    }

    /// The registration as it is stored, with its secrets sealed.
    func registration(of provider: ProviderID) -> ProviderConfigRecord? {
        state.withLock { state in state.providers.first { $0.provider == provider } }
    }

    /// Reads everything again. While the database cannot answer, what is known stays in use.
    package func refresh() async throws(PostgresError) {
        let read = state.withLock { state in
            state.readsBegun += 1
            return state.readsBegun
        }
        guard let (project, apiKeys) = try await store.project() else { return }
        let providers = try await store.providerConfigs(tenant: .project)
        state.withLock { state in
            // An answer that was on its way while a newer one came in is not allowed to undo it. A read that began later
            // has seen whatever was committed before the earlier one began, providers included.
            guard read > state.readInUse, project.version >= state.version else { return }
            state.readInUse = read
            // A registration names domains, which are part of the policy.
            if project.version > state.version || providers != state.providers {
                state.settings = project.settings(trust: trust, registrations: providers)
            }
            state.version = project.version
            state.apiKeys = apiKeys
            state.providers = providers
        }
        try await announce()
    }

    /// Reports the versions that have come into use. After a failure the next refresh reports them.
    private func announce() async throws(PostgresError) {
        let (announced, version) = state.withLock { ($0.announcedVersion, $0.version) }
        guard announced < version else { return }
        let versions = try await store.projectVersions(after: announced, countMax: Self.announcementsMax)
        let news = state.withLock { state in
            // Another refresh may have reported some meanwhile, and a version may be newer than what is in use.
            let news = versions.filter { $0.version > state.announcedVersion && $0.version <= version }
            state.announcedVersion = max(state.announcedVersion, version)
            return news
        }
        for version in news.reversed() { whenChanged(version) }
    }

    /// Reads everything again after a change that is stored already. Should that fail, the caller's answer is a success
    /// all the same: this server takes note of the change with its next periodic refresh, which meets and reports what
    /// is wrong.
    func takeNoteOfStoredChange() async {
        try? await refresh()
    }
}
