package import AccountLinking
package import AccountStore
package import Postgres

/// A version of the policy: its author, time, reason and changes.
package struct PolicyVersion: Sendable, Hashable {
    package let version: Int64
    package let changedAt: Timestamp
    package let attribution: Attribution
    /// Differences from the version before; empty for the first version.
    package let changes: [PolicyState.Change]
}

extension AccountStore {
    /// The newest `countMax` versions of the policy, newest first. One round trip.
    ///
    /// Registrations that were changed apart from the policy raise no version. They are not included.
    package func policyHistory(countMax: Int) async throws(PostgresError) -> [PolicyVersion] {
        // Read one more than is returned, to compare the last one with.
        let versions = try await projectVersions(countMax: countMax + 1)
        return versions.prefix(countMax).enumerated().map { index, version in
            let earlier = versions.dropFirst(index + 1).first
            let fields = earlier.map { PolicyState.Change.ofSettings($0.settings, version.settings) } ?? []
            let providers = version.providerChanges.sorted { $0.key < $1.key }.map { PolicyState.Change($0, $1) }
            return PolicyVersion(
                version: version.version,
                changedAt: version.changedAt,
                attribution: version.attribution,
                changes: fields + providers
            )
        }
    }

    /// Maximum number of versions between two that are compared.
    static var comparedMax: Int { 10_000 }

    /// The differences between two versions of the policy; `nil` if one of them does not exist. One round trip.
    ///
    /// `to` may be the older one. Registrations that were changed apart from the policy are not included.
    package func policyChanges(from: Int64, to: Int64) async throws(PostgresError) -> [PolicyState.Change]? {
        let (oldest, newest) = (min(from, to), max(from, to))
        let versions = try await projectVersions(after: oldest - 1, countMax: Self.comparedMax)
        guard let start = versions.first(where: { $0.version == from }),
            let end = versions.first(where: { $0.version == to })
        else { return nil }
        var states: [ProviderID: ProviderStateChange] = [:]
        // The newest version comes first.
        for version in versions.reversed() where version.version > oldest && version.version <= newest {
            for (provider, change) in version.providerChanges {
                states[provider] = ProviderStateChange(
                    before: states[provider]?.before ?? change.before,
                    after: change.after
                )
            }
        }
        let providers = states.filter { $0.value.before != $0.value.after }.sorted { $0.key < $1.key }
            .map { provider, change in
                let isForward = from <= to
                return PolicyState.Change(
                    provider,
                    isForward ? change : ProviderStateChange(before: change.after, after: change.before)
                )
            }
        return PolicyState.Change.ofSettings(start.settings, end.settings) + providers
    }
}
