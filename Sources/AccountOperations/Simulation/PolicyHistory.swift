package import AccountLinking
package import AccountStore
import JSON
package import Postgres

/// A version of the policy: who brought it into force, when and why, and what it changed.
package struct PolicyVersion: Sendable, Hashable {
    package let version: Int64
    package let changedAt: Timestamp
    package let attribution: Attribution
    /// What differs from the version before; empty for the first version.
    package let changes: [PolicyState.Change]
}

extension AccountStore {
    /// The newest `countMax` versions of the policy, the newest first. One round trip.
    ///
    /// Registrations of providers that were changed apart from the policy raise no version, and are not in it.
    package func policyHistory(countMax: Int) async throws(PostgresError) -> [PolicyVersion] {
        // One more than is shown: the last one is compared with it.
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
}
